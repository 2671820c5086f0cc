#include "wallet/keystore.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "crypto/ec/secp256k1.h"

#include <stdio.h>

enum {
    FILES_MAX = 10000,
    DIR_MODE = 0700,
    FILE_MODE = 0600,
    NEW_TRIES = 8, /* for a number below the order of the group; the first one nearly always is */
};

/* A file of the directory. */
typedef struct entry {
    cd_addr20 addr;
    const char *path;
} entry;

/* What a look at the directory found. */
typedef struct listing {
    cd_arena mem;
    entry *entries;
    usize cnt;
    u64 mtime_ns; /* of the directory then; 0: it may have changed since without showing */
} listing;

typedef struct unlocked {
    cd_addr20 addr;
    cd_secret key;
    u64 until_ns; /* UINT64_MAX: for ever */
} unlocked;

struct cd_keystore {
    char *dir;
    cd_scrypt_cost cost;
    const cd_clock *clock;
    cd_fs *fs;
    cd_mutex lock; /* protects what follows, up to work */
    listing now;
    unlocked *keys;
    usize keys_cnt;
    cd_mutex work; /* held while a password is stretched, whose memory is taken once, and a file is made */
};

/* --- the directory --- */

typedef struct scan {
    cd_keystore *ks;
    listing *fresh;
    cd_buf entries;
    bool has_other; /* a file that is none, perhaps not yet */
} scan;

/* As geth: what editors leave behind and what is hidden are not keys. */
static bool is_passed_over(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    usize n = strlen(name);
    return n == 0 || name[0] == '.' || name[n - 1] == '~';
}

/* The address of a file that was looked at before. */
static bool known(const listing *l, cd_addr20 *out, const char *path)
{
    usize lo = 0;
    usize hi = l->cnt;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        int c = strcmp(path, l->entries[mid].path);
        if (c == 0) {
            *out = l->entries[mid].addr;
            return true;
        }
        lo = c > 0 ? mid + 1 : lo;
        hi = c > 0 ? hi : mid;
    }
    return false;
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    scan *s = ctx;
    entry e = {0};
    cd_buf text = {0};
    if (kind != CD_FS_FILE || is_passed_over(path)) {
        return CD_OK;
    }
    if (s->fresh->cnt == FILES_MAX) {
        return CD_ELIMIT;
    }
    cd_mutex_lock(&s->ks->lock);
    bool is_key = known(&s->ks->now, &e.addr, path);
    cd_mutex_unlock(&s->ks->lock);
    if (!is_key) {
        is_key = cd_fs_read_file(s->ks->fs, &text, path, CD_KEYFILE_SIZE_MAX, NULL) == CD_OK &&
                 cd_keyfile_addr(&e.addr, cd_buf_bytes(&text), NULL) == CD_OK;
        cd_buf_fini(&text);
    }
    if (is_key) {
        e.path = cd_arena_str(&s->fresh->mem, cd_bytes_str(path));
        cd_buf_put(&s->entries, cd_bytes_of(&e, sizeof e));
        s->fresh->cnt++;
    }
    s->has_other = s->has_other || !is_key;
    return CD_OK;
}

static void install(cd_keystore *ks, listing *fresh)
{
    cd_mutex_lock(&ks->lock);
    listing old = ks->now;
    ks->now = *fresh;
    cd_mutex_unlock(&ks->lock);
    cd_arena_fini(&old.mem);
}

/* Looks at the directory again if it may have changed. A change in the moment of looking, or a file that is still being
 * written, does not move the directory's time: then the next question looks again. */
static cd_err refresh(cd_keystore *ks, cd_errinfo *why)
{
    cd_fs_stat st;
    CD_TRY(cd_fs_stat_get(ks->fs, &st, ks->dir, why));
    cd_mutex_lock(&ks->lock);
    bool is_same = ks->now.mtime_ns != 0 && ks->now.mtime_ns == st.mtime_ns;
    cd_mutex_unlock(&ks->lock);
    if (is_same) {
        return CD_OK;
    }
    listing fresh = {0};
    scan s = {.ks = ks, .fresh = &fresh};
    cd_err e = cd_fs_list(ks->fs, ks->dir, visit, &s, why);
    if (e == CD_ELIMIT) {
        e = cd_fail(why, e, "%s: more than %d files", ks->dir, FILES_MAX);
    }
    if (e != CD_OK) {
        cd_arena_fini(&fresh.mem);
    } else {
        fresh.entries = cd_arena_array(&fresh.mem, entry, fresh.cnt);
        if (fresh.cnt != 0) {
            memcpy(fresh.entries, s.entries.p, s.entries.n);
        }
        u64 wall = cd_clock_wall_ns(cd_clock_real()); /* the machine's clock, by which files are dated */
        bool is_old = wall > st.mtime_ns && wall - st.mtime_ns > CD_NS_PER_SEC;
        fresh.mtime_ns = is_old && !s.has_other ? st.mtime_ns : 0;
        install(ks, &fresh);
    }
    cd_buf_fini(&s.entries);
    return e;
}

/* The first file of an address, in the arena; NULL when there is none. */
static cd_err path_of(cd_keystore *ks, const char **out, cd_arena *a, const cd_addr20 *addr, cd_errinfo *why)
{
    *out = NULL;
    CD_TRY(refresh(ks, why));
    cd_mutex_lock(&ks->lock);
    for (usize i = 0; i < ks->now.cnt && *out == NULL; i++) {
        if (cd_addr20_eq(&ks->now.entries[i].addr, addr)) {
            *out = cd_arena_str(a, cd_bytes_str(ks->now.entries[i].path));
        }
    }
    cd_mutex_unlock(&ks->lock);
    return CD_OK;
}

bool cd_keystore_has(cd_keystore *ks, const cd_addr20 *addr)
{
    cd_arena a = {0};
    const char *path;
    bool has = path_of(ks, &path, &a, addr, NULL) == CD_OK && path != NULL;
    cd_arena_fini(&a);
    return has;
}

/* --- life --- */

cd_err cd_keystore_open(cd_keystore **out, const cd_keystore_cfg *cfg, cd_errinfo *why)
{
    cd_fs *fs = cfg->fs != NULL ? cfg->fs : cd_fs_real();
    CD_TRY(cd_fs_mkdirs(fs, cfg->dir, DIR_MODE, why));
    cd_keystore *ks = cd_new(cd_keystore);
    usize n = strlen(cfg->dir) + 1;
    ks->dir = cd_alloc(n);
    memcpy(ks->dir, cfg->dir, n);
    ks->fs = fs;
    ks->cost = cfg->cost.n != 0 ? cfg->cost : CD_KEYFILE_STANDARD;
    ks->clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    cd_mutex_init(&ks->lock);
    cd_mutex_init(&ks->work);
    cd_err e = refresh(ks, why);
    if (e != CD_OK) {
        cd_keystore_close(ks);
        return e;
    }
    *out = ks;
    return CD_OK;
}

void cd_keystore_close(cd_keystore *ks)
{
    if (ks == NULL) {
        return;
    }
    for (usize i = 0; i < ks->keys_cnt; i++) {
        cd_secret_fini(&ks->keys[i].key);
    }
    cd_free(ks->keys);
    cd_arena_fini(&ks->now.mem);
    cd_mutex_fini(&ks->lock);
    cd_mutex_fini(&ks->work);
    cd_free(ks->dir);
    cd_free(ks);
}

/* --- unlocked keys; the lock is held --- */

static unlocked *find_key(const cd_keystore *ks, const cd_addr20 *addr)
{
    for (usize i = 0; i < ks->keys_cnt; i++) {
        if (cd_addr20_eq(&ks->keys[i].addr, addr)) {
            return &ks->keys[i];
        }
    }
    return NULL;
}

static void drop_key(cd_keystore *ks, unlocked *k)
{
    cd_secret_fini(&k->key);
    *k = ks->keys[--ks->keys_cnt];
}

/* Wipes what is over and gives when the next one will be. */
static u64 drop_expired(cd_keystore *ks)
{
    u64 now = cd_clock_mono_ns(ks->clock);
    u64 next = UINT64_MAX;
    for (usize i = ks->keys_cnt; i > 0; i--) {
        unlocked *k = &ks->keys[i - 1];
        if (k->until_ns <= now) {
            drop_key(ks, k);
        } else {
            next = cd_min_u64(next, k->until_ns);
        }
    }
    return next;
}

/* Keeps a key unlocked until a time; takes the secret. */
static void keep_key(cd_keystore *ks, const cd_addr20 *addr, cd_secret *key, u64 until_ns)
{
    unlocked *k = find_key(ks, addr);
    if (k != NULL) {
        cd_secret_fini(key);
        k->until_ns = k->until_ns == UINT64_MAX ? UINT64_MAX : until_ns;
        return;
    }
    ks->keys = cd_realloc(ks->keys, (ks->keys_cnt + 1) * sizeof *ks->keys);
    ks->keys[ks->keys_cnt++] = (unlocked){.addr = *addr, .key = *key, .until_ns = until_ns};
    *key = (cd_secret){0};
}

u64 cd_keystore_expire(cd_keystore *ks)
{
    cd_mutex_lock(&ks->lock);
    u64 next = drop_expired(ks);
    cd_mutex_unlock(&ks->lock);
    return next;
}

cd_err cd_keystore_key(cd_keystore *ks, u8 out[CD_KEYFILE_SECRET], const cd_addr20 *addr)
{
    cd_mutex_lock(&ks->lock);
    (void)drop_expired(ks);
    const unlocked *k = find_key(ks, addr);
    if (k != NULL) {
        memcpy(out, k->key.p, CD_KEYFILE_SECRET);
    }
    cd_mutex_unlock(&ks->lock);
    return k != NULL ? CD_OK : CD_EACCES;
}

void cd_keystore_lock(cd_keystore *ks, const cd_addr20 *addr)
{
    cd_mutex_lock(&ks->lock);
    unlocked *k = find_key(ks, addr);
    if (k != NULL) {
        drop_key(ks, k);
    }
    cd_mutex_unlock(&ks->lock);
}

cd_err cd_keystore_list(cd_keystore *ks, const cd_keystore_account **out, usize *cnt, cd_arena *a, cd_errinfo *why)
{
    CD_TRY(refresh(ks, why));
    cd_mutex_lock(&ks->lock);
    (void)drop_expired(ks);
    usize n = 0;
    cd_keystore_account *list = cd_arena_array(a, cd_keystore_account, ks->now.cnt);
    for (usize i = 0; i < ks->now.cnt; i++) {
        const entry *e = &ks->now.entries[i];
        bool is_second = false;
        for (usize j = 0; j < n && !is_second; j++) {
            is_second = cd_addr20_eq(&list[j].addr, &e->addr);
        }
        if (!is_second) {
            list[n++] = (cd_keystore_account){
                .addr = e->addr,
                .path = cd_arena_str(a, cd_bytes_str(e->path)),
                .is_unlocked = find_key(ks, &e->addr) != NULL,
            };
        }
    }
    cd_mutex_unlock(&ks->lock);
    *out = list;
    *cnt = n;
    return CD_OK;
}

/* --- files --- */

cd_err cd_keystore_open_key(cd_keystore *ks, cd_secret *out, const cd_addr20 *addr, cd_bytes password, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_secret key = {0};
    const char *path;
    u8 pub[64];
    cd_addr20 got;
    cd_err e = path_of(ks, &path, &a, addr, why);
    if (e == CD_OK && path == NULL) {
        e = cd_fail(why, CD_ENOENT, "no key for given address or file");
    }
    e = e != CD_OK ? e : cd_fs_read_file(ks->fs, &text, path, CD_KEYFILE_SIZE_MAX, why);
    if (e == CD_OK) {
        cd_mutex_lock(&ks->work);
        e = cd_keyfile_dec(&key, cd_buf_bytes(&text), password, why);
        cd_mutex_unlock(&ks->work);
    }
    if (e == CD_OK && cd_secp256k1_pub(pub, key.p) != CD_OK) {
        e = cd_fail(why, CD_EFORMAT, "the file holds no private key");
    }
    if (e == CD_OK) {
        cd_secp256k1_addr(&got, pub);
        if (cd_addr20_eq(&got, addr)) {
            *out = key;
            key = (cd_secret){0};
        } else {
            char have[41] = {0};
            char want[41] = {0};
            cd_hex_fmt(have, cd_bytes_of(got.b, 20));
            cd_hex_fmt(want, cd_bytes_of(addr->b, 20));
            e = cd_fail(why, CD_EFORMAT, "key content mismatch: have account %s, want %s", have, want);
        }
    }
    cd_secret_fini(&key);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return e;
}

cd_err cd_keystore_unlock(cd_keystore *ks, const cd_addr20 *addr, cd_bytes password, u64 duration_ns, cd_errinfo *why)
{
    cd_secret key = {0};
    CD_TRY(cd_keystore_open_key(ks, &key, addr, password, why));
    u64 until = UINT64_MAX;
    if (duration_ns != 0 && !cd_add_u64(&until, cd_clock_mono_ns(ks->clock), duration_ns)) {
        until = UINT64_MAX;
    }
    cd_mutex_lock(&ks->lock);
    (void)drop_expired(ks);
    keep_key(ks, addr, &key, until);
    cd_mutex_unlock(&ks->lock);
    return CD_OK;
}

/* UTC--2026-11-21T14-05-02.118000000Z--<address>, which file systems of every kind take. */
static const char *name_of(cd_keystore *ks, cd_arena *a, const cd_addr20 *addr)
{
    char time[CD_TIME_TEXT_LEN];
    char digits[40];
    u64 wall = cd_clock_wall_ns(ks->clock);
    cd_time_fmt(time, wall);
    for (usize i = 0; i < sizeof time; i++) {
        if (time[i] == ':') {
            time[i] = '-';
        }
    }
    cd_hex_fmt(digits, cd_bytes_of(addr->b, 20));
    return cd_arena_fmt(a, "%s/UTC--%.19s.%09lluZ--%.40s", ks->dir, time, (unsigned long long)(wall % CD_NS_PER_SEC),
                        digits);
}

/* The caller holds work. */
static cd_err write_key(cd_keystore *ks, const cd_addr20 *addr, const u8 secret[CD_KEYFILE_SECRET], cd_bytes password,
                        cd_errinfo *why)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_rng rng = cd_rng_os();
    cd_err e = cd_keyfile_enc(&text, secret, password, &ks->cost, &rng);
    if (e != CD_OK) {
        e = cd_fail(why, e, "%s", cd_err_str(e));
    } else {
        const char *path = name_of(ks, &a, addr);
        e = cd_fs_replace_file(ks->fs, path, cd_buf_bytes(&text), FILE_MODE, why);
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return e;
}

cd_err cd_keystore_import(cd_keystore *ks, cd_addr20 *out, const u8 secret[CD_KEYFILE_SECRET], cd_bytes password,
                          cd_errinfo *why)
{
    u8 pub[64];
    cd_addr20 addr;
    cd_err e = cd_secp256k1_pub(pub, secret);
    if (e != CD_OK) {
        return cd_fail(why, e, "not a private key: zero, or not below the order of the group");
    }
    cd_secp256k1_addr(&addr, pub);
    cd_mutex_lock(&ks->work);
    e = cd_keystore_has(ks, &addr) ? cd_fail(why, CD_EEXIST, "account already exists")
                                   : write_key(ks, &addr, secret, password, why);
    cd_mutex_unlock(&ks->work);
    if (e == CD_OK) {
        *out = addr;
    }
    return e;
}

cd_err cd_keystore_new(cd_keystore *ks, cd_addr20 *out, cd_bytes password, cd_errinfo *why)
{
    cd_rng rng = cd_rng_os();
    cd_secret key;
    cd_err e = CD_EKEY;
    cd_secret_init(&key, CD_KEYFILE_SECRET);
    for (int i = 0; e == CD_EKEY && i < NEW_TRIES; i++) {
        cd_rng_fill(&rng, key.p, key.n);
        e = cd_keystore_import(ks, out, key.p, password, why);
    }
    cd_secret_fini(&key);
    return e;
}
