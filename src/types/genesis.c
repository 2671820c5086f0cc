#include "types/genesis.h"

#include "base/hex.h"
#include "num/u256_text.h"

#include <stdlib.h>

/* --- keys of objects that are addresses or words --- */

static cd_bytes drop_prefix(cd_bytes text)
{
    bool prefixed = text.n >= 2 && text.p[0] == '0' && (text.p[1] | 0x20) == 'x';
    return prefixed ? cd_bytes_sub(text, 2, text.n - 2) : text;
}

cd_err cd_genesis_addr_parse(cd_addr20 *out, cd_bytes key)
{
    cd_bytes text = drop_prefix(key);
    return text.n == 40 ? cd_hex_parse(out->b, text) : CD_ERANGE;
}

/* Reads a storage key or value: up to 64 hexadecimal digits; where there are fewer, zeros come in front. */
static cd_err parse_word(cd_hash32 *out, cd_bytes text)
{
    cd_u256 v = cd_u256_zero();
    text = drop_prefix(text);
    if (text.n != 0) {
        CD_TRY(cd_u256_parse_hex(&v, text));
    }
    *out = cd_u256_to_hash(&v);
    return CD_OK;
}

/* --- alloc --- */

cd_err cd_genesis_storage_parse(const cd_genesis_slot **out, usize *slot_cnt, cd_arena *a, cd_json v, cd_errinfo *why)
{
    usize cnt = 0;
    if (!cd_json_has(v)) {
        *out = NULL;
        *slot_cnt = 0;
        return CD_OK;
    }
    CD_TRY(cd_json_obj(v, why));
    cd_genesis_slot *slots = cd_arena_array(a, cd_genesis_slot, cd_json_len(v));
    cd_json_it it = cd_json_iter(v);
    while (cd_json_next(&it)) {
        cd_bytes text;
        CD_TRY(cd_json_str(&text, it.val, why));
        if (parse_word(&slots[cnt].key, it.key) != CD_OK || parse_word(&slots[cnt].value, text) != CD_OK) {
            return cd_json_fail(it.val, CD_EFORMAT, "not a 32-byte word", why);
        }
        cnt++;
    }
    *out = slots;
    *slot_cnt = cnt;
    return CD_OK;
}

static cd_err parse_account(cd_genesis_account *acc, cd_arena *a, cd_json v, cd_errinfo *why)
{
    CD_TRY(cd_json_obj(v, why));
    cd_json balance = cd_json_get(v, "balance");
    if (!cd_json_has(balance)) {
        balance = cd_json_get(v, "wei"); /* the name of the balance in the oldest documents */
    }
    cd_json nonce = cd_json_get(v, "nonce");
    cd_json code = cd_json_get(v, "code");
    if (cd_json_has(balance)) {
        CD_TRY(cd_json_u256(&acc->balance, balance, why));
    }
    if (cd_json_has(nonce)) {
        CD_TRY(cd_json_u64(&acc->nonce, nonce, why));
    }
    if (cd_json_has(code)) {
        CD_TRY(cd_json_hex(&acc->code, a, code, why));
    }
    return cd_genesis_storage_parse(&acc->slots, &acc->slot_cnt, a, cd_json_get(v, "storage"), why);
}

/* An account and its place in the document; of two with the same address the later one counts. */
typedef struct entry {
    cd_genesis_account acc;
    usize place;
} entry;

static int entry_cmp(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    int c = memcmp(x->acc.addr.b, y->acc.addr.b, 20);
    return c != 0 ? c : (x->place > y->place) - (x->place < y->place);
}

cd_err cd_genesis_alloc_parse(const cd_genesis_account **out, usize *cnt, cd_arena *a, cd_json alloc, cd_errinfo *why)
{
    CD_TRY(cd_json_obj(alloc, why));
    usize n = cd_json_len(alloc);
    entry *entries = cd_arena_array(a, entry, n);
    cd_json_it it = cd_json_iter(alloc);
    for (usize i = 0; cd_json_next(&it); i++) {
        entries[i].place = i;
        if (cd_genesis_addr_parse(&entries[i].acc.addr, it.key) != CD_OK) {
            return cd_json_fail(it.val, CD_EFORMAT, "key is not an address", why);
        }
        CD_TRY(parse_account(&entries[i].acc, a, it.val, why));
    }
    if (n != 0) {
        qsort(entries, n, sizeof *entries, entry_cmp);
    }
    cd_genesis_account *accounts = cd_arena_array(a, cd_genesis_account, n);
    usize kept = 0;
    for (usize i = 0; i < n; i++) {
        if (kept != 0 && cd_addr20_eq(&accounts[kept - 1].addr, &entries[i].acc.addr)) {
            kept--;
        }
        accounts[kept++] = entries[i].acc;
    }
    *out = accounts;
    *cnt = kept;
    return CD_OK;
}

/* --- config --- */

/* Reads the value of key, or of its other spelling where key is missing; other may be NULL. */
static cd_err parse_when(cd_when *out, cd_json config, const char *key, const char *other, cd_errinfo *why)
{
    cd_json v = cd_json_get(config, key);
    if (!cd_json_has(v) && other != NULL) {
        v = cd_json_get(config, other);
    }
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_u64(&out->at, v, why));
    out->is_set = true;
    return CD_OK;
}

static cd_err parse_opt_u64(u64 *out, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_u64(out, v, why) : CD_OK;
}

static cd_err parse_opt_u256(cd_u256 *out, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_u256(out, v, why) : CD_OK;
}

static cd_err parse_opt_bool(bool *out, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_bool(out, v, why) : CD_OK;
}

cd_err cd_fee_config_parse(cd_fee_config *out, cd_json v, cd_errinfo *why)
{
    cd_fee_config f = *out;
    CD_TRY(cd_json_obj(v, why));
    CD_TRY(parse_opt_u256(&f.gas_limit, cd_json_get(v, "gasLimit"), why));
    CD_TRY(parse_opt_u64(&f.target_block_rate, cd_json_get(v, "targetBlockRate"), why));
    CD_TRY(parse_opt_u256(&f.min_base_fee, cd_json_get(v, "minBaseFee"), why));
    CD_TRY(parse_opt_u256(&f.target_gas, cd_json_get(v, "targetGas"), why));
    CD_TRY(parse_opt_u256(&f.base_fee_change_denominator, cd_json_get(v, "baseFeeChangeDenominator"), why));
    CD_TRY(parse_opt_u256(&f.min_block_gas_cost, cd_json_get(v, "minBlockGasCost"), why));
    CD_TRY(parse_opt_u256(&f.max_block_gas_cost, cd_json_get(v, "maxBlockGasCost"), why));
    CD_TRY(parse_opt_u256(&f.block_gas_cost_step, cd_json_get(v, "blockGasCostStep"), why));
    *out = f;
    return CD_OK;
}

static cd_err parse_blob_schedule(cd_blob_schedule *out, cd_json v, cd_errinfo *why)
{
    CD_TRY(cd_json_u64(&out->target, cd_json_get(v, "target"), why));
    CD_TRY(cd_json_u64(&out->max, cd_json_get(v, "max"), why));
    cd_json fraction = cd_json_get(v, "updateFraction"); /* the spelling in the original's published files */
    if (!cd_json_has(fraction)) {
        fraction = cd_json_get(v, "baseFeeUpdateFraction");
    }
    return cd_json_u64(&out->update_fraction, fraction, why);
}

/* Reads the keys that hold one block number or timestamp each. */
static cd_err parse_whens(cd_chain_config *c, cd_errinfo *why)
{
    const struct {
        cd_when *out;
        const char *key;
        const char *other;
    } keys[] = {
        {&c->homestead, "homesteadBlock", NULL},
        {&c->dao, "daoForkBlock", NULL},
        {&c->eip150, "eip150Block", NULL},
        {&c->eip155, "eip155Block", NULL},
        {&c->eip158, "eip158Block", NULL},
        {&c->byzantium, "byzantiumBlock", NULL},
        {&c->constantinople, "constantinopleBlock", NULL},
        {&c->petersburg, "petersburgBlock", NULL},
        {&c->istanbul, "istanbulBlock", NULL},
        {&c->muir_glacier, "muirGlacierBlock", NULL},
        {&c->berlin, "berlinBlock", NULL},
        {&c->london, "londonBlock", NULL},
        {&c->merge, "mergeNetsplitBlock", NULL},
        {&c->shanghai, "shanghaiTime", NULL},
        {&c->cancun, "cancunTime", NULL},
        {&c->prague, "pragueTime", NULL},
        {&c->subnet_evm, "subnetEVMTimestamp", "evmTimestamp"},
        {&c->durango, "durangoTimestamp", NULL},
        {&c->etna, "etnaTimestamp", "quasarTimestamp"},
        {&c->fortuna, "fortunaTimestamp", NULL},
        {&c->granite, "graniteTimestamp", NULL},
        {&c->fee_split, "feeSplitTimestamp", NULL},
    };
    for (usize i = 0; i < CD_COUNT(keys); i++) {
        CD_TRY(parse_when(keys[i].out, c->json, keys[i].key, keys[i].other, why));
    }
    return CD_OK;
}

cd_err cd_chain_config_parse(cd_chain_config *out, cd_json config, cd_errinfo *why)
{
    cd_chain_config c = {.json = config};
    CD_TRY(cd_json_obj(config, why));
    CD_TRY(parse_whens(&c, why));
    cd_json chain_id = cd_json_get(config, "chainId");
    c.has_chain_id = cd_json_has(chain_id);
    CD_TRY(parse_opt_u64(&c.chain_id, chain_id, why));
    CD_TRY(parse_opt_bool(&c.dao_support, cd_json_get(config, "daoForkSupport"), why));
    cd_json ttd = cd_json_get(config, "terminalTotalDifficulty");
    c.has_ttd = cd_json_has(ttd);
    CD_TRY(parse_opt_u256(&c.ttd, ttd, why));
    cd_json blob = cd_json_get(cd_json_get(config, "blobSchedule"), "cancun");
    c.has_blob_cancun = cd_json_has(blob);
    if (c.has_blob_cancun) {
        CD_TRY(parse_blob_schedule(&c.blob_cancun, blob, why));
    }
    cd_json fee = cd_json_get(config, "feeConfig");
    c.has_fee_config = cd_json_has(fee);
    if (c.has_fee_config) {
        CD_TRY(cd_fee_config_parse(&c.fee, fee, why));
    }
    CD_TRY(parse_opt_bool(&c.allow_fee_recipients, cd_json_get(config, "allowFeeRecipients"), why));
    c.layout = c.has_fee_config || c.subnet_evm.is_set ? CD_HEADER_L1 : CD_HEADER_C;
    *out = c;
    return CD_OK;
}

/* --- the document --- */

static cd_err parse_opt_fixed(void *out, usize n, cd_json v, cd_errinfo *why)
{
    return cd_json_has(v) ? cd_json_fixed(out, n, v, why) : CD_OK;
}

static cd_err parse_header(cd_header *h, cd_arena *a, cd_json v, cd_errinfo *why)
{
    u64 nonce = 0;
    CD_TRY(cd_json_u64(&h->gas_limit, cd_json_get(v, "gasLimit"), why));
    CD_TRY(cd_json_u256(&h->difficulty, cd_json_get(v, "difficulty"), why));
    CD_TRY(parse_opt_u64(&nonce, cd_json_get(v, "nonce"), why));
    cd_put_be64(h->nonce, nonce);
    CD_TRY(parse_opt_u64(&h->time, cd_json_get(v, "timestamp"), why));
    CD_TRY(parse_opt_u64(&h->number, cd_json_get(v, "number"), why));
    CD_TRY(parse_opt_u64(&h->gas_used, cd_json_get(v, "gasUsed"), why));
    CD_TRY(parse_opt_fixed(h->mix_hash.b, 32, cd_json_get(v, "mixHash"), why));
    CD_TRY(parse_opt_fixed(h->parent_hash.b, 32, cd_json_get(v, "parentHash"), why));
    CD_TRY(parse_opt_fixed(h->coinbase.b, 20, cd_json_get(v, "coinbase"), why));
    cd_json extra = cd_json_get(v, "extraData");
    if (cd_json_has(extra)) {
        CD_TRY(cd_json_hex(&h->extra, a, extra, why));
    }
    cd_json base_fee = cd_json_get(v, "baseFeePerGas");
    cd_json blob_used = cd_json_get(v, "blobGasUsed");
    cd_json excess = cd_json_get(v, "excessBlobGas");
    h->has = (cd_json_has(base_fee) ? CD_HEADER_BASE_FEE : 0U) |
             (cd_json_has(blob_used) ? CD_HEADER_BLOB_GAS_USED : 0U) |
             (cd_json_has(excess) ? CD_HEADER_EXCESS_BLOB_GAS : 0U);
    CD_TRY(parse_opt_u256(&h->base_fee, base_fee, why));
    CD_TRY(parse_opt_u64(&h->blob_gas_used, blob_used, why));
    return parse_opt_u64(&h->excess_blob_gas, excess, why);
}

cd_err cd_genesis_parse(cd_genesis *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_json doc;
    cd_genesis g = {0};
    CD_TRY(cd_json_parse(&doc, a, text, 0, why));
    CD_TRY(cd_json_obj(doc, why));
    cd_json config = cd_json_get(doc, "config");
    if (cd_json_has(config)) {
        CD_TRY(cd_chain_config_parse(&g.config, config, why));
    }
    CD_TRY(parse_header(&g.header, a, doc, why));
    CD_TRY(parse_opt_bool(&g.skip_post_merge_fields, cd_json_get(doc, "skipPostMergeFields"), why));
    cd_json airdrop = cd_json_get(doc, "airdropHash");
    g.has_airdrop = cd_json_has(airdrop);
    CD_TRY(parse_opt_fixed(g.airdrop_hash.b, 32, airdrop, why));
    CD_TRY(parse_opt_u256(&g.airdrop_amount, cd_json_get(doc, "airdropAmount"), why));
    CD_TRY(cd_genesis_alloc_parse(&g.accounts, &g.account_cnt, a, cd_json_get(doc, "alloc"), why));
    *out = g;
    return CD_OK;
}
