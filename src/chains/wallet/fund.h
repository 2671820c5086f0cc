/* chains/wallet/fund.h - who pays for a transaction: outputs that can be spent, fees, change.
 *
 *   body (outputs, exports, stakes) + what it needs ──► inputs, change, signers; the fee is what is left over
 *
 * The largest outputs are taken first, so that a transaction has few inputs. Fees of the P-Chain follow from the
 * transaction itself (gas), those of the X-Chain are fixed. Only what may be spent now and is not locked for staking
 * pays. Threading: pure. [spec:pchain-xchain#7.2] */
#ifndef CD_CHAINS_WALLET_FUND_H
#define CD_CHAINS_WALLET_FUND_H

#include "chains/platform/fees/gas.h"
#include "chains/wallet/draft.h"
#include "types/ptx.h"

/* Who pays; all of it borrowed. */
typedef struct cd_wallet_purse {
    cd_arena *mem;          /* memory of everything that is made */
    const cd_addr20 *addrs; /* who will sign, ascending */
    usize addr_cnt;
    const cd_utxo *utxos; /* outputs on the chain, in any order */
    usize utxo_cnt;
    cd_owners change; /* who gets the change */
    u64 now;          /* Unix seconds; outputs that are locked until later are not spent */
} cd_wallet_purse;

/* An amount of an asset that a transaction needs besides its fee. */
typedef struct cd_wallet_need {
    cd_hash32 asset_id;
    u64 amount;
} cd_wallet_need;

/* What the chain takes for a transaction. */
typedef struct cd_wallet_fee {
    cd_hash32 asset_id;
    u64 fixed;
    const cd_gas_dims *weights; /* weights of gas on the P-Chain; NULL: the fee is fixed */
    u64 price;                  /* base units for one gas */
    bool legacy_stakers;        /* the stakers' transactions of before Durango are still taken, and have a price */
} cd_wallet_fee;

/* The most inputs that a transaction gets. */
enum { CD_WALLET_INPUTS_MAX = 256 };

/* cd_wallet_owners gives one owner in a's memory. */
cd_owners cd_wallet_owners(cd_arena *a, const cd_addr20 *addr);

/* cd_wallet_output makes an output of an amount in a's memory. */
cd_p_output cd_wallet_output(cd_arena *a, const cd_hash32 *asset_id, u64 amount, const cd_owners *owners);

/* cd_wallet_sort_outputs puts outputs in the order that chains demand. */
void cd_wallet_sort_outputs(cd_p_output *outs, usize cnt);

/* cd_wallet_fund completes a transaction of P or X: what it needs (its outputs must be in needs) is paid out of the
 * purse, change is added to the outputs, and the slots of its inputs stand in front of those that d has. Errors:
 * CD_ERANGE with what is missing; CD_ELIMIT when funds lie in too many small outputs; those of
 * cd_gas_complexity. */
cd_err cd_wallet_fund(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_wallet_need *needs, usize need_cnt,
                      const cd_wallet_fee *fee, cd_errinfo *why) CD_CHECK;

/* Outputs that an import takes from another chain. */
typedef struct cd_wallet_taken {
    cd_linear_list ins;    /* list of cd_p_input, sorted */
    cd_wallet_slot *slots; /* slot of each input */
    cd_wallet_need *sums;  /* amount of each asset */
    usize sum_cnt;
} cd_wallet_taken;

/* cd_wallet_take takes what may be taken of the purse's outputs, the largest first, so many at most
 * (CD_WALLET_INPUTS_MAX on P and X); of one asset only when `only` names it. Errors: CD_ENOENT when nothing may be
 * taken. */
cd_err cd_wallet_take(cd_wallet_taken *out, const cd_wallet_purse *p, const cd_hash32 *only, usize most,
                      cd_errinfo *why) CD_CHECK;

/* cd_wallet_fund_import completes an import of P or X: what was taken goes to owner, less the fee; what it does not
 * pay of the fee, the purse pays. d's body has its imported inputs already. Errors: those of cd_wallet_fund. */
cd_err cd_wallet_fund_import(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_wallet_taken *taken,
                             const cd_owners *owner, const cd_wallet_fee *fee, cd_errinfo *why) CD_CHECK;

/* cd_wallet_permit gives the input by which owners agree to a transaction, and its slot. Errors: CD_EACCES when the
 * purse has not enough of their keys. */
cd_err cd_wallet_permit(cd_linear_any *auth, cd_wallet_slot *slot, const cd_wallet_purse *p, const cd_owners *owners,
                        cd_errinfo *why) CD_CHECK;

/* cd_wallet_fee_of gives the fee of a transaction as it is. Errors: those of cd_gas_complexity; CD_ERANGE. */
cd_err cd_wallet_fee_of(u64 *out, const cd_wallet_draft *d, const cd_wallet_fee *fee, cd_errinfo *why) CD_CHECK;

#endif
