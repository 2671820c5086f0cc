#include "chains/evmchain/chain.h"

#include "base/mem.h"
#include "chains/evmchain/chain_priv.h"
#include "chains/evmchain/eth_rules.h"

const cd_chain_rules *cd_chain_rules_of(const cd_chain *c)
{
    return &c->rules;
}

const cd_block *cd_chain_head(const cd_chain *c)
{
    return &c->head;
}

void cd_chain_genesis_hash(const cd_chain *c, cd_hash32 *out)
{
    *out = c->genesis;
}

/* --- blocks on their way in ---------------------------------------------------------------------- */

cd_chain_block *cd__chain_block_new(cd_chain *c)
{
    cd_chain_block *b = cd_new(cd_chain_block);
    b->next = c->blocks;
    c->blocks = b;
    return b;
}

void cd__chain_block_free(cd_chain *c, cd_chain_block *b)
{
    for (cd_chain_block **at = &c->blocks; *at != NULL; at = &(*at)->next) {
        if (*at == b) {
            *at = b->next;
            break;
        }
    }
    cd_arena_fini(&b->arena);
    cd_free(b);
}

cd_chain_block *cd_chain_find(cd_chain *c, const cd_hash32 *hash)
{
    for (cd_chain_block *b = c->blocks; b != NULL; b = b->next) {
        if (cd_hash32_eq(&b->block.hash, hash)) {
            return b;
        }
    }
    return NULL;
}

cd_err cd__chain_parent(cd_chain *c, const cd_header **header, cd_chain_block **block,
                        const cd_hash32 *hash)
{
    *block = NULL;
    if (cd_hash32_eq(&c->head.hash, hash)) {
        *header = &c->head.header;
        return CD_OK;
    }
    cd_chain_block *b = cd_chain_find(c, hash);
    if (b == NULL || b->view == NULL) {
        return CD_ENOENT;
    }
    *header = &b->block.header;
    *block = b;
    return CD_OK;
}

/* --- opening ------------------------------------------------------------------------------------ */

cd_err cd__chain_set_head(cd_chain *c, cd_bytes rlp, cd_errinfo *why)
{
    cd_arena_reset(&c->head_arena);
    cd_bytes own = cd_arena_dup(&c->head_arena, rlp);
    CD_TRY(cd_block_dec(&c->head, &c->head_arena, c->rules.layout, own, why));
    c->recent[c->head.header.number % CD__CHAIN_RECENT] = c->head.hash;
    return CD_OK;
}

/* Reads the hashes that BLOCKHASH may ask for. */
static cd_err load_recent(cd_chain *c)
{
    u64 head = c->head.header.number;
    c->recent_from = head > 256 ? head - 256 : 0;
    for (u64 n = c->recent_from; n < head; n++) {
        CD_TRY(cd_chaindb_hash(c->cfg.kv, &c->recent[n % CD__CHAIN_RECENT], n));
    }
    return CD_OK;
}

static cd_err make_new(cd_chain *c, const cd_genesis *g, cd_errinfo *why)
{
    cd_kv_batch extra = {0};
    cd_chain_block *b = cd__chain_block_new(c);
    cd_err e = cd__genesis_make(c, b, g, why);
    if (e == CD_OK) {
        cd_flat_head head = {
            .height = b->block.header.number,
            .block = b->block.hash,
            .root = b->block.header.state_root,
        };
        c->genesis = b->block.hash;
        cd_chaindb_put_genesis(&extra, &b->block.hash);
        cd_chaindb_put_body(&extra, &b->block, b->rlp);
        cd_chaindb_put_accepted(&extra, &b->block, NULL);
        e = cd_world_accept(c->world, b->view, &extra, &head, CD_KV_SYNC, why);
    }
    if (e == CD_OK) {
        e = cd__chain_set_head(c, b->rlp, why);
        c->recent_from = b->block.header.number;
    }
    cd__chain_block_free(c, b);
    cd_kv_batch_fini(&extra);
    return e;
}

static cd_err reopen(cd_chain *c, const cd_flat_head *head, const cd_genesis *g, cd_errinfo *why)
{
    cd_buf rlp = {0};
    cd_block genesis;
    cd_arena a = {0};
    cd_err e = cd_chaindb_block(c->cfg.kv, &rlp, &c->genesis);
    if (e == CD_OK) {
        e = cd_block_dec(&genesis, &a, c->rules.layout, cd_buf_bytes(&rlp), why);
    }
    if (e == CD_OK &&
        (genesis.header.time != g->header.time || genesis.header.gas_limit != g->header.gas_limit ||
         !cd_bytes_eq(genesis.header.extra, g->header.extra))) {
        e = cd_fail(why, CD_EFOREIGN, "the data directory belongs to a chain with another genesis");
    }
    if (e == CD_OK) {
        e = cd_chaindb_block(c->cfg.kv, &rlp, &head->block);
    }
    if (e == CD_OK) {
        e = cd__chain_set_head(c, cd_buf_bytes(&rlp), why);
    }
    if (e == CD_OK) {
        e = load_recent(c);
    }
    cd_arena_fini(&a);
    cd_buf_fini(&rlp);
    return e;
}

cd_err cd_chain_open(cd_chain **out, const cd_chain_cfg *cfg, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_genesis g;
    cd_flat_head head;
    cd_chain *c = cd_new(cd_chain);
    c->cfg = *cfg;
    cd_err e = cd_genesis_parse(&g, &a, cfg->genesis, why);
    if (cfg->is_ethereum) {
        g.config.layout = CD_HEADER_ETHEREUM;
    }
    if (e == CD_OK) {
        e = cd_chain_rules_init(&c->rules, &g.config, why);
    }
    if (e == CD_OK && c->rules.layout == CD_HEADER_C) {
        e = cd_fail(why, CD_EUNSUPPORTED,
                    "chains with the coreth header layout are not supported yet");
    }
    if (e == CD_OK) {
        cd_world_cfg wcfg = {
            .kv = cfg->kv,
            .form = c->rules.account_form,
            .pool = cfg->pool,
            .commit_interval = cfg->commit_interval,
        };
        e = cd_world_open(&c->world, &wcfg, why);
    }
    if (e != CD_OK) {
        goto out;
    }
    c->evm = cd_evm_new();
    c->st = cd_state_new(NULL);
    if (!cd_world_head(c->world, &head)) {
        e = make_new(c, &g, why);
    } else {
        e = cd_chaindb_genesis(cfg->kv, &c->genesis);
        if (e == CD_OK) {
            e = reopen(c, &head, &g, why);
        }
    }
out:
    cd_arena_fini(&a);
    if (e != CD_OK) {
        cd_chain_close(c);
        return e;
    }
    c->cfg.genesis = (cd_bytes){0};
    *out = c;
    return CD_OK;
}

void cd_chain_close(cd_chain *c)
{
    if (c == NULL) {
        return;
    }
    while (c->blocks != NULL) {
        cd__chain_block_free(c, c->blocks);
    }
    if (c->st != NULL) {
        cd_state_free(c->st);
    }
    if (c->evm != NULL) {
        cd_evm_free(c->evm);
    }
    cd_world_close(c->world);
    cd_arena_fini(&c->head_arena);
    cd_free(c);
}

/* --- accepted blocks ---------------------------------------------------------------------------- */

cd_err cd_chain_block_by_hash(cd_chain *c, cd_block *out, usize *size, cd_arena *a,
                              const cd_hash32 *hash)
{
    cd_buf rlp = {0};
    cd_err e = cd_chaindb_block(c->cfg.kv, &rlp, hash);
    if (e == CD_OK) {
        cd_bytes own = cd_arena_dup(a, cd_buf_bytes(&rlp));
        e = cd_block_dec(out, a, c->rules.layout, own, NULL);
        if (size != NULL) {
            *size = own.n;
        }
        if (e != CD_OK) {
            e = CD_ECORRUPT;
        }
    }
    cd_buf_fini(&rlp);
    return e;
}

cd_err cd_chain_block_at(cd_chain *c, cd_block *out, usize *size, cd_arena *a, u64 number)
{
    cd_hash32 hash;
    CD_TRY(cd_chaindb_hash(c->cfg.kv, &hash, number));
    return cd_chain_block_by_hash(c, out, size, a, &hash);
}

cd_err cd_chain_receipts(cd_chain *c, cd_receipt **out, cd_arena *a, const cd_block *block)
{
    return cd_chaindb_receipts(c->cfg.kv, out, a, block);
}

cd_err cd_chain_tx(cd_chain *c, cd_block *block, usize *idx, cd_arena *a, const cd_hash32 *hash)
{
    u64 number;
    u32 at;
    CD_TRY(cd_chaindb_tx(c->cfg.kv, &number, &at, hash));
    if (number > c->head.header.number) {
        return CD_ENOENT; /* written ahead, and then the process ended */
    }
    CD_TRY(cd_chain_block_at(c, block, NULL, a, number));
    if (at >= block->tx_cnt || !cd_hash32_eq(&block->txs[at].hash, hash)) {
        return CD_ENOENT; /* of another block of that height, which was never accepted */
    }
    *idx = at;
    return CD_OK;
}

/* --- state and execution ------------------------------------------------------------------------- */

static cd_err source_block_hash(cd_state_source *src, cd_hash32 *out, u64 number)
{
    cd_chain_source *s = (cd_chain_source *)src;
    for (const cd_chain_block *b = s->parent; b != NULL; b = b->parent) {
        if (b->block.header.number == number) {
            *out = b->block.hash;
            return CD_OK;
        }
    }
    const cd_chain *c = s->chain;
    bool is_known = number >= c->recent_from && number <= c->head.header.number &&
                    c->head.header.number - number < CD__CHAIN_RECENT;
    *out = is_known ? c->recent[number % CD__CHAIN_RECENT] : (cd_hash32){0};
    return CD_OK;
}

void cd_chain_source_init(cd_chain_source *s, cd_chain *c, cd_chain_block *parent)
{
    cd_world_source_init(&s->world, c->world, parent == NULL ? NULL : parent->view);
    s->world.src.block_hash = source_block_hash;
    s->chain = c;
    s->parent = parent;
}

void cd_chain_env(const cd_chain *c, cd_block_env *out, const cd_header *h)
{
    const cd_profile *profile = cd_profile_get(c->rules.profile);
    cd_fork fork = cd_chain_rules_fork(&c->rules, h->number, h->time);
    *out = (cd_block_env){
        .number = h->number,
        .time = h->time,
        .gas_limit = h->gas_limit,
        .coinbase = h->coinbase,
        .base_fee = h->base_fee,
        .prev_randao = h->difficulty,
        .chain_id = c->rules.chain_id,
    };
    if (fork >= CD_PARIS && !profile->randao_is_difficulty) {
        cd_u256_load_be(&out->prev_randao, h->mix_hash.b);
    }
    if (fork >= CD_CANCUN) {
        cd_eth_blob_base_fee(&out->blob_base_fee, h->excess_blob_gas, &CD_BLOB_CANCUN);
    }
}

cd_err cd_chain_next_header(cd_chain *c, cd_header *out, cd_arena *a, u64 time)
{
    cd_header h;
    CD_TRY(cd__header_next_l1(c, &h, a, &c->head.header, time));
    h.parent_hash = c->head.hash;
    *out = h;
    return CD_OK;
}
