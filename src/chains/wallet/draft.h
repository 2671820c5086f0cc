/* chains/wallet/draft.h - a transaction of the P-, X- or C-Chain from the moment it is built until it is signed.
 *
 *   built ──► JSON ──► sign (a machine without a network) ──► JSON ──► sign (another owner) ──► bytes to be issued
 *
 * A slot is a credential that the transaction needs: whose signatures, in which order. Each may be given by another
 * person. Threading: confined. [spec:pchain-xchain#3] */
#ifndef CD_CHAINS_WALLET_DRAFT_H
#define CD_CHAINS_WALLET_DRAFT_H

#include "base/mem/arena.h"
#include "types/utxo.h"

/* What a wallet knows of a chain. */
typedef struct cd_wallet_chain {
    const char *name;               /* letter of the chain, in addresses and in JSON: "P" */
    const char *service;            /* service of its methods: "platform" */
    const cd_linear_type *tx_table; /* table of a transaction: body and credentials */
    const cd_linear_type *utxo_table;
    u32 tx_max; /* bytes of the longest transaction that the chain's pool takes */
} cd_wallet_chain;

/* cd_wallet_chain_find gives a chain by its letter; NULL: there is none. */
const cd_wallet_chain *cd_wallet_chain_find(cd_bytes name);

/* A credential: who has to sign, and the signatures so far. */
typedef struct cd_wallet_slot {
    u32 type; /* type ID of the credential */
    u32 cnt;
    const cd_addr20 *signers;
    cd_signature *sigs; /* signature of each signer; all zero: not given yet */
} cd_wallet_slot;

/* Most slots of a draft that is read, and most signers of a slot. */
enum { CD_WALLET_SLOTS_MAX = 2048, CD_WALLET_SIGNERS_MAX = 256 };

/* A transaction; everything in it lies in an arena of its maker. */
typedef struct cd_wallet_draft {
    const cd_wallet_chain *chain;
    u32 network_id;
    cd_linear_any body;
    cd_wallet_slot *slots;
    u32 slot_cnt;
} cd_wallet_draft;

/* cd_wallet_slots_add puts cnt slots behind those that are there. */
void cd_wallet_slots_add(cd_wallet_draft *d, cd_arena *a, const cd_wallet_slot *more, u32 cnt);

/* cd_wallet_sign adds all signatures that cnt secrets can make; *given: how many. Signatures that were there stay.
 * Errors: CD_EKEY. */
cd_err cd_wallet_sign(cd_wallet_draft *d, u32 *given, const u8 (*secrets)[32], usize cnt) CD_CHECK;

/* cd_wallet_missing gives the address whose signature is missing first; NULL: none is. */
const cd_addr20 *cd_wallet_missing(const cd_wallet_draft *d);

/* cd_wallet_bytes appends the transaction with its signatures; cd_wallet_unsigned what is signed. */
void cd_wallet_bytes(cd_buf *out, const cd_wallet_draft *d);
void cd_wallet_unsigned(cd_buf *out, const cd_wallet_draft *d);

/* cd_wallet_id gives the ID that the transaction has with its signatures. */
void cd_wallet_id(cd_hash32 *out, const cd_wallet_draft *d);

/* cd_wallet_draft_json writes a draft as an object; prefix is that of addresses. */
void cd_wallet_draft_json(cd_json_w *w, const cd_wallet_draft *d, const char *prefix);

/* cd_wallet_draft_read reads that object. Errors: CD_EFORMAT, CD_ELIMIT, those of cd_linear_parse. */
cd_err cd_wallet_draft_read(cd_wallet_draft *out, cd_arena *a, cd_json v, cd_errinfo *why) CD_CHECK;

#endif
