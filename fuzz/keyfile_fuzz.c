/* Key files of arbitrary bytes. Whatever opens holds a key of 32 bytes; costs are kept small here, so that time goes
 * into reading. */
#include "wallet/keyfile.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* A number of three digits or more outside of strings. */
static bool is_costly(cd_bytes text)
{
    bool in_string = false;
    usize digits = 0;
    for (usize i = 0; i < text.n; i++) {
        in_string = in_string != (text.p[i] == '"');
        digits = !in_string && text.p[i] >= '0' && text.p[i] <= '9' ? digits + 1 : 0;
        if (digits == 3) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes text = cd_bytes_of(data, size);
    cd_addr20 addr;
    cd_secret key = {0};
    cd_errinfo why = {0};
    (void)!cd_keyfile_addr(&addr, text, &why);
    if (is_costly(text)) {
        return 0;
    }
    cd_err e = cd_keyfile_dec(&key, text, cd_bytes_str("testpassword"), &why);
    CD_ASSERT(e == CD_OK ? key.n == CD_KEYFILE_SECRET : key.p == NULL);
    CD_ASSERT(e == CD_OK || why.msg[0] != '\0');
    cd_secret_fini(&key);
    return 0;
}
