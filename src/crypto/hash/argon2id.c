#include "crypto/hash/argon2id.h"

#include <argon2.h>

cd_err cd_argon2id(u8 *out, u32 out_len, cd_bytes password, cd_bytes salt, const cd_argon2id_cost *cost)
{
    if (password.n > UINT32_MAX || salt.n > UINT32_MAX) {
        return CD_EINVAL;
    }
    /* The library takes the inputs as writable, for callers that want them wiped. */
    argon2_context c = {
        .out = out,
        .outlen = out_len,
        .pwd = (u8 *)(uintptr_t)password.p,
        .pwdlen = (u32)password.n,
        .salt = (u8 *)(uintptr_t)salt.p,
        .saltlen = (u32)salt.n,
        .t_cost = cost->passes,
        .m_cost = cost->memory_kib,
        .lanes = cost->lanes,
        .threads = 1,
        .version = ARGON2_VERSION_13,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    switch (argon2_ctx(&c, Argon2_id)) {
    case ARGON2_OK:
        return CD_OK;
    case ARGON2_MEMORY_ALLOCATION_ERROR:
        return CD_ENOMEM;
    default:
        return CD_EINVAL;
    }
}
