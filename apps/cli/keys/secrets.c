#include "keys/secrets.h"

#include "base/hex.h"
#include "base/mem/buf.h"
#include "base/os/fileio.h"
#include "base/text.h"
#include "codec/base58.h"
#include "crypto/ec/secp256k1.h"
#include "wallet/hd.h"

enum { TEXT_MAX = 4096, KEY_LEN = 32, WORDS_MIN = 12, WORDS_MAX = 24 };

/* Reads a file with a secret. The buffer has room for all of it, so it is never moved and no copy stays behind; whoever
 * frees it wipes it before. */
static cd_err read_text(cd_buf *out, const char *path, cd_errinfo *why)
{
    (void)cd_buf_reserve(out, (usize)2 * TEXT_MAX);
    return cd_fs_read_file(cd_fs_real(), out, strcmp(path, "-") == 0 ? "/dev/stdin" : path, TEXT_MAX, why);
}

static void end_text(cd_buf *b)
{
    if (b->n != 0) {
        cd_wipe(b->p, b->n);
    }
    cd_buf_fini(b);
}

cd_err cd__password_get(cd_secret *out, const char *path, cd_errinfo *why)
{
    cd_buf text = {0};
    usize n = 0;
    if (path[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "no password: --password-file=FILE, - for standard input");
    }
    cd_err e = read_text(&text, path, why);
    while (n < text.n && text.p[n] != '\n' && text.p[n] != '\r') {
        n++;
    }
    if (e == CD_OK && n == 0) {
        e = cd_fail(why, CD_EINVAL, "the password is empty");
    }
    if (e == CD_OK) {
        cd_secret_init(out, n);
        memcpy(out->p, text.p, n);
    }
    end_text(&text);
    return e;
}

/* --- private keys --- */

/* Writes the words of text with one blank between them; gives their number. */
static usize put_words(cd_buf *phrase, cd_bytes text)
{
    usize cnt = 0;
    for (usize i = 0; i < text.n; i++) {
        bool is_blank = cd_text_is_in(text.p[i], NULL);
        bool was_blank = i == 0 || cd_text_is_in(text.p[i - 1], NULL);
        if (!is_blank && was_blank) {
            cnt++;
            if (cnt > 1) {
                cd_buf_u8(phrase, ' ');
            }
        }
        if (!is_blank) {
            cd_buf_u8(phrase, text.p[i]);
        }
    }
    return cnt;
}

static cd_err from_phrase(u8 key[KEY_LEN], cd_bytes text, const cd__account *account, cd_errinfo *why)
{
    const u32 path[] = {44 | CD_HD_HARDENED, account->coin | CD_HD_HARDENED, CD_HD_HARDENED, 0, account->idx};
    cd_buf phrase = {0};
    u8 seed[64];
    (void)cd_buf_reserve(&phrase, TEXT_MAX + 1);
    usize cnt = put_words(&phrase, text);
    cd_err e = CD_EKEY;
    if (cnt < WORDS_MIN || cnt > WORDS_MAX || cnt % 3 != 0) {
        (void)cd_fail(why, e,
                      "a key is PrivateKey-..., 64 hexadecimal digits, or a phrase of 12, 15, 18, 21 or 24 words");
    } else {
        cd_hd_seed(seed, cd_buf_cstr(&phrase), NULL);
        e = cd_hd_derive(key, seed, path, CD_COUNT(path));
        cd_wipe(seed, sizeof seed);
    }
    end_text(&phrase);
    return e;
}

static cd_err from_text(u8 key[KEY_LEN], cd_bytes text, const cd__account *account, cd_errinfo *why)
{
    static const char marker[] = "PrivateKey-";
    usize n = sizeof marker - 1;
    if (text.n >= n && memcmp(text.p, marker, n) == 0) {
        return cd_cb58_parse_fixed(key, KEY_LEN, cd_bytes_sub(text, n, text.n - n), why);
    }
    bool has_0x = text.n >= 2 && text.p[0] == '0' && text.p[1] == 'x';
    cd_bytes digits = has_0x ? cd_bytes_sub(text, 2, text.n - 2) : text;
    if (digits.n == (usize)2 * KEY_LEN && cd_hex_parse(key, digits) == CD_OK) {
        return CD_OK;
    }
    return from_phrase(key, text, account, why);
}

cd_err cd__key_get(cd_secret *out, const char *path, const cd__account *account, cd_errinfo *why)
{
    cd_buf text = {0};
    u8 pub[64];
    cd_secret key;
    cd_secret_init(&key, KEY_LEN);
    cd_err e = read_text(&text, path, why);
    e = e != CD_OK ? e : from_text(key.p, cd_text_trim(cd_buf_bytes(&text), NULL), account, why);
    if (e == CD_OK && cd_secp256k1_pub(pub, key.p) != CD_OK) {
        e = cd_fail(why, CD_EKEY, "that number is no private key of secp256k1");
    }
    end_text(&text);
    if (e != CD_OK) {
        cd_secret_fini(&key);
        return e;
    }
    *out = key;
    return CD_OK;
}
