/* chains/evmchain/core/transfers.h - the value that moved inside transactions: what calls, creations and
 * self-destructions of contracts carried from account to account, without the transaction's own value and fees.
 *
 *   cd_evm_set_tracer(evm, &t.hooks) ──► cd_tx_apply ──► t.v[0 .. t.cnt)
 *                              └──► another tracer, which sees the same calls
 *
 * Only what remained in force: transfers below a failed message are dropped. The code runs at full speed, nothing is
 * done per instruction. Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_CORE_TRANSFERS_H
#define CD_CHAINS_EVMCHAIN_CORE_TRANSFERS_H

#include "evm/evm.h"
#include "evm/rules/gas.h"

/* A transfer of the native coin within a transaction. */
typedef struct cd_transfer {
    cd_addr20 from;
    cd_addr20 to;
    cd_u256 value; /* wei; zero only for a creation */
    u32 tx;        /* as the recorder's tx was */
    u32 depth;     /* 1 = by the contract that the transaction called */
    u8 op;         /* CALL, CREATE, CREATE2, SELFDESTRUCT */
} cd_transfer;

/* A recorder of them. */
typedef struct cd_transfers {
    cd_tracer hooks; /* first: hand its address to the EVM */
    cd_transfer *v;  /* in the order they happened */
    usize cnt;
    usize cap;
    cd_tracer *next;                 /* who looks too, or NULL */
    u32 tx;                          /* set by the user: the transaction that comes */
    bool creations;                  /* those that carry nothing are recorded too */
    u32 mark[CD_CALL_DEPTH_MAX + 3]; /* transfers before the running message of each depth */
} cd_transfers;

/* cd_transfers_init makes an empty recorder that may watch one transaction. */
void cd_transfers_init(cd_transfers *t);

/* cd_transfers_begin empties it for the transactions of a block, creations among what is recorded; next (NULL:
 * nobody) is a tracer of calls only that is told the same. */
void cd_transfers_begin(cd_transfers *t, cd_tracer *next);
void cd_transfers_fini(cd_transfers *t);

#endif
