/* The genesis block: header fields that the document leaves out, state from its accounts. [spec:evm-chain#7] */
#include "base/hex.h"
#include "base/mem/mem.h"
#include "chains/evmchain/core/chain_priv.h"
#include "chains/evmchain/core/rules/eth_rules.h"
#include "crypto/hash/keccak.h"
#include "types/hashes.h"

#include <stdlib.h>

/* Nothing lies below a genesis. */
static cd_err none_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    (void)src;
    (void)out;
    (void)addr;
    *found = false;
    return CD_OK;
}

static cd_err none_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
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

/* Everybody in the airdrop file has the same amount, unless alloc says otherwise. */
static cd_err fill_airdrop(cd_state *st, const cd_genesis *g, cd_bytes file, cd_errinfo *why)
{
    cd_hash32 hash;
    cd_arena a = {0};
    cd_json list;
    cd_keccak256(&hash, file);
    if (!cd_hash32_eq(&hash, &g->airdrop_hash)) {
        char want[65] = {0};
        char have[65] = {0};
        cd_hex_fmt(want, cd_bytes_of(g->airdrop_hash.b, 32));
        cd_hex_fmt(have, cd_bytes_of(hash.b, 32));
        return cd_fail(why, CD_EINVAL, "expected standard allocation 0x%s but got 0x%s", want, have);
    }
    cd_err e = cd_json_parse(&list, &a, file, 0, why);
    if (e == CD_OK) {
        e = cd_json_arr(list, why);
    }
    cd_state_begin_tx(st);
    cd_json_it it = cd_json_iter(list);
    while (e == CD_OK && cd_json_next(&it)) {
        cd_addr20 addr;
        e = cd_json_fixed(addr.b, 20, cd_json_get(it.val, "address"), why);
        if (e == CD_OK) {
            cd_state_set_balance(st, cd_state_acct(st, &addr), &g->airdrop_amount);
        }
    }
    cd_state_end_tx(st, true);
    cd_arena_fini(&a);
    return e;
}

/* Fields that follow from the rules rather than from the document. */
static void fill_header(const cd_chain_rules *r, cd_header *h, bool skip_post_merge)
{
    cd_fork fork = cd_chain_rules_fork(r, h->number, h->time);
    h->uncle_hash = CD_HASH_EMPTY_LIST;
    h->tx_root = CD_HASH_EMPTY_TRIE;
    h->receipt_root = CD_HASH_EMPTY_TRIE;
    if (!cd_chain_rules_is_eth(r)) {
        cd_header_genesis_l1(r, h, skip_post_merge);
        return;
    }
    if (fork >= CD_LONDON && (h->has & CD_HEADER_BASE_FEE) == 0) {
        h->has |= CD_HEADER_BASE_FEE;
        h->base_fee = cd_u256_from_u64(CD_ETH_INITIAL_BASE_FEE);
    }
    if (fork >= CD_SHANGHAI) {
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
    bool is_l1 = !cd_chain_rules_is_eth(&c->rules) && c->rules.layout != CD_HEADER_C;
    if (is_l1 && g->header.gas_limit != c->rules.config.fee.gas_limit.w[0]) {
        return cd_fail(why, CD_EINVAL, "gas limit in fee config (%llu) does not match gas limit in header (%llu)",
                       (unsigned long long)c->rules.config.fee.gas_limit.w[0], (unsigned long long)g->header.gas_limit);
    }
    *h = g->header;
    fill_header(&c->rules, h, g->skip_post_merge_fields);
    h->extra = cd_arena_dup(&out->arena, h->extra);
    cd_state_reset(c->st, &none);
    if (g->has_airdrop && is_l1) {
        CD_TRY(fill_airdrop(c->st, g, c->cfg.airdrop, why));
    }
    if (c->rules.schedule != NULL) {
        cd_schedule_apply(c->rules.schedule, c->st, NULL, h->time, h->number);
        cd_state_upgrades_apply(&c->rules.upgrades, c->st, NULL, h->time);
    }
    fill_state(c->st, g);
    CD_TRY(cd_world_apply(c->world, &out->view, &h->state_root, NULL, c->st, why));
    out->block.has_ext_data = c->rules.layout == CD_HEADER_C;
    out->block.has_withdrawals = (h->has & CD_HEADER_WITHDRAWALS_ROOT) != 0;

    cd_buf rlp = {0};
    cd_block_enc(&rlp, c->rules.layout, &out->block);
    out->rlp = cd_arena_dup(&out->arena, cd_buf_bytes(&rlp));
    cd_buf_fini(&rlp);
    /* Read back: optional slots that were written empty count as present from now on. */
    return cd_block_dec(&out->block, &out->arena, c->rules.layout, out->rlp, why);
}

/* --- the document's identity --- */

static int by_key(const void *x, const void *y)
{
    return memcmp(((const cd_genesis_slot *)x)->key.b, ((const cd_genesis_slot *)y)->key.b, 32);
}

static void put_account(cd_buf *out, const cd_genesis_account *acc)
{
    cd_genesis_slot *slots = cd_new_array(cd_genesis_slot, acc->slot_cnt);
    if (acc->slot_cnt != 0) {
        memcpy(slots, acc->slots, acc->slot_cnt * sizeof *slots);
        qsort(slots, acc->slot_cnt, sizeof *slots, by_key);
    }
    cd_rlp_put_str(out, cd_bytes_of(acc->addr.b, 20));
    cd_rlp_put_u256(out, &acc->balance);
    cd_rlp_put_u64(out, acc->nonce);
    cd_rlp_put_str(out, acc->code);
    for (usize i = 0; i < acc->slot_cnt; i++) {
        if (!cd_hash32_is_zero(&slots[i].value)) {
            cd_rlp_put_str(out, cd_bytes_of(slots[i].key.b, 32));
            cd_rlp_put_str(out, cd_bytes_of(slots[i].value.b, 32));
        }
    }
    cd_free(slots);
}

void cd__genesis_digest(cd_hash32 *out, const cd_genesis *g)
{
    cd_buf enc = {0};
    usize header = cd_rlp_begin(&enc);
    cd_header_enc(&enc, CD_HEADER_L1, &g->header);
    cd_rlp_put_u64(&enc, g->header.has);
    cd_rlp_put_u64(&enc, g->config.layout);
    cd_rlp_put_str(&enc, cd_bytes_of(g->airdrop_hash.b, 32));
    cd_rlp_put_u256(&enc, &g->airdrop_amount);
    cd_rlp_close(&enc, header);
    for (usize i = 0; i < g->account_cnt; i++) {
        usize one = cd_rlp_begin(&enc);
        put_account(&enc, &g->accounts[i]);
        cd_rlp_close(&enc, one);
    }
    cd_keccak256(out, cd_buf_bytes(&enc));
    cd_buf_fini(&enc);
}
