#include "crypto/hash/blake3.h"

#include <blake3.h>

_Static_assert(sizeof(blake3_hasher) <= sizeof((cd_blake3 *)0)->own, "room of cd_blake3");

static blake3_hasher *own_of(cd_blake3 *h)
{
    return (blake3_hasher *)(void *)h->own;
}

void cd_blake3_init(cd_blake3 *h)
{
    blake3_hasher_init(own_of(h));
}

void cd_blake3_update(cd_blake3 *h, cd_bytes in)
{
    blake3_hasher_update(own_of(h), in.p, in.n);
}

void cd_blake3_final(const cd_blake3 *h, u8 out[32])
{
    blake3_hasher_finalize((const blake3_hasher *)(const void *)h->own, out, 32);
}
