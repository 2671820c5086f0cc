/* evm/delegation.h - code that names another account: 0xef 0x01 0x00 and an address. A call to an
 * account with such code runs the code of the one it names, as its own (EIP-7702); nothing but a
 * type 4 transaction can store it. When the named account's code names another one in turn, that is not followed.
 *
 * Such code has this meaning from Prague on; callers check the fork. Threading: pure. */
#ifndef CD_EVM_DELEGATION_H
#define CD_EVM_DELEGATION_H

#include "base/bytes.h"

enum { CD_DELEGATION_PREFIX = 3, CD_DELEGATION_SIZE = CD_DELEGATION_PREFIX + 20 };

/* cd_delegation_dec gives the account that code names; false when code is ordinary. */
CD_INLINE bool cd_delegation_dec(cd_addr20 *out, cd_bytes code)
{
    if (code.n != CD_DELEGATION_SIZE || code.p[0] != 0xef || code.p[1] != 1 || code.p[2] != 0) {
        return false;
    }
    memcpy(out->b, code.p + CD_DELEGATION_PREFIX, sizeof out->b);
    return true;
}

/* cd_delegation_enc makes the code that names addr. */
CD_INLINE void cd_delegation_enc(u8 out[CD_DELEGATION_SIZE], const cd_addr20 *addr)
{
    out[0] = 0xef;
    out[1] = 1;
    out[2] = 0;
    memcpy(out + CD_DELEGATION_PREFIX, addr->b, sizeof addr->b);
}

#endif
