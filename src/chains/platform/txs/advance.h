/* chains/platform/txs/advance.h - what passes with time: stakers come, L1 validators pay and end, gas recovers.
 *
 *   chain time ──► min(now, next change) ──► advance: pending become current, permissioned ones leave, L1s pay
 *
 * Time never passes a change of stakers: there is a block at each. Stakers with a reward leave by a proposal, not by
 * time. Threading: that of the state. [spec:pchain-xchain#5] [spec:pchain-xchain#7.3] */
#ifndef CD_CHAINS_PLATFORM_TXS_ADVANCE_H
#define CD_CHAINS_PLATFORM_TXS_ADVANCE_H

#include "chains/platform/state/state.h"
#include "chains/platform/txs/rules.h"

/* A block may be this far ahead of the clock, seconds. */
enum { CD_P_SYNC_BOUND_S = 10 };

/* cd_p_next_change gives the next time at which a staker comes or goes or the money of an L1 validator ends, at most
 * cap. */
cd_err cd_p_next_change(u64 *out, const cd_pstate *s, const cd_p_rules *rules, u64 cap) CD_CHECK;

/* cd_p_next_time gives the time of a block that is built now. is_capped: it is that of a change, so that the block has
 * a reason. */
cd_err cd_p_next_time(u64 *out, bool *is_capped, const cd_pstate *s, const cd_p_rules *rules, u64 now) CD_CHECK;

/* cd_p_time_ok: may the chain move to that time? Errors: CD_EINVAL. */
cd_err cd_p_time_ok(const cd_pstate *s, const cd_p_rules *rules, u64 time, u64 now, cd_errinfo *why) CD_CHECK;

/* cd_p_advance moves a state to a time that cd_p_time_ok allows; changed tells whether validators changed. */
cd_err cd_p_advance(bool *changed, const cd_pstate *s, const cd_p_rules *rules, u64 time) CD_CHECK;

/* cd_p_evict ends L1 validators that cannot pay one more second, behind the transactions of a block. */
cd_err cd_p_evict(bool *changed, const cd_pstate *s, const cd_p_rules *rules) CD_CHECK;

#endif
