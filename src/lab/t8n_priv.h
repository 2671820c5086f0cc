/* lab/t8n_priv.h - a transition in the making, and the writing of its outcome. */
#ifndef CD_LAB_T8N_PRIV_H
#define CD_LAB_T8N_PRIV_H

#include "codec/json.h"
#include "evm/evm.h"
#include "lab/mapstate.h"
#include "lab/reward.h"
#include "lab/t8n.h"
#include "types/block.h"
#include "types/receipt.h"

typedef struct cd__t8n_reject {
    usize idx; /* index of the transaction in the input */
    const char *reason;
} cd__t8n_reject;

typedef struct cd__t8n {
    const cd_t8n_cfg *cfg;
    cd_arena arena;
    cd_trie_build *build;
    cd_evm *evm;
    cd_state *state;
    /* input */
    cd_block_env env;
    bool has_base_fee; /* the result names a base fee, which may be given even under a fork without one */
    u64 excess_blob_gas;
    cd_hash32 beacon_root;
    cd_withdrawal *withdrawals;
    usize withdrawal_cnt;
    cd_reward_uncle *ommers;
    usize ommer_cnt;
    cd_json block_hashes;
    u64 hash_wanted; /* number of a block whose hash was asked for and is not there */
    cd_mapstate *pre;
    /* outcome */
    cd_mapstate *post;
    cd_tx *txs; /* the transactions included */
    usize tx_cnt;
    cd__t8n_reject *rejected;
    usize rejected_cnt;
    cd_receipt *receipts;
    cd_hash32 receipt_root;
    u64 gas_used;
    u64 blob_gas_used;
    cd_bloom bloom;
} cd__t8n;

/* cd__t8n_put_alloc writes all accounts, cd__t8n_put_result the result of the block. */
void cd__t8n_put_alloc(cd_buf *out, const cd_mapstate *m);
void cd__t8n_put_result(cd_buf *out, const cd__t8n *t);

#endif
