/* node/peers/catchup.h - which chains still catch up with their nets: the first one of all (it says who validates)
 * before the others, all of a net before any of them decides.
 *
 *   P: begins ─► synced ───────────────────┐
 *   X:            └► begins ─► synced ──────┼► all synced: each runs ─► is_running
 *   C:            └► begins ────► synced ───┘
 *
 * Threading: shared; chains ask and tell from their executors, health and services from the loop. [spec:p2p#10] */
#ifndef CD_NODE_CATCHUP_H
#define CD_NODE_CATCHUP_H

#include "codec/ids.h"

typedef struct cd_catchup cd_catchup;

/* The place of a chain in it. */
typedef struct cd_catchup_chain cd_catchup_chain;

/* cd_catchup_new makes one without chains; cd_catchup_free: when all have left; NULL is allowed. */
cd_catchup *cd_catchup_new(void);
void cd_catchup_free(cd_catchup *c);

/* cd_catchup_join: a chain of a net is there, which has to catch up; is_first: before all others. cd_catchup_leave
 * forgets it; NULL is allowed. */
cd_catchup_chain *cd_catchup_join(cd_catchup *c, const cd_hash32 *net, bool is_first);
void cd_catchup_leave(cd_catchup_chain *chain);

/* cd_catchup_synced says that a chain has caught up, cd_catchup_running that it decides now. */
void cd_catchup_synced(cd_catchup_chain *chain);
void cd_catchup_running(cd_catchup_chain *chain);

/* cd_catchup_may_begin: the first chain has caught up, or this is it. cd_catchup_may_run: all of its net have. */
bool cd_catchup_may_begin(const cd_catchup_chain *chain);
bool cd_catchup_may_run(const cd_catchup_chain *chain);

/* cd_catchup_is_running: of one chain. */
bool cd_catchup_is_running(const cd_catchup_chain *chain);

/* cd_catchup_late gives the nets that have chains which do not run yet, each once, max at most, and their number. */
usize cd_catchup_late(cd_catchup *c, cd_hash32 *out, usize max);

#endif
