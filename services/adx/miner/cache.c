#include "services/adx/miner/cache.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/lru.h"

enum { CHECK_STEP = 1 << 18, PATH_HEX = 64 };

typedef struct object {
    cd_hash32 digest;
    u64 size;
    u64 mtime_ns; /* of the file that was read against its digest; 0: not yet */
} object;

struct cd_cache {
    cd_fs *fs;
    cd_buf dir; /* with a slash and a NUL at its end */
    u64 size, hits, misses;
    cd_lru *objects;
    cd_hmap coming; /* digests that are on their way */
};

/* The path of an object; the caller frees it. */
static char *path_of(const cd_cache *c, const cd_hash32 *digest)
{
    cd_buf b = {0};
    cd_buf_put(&b, cd_buf_bytes(&c->dir));
    cd_hex_fmt((char *)cd_buf_extend(&b, PATH_HEX), cd_bytes_of(digest->b, 32));
    (void)cd_buf_cstr(&b);
    return (char *)b.p;
}

/* What leaves the cache leaves the disk. */
static void on_drop(void *ctx, void *val)
{
    cd_cache *c = ctx;
    object *o = val;
    char *path = path_of(c, &o->digest);
    if (c->size != 0) { /* 0: the cache is being closed */
        cd_err e = cd_fs_remove_tree(c->fs, path, NULL);
        (void)e; /* it is found again at the next start */
    }
    cd_free(path);
    cd_free(o);
}

static cd_err enlist(cd_cache *c, const cd_hash32 *digest, u64 size, u64 mtime_ns)
{
    object *o = cd_new(object);
    *o = (object){.digest = *digest, .size = size, .mtime_ns = mtime_ns};
    if (!cd_lru_put(c->objects, digest, o, size)) {
        cd_free(o);
        return CD_ELIMIT;
    }
    return CD_OK;
}

static cd_err on_file(void *ctx, const char *path, cd_fs_kind kind)
{
    cd_cache *c = ctx;
    cd_hash32 digest;
    cd_fs_stat st;
    const char *name = path + c->dir.n;
    bool is_object = kind == CD_FS_FILE && strlen(path) == c->dir.n + PATH_HEX &&
                     cd_hex_parse(digest.b, cd_bytes_of(name, PATH_HEX)) == CD_OK;
    if (!is_object) {
        return CD_OK;
    }
    CD_TRY(cd_fs_stat_get(c->fs, &st, path, NULL));
    if (st.size > c->size / 4 || enlist(c, &digest, st.size, 0) != CD_OK) {
        return cd_fs_remove_tree(c->fs, path, NULL);
    }
    return CD_OK;
}

cd_err cd_cache_open(cd_cache **out, cd_fs *fs, const char *dir, u64 size, cd_errinfo *why)
{
    CD_TRY(cd_fs_mkdirs(fs, dir, 0700, why));
    cd_cache *c = cd_new(cd_cache);
    c->fs = fs;
    c->size = size;
    cd_bytes trimmed = cd_bytes_str(dir);
    while (trimmed.n > 1 && trimmed.p[trimmed.n - 1] == '/') {
        trimmed.n--;
    }
    cd_buf_put(&c->dir, trimmed);
    c->objects = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), size, on_drop, c);
    cd_hmap_init(&c->coming, CD_HASH_KEYED, sizeof(cd_hash32), 0);
    cd_buf listed = {0};
    cd_buf_put(&listed, trimmed);
    cd_buf_u8(&c->dir, '/');
    cd_err e = cd_fs_list(fs, cd_buf_cstr(&listed), on_file, c, why);
    cd_buf_fini(&listed);
    if (e != CD_OK) {
        cd_cache_close(c);
        return e;
    }
    *out = c;
    return CD_OK;
}

void cd_cache_close(cd_cache *c)
{
    if (c != NULL) {
        c->size = 0;
        cd_lru_free(c->objects);
        cd_hmap_fini(&c->coming);
        cd_buf_fini(&c->dir);
        cd_free(c);
    }
}

/* --- in --- */

static void in_end(cd_cache_in *in)
{
    (void)cd_hmap_del(&in->cache->coming, &in->digest);
    cd_free(in->path);
    in->path = NULL;
}

cd_err cd_cache_in_open(cd_cache_in *in, cd_cache *c, const cd_hash32 *digest, u64 size, cd_errinfo *why)
{
    if (size > c->size / 4) {
        return cd_fail(why, CD_ELIMIT, "an object of %llu bytes is more than a quarter of the cache",
                       (unsigned long long)size);
    }
    if (cd_lru_get(c->objects, digest) != NULL || cd_hmap_get(&c->coming, digest) != NULL) {
        return CD_EEXIST;
    }
    *in = (cd_cache_in){.cache = c, .digest = *digest, .size = size};
    in->path = path_of(c, digest);
    cd_sha256_init(&in->hash);
    cd_err e = cd_fs_remove_tree(c->fs, in->path, why); /* what a crash left */
    if (e == CD_OK) {
        e = cd_fs_out_open(&in->file, c->fs, in->path, 0600, why);
    }
    if (e != CD_OK) {
        cd_free(in->path);
        return e;
    }
    (void)cd_hmap_put(&c->coming, NULL, digest);
    return CD_OK;
}

void cd_cache_in_drop(cd_cache_in *in)
{
    cd_fs_out_drop(&in->file);
    in_end(in);
}

cd_err cd_cache_in_put(cd_cache_in *in, cd_bytes data, cd_errinfo *why)
{
    cd_err e = data.n <= in->size - in->got ? CD_OK : cd_fail(why, CD_ELIMIT, "more bytes than were announced");
    if (e == CD_OK) {
        cd_sha256_update(&in->hash, data);
        in->got += data.n;
        e = cd_fs_out_put(&in->file, data, why);
    }
    if (e != CD_OK) {
        cd_cache_in_drop(in);
    }
    return e;
}

cd_err cd_cache_in_close(cd_cache_in *in, cd_errinfo *why)
{
    cd_hash32 digest;
    cd_fs_stat st = {0};
    cd_sha256_final(&in->hash, &digest);
    cd_err e = in->got != in->size                   ? cd_fail(why, CD_ESHORT, "fewer bytes than were announced")
               : !cd_hash32_eq(&digest, &in->digest) ? cd_fail(why, CD_EPROOF, "content has another digest")
                                                     : CD_OK;
    if (e != CD_OK) {
        cd_cache_in_drop(in);
        return e;
    }
    e = cd_fs_out_close(&in->file, why);
    if (e != CD_OK) {
        cd_cache_in_drop(in);
        return e;
    }
    e = cd_fs_stat_get(in->cache->fs, &st, in->path, why);
    if (e == CD_OK) {
        e = enlist(in->cache, &in->digest, in->size, st.mtime_ns);
    }
    in_end(in);
    return e;
}

/* --- out --- */

/* Reads a whole file against its digest. */
static cd_err verify(cd_cache *c, const object *o, const char *path, cd_errinfo *why)
{
    cd_sha256_ctx hash;
    cd_hash32 digest;
    cd_buf piece = {0};
    cd_err e = CD_OK;
    cd_sha256_init(&hash);
    for (u64 at = 0; e == CD_OK && at < o->size; at += CHECK_STEP) {
        cd_buf_clear(&piece);
        e = cd_fs_read_at(c->fs, &piece, path, at, (usize)cd_min_u64(CHECK_STEP, o->size - at), why);
        cd_sha256_update(&hash, cd_buf_bytes(&piece));
    }
    cd_buf_fini(&piece);
    cd_sha256_final(&hash, &digest);
    if (e != CD_OK) {
        return e;
    }
    return cd_hash32_eq(&digest, &o->digest) ? CD_OK
                                             : cd_fail(why, CD_ECORRUPT, "%s: content has another digest", path);
}

/* Makes sure that the file is what was admitted; what is not leaves the cache. */
static cd_err trust(cd_cache *c, object *o, const char *path, cd_errinfo *why)
{
    cd_fs_stat st;
    cd_err e = cd_fs_stat_get(c->fs, &st, path, why);
    if (e == CD_OK && st.size == o->size && o->mtime_ns != 0 && st.mtime_ns == o->mtime_ns) {
        return CD_OK;
    }
    if (e == CD_OK && st.size != o->size) {
        e = cd_fail(why, CD_ECORRUPT, "%s: has another size", path);
    }
    if (e == CD_OK) {
        e = verify(c, o, path, why);
    }
    if (e == CD_OK) {
        o->mtime_ns = st.mtime_ns;
    } else if (e == CD_ECORRUPT || e == CD_ENOENT || e == CD_ESHORT) {
        cd_hash32 digest = o->digest;
        (void)cd_lru_del(c->objects, &digest);
        e = CD_ECORRUPT;
    }
    return e;
}

cd_err cd_cache_find(cd_cache *c, u64 *size, const cd_hash32 *digest, cd_errinfo *why)
{
    object *o = cd_lru_get(c->objects, digest);
    if (o == NULL) {
        c->misses++;
        return CD_ENOENT;
    }
    char *path = path_of(c, digest);
    u64 found = o->size;
    cd_err e = trust(c, o, path, why);
    cd_free(path);
    if (e != CD_OK) {
        c->misses++;
        return e;
    }
    c->hits++;
    *size = found;
    return CD_OK;
}

cd_err cd_cache_read(cd_cache *c, cd_buf *out, const cd_hash32 *digest, cd_byte_range range, cd_errinfo *why)
{
    object *o = cd_lru_get(c->objects, digest);
    if (o == NULL) {
        return CD_ENOENT;
    }
    if (range.first > range.last || range.last >= o->size) {
        return CD_ERANGE;
    }
    char *path = path_of(c, digest);
    cd_err e = trust(c, o, path, why);
    if (e == CD_OK) {
        e = cd_fs_read_at(c->fs, out, path, range.first, (usize)(range.last - range.first + 1), why);
    }
    cd_free(path);
    return e;
}

cd_cache_stats cd_cache_stats_get(const cd_cache *c)
{
    return (cd_cache_stats){.size = c->size,
                            .used = cd_lru_cost(c->objects),
                            .objects = cd_lru_cnt(c->objects),
                            .hits = c->hits,
                            .misses = c->misses};
}
