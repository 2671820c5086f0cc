/* base/thread/mbox.h - a bounded mailbox: many threads send, one receives.
 *
 *   send ──►┐
 *   send ──►┤ [ m m m m . . . . ] ──► recv      a ring of fixed-size messages, copied in and out;
 *   send ──►┘   head      tail                  a full ring refuses (CD_EFULL)
 *
 * A receiver may have several: it sleeps once for all of them (cd_mbox_wait), and looks into the more urgent first.
 *
 * Sending never blocks and takes no lock unless the receiver sleeps. Messages of one sender arrive
 * in order. Closing lets the receiver drain what was accepted: every successful send is received
 * exactly once. Threading: shared for senders, one receiver at a time. */
#ifndef CD_BASE_MBOX_H
#define CD_BASE_MBOX_H

#include "base/base.h"

typedef struct cd_mbox cd_mbox;

/* cd_mbox_new makes room for cap messages (rounded up to a power of two, at least 2) of msg_size
 * bytes. */
cd_mbox *cd_mbox_new(usize cap, usize msg_size);

/* cd_mbox_new_beside makes another mailbox with the same receiver as first, which was made by cd_mbox_new and is freed
 * last: a message to any of them ends a cd_mbox_wait. */
cd_mbox *cd_mbox_new_beside(cd_mbox *first, usize cap, usize msg_size);

/* cd_mbox_free: no other thread uses m any more. What was not received is lost. NULL is allowed. */
void cd_mbox_free(cd_mbox *m);

/* cd_mbox_send copies one message in. Errors: CD_EFULL, CD_ECLOSED. */
cd_err cd_mbox_send(cd_mbox *m, const void *msg) CD_CHECK;

/* cd_mbox_try_recv copies the oldest message out. Errors: CD_EAGAIN when there is none, CD_ECLOSED
 * when there will never be one. */
cd_err cd_mbox_try_recv(cd_mbox *m, void *out) CD_CHECK;

/* cd_mbox_recv waits for a message of a mailbox that has none beside it; timeout_ms < 0 waits for ever. Errors:
 * CD_ETIMEOUT, CD_ECLOSED.
 */
cd_err cd_mbox_recv(cd_mbox *m, void *out, i64 timeout_ms) CD_CHECK;

/* cd_mbox_wait sleeps until first or one beside it has a message, or is closed and empty; timeout_ms < 0 waits for
 * ever. False when the time ran out. */
bool cd_mbox_wait(cd_mbox *first, i64 timeout_ms);

/* cd_mbox_close refuses further sends and wakes the receiver. May be called from any thread, more
 * than once. */
void cd_mbox_close(cd_mbox *m);

/* cd_mbox_cnt counts the waiting messages: exact for the receiver, a moment's view for others. */
usize cd_mbox_cnt(const cd_mbox *m);

#endif
