/* chains/platform/l1/gather.h - what the P-Chain's state knows of an L1, as the facts of a diagnosis.
 *
 * Threading: the state's. [spec:pchain-xchain#4] */
#ifndef CD_CHAINS_PLATFORM_L1_GATHER_H
#define CD_CHAINS_PLATFORM_L1_GATHER_H

#include "chains/platform/l1/diagnosis.h"
#include "chains/platform/state/uptime.h"

/* At most so many validators of an L1 are looked at. */
enum { CD_L1_MEMBERS_MAX = 20000 };

/* cd_l1_gather reads the validators with their forecast, and the manager; all lies in a. Who is there is not known yet:
 * members is f->v, to be filled in. now_s: Unix time, from which
 * the forecast counts. Errors: CD_ENOENT when the net is no L1, CD_ELIMIT for more validators than
 * CD_L1_MEMBERS_MAX, the store's. */
cd_err cd_l1_gather(cd_l1_facts *f, cd_l1_member **members, cd_arena *a, const cd_pstate *s, const cd_l1_fee_config *c,
                    const cd_hash32 *net, u64 now_s) CD_CHECK;

/* cd_l1_look_around sets who is there, as the peers of this node tell (uptime NULL: it has none). Only a node that
 * meets the L1's validators can say who is away: one that is connected to none leaves all unknown. v is f->v. */
void cd_l1_look_around(cd_l1_facts *f, cd_l1_member *v, cd_uptime *uptime);

#endif
