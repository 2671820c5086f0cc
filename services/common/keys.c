#include "services/common/keys.h"

#include "base/hex.h"
#include "base/mem/secret.h"
#include "crypto/hash/sha2.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

void cd_key_make(char text[CD_KEY_TEXT + 1], char id[CD_KEY_ID + 1], cd_rng *rng)
{
    u8 name[8];
    memcpy(text, "sk_", 3);
    for (usize i = 3; i < CD_KEY_TEXT; i++) {
        text[i] = alphabet[cd_rng_below(rng, sizeof alphabet - 1)];
    }
    text[CD_KEY_TEXT] = '\0';
    cd_rng_fill(rng, name, sizeof name);
    memcpy(id, "key_", 4);
    cd_hex_fmt(id + 4, cd_bytes_of(name, sizeof name));
    id[CD_KEY_ID] = '\0';
}

cd_err cd_key_hash(cd_hash32 *out, cd_bytes text, const u8 salt[CD_KEY_SALT])
{
    cd_sha256_ctx c;
    if (text.n != CD_KEY_TEXT) {
        return CD_ENOENT;
    }
    cd_sha256_init(&c);
    cd_sha256_update(&c, text);
    cd_sha256_update(&c, cd_bytes_of(salt, CD_KEY_SALT));
    cd_sha256_final(&c, out);
    return CD_OK;
}

bool cd_key_is_good(cd_bytes stored, const cd_hash32 *hash, u64 revoked_ms, u64 expires_ms, u64 now_ms)
{
    return stored.n == sizeof hash->b && cd_ct_eq(stored.p, hash->b, sizeof hash->b) && revoked_ms == 0 &&
           (expires_ms == 0 || expires_ms > now_ms);
}
