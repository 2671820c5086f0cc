/* services/adx/miner/cache.h - what a miner serves from: files named by the SHA-256 of their content, least recently
 * used ones given up first.
 *
 *   DIR/<64 hex>     one object
 *
 * Only what has the digest it was asked by is kept. A file is read against its digest before the first bytes of it are
 * handed out, and again when its size or its time has changed since: what a crash or a hand made of it is deleted,
 * never served. Reads are by ranges. Bounded by bytes; an object larger than a quarter of that is not admitted.
 * Threading: confined. [spec:adx#2] [spec:adx#8] */
#ifndef CD_ADX_MINER_CACHE_H
#define CD_ADX_MINER_CACHE_H

#include "base/os/fileio.h"
#include "crypto/hash/sha2.h"

/* cd_cache_size_parse reads `--cache-size`: a number, decimals allowed, and B, KB, MB, GB, TB or KiB … in any case, all
 * powers of 1024: "10GB" is 10 * 2^30, "0.5kb" 512. Rounded down. Errors: CD_EFORMAT, CD_ERANGE (0, or 2^63 and up). */
cd_err cd_cache_size_parse(u64 *out, cd_bytes text) CD_CHECK;

/* A range of an object, both ends inclusive. */
typedef struct cd_byte_range {
    u64 first, last;
} cd_byte_range;

/* What a request's Range asks for, and the HTTP status that answers it. */
typedef enum cd_range_kind {
    CD_RANGE_WHOLE,   /* no range, or one that is to be ignored: 200 */
    CD_RANGE_PART,    /* 206 */
    CD_RANGE_OUTSIDE, /* 416 */
} cd_range_kind;

/* cd_range_parse reads a Range header for an object of size bytes [RFC 9110, 14.2]: one range of bytes; several, other
 * units and what is no range are ignored, as the RFC allows. */
cd_range_kind cd_range_parse(cd_byte_range *out, cd_bytes header, u64 size);

typedef struct cd_cache cd_cache;

/* Bytes the cache may have and has, objects in it, and requests since the start. */
typedef struct cd_cache_stats {
    u64 size, used, objects;
    u64 hits, misses;
} cd_cache_stats;

/* cd_cache_open takes up what lies in dir, which is made when missing; what is no object is left alone. fs: usually
 * cd_fs_real(). cd_cache_close accepts NULL. */
cd_err cd_cache_open(cd_cache **out, cd_fs *fs, const char *dir, u64 size, cd_errinfo *why) CD_CHECK;
void cd_cache_close(cd_cache *c);

/* An object while it comes in. */
typedef struct cd_cache_in {
    cd_cache *cache;
    cd_hash32 digest;
    u64 size, got;
    cd_sha256_ctx hash;
    char *path;
    cd_fs_out file;
} cd_cache_in;

/* cd_cache_in_open begins an object of size bytes: CD_ELIMIT above a quarter of the cache, CD_EEXIST when it is there
 * (and touched) or on its way already. cd_cache_in_put takes what came: CD_ELIMIT for more than size. cd_cache_in_close
 * keeps it: CD_ESHORT, CD_EPROOF (another digest). After any error of put or close nothing is left of it;
 * cd_cache_in_drop gives one up before. Also CD_ENOSPC, CD_EIO. */
cd_err cd_cache_in_open(cd_cache_in *in, cd_cache *c, const cd_hash32 *digest, u64 size, cd_errinfo *why) CD_CHECK;
cd_err cd_cache_in_put(cd_cache_in *in, cd_bytes data, cd_errinfo *why) CD_CHECK;
cd_err cd_cache_in_close(cd_cache_in *in, cd_errinfo *why) CD_CHECK;
void cd_cache_in_drop(cd_cache_in *in);

/* cd_cache_find gives an object's size and counts a hit; CD_ENOENT counts a miss. CD_ECORRUPT: its file was not what it
 * should be, and is gone. */
cd_err cd_cache_find(cd_cache *c, u64 *size, const cd_hash32 *digest, cd_errinfo *why) CD_CHECK;

/* cd_cache_read appends bytes [first, last] of an object that was found: CD_ERANGE, CD_ENOENT, CD_ECORRUPT, CD_EIO. */
cd_err cd_cache_read(cd_cache *c, cd_buf *out, const cd_hash32 *digest, cd_byte_range range, cd_errinfo *why) CD_CHECK;

/* cd_cache_stats_get gives the figures of now. */
cd_cache_stats cd_cache_stats_get(const cd_cache *c);

#endif
