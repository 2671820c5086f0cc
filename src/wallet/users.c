#include "wallet/users.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "base/rd.h"
#include "base/thread/thread.h"
#include "crypto/cipher/xchacha.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/argon2id.h"
#include "crypto/hash/sha2.h"

#include <zxcvbn.h>

/* In the part of the store:
 *   'u' ‖ name                                   version, hash, salt
 *   'd' ‖ SHA-256(name) ‖ SHA-256(chain) ‖ key   encrypted: the list of addresses under the zero key, each secret
 *                                                under its address
 * What follows 'd' and the hash of the name is what the original exports. */
enum {
    HASH = 32,
    SALT = 16,
    CODEC = 2, /* bytes of the version in front of each document: zero */
    RECORD = CODEC + HASH + SALT,
    DATA = 1 + 32, /* bytes in front of an exported key */
    SEALED = CODEC + 4 + 4,
    SECRET = 32,
    WRONG_MAX = 5, /* passwords a second */
    PAIRS_MAX = 8 * CD_USERS_KEYS_MAX,
    KEY_MAX = 256,     /* bytes of a key in an import */
    STRENGTH_LEN = 50, /* characters of a password that its strength is judged by */
};

static const cd_argon2id_cost cost = {.passes = 1, .memory_kib = 64 << 10, .lanes = 4};

/* 10^4 s at 10^4 guesses a second, half of all tried: 2^27.6. [spec:node-api#9] */
static const double strength_bits = 27.6;

struct cd_users {
    cd_kv *store;
    cd_kv *part;
    const cd_clock *clock;
    cd_mutex lock; /* one password at a time, and one change */
    u64 wrong_s;   /* the second in which wrong_cnt passwords were wrong */
    u32 wrong_cnt;
};

cd_users *cd_users_new(cd_kv *store, cd_bytes prefix, const cd_clock *clock)
{
    cd_users *u = cd_new(cd_users);
    *u = (cd_users){.store = store, .part = cd_kv_prefix_open(store, prefix), .clock = clock};
    cd_mutex_init(&u->lock);
    return u;
}

void cd_users_free(cd_users *u)
{
    if (u != NULL) {
        cd_kv_close(u->part);
        cd_mutex_fini(&u->lock);
        cd_free(u);
    }
}

static int shown(cd_bytes name)
{
    return (int)cd_min_u64(name.n, 64);
}

static cd_err commit(cd_users *u, cd_kv_batch *b, cd_errinfo *why)
{
    cd_kv_batch_widen(b);
    cd_err e = cd_kv_commit(u->store, b, CD_KV_SYNC, why);
    cd_kv_batch_fini(b);
    return e;
}

/* --- names and passwords --- */

static cd_err check_name(cd_bytes name, cd_errinfo *why)
{
    if (name.n == 0) {
        return cd_fail(why, CD_EINVAL, "empty username");
    }
    return name.n <= CD_USERS_NAME_MAX
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "username exceeds maximum length of %d chars", CD_USERS_NAME_MAX);
}

static cd_err check_strength(cd_bytes password, cd_errinfo *why)
{
    char start[STRENGTH_LEN + 1] = {0};
    if (password.n == 0) {
        return cd_fail(why, CD_EINVAL, "empty password");
    }
    if (password.n > CD_USERS_NAME_MAX) {
        return cd_fail(why, CD_EINVAL, "password exceeds maximum length of %d chars", CD_USERS_NAME_MAX);
    }
    memcpy(start, password.p, cd_min_u64(password.n, STRENGTH_LEN));
    bool is_strong = ZxcvbnMatch(start, NULL, NULL) >= strength_bits;
    cd_wipe(start, sizeof start);
    return is_strong ? CD_OK : cd_fail(why, CD_EINVAL, "password is too weak");
}

/* The record of a user. Errors: CD_ENOENT without words; the store's. */
static cd_err find(cd_users *u, u8 record[RECORD], cd_bytes name, cd_errinfo *why)
{
    u8 key[1 + CD_USERS_NAME_MAX] = {'u'};
    cd_buf value = {0};
    memcpy(key + 1, name.p, name.n);
    cd_err e = cd_kv_get(u->part, &value, cd_bytes_of(key, 1 + name.n));
    if (e == CD_OK && value.n != RECORD) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        memcpy(record, value.p, RECORD);
    }
    cd_buf_fini(&value);
    return e == CD_OK || e == CD_ENOENT ? e : cd_fail(why, e, "users cannot be read: %s", cd_err_str(e));
}

static cd_err stretch(u8 out[HASH], cd_bytes password, const u8 salt[SALT], cd_errinfo *why)
{
    cd_err e = cd_argon2id(out, HASH, password, cd_bytes_of(salt, SALT), &cost);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "the password cannot be checked: %s", cd_err_str(e));
}

static cd_err compare(cd_users *u, const u8 record[RECORD], cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    u8 got[HASH];
    u64 now = cd_clock_wall_s(u->clock);
    if (u->wrong_s == now && u->wrong_cnt >= WRONG_MAX) {
        return cd_fail(why, CD_ELIMIT, "too many wrong passwords, try again in a second");
    }
    CD_TRY(stretch(got, password, record + CODEC + HASH, why));
    if (cd_ct_eq(got, record + CODEC, HASH)) {
        return CD_OK;
    }
    u->wrong_cnt = u->wrong_s == now ? u->wrong_cnt + 1 : 1;
    u->wrong_s = now;
    return cd_fail(why, CD_EACCES, "incorrect password: user \"%.*s\"", shown(name), (const char *)name.p);
}

/* Whether the user is there is not told to who does not know the password. */
static cd_err admit(cd_users *u, u8 record[RECORD], cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    CD_TRY(check_name(name, why));
    cd_err e = find(u, record, name, why);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EACCES, "incorrect password: user \"%.*s\"", shown(name), (const char *)name.p);
    }
    return e == CD_OK ? compare(u, record, name, password, why) : e;
}

/* --- values of a user --- */

/* Where values of a user lie, and the key that they are encrypted with. */
typedef struct vault {
    u8 prefix[DATA + 32 + 32]; /* as far as it is known */
    u8 key[CD_XCHACHA_KEY];
} vault;

static void hash_to(u8 out[32], cd_bytes in)
{
    cd_hash32 h;
    cd_sha256(&h, in);
    memcpy(out, h.b, 32);
    cd_wipe(&h, sizeof h);
}

static vault vault_of(cd_bytes name, cd_bytes password, const cd_hash32 *chain)
{
    vault v = {.prefix = {'d'}};
    hash_to(v.prefix + 1, name);
    hash_to(v.prefix + DATA, cd_bytes_of(chain->b, 32));
    hash_to(v.key, password);
    return v;
}

static cd_bytes value_key(vault *v, const void *key, usize n)
{
    memcpy(v->prefix + DATA + 32, key, n);
    return cd_bytes_of(v->prefix, DATA + 32 + n);
}

static void put_len(cd_buf *out, usize n)
{
    cd_put_be32(cd_buf_extend(out, 4), (u32)n);
}

/* version ‖ u32 ‖ cipher text ‖ u32 ‖ nonce */
static void seal(cd_buf *out, const vault *v, cd_bytes text)
{
    u8 nonce[CD_XCHACHA_NONCE];
    cd_rng rng = cd_rng_os();
    cd_rng_fill(&rng, nonce, sizeof nonce);
    cd_buf_fill(out, 0, CODEC);
    put_len(out, text.n + CD_XCHACHA_TAG);
    cd_xchacha_seal(cd_buf_extend(out, text.n + CD_XCHACHA_TAG), v->key, nonce, text);
    put_len(out, sizeof nonce);
    cd_buf_put(out, cd_bytes_of(nonce, sizeof nonce));
}

/* Replaces what out holds by the text of a sealed value, whose length is max at most. */
static cd_err unseal(u8 *out, usize *n, usize max, const vault *v, cd_bytes sealed)
{
    cd_rd r = cd_rd_init(sealed);
    u16 version = cd_rd_be16(&r);
    cd_bytes text = cd_rd_take(&r, cd_rd_be32(&r));
    cd_bytes nonce = cd_rd_take(&r, cd_rd_be32(&r));
    if (cd_rd_end(&r) != CD_OK || version != 0 || nonce.n != CD_XCHACHA_NONCE || text.n < CD_XCHACHA_TAG ||
        text.n - CD_XCHACHA_TAG > max) {
        return CD_ECORRUPT;
    }
    *n = text.n - CD_XCHACHA_TAG;
    return cd_xchacha_open(out, v->key, nonce.p, text) == CD_OK ? CD_OK : CD_ECORRUPT;
}

static cd_err value_get(cd_users *u, u8 *out, usize *n, usize max, vault *v, const void *key, usize key_n)
{
    cd_buf sealed = {0};
    cd_err e = cd_kv_get(u->part, &sealed, value_key(v, key, key_n));
    e = e == CD_OK ? unseal(out, n, max, v, cd_buf_bytes(&sealed)) : e;
    cd_buf_fini(&sealed);
    return e;
}

/* The addresses of a user on a chain: version ‖ u32 ‖ 20 bytes each. */
typedef struct book {
    u8 *text; /* room for one address more than there are */
    u32 cnt;
} book;

enum { BOOK_HEAD = CODEC + 4, BOOK_MAX = BOOK_HEAD + 20 * CD_USERS_KEYS_MAX };

static const u8 book_key[32];

static cd_err book_get(cd_users *u, book *out, vault *v)
{
    usize n = BOOK_HEAD;
    *out = (book){.text = cd_alloc(BOOK_MAX + 20)};
    memset(out->text, 0, BOOK_HEAD);
    cd_err e = value_get(u, out->text, &n, BOOK_MAX, v, book_key, sizeof book_key);
    if (e == CD_OK) {
        out->cnt = n < BOOK_HEAD ? UINT32_MAX : cd_be32(out->text + CODEC);
        e = out->cnt <= CD_USERS_KEYS_MAX && n == BOOK_HEAD + (usize)20 * out->cnt ? CD_OK : CD_ECORRUPT;
    }
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err read_secrets(cd_users *u, cd_secret *out, const book *b, vault *v)
{
    cd_secret_init(out, (usize)SECRET * b->cnt);
    for (u32 i = 0; i < b->cnt; i++) {
        usize n = 0;
        cd_err e = value_get(u, out->p + (usize)SECRET * i, &n, SECRET, v, b->text + BOOK_HEAD + (usize)20 * i, 20);
        if (e != CD_OK || n != SECRET) {
            cd_secret_fini(out);
            *out = (cd_secret){0};
            return e == CD_OK || e == CD_ENOENT ? CD_ECORRUPT : e;
        }
    }
    return CD_OK;
}

static cd_err keys_locked(cd_users *u, cd_secret *out, usize *cnt, cd_bytes name, cd_bytes password,
                          const cd_hash32 *chain, cd_errinfo *why)
{
    u8 record[RECORD];
    book b = {0};
    CD_TRY(admit(u, record, name, password, why));
    vault v = vault_of(name, password, chain);
    cd_err e = book_get(u, &b, &v);
    if (e == CD_OK && b.cnt != 0) {
        e = read_secrets(u, out, &b, &v);
    }
    *cnt = e == CD_OK ? b.cnt : 0;
    cd_free(b.text);
    cd_wipe(&v, sizeof v);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "keys cannot be read: %s", cd_err_str(e));
}

cd_err cd_users_keys(cd_users *u, cd_secret *out, usize *cnt, cd_bytes name, cd_bytes password, const cd_hash32 *chain,
                     cd_errinfo *why)
{
    *out = (cd_secret){0};
    *cnt = 0;
    cd_mutex_lock(&u->lock);
    cd_err e = keys_locked(u, out, cnt, name, password, chain, why);
    cd_mutex_unlock(&u->lock);
    return e;
}

static bool book_has(const book *b, const cd_addr20 *addr)
{
    for (u32 i = 0; i < b->cnt; i++) {
        if (memcmp(b->text + BOOK_HEAD + (usize)20 * i, addr->b, 20) == 0) {
            return true;
        }
    }
    return false;
}

static cd_err write_key(cd_users *u, book *b, vault *v, const cd_addr20 *addr, const u8 secret[SECRET], cd_errinfo *why)
{
    cd_kv_batch batch = {0};
    cd_buf sealed = {0};
    memcpy(b->text + BOOK_HEAD + (usize)20 * b->cnt, addr->b, 20);
    cd_put_be32(b->text + CODEC, ++b->cnt);
    cd_kv_batch_for(&batch, u->part);
    seal(&sealed, v, cd_bytes_of(b->text, BOOK_HEAD + (usize)20 * b->cnt));
    cd_kv_batch_put(&batch, value_key(v, book_key, sizeof book_key), cd_buf_bytes(&sealed));
    sealed.n = 0;
    seal(&sealed, v, cd_bytes_of(secret, SECRET));
    cd_kv_batch_put(&batch, value_key(v, addr->b, 20), cd_buf_bytes(&sealed));
    cd_buf_fini(&sealed);
    return commit(u, &batch, why);
}

static cd_err add_locked(cd_users *u, cd_bytes name, cd_bytes password, const cd_hash32 *chain, const u8 secret[SECRET],
                         cd_errinfo *why)
{
    u8 record[RECORD];
    u8 pub[64];
    cd_addr20 addr;
    book b = {0};
    CD_TRY(admit(u, record, name, password, why));
    cd_err e = cd_secp256k1_pub(pub, secret);
    if (e != CD_OK) {
        return cd_fail(why, e, "this is not a private key");
    }
    cd_secp256k1_short_addr(&addr, pub);
    vault v = vault_of(name, password, chain);
    e = book_get(u, &b, &v);
    if (e != CD_OK) {
        e = cd_fail(why, e, "keys cannot be read: %s", cd_err_str(e));
    } else if (book_has(&b, &addr)) {
        e = CD_OK;
    } else if (b.cnt == CD_USERS_KEYS_MAX) {
        e = cd_fail(why, CD_ELIMIT, "keystore user has reached its limit of %d addresses", CD_USERS_KEYS_MAX);
    } else {
        e = write_key(u, &b, &v, &addr, secret, why);
    }
    cd_free(b.text);
    cd_wipe(&v, sizeof v);
    return e;
}

cd_err cd_users_add(cd_users *u, cd_bytes name, cd_bytes password, const cd_hash32 *chain, const u8 secret[32],
                    cd_errinfo *why)
{
    cd_mutex_lock(&u->lock);
    cd_err e = add_locked(u, name, password, chain, secret, why);
    cd_mutex_unlock(&u->lock);
    return e;
}

/* --- users --- */

cd_err cd_users_list(cd_users *u, cd_bytes **out, usize *cnt, cd_arena *a, cd_errinfo *why)
{
    cd_kv_iter *it = NULL;
    cd_bytes *v = cd_arena_array(a, cd_bytes, CD_USERS_MAX);
    *cnt = 0;
    cd_err e = cd_kv_iter_new(&it, u->part, &(cd_kv_range){.prefix = cd_bytes_str("u")});
    if (e == CD_OK) {
        while (*cnt < CD_USERS_MAX && cd_kv_iter_next(it)) {
            cd_bytes key = cd_kv_iter_key(it);
            v[(*cnt)++] = cd_arena_dup(a, cd_bytes_sub(key, 1, key.n - 1));
        }
        e = cd_kv_iter_err(it);
        cd_kv_iter_free(it);
    }
    *out = v;
    return e == CD_OK ? CD_OK : cd_fail(why, e, "users cannot be read: %s", cd_err_str(e));
}

/* A new user's name is free, and there is room for one more. */
static cd_err check_new(cd_users *u, cd_bytes name, cd_errinfo *why)
{
    u8 record[RECORD];
    cd_arena a = {0};
    cd_bytes *names;
    usize cnt = 0;
    CD_TRY(check_name(name, why));
    cd_err e = find(u, record, name, why);
    if (e != CD_ENOENT) {
        return e != CD_OK ? e : cd_fail(why, CD_EEXIST, "user already exists: %.*s", shown(name), (const char *)name.p);
    }
    e = cd_users_list(u, &names, &cnt, &a, why);
    cd_arena_fini(&a);
    if (e == CD_OK && cnt == CD_USERS_MAX) {
        e = cd_fail(why, CD_ELIMIT, "there are %d users, as many as this node keeps", CD_USERS_MAX);
    }
    return e;
}

static void put_user(cd_kv_batch *b, cd_bytes name, const u8 record[RECORD])
{
    u8 key[1 + CD_USERS_NAME_MAX] = {'u'};
    memcpy(key + 1, name.p, name.n);
    cd_kv_batch_put(b, cd_bytes_of(key, 1 + name.n), cd_bytes_of(record, RECORD));
}

static cd_err create_locked(cd_users *u, cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    u8 record[RECORD] = {0};
    cd_rng rng = cd_rng_os();
    cd_kv_batch b = {0};
    CD_TRY(check_new(u, name, why));
    CD_TRY(check_strength(password, why));
    cd_rng_fill(&rng, record + CODEC + HASH, SALT);
    CD_TRY(stretch(record + CODEC, password, record + CODEC + HASH, why));
    cd_kv_batch_for(&b, u->part);
    put_user(&b, name, record);
    return commit(u, &b, why);
}

cd_err cd_users_create(cd_users *u, cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    cd_mutex_lock(&u->lock);
    cd_err e = create_locked(u, name, password, why);
    cd_mutex_unlock(&u->lock);
    return e;
}

static cd_bytes data_prefix(u8 out[DATA], cd_bytes name)
{
    out[0] = 'd';
    hash_to(out + 1, name);
    return cd_bytes_of(out, DATA);
}

static cd_err remove_locked(cd_users *u, cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    u8 record[RECORD];
    u8 prefix[DATA];
    u8 key[1 + CD_USERS_NAME_MAX] = {'u'};
    cd_kv_batch b = {0};
    CD_TRY(check_name(name, why));
    cd_err e = find(u, record, name, why);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_ENOENT, "user doesn't exist: %.*s", shown(name), (const char *)name.p);
    }
    CD_TRY(e);
    CD_TRY(compare(u, record, name, password, why));
    memcpy(key + 1, name.p, name.n);
    cd_kv_batch_for(&b, u->part);
    e = cd_kv_batch_del_prefix(&b, u->part, data_prefix(prefix, name));
    if (e != CD_OK) {
        cd_kv_batch_fini(&b);
        return cd_fail(why, e, "keys cannot be read: %s", cd_err_str(e));
    }
    cd_kv_batch_del(&b, cd_bytes_of(key, 1 + name.n));
    return commit(u, &b, why);
}

cd_err cd_users_remove(cd_users *u, cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    cd_mutex_lock(&u->lock);
    cd_err e = remove_locked(u, name, password, why);
    cd_mutex_unlock(&u->lock);
    return e;
}

/* --- moving users: version ‖ hash ‖ salt ‖ u32 ‖ (u32 ‖ key ‖ u32 ‖ value) each --- */

static cd_err export_locked(cd_users *u, cd_buf *out, cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    u8 record[RECORD];
    u8 prefix[DATA];
    cd_kv_iter *it = NULL;
    u32 cnt = 0;
    CD_TRY(admit(u, record, name, password, why));
    cd_buf_put(out, cd_bytes_of(record, RECORD));
    usize cnt_at = out->n;
    put_len(out, 0);
    cd_err e = cd_kv_iter_new(&it, u->part, &(cd_kv_range){.prefix = data_prefix(prefix, name)});
    if (e == CD_OK) {
        while (cd_kv_iter_next(it)) {
            cd_bytes key = cd_kv_iter_key(it);
            cd_bytes value = cd_kv_iter_value(it);
            put_len(out, key.n - DATA);
            cd_buf_put(out, cd_bytes_sub(key, DATA, key.n - DATA));
            put_len(out, value.n);
            cd_buf_put(out, value);
            cnt++;
        }
        e = cd_kv_iter_err(it);
        cd_kv_iter_free(it);
    }
    cd_put_be32(out->p + cnt_at, cnt);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "keys cannot be read: %s", cd_err_str(e));
}

cd_err cd_users_export(cd_users *u, cd_buf *out, cd_bytes name, cd_bytes password, cd_errinfo *why)
{
    cd_mutex_lock(&u->lock);
    cd_err e = export_locked(u, out, name, password, why);
    cd_mutex_unlock(&u->lock);
    return e;
}

static cd_err read_pairs(cd_kv_batch *b, cd_bytes name, cd_rd *r, cd_errinfo *why)
{
    u8 key[DATA + KEY_MAX];
    u32 cnt = cd_rd_be32(r);
    (void)data_prefix(key, name);
    if (cnt > PAIRS_MAX) {
        return cd_fail(why, CD_ELIMIT, "a user has at most %d values", PAIRS_MAX);
    }
    for (u32 i = 0; i < cnt && r->err == CD_OK; i++) {
        cd_bytes k = cd_rd_take(r, cd_rd_be32(r));
        cd_bytes value = cd_rd_take(r, cd_rd_be32(r));
        if (k.n == 0 || k.n > KEY_MAX) {
            cd_rd_fail(r, CD_EFORMAT);
        } else {
            memcpy(key + DATA, k.p, k.n);
            cd_kv_batch_put(b, cd_bytes_of(key, DATA + k.n), value);
        }
    }
    cd_err e = cd_rd_end(r);
    return e == CD_OK ? CD_OK : cd_fail(why, CD_EFORMAT, "these are not the bytes of a user: %s", cd_err_str(e));
}

static cd_err import_locked(cd_users *u, cd_bytes name, cd_bytes password, cd_bytes user, cd_errinfo *why)
{
    u8 record[RECORD] = {0};
    cd_kv_batch b = {0};
    CD_TRY(check_new(u, name, why));
    if (user.n > CD_USERS_IMPORT_MAX) {
        return cd_fail(why, CD_ELIMIT, "a user has at most %d bytes", CD_USERS_IMPORT_MAX);
    }
    cd_rd r = cd_rd_init(user);
    cd_rd_copy(&r, record, RECORD);
    cd_kv_batch_for(&b, u->part);
    cd_err e = cd_be16(record) != 0 ? cd_fail(why, CD_EVERSION, "couldn't unmarshal: unknown codec version")
                                    : read_pairs(&b, name, &r, why);
    e = e == CD_OK ? compare(u, record, name, password, why) : e;
    if (e != CD_OK) {
        cd_kv_batch_fini(&b);
        return e;
    }
    put_user(&b, name, record);
    return commit(u, &b, why);
}

cd_err cd_users_import(cd_users *u, cd_bytes name, cd_bytes password, cd_bytes user, cd_errinfo *why)
{
    cd_mutex_lock(&u->lock);
    cd_err e = import_locked(u, name, password, user, why);
    cd_mutex_unlock(&u->lock);
    return e;
}
