/* What the parts of exec.h share. */
#ifndef CD_CHAINS_PLATFORM_TXS_EXEC_PRIV_H
#define CD_CHAINS_PLATFORM_TXS_EXEC_PRIV_H

#include "chains/platform/txs/exec.h"
#include "chains/platform/txs/words.h"
#include "chains/utxo/store.h"

extern const cd_hash32 cd__p_primary; /* the zero ID: of the primary network, and of this chain */

/* --- money: flow.c --- */

/* What a transaction spends, and what it has to cover. All of it is borrowed. */
typedef struct cd__flow {
    cd_arena *a; /* of the transaction */
    const cd_ptx *tx;
    u32 cred_cnt;               /* credentials of inputs; one behind them allows something else */
    u64 now;                    /* the chain's time */
    u64 burned;                 /* what the transaction keeps of the native asset, fee not included */
    const cd_linear_list *outs; /* cd_p_output, besides those of the base; NULL: none */
    cd_utxo *imported;          /* the UTXOs of imported inputs, in order; NULL: none, or they are believed */
} cd__flow;

/* cd__flow_check: do inputs, with their credentials, cover outputs, burns and fee? */
cd_err cd__flow_check(cd_p_exec *x, const cd__flow *f, cd_errinfo *why) CD_CHECK;

/* cd__flow_write consumes the base's inputs, produces its outputs and, behind them, one more of the native asset when
 * refund is not NULL. Notes the transaction as committed. */
cd_err cd__flow_write(cd_p_exec *x, const cd__flow *f, const cd_transfer_output *refund) CD_CHECK;

/* cd__utxo_add puts one output of a transaction. */
void cd__utxo_add(cd_kv_batch *b, const cd_hash32 *tx_id, u32 idx, const cd_hash32 *asset_id, const cd_linear_any *out);

/* --- stakers: staker.c --- */

cd_err cd__exec_staker(cd_p_exec *x, cd__flow *f, cd_errinfo *why) CD_CHECK;
cd_err cd__exec_removal(cd_p_exec *x, cd__flow *f, cd_errinfo *why) CD_CHECK;

/* cd__staker_reward gives what a staker of a net will have earned at its end, and adds it to what exists. */
cd_err cd__staker_reward(const cd_pstate *s, const cd_p_rules *rules, cd_p_staker *staker) CD_CHECK;

/* --- nets and chains: net.c --- */

cd_err cd__exec_net(cd_p_exec *x, cd__flow *f, cd_errinfo *why) CD_CHECK;

/* cd__net_auth: does the last credential allow to change a net? Takes it from those of inputs. poa: the net must be one
 * whose owner admits validators. */
cd_err cd__net_auth(cd_p_exec *x, cd__flow *f, const cd_hash32 *net, const cd_linear_any *auth, bool poa,
                    cd_errinfo *why) CD_CHECK;
/* cd__auth is that with owners at hand. */
cd_err cd__auth(cd_p_exec *x, cd__flow *f, const cd_owners *owners, const cd_linear_any *auth,
                cd_errinfo *why) CD_CHECK;

/* --- other chains: move.c --- */

cd_err cd__exec_move(cd_p_exec *x, cd__flow *f, cd_errinfo *why) CD_CHECK;

/* --- L1s: l1.c --- */

cd_err cd__exec_l1(cd_p_exec *x, cd__flow *f, cd_errinfo *why) CD_CHECK;

#endif
