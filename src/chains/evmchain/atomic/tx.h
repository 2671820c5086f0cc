/* chains/evmchain/atomic/tx.h - an atomic transaction as the chain looks at it: read, named, weighed, checked.
 *
 *   bytes ──► cd_atomic_parse ──► _form ──► _spend (who signs, what shared memory holds) ──► _apply (accounts)
 *
 * Errors are those of the original, in its words. Threading: confined. [spec:evm-chain#9] */
#ifndef CD_CHAINS_EVMCHAIN_ATOMIC_TX_H
#define CD_CHAINS_EVMCHAIN_ATOMIC_TX_H

#include "chains/utxo/fx.h"
#include "evm/state/state.h"
#include "types/ctx.h"
#include "types/ctx_gas.h"
#include "vm/shared.h"

/* What a chain with atomic transactions knows of its network. */
typedef struct cd_atomic_net {
    u32 network_id;
    cd_hash32 chain_id;
    cd_hash32 x_chain_id; /* the P-Chain's is zero */
    cd_hash32 asset_id;   /* of the native asset, the only one that moves */
    u64 rate;             /* wei per base unit */
    const char *prefix;   /* of addresses: "lux" */
} cd_atomic_net;

/* A transaction; what it points to lies in the arena that it was parsed with. */
typedef struct cd_atomic_tx {
    cd_c_tx tx;
    cd_bytes bytes; /* signed */
    cd_hash32 id;   /* SHA-256 of them */
    cd_hash32 hash; /* that its signers sign */
    cd_hash32 peer; /* where it takes from or leaves to */
    u64 gas;
    cd_hash32 *inputs; /* what only one transaction can use: UTXOs, and accounts at a nonce */
    usize input_cnt;
} cd_atomic_tx;

/* cd_atomic_parse reads a signed transaction and copies its bytes. Errors: those of cd_linear_parse. */
cd_err cd_atomic_parse(cd_atomic_tx *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why) CD_CHECK;

/* cd_atomic_parse_batch reads the extra data of a block; none is CD_EINVAL. cd_atomic_put_batch writes it. */
cd_err cd_atomic_parse_batch(cd_atomic_tx **out, usize *cnt, cd_arena *a, cd_bytes ext_data, cd_errinfo *why) CD_CHECK;
void cd_atomic_put_batch(cd_buf *out, const cd_atomic_tx *const *txs, usize cnt);

/* cd_atomic_is_import says which of the two it is; _import and _export borrow it. */
bool cd_atomic_is_import(const cd_atomic_tx *t);
const cd_c_import *cd_atomic_import(const cd_atomic_tx *t);
const cd_c_export *cd_atomic_export(const cd_atomic_tx *t);

/* cd_atomic_form checks what can be seen of a transaction alone. Errors: CD_EINVAL. */
cd_err cd_atomic_form(const cd_atomic_tx *t, const cd_atomic_net *net, cd_errinfo *why) CD_CHECK;

/* cd_atomic_burned gives what a transaction of good form burns (inputs - outputs). Errors: CD_EINVAL when outputs are
 * more. */
cd_err cd_atomic_burned(u64 *out, const cd_atomic_tx *t) CD_CHECK;

/* Under what a transaction is spent. */
typedef struct cd_atomic_at {
    const cd_atomic_net *net;
    const cd_vm_shared *shared; /* NULL: what is there is not looked at, as while bootstrapping */
    cd_fx *fx;
    const cd_u256 *base_fee;
    u64 time; /* of the block, Unix seconds */
} cd_atomic_at;

/* cd_atomic_spend checks form, fee, signatures, and that what is imported is there and may be taken. paid (NULL
 * allowed) gets the wei that are burned above the fee. Errors: CD_EAGAIN when only the fee is too low, CD_EINVAL,
 * CD_EACCES, CD_ESIG, the store's. */
cd_err cd_atomic_spend(const cd_atomic_tx *t, const cd_atomic_at *at, cd_u256 *paid, cd_errinfo *why) CD_CHECK;

/* cd_atomic_excess gives the wei that a transaction burns above its fee. Errors: CD_EAGAIN when it burns less,
 * CD_EINVAL when less than nothing. */
cd_err cd_atomic_excess(cd_u256 *out, const cd_atomic_tx *t, const cd_u256 *base_fee,
                        const cd_atomic_net *net) CD_CHECK;

/* cd_atomic_apply credits or debits the accounts, or changes nothing. Errors: CD_EINVAL, the source's. */
cd_err cd_atomic_apply(const cd_atomic_tx *t, const cd_atomic_net *net, cd_state *st, cd_errinfo *why) CD_CHECK;

/* cd_atomic_change gives what accepting it does to shared memory; it lies in the arena. */
void cd_atomic_change(cd_vm_shared_change *out, cd_arena *a, const cd_atomic_tx *t);

#endif
