/* base/base.h - integer names, attributes and the error contract every other header builds on.
 *
 * Threading: pure. Nothing here allocates. */
#ifndef CD_BASE_BASE_H
#define CD_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Integers of so many bits; usize counts bytes and elements. */
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef size_t usize;
typedef unsigned __int128 u128;

/* Branch hints; the condition is evaluated once. */
#define CD_LIKELY(x)   __builtin_expect(!!(x), 1)
#define CD_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* CD_CHECK marks a function whose result must be looked at. */
#define CD_CHECK             __attribute__((warn_unused_result))
#define CD_NOINLINE          __attribute__((noinline))
#define CD_INLINE            static inline __attribute__((always_inline))
#define CD_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Number of elements of an array (not of a pointer). */
#define CD_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* CD_TRY returns early with the error of expr; only for functions that own nothing yet. */
#define CD_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        cd_err cd_try_err_ = (expr);                                                                                   \
        if (CD_UNLIKELY(cd_try_err_ != CD_OK)) {                                                                       \
            return cd_try_err_;                                                                                        \
        }                                                                                                              \
    } while (0)

/* CD_ASSERT states an invariant; a false one is a bug: it prints and aborts, in release builds too.
 * CD_UNREACHABLE marks a path that only a bug can take. */
#define CD_ASSERT(cond)                                                                                                \
    do {                                                                                                               \
        if (CD_UNLIKELY(!(cond))) {                                                                                    \
            cd_bug(__FILE__, __LINE__, #cond);                                                                         \
        }                                                                                                              \
    } while (0)
#define CD_UNREACHABLE() cd_bug(__FILE__, __LINE__, "unreachable")

/* cd_bug prints the place and the broken expectation to stderr and aborts. */
void cd_bug(const char *file, int line, const char *what) __attribute__((noreturn, cold));

/* Checked arithmetic on numbers that come from outside: true and *out set when the result fits. */
CD_INLINE bool cd_add_u64(u64 *out, u64 a, u64 b)
{
    u64 r;
    bool fits = !__builtin_add_overflow(a, b, &r);
    if (fits) {
        *out = r;
    }
    return fits;
}
CD_INLINE bool cd_sub_u64(u64 *out, u64 a, u64 b)
{
    u64 r;
    bool fits = !__builtin_sub_overflow(a, b, &r);
    if (fits) {
        *out = r;
    }
    return fits;
}
CD_INLINE bool cd_mul_u64(u64 *out, u64 a, u64 b)
{
    u64 r;
    bool fits = !__builtin_mul_overflow(a, b, &r);
    if (fits) {
        *out = r;
    }
    return fits;
}

CD_INLINE u64 cd_min_u64(u64 a, u64 b)
{
    return a < b ? a : b;
}
CD_INLINE u64 cd_max_u64(u64 a, u64 b)
{
    return a > b ? a : b;
}

#endif
