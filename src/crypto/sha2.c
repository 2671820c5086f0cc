#include "crypto/sha2.h"

#include <openssl/sha.h>

void cd_sha256(cd_hash32 *out, cd_bytes in)
{
    SHA256(in.p, in.n, out->b);
}
