/* What peers say about finality, and stored epochs: what is read is written again to the last byte. */
#include "finality/epochs.h"
#include "finality/messages.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes in = cd_bytes_of(data, size);
    cd_fin_says says;
    cd_fin_epochs epochs;
    cd_buf out = {0};
    if (cd_fin_says_read(&says, in) == CD_OK) {
        cd_fin_says_put(&out, &says);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
    }
    cd_buf_clear(&out);
    if (cd_fin_epochs_read(&epochs, in) == CD_OK) {
        cd_fin_epochs_put(&out, &epochs);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
        cd_fin_epochs_fini(&epochs);
    }
    cd_buf_fini(&out);
    return 0;
}
