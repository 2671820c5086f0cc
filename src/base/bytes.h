/* base/bytes.h - borrowed byte ranges, fixed byte strings, and big/little-endian loads and stores.
 *
 * A cd_bytes never owns its memory: the comment of whoever hands one out names the lender. Fixed
 * byte strings are structs so that a hash cannot be passed where an address is meant.
 * Threading: pure. */
#ifndef CD_BASE_BYTES_H
#define CD_BASE_BYTES_H

#include "base/base.h"

#include <string.h>

/* A borrowed, read-only range. p may be NULL when n == 0. */
typedef struct cd_bytes {
    const u8 *p;
    usize n;
} cd_bytes;

/* 32 bytes in wire order: hashes, storage keys, big-endian words. */
typedef struct cd_hash32 {
    u8 b[32];
} cd_hash32;

/* A 20-byte account address. */
typedef struct cd_addr20 {
    u8 b[20];
} cd_addr20;

/* cd_bytes_of borrows n bytes at p. */
CD_INLINE cd_bytes cd_bytes_of(const void *p, usize n)
{
    return (cd_bytes){.p = (const u8 *)p, .n = n};
}

/* cd_bytes_str borrows a NUL-terminated string without its NUL. */
CD_INLINE cd_bytes cd_bytes_str(const char *s)
{
    return cd_bytes_of(s, strlen(s));
}

/* cd_bytes_sub narrows to [off, off+n); the caller has checked that the range lies inside. */
CD_INLINE cd_bytes cd_bytes_sub(cd_bytes b, usize off, usize n)
{
    return (cd_bytes){.p = off == 0 ? b.p : b.p + off, .n = n};
}

CD_INLINE bool cd_bytes_eq(cd_bytes a, cd_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* cd_bytes_cmp orders lexicographically, a prefix before what it is a prefix of: <0, 0, >0. */
CD_INLINE int cd_bytes_cmp(cd_bytes a, cd_bytes b)
{
    usize n = a.n < b.n ? a.n : b.n;
    int c = n == 0 ? 0 : memcmp(a.p, b.p, n);
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

CD_INLINE bool cd_hash32_eq(const cd_hash32 *a, const cd_hash32 *b)
{
    return memcmp(a->b, b->b, 32) == 0;
}

CD_INLINE bool cd_addr20_eq(const cd_addr20 *a, const cd_addr20 *b)
{
    return memcmp(a->b, b->b, 20) == 0;
}

CD_INLINE bool cd_hash32_is_zero(const cd_hash32 *a)
{
    u64 w[4];
    memcpy(w, a->b, 32);
    return (w[0] | w[1] | w[2] | w[3]) == 0;
}

CD_INLINE bool cd_addr20_is_zero(const cd_addr20 *a)
{
    static const cd_addr20 zero;
    return memcmp(a->b, zero.b, 20) == 0;
}

/* Unaligned loads and stores; be = big-endian, le = little-endian. */
CD_INLINE u64 cd_be64(const u8 *p)
{
    u64 v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

CD_INLINE u32 cd_be32(const u8 *p)
{
    u32 v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

CD_INLINE u16 cd_be16(const u8 *p)
{
    return (u16)((u16)(p[0] << 8) | p[1]);
}

CD_INLINE void cd_put_be64(u8 *p, u64 v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}

CD_INLINE void cd_put_be32(u8 *p, u32 v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}

CD_INLINE void cd_put_be16(u8 *p, u16 v)
{
    p[0] = (u8)(v >> 8);
    p[1] = (u8)v;
}

CD_INLINE u64 cd_le64(const u8 *p)
{
    u64 v;
    memcpy(&v, p, 8);
    return v;
}

CD_INLINE u32 cd_le32(const u8 *p)
{
    u32 v;
    memcpy(&v, p, 4);
    return v;
}

CD_INLINE void cd_put_le64(u8 *p, u64 v)
{
    memcpy(p, &v, 8);
}
CD_INLINE void cd_put_le32(u8 *p, u32 v)
{
    memcpy(p, &v, 4);
}

#endif
