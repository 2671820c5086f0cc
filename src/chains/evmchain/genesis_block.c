/* The genesis block: header fields that the document leaves out, state from its accounts. [spec:evm-chain#7] */
#include "chains/evmchain/chain_priv.h"
#include "types/hashes.h"

/* Nothing lies below a genesis. */
static cd_err none_account(cd_state_source *src, cd_account *out, bool *found,
                           const cd_addr20 *addr)
{
    (void)src;
    (void)out;
    (void)addr;
    *found = false;
    return CD_OK;
}

static cd_err none_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr,
                           const cd_u256 *slot)
{
    (void)src;
    (void)addr;
    (void)slot;
    *out = cd_u256_zero();
    return CD_OK;
}

static cd_err none_code(cd_state_source *src, cd_bytes *out, const cd_hash32 *hash)
{
    (void)src;
    (void)hash;
    *out = (cd_bytes){0};
    return CD_OK;
}

static cd_err none_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    (void)src;
    (void)number;
    *out = (cd_hash32){0};
    return CD_OK;
}

static void fill_state(cd_state *st, const cd_genesis *g)
{
    cd_state_begin_tx(st);
    for (usize i = 0; i < g->account_cnt; i++) {
        const cd_genesis_account *from = &g->accounts[i];
        cd_acct *a = cd_state_acct(st, &from->addr);
        cd_state_touch(st, a, false);
        cd_state_set_balance(st, a, &from->balance);
        cd_state_set_nonce(st, a, from->nonce);
        if (from->code.n != 0) {
            cd_state_set_code(st, a, from->code);
        }
        for (usize j = 0; j < from->slot_cnt; j++) {
            cd_u256 key;
            cd_u256 value;
            cd_u256_load_be(&key, from->slots[j].key.b);
            cd_u256_load_be(&value, from->slots[j].value.b);
            cd_state_set_slot(st, cd_state_slot(st, a, &key), &value);
        }
    }
    cd_state_end_tx(st, true);
}

/* Fields that follow from the rules rather than from the document. */
static void fill_header(const cd_chain *c, cd_header *h)
{
    cd_fork fork = cd_chain_rules_fork(&c->rules, h->number, h->time);
    h->uncle_hash = CD_HASH_EMPTY_LIST;
    h->tx_root = CD_HASH_EMPTY_TRIE;
    h->receipt_root = CD_HASH_EMPTY_TRIE;
    if (fork >= CD_LONDON && (h->has & CD_HEADER_BASE_FEE) == 0) {
        h->has |= CD_HEADER_BASE_FEE;
        h->base_fee = c->rules.layout == CD_HEADER_L1 ? c->rules.config.fee.min_base_fee
                                                      : cd_u256_from_u64(1000000000);
    }
    if (fork >= CD_SHANGHAI && c->rules.layout == CD_HEADER_ETHEREUM) {
        h->has |= CD_HEADER_WITHDRAWALS_ROOT;
        h->withdrawals_root = CD_HASH_EMPTY_TRIE;
    }
    if (fork >= CD_CANCUN) {
        h->has |= CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS | CD_HEADER_BEACON_ROOT;
    }
}

cd_err cd__genesis_make(cd_chain *c, cd_chain_block *out, const cd_genesis *g, cd_errinfo *why)
{
    cd_state_source none = {
        .account = none_account,
        .storage = none_storage,
        .code = none_code,
        .block_hash = none_block_hash,
    };
    cd_header *h = &out->block.header;
    if (c->rules.layout == CD_HEADER_L1 &&
        g->header.gas_limit != c->rules.config.fee.gas_limit.w[0]) {
        return cd_fail(why, CD_EINVAL,
                       "gas limit in fee config (%llu) does not match gas limit in header (%llu)",
                       (unsigned long long)c->rules.config.fee.gas_limit.w[0],
                       (unsigned long long)g->header.gas_limit);
    }
    *h = g->header;
    fill_header(c, h);
    h->extra = cd_arena_dup(&out->arena, h->extra);
    cd_state_reset(c->st, &none);
    fill_state(c->st, g);
    CD_TRY(cd_world_apply(c->world, &out->view, &h->state_root, NULL, c->st, why));
    out->block.has_withdrawals = (h->has & CD_HEADER_WITHDRAWALS_ROOT) != 0;

    cd_buf rlp = {0};
    cd_block_enc(&rlp, c->rules.layout, &out->block);
    out->rlp = cd_arena_dup(&out->arena, cd_buf_bytes(&rlp));
    cd_buf_fini(&rlp);
    /* Read back: optional slots that were written empty count as present from now on. */
    return cd_block_dec(&out->block, &out->arena, c->rules.layout, out->rlp, why);
}
