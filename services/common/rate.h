/* services/common/rate.h - how often somebody may call: a number of calls a second, by name.
 *
 * A window is a second of the wall clock; what was not used in it is lost. At most `names_max` callers are remembered,
 * the one that called longest ago is forgotten first, and may then begin its second anew: names are those of accounts
 * or addresses that were checked before, not what a caller may invent. Threading: confined. */
#ifndef CD_SERVICES_COMMON_RATE_H
#define CD_SERVICES_COMMON_RATE_H

#include "base/mem/buf.h"

enum { CD_RATE_NAME_MAX = 64 }; /* bytes of a name that count */

typedef struct cd_rate cd_rate;

/* cd_rate_new remembers nobody yet; cd_rate_free: NULL is allowed. */
cd_rate *cd_rate_new(usize names_max);
void cd_rate_free(cd_rate *r);

/* What is left of a window after a call. */
typedef struct cd_rate_left {
    bool is_in;    /* the call may be made; false: it is one too many, and was not counted */
    u32 limit;     /* calls a second */
    u32 remaining; /* of them, in this second */
    u64 reset_s;   /* when the next one begins, seconds since 1970 */
} cd_rate_left;

/* cd_rate_take counts a call of `name` at now_s, of which limit are allowed a second. */
cd_rate_left cd_rate_take(cd_rate *r, const char *name, u32 limit, u64 now_s);

/* cd_rate_put_lines appends what a caller is told: the header lines X-RateLimit-Limit, -Remaining, -Reset, and
 * Retry-After when the call was one too many. */
void cd_rate_put_lines(cd_buf *out, const cd_rate_left *left);

#endif
