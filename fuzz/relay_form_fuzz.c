/* Messages of a messenger, as any chain may have signed them: read, or refused; what is read fits its limits. */
#include "relay/form.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena mem = {0};
    cd_relay_seen s;
    const cd_addr20 nobody = {{0}};
    if (cd_relay_form_read(&s, &mem, cd_bytes_of(data, size)) == CD_OK) {
        CD_ASSERT(s.relay_cnt <= 64);
        CD_ASSERT(s.relay_cnt != 0 || cd_relay_form_may(&s, &nobody));
        CD_ASSERT(cd_relay_form_gas(cd_bytes_of(data, size), s.gas) >= s.gas);
    }
    cd_arena_fini(&mem);
    return 0;
}
