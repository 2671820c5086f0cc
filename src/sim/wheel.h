/* sim/wheel.h - what is still to happen in a virtual world, in order of time.
 *
 *   bucket:  0     1     2     3  …        of equal width, in a ring of 16,384; a bucket is a list of chunks with mail
 *           [..]  [.]   [ ]   [...]        in it, one behind the other, and is sorted when its time has come
 *
 * Nothing may be put into the bucket that is being emptied, nor more than the ring's length ahead: so the mail of one
 * bucket can be delivered to different nodes in any order, also at the same time. Within a bucket it comes by node, for
 * each node by time, sender and the sender's own count, whatever the order in which it was put. Chunks are used again;
 * nothing is taken for a letter alone. Threading: confined. */
#ifndef CD_SIM_WHEEL_H
#define CD_SIM_WHEEL_H

#include "base/bytes.h"

enum {
    CD_SIM_BUCKETS = 1 << 14,
    CD_SIM_MAIL_MAX = 3072, /* bytes that follow a letter */
};

/* A letter, or a node's alarm to itself; n bytes follow. */
typedef struct cd_sim_mail {
    u64 at_us;
    u64 order; /* sender and its count, so that no two are equal */
    u64 arg;
    u32 to;
    u32 from;
    u32 life; /* life of the receiver that the letter is for; 0: any life */
    u16 kind;
    u16 n;
} cd_sim_mail;

typedef struct cd_sim_wheel cd_sim_wheel;

/* cd_sim_wheel_new makes an empty wheel with buckets of so many microseconds, the first of which begins at 0;
 * cd_sim_wheel_free frees it. */
cd_sim_wheel *cd_sim_wheel_new(u64 bucket_us) __attribute__((returns_nonnull));
void cd_sim_wheel_free(cd_sim_wheel *w); /* NULL is allowed */

/* cd_sim_wheel_put copies a letter and the m->n bytes that follow it. A time in the current bucket or before is moved
 * to the next bucket. False: the time is too far ahead, the letter was not taken. */
bool cd_sim_wheel_put(cd_sim_wheel *w, const cd_sim_mail *m, const void *bytes);

/* cd_sim_wheel_next goes to the next bucket and gives its mail, sorted, borrowed until cd_sim_wheel_done. *start_us is
 * the time at which the bucket begins. */
const cd_sim_mail *const *cd_sim_wheel_next(cd_sim_wheel *w, u64 *start_us, u32 *cnt);
void cd_sim_wheel_done(cd_sim_wheel *w);

/* cd_sim_wheel_cnt counts the letters that wait. */
u64 cd_sim_wheel_cnt(const cd_sim_wheel *w);

/* cd_sim_mail_bytes borrows the bytes that follow a letter. */
CD_INLINE cd_bytes cd_sim_mail_bytes(const cd_sim_mail *m)
{
    return cd_bytes_of(m + 1, m->n);
}

#endif
