/* chains/platform/state/uptime.h - how long each validator of the primary network was reachable, as this node saw it.
 *
 * Until tracking starts everybody counts as reachable, also for the time that the node was off. Records lie in the
 * chain's part of the store, but no other node need have the same: they decide only what this one prefers at the end
 * of a staking period, and what it shows. Time is the wall clock's. Threading: shared. [spec:consensus#8] */
#ifndef CD_PLATFORM_UPTIME_H
#define CD_PLATFORM_UPTIME_H

#include "base/os/clock.h"
#include "chains/platform/state/stakers.h"

/* More peers at a time than this are not told apart: the others count as away. */
enum { CD_UPTIME_PEERS_MAX = 1 << 16 };

typedef struct cd_uptime cd_uptime;

/* cd_uptime_new keeps its records in kv; it borrows kv and clock. */
cd_uptime *cd_uptime_new(cd_kv *kv, const cd_clock *clock) __attribute__((returns_nonnull));
void cd_uptime_free(cd_uptime *u); /* NULL is allowed */

/* cd_uptime_start begins to track (the chain is bootstrapped), cd_uptime_stop ends it and writes what is known. In
 * between, cd_uptime_save writes it, so that less is lost when the process is killed. */
cd_err cd_uptime_start(cd_uptime *u) CD_CHECK;
cd_err cd_uptime_save(cd_uptime *u) CD_CHECK;
cd_err cd_uptime_stop(cd_uptime *u) CD_CHECK;

/* cd_uptime_connected and _disconnected tell that a peer has come and gone; this node itself never goes. */
void cd_uptime_connected(cd_uptime *u, const cd_node_id *node);
cd_err cd_uptime_disconnected(cd_uptime *u, const cd_node_id *node) CD_CHECK;
bool cd_uptime_is_connected(cd_uptime *u, const cd_node_id *node);

/* cd_uptime_get gives for how many of the span seconds since a validator's start it was reachable; span 0: it has just
 * begun. */
cd_err cd_uptime_get(cd_uptime *u, u64 *up_s, u64 *span_s, const cd_p_staker *validator) CD_CHECK;

#endif
