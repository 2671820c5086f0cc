/* chains/xvm/verify.h - what a transaction of the X-Chain must obey, and what it changes.
 *
 *   transaction ──► form: the transaction alone ──► check: on a state ──► effect ──► apply: to the state
 *
 * Checks come in the original's order with its words. The functions of the extensions nftfx and propertyfx stand here,
 * those of secp256k1fx in chains/utxo/fx.h. Threading: confined, with the view's kv. [spec:pchain-xchain#8] */
#ifndef CD_CHAINS_XVM_VERIFY_H
#define CD_CHAINS_XVM_VERIFY_H

#include "chains/utxo/fx.h"
#include "chains/xvm/tx.h"
#include "store/kv.h"
#include "vm/shared.h"
#include "vm/validators.h"

/* What is the same for every transaction of a chain. */
typedef struct cd_xvm_rules {
    u32 network_id;
    cd_hash32 chain_id;
    cd_hash32 subnet_id;
    cd_hash32 fee_asset;
    u8 fee_asset_fxs; /* extensions that it allows: bit i for extension i */
    u64 tx_fee;       /* base units of the fee asset */
    u64 create_asset_fee;
    const cd_vm_shared *shared;         /* NULL: nothing is imported or exported */
    const cd_vm_validators *validators; /* knows which chains share; NULL: any two do */
    bool lists_txs;                     /* the index of transactions by address is kept */
} cd_xvm_rules;

/* cd_xvm_form looks at a transaction alone. Errors: CD_EINVAL with the original's words. */
cd_err cd_xvm_form(const cd_xvm_rules *rules, const cd_xvm_tx *t, cd_errinfo *why) CD_CHECK;

/* On what a transaction is looked at. */
typedef struct cd_xvm_view {
    const cd_xvm_rules *rules;
    cd_kv *kv;
    cd_fx *fx;
    u64 now;         /* Unix seconds */
    bool is_trusted; /* while bootstrapping: signatures and what other chains left are not looked at */
    cd_arena *arena;
} cd_xvm_view;

/* What a transaction does; everything lies in the view's arena. */
typedef struct cd_xvm_effect {
    cd_utxo *spent;
    usize spent_cnt;
    cd_utxo *made;
    usize made_cnt;
    bool imports;
    cd_hash32 from;
    cd_hash32 *taken; /* input IDs */
    usize taken_cnt;
    bool exports;
    cd_hash32 to;
    cd_utxo *given;
    usize given_cnt;
} cd_xvm_effect;

/* cd_xvm_check looks at a transaction of good form on a state. Errors: CD_ENOENT (an output that is not there),
 * CD_EINVAL, CD_EACCES, CD_ESIG with the original's words; the store's. */
cd_err cd_xvm_check(const cd_xvm_view *view, cd_xvm_effect *out, const cd_xvm_tx *t, cd_errinfo *why) CD_CHECK;

/* cd_xvm_apply appends to b what the effect changes in the view's kv. What passes between chains is the caller's, who
 * knows the whole block. Errors: the store's. */
cd_err cd_xvm_apply(const cd_xvm_view *view, cd_kv_batch *b, const cd_xvm_effect *e, const cd_xvm_tx *t) CD_CHECK;

#endif
