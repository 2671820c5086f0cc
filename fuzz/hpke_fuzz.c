/* Sealed messages from anybody: what opens must be what was sealed. Bytes: a suite, a change, the message. */
#include "crypto/cipher/hpke.h"

#include "base/rd.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static const u8 secret[32] = {1, 2, 3};
    static const u8 ephemeral[32] = {4, 5, 6};
    cd_rd r = cd_rd_init(cd_bytes_of(data, size));
    cd_hpke_aead aead = (cd_rd_u8(&r) & 1) != 0 ? CD_HPKE_AES_128_GCM : CD_HPKE_CHACHA20_POLY1305;
    u8 flip = cd_rd_u8(&r);
    u16 where = cd_rd_be16(&r);
    u8 enc[32];
    cd_rd_copy(&r, enc, sizeof enc);
    cd_bytes rest = cd_rd_take(&r, cd_rd_left(&r));
    cd_hpke_auth auth = {0};
    cd_hpke h;
    cd_buf sealed = {0};
    cd_buf plain = {0};

    /* Any key and any ciphertext: an error and nothing else. */
    if (cd_hpke_receive(&h, enc, aead, secret, rest, &auth) == CD_OK) {
        CD_ASSERT(cd_hpke_open(&h, &plain, rest, rest) == CD_ESIG && plain.n == 0);
    }
    u8 public[32];
    cd_x25519_public(public, secret);
    CD_ASSERT(cd_hpke_send(&h, enc, aead, public, rest, &auth, ephemeral) == CD_OK);
    CD_ASSERT(cd_hpke_seal(&h, &sealed, rest, rest) == CD_OK);
    sealed.p[where % sealed.n] ^= flip;
    CD_ASSERT(cd_hpke_receive(&h, enc, aead, secret, rest, &auth) == CD_OK);
    cd_err e = cd_hpke_open(&h, &plain, rest, cd_buf_bytes(&sealed));
    CD_ASSERT((e == CD_OK) == (flip == 0));
    CD_ASSERT(e != CD_OK || cd_bytes_eq(cd_buf_bytes(&plain), rest));
    cd_hpke_fini(&h);
    cd_buf_fini(&sealed);
    cd_buf_fini(&plain);
    return 0;
}
