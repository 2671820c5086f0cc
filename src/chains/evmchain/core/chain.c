#include "chains/evmchain/core/chain.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/adopt.h"
#include "chains/evmchain/core/chain_priv.h"
#include "chains/evmchain/core/world/frozen.h"

const cd_chain_rules *cd_chain_rules_of(const cd_chain *c)
{
    return &c->rules;
}

const cd_block *cd_chain_head(const cd_chain *c)
{
    return &cd__views_head(&c->views)->pub.block;
}

void cd_chain_genesis_hash(const cd_chain *c, cd_hash32 *out)
{
    *out = c->genesis;
}

void cd_chain_world_stats(cd_chain *c, cd_world_stats *out)
{
    cd_world_stats_get(c->world, out);
}

u64 cd_chain_version(const cd_chain *c)
{
    return cd_world_version(c->world);
}

/* --- blocks on their way in --- */

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
    cd__run_plan_free(b->run);
    cd_arena_fini(&b->arena);
    cd__accepted_unref(b->accepted);
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

cd_err cd__chain_parent(cd_chain *c, const cd_header **header, cd_chain_block **block, const cd_hash32 *hash)
{
    *block = NULL;
    const cd_block *head = cd_chain_head(c);
    if (cd_hash32_eq(&head->hash, hash)) {
        *header = &head->header;
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

void cd__chain_forget_pending(cd_chain *c)
{
    for (cd_chain_block *b = c->blocks; b != NULL; b = b->next) {
        b->view = NULL;
        b->parent = NULL;
    }
}

/* --- indices --- */

void cd_chain_add_index(cd_chain *c, const cd_chain_index *index)
{
    CD_ASSERT(c->index_cnt < CD__CHAIN_INDICES);
    c->indices[c->index_cnt++] = index;
    if (index->wants_transfers && c->transfers == NULL) {
        c->transfers = cd_new(cd_transfers);
        cd_transfers_init(c->transfers);
    }
    cd__chain_forget_pending(c);
}

void cd__chain_watch(cd_chain *c, cd_tracer *tracer)
{
    if (c->transfers != NULL) {
        cd_transfers_begin(c->transfers, tracer);
        tracer = &c->transfers->hooks;
    }
    cd_evm_set_tracer(c->evm, tracer);
}

void cd__chain_watch_tx(cd_chain *c, usize idx)
{
    if (c->transfers != NULL) {
        c->transfers->tx = (u32)idx;
    }
}

void cd__chain_unwatch(cd_chain *c, cd_chain_block *b)
{
    const cd_transfers *t = c->transfers;
    cd_evm_set_tracer(c->evm, NULL);
    if (t != NULL && t->cnt != 0) {
        cd_transfer *kept = cd_arena_array(&b->arena, cd_transfer, t->cnt);
        memcpy(kept, t->v, t->cnt * sizeof *kept);
        b->transfers = kept;
        b->transfer_cnt = t->cnt;
    }
}

/* --- the head in memory --- */

cd_err cd_chain_publish(cd_chain *c, cd_errinfo *why)
{
    cd_err e = cd__views_publish(&c->views, c->cfg.kv, &c->rules, &c->genesis);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "the head cannot be read: %s", cd_err_str(e));
}

void cd__chain_remember(cd_chain *c, u64 number, const cd_hash32 *hash)
{
    c->recent[number % CD__CHAIN_RECENT] = *hash;
}

cd__accepted *cd__chain_share(cd_chain_block *b)
{
    cd_accepted pub = {.block = b->block, .rlp = b->rlp, .receipts = b->receipts};
    cd__accepted *acc = cd__accepted_new(&pub, &b->arena);
    b->accepted = cd__accepted_ref(acc);
    return acc;
}

cd_err cd__chain_advance(cd_chain *c, cd_chain_block *b, cd_errinfo *why)
{
    cd__views_push(&c->views, cd__chain_share(b));
    cd__chain_remember(c, b->block.header.number, &b->block.hash);
    return cd_chain_publish(c, why);
}

static void remember_one(void *ctx, u64 number, const cd_hash32 *hash)
{
    cd__chain_remember(ctx, number, hash);
}

cd_err cd__chain_reload(cd_chain *c, const cd_hash32 *hash)
{
    cd_arena a = {0};
    cd_accepted pub;
    cd_err e = cd_accepted_load(&pub, &a, c->cfg.kv, c->rules.layout, hash);
    if (e != CD_OK) {
        cd_arena_fini(&a);
        return e;
    }
    CD_TRY(cd_chaindb_floor(c->cfg.kv, &c->views.floor));
    cd__views_restart(&c->views, cd__accepted_new(&pub, &a));
    u64 head = pub.block.header.number;
    u64 genesis = 0;
    c->recent_from = head > CD__BLOCKHASH_REACH ? head - CD__BLOCKHASH_REACH : genesis;
    cd__chain_remember(c, head, &pub.block.hash);
    return cd_accepted_hashes(c->cfg.kv, c->rules.layout, c->recent_from, head, remember_one, c);
}

cd_err cd_chain_adopted(cd_chain *c, cd_errinfo *why)
{
    cd_flat_head head;
    cd__chain_forget_pending(c);
    CD_TRY(cd_world_reload(c->world, why));
    if (!cd_world_head(c->world, &head)) {
        return cd_fail(why, CD_ECORRUPT, "the state that came in has no block");
    }
    CD_TRY(cd__chain_reload(c, &head.block));
    return cd_chain_publish(c, why);
}

/* --- opening --- */

/* Appends what the chain runs with from now on. */
static void put_configs(cd_kv_batch *batch, const cd_chain *c, const cd_genesis *g)
{
    cd_buf config = {0};
    cd_hash32 digest;
    cd__genesis_digest(&digest, g);
    cd_json_raw(&config, g->config.json);
    cd_chaindb_put_meta(batch, CD_CHAINDB_DIGEST, cd_bytes_of(digest.b, 32));
    cd_chaindb_put_meta(batch, CD_CHAINDB_CONFIG, cd_buf_bytes(&config));
    cd_chaindb_put_meta(batch, CD_CHAINDB_UPGRADES, c->cfg.upgrades);
    cd_buf_fini(&config);
}

static cd_err make_new(cd_chain *c, const cd_genesis *g, cd_errinfo *why)
{
    cd_kv_batch extra = {0};
    cd_chain_block *b = cd__chain_block_new(c);
    cd_kv_batch_for(&extra, c->cfg.kv);
    cd_err e = cd__genesis_make(c, b, g, why);
    if (e == CD_OK) {
        cd_flat_head head = {
            .height = b->block.header.number,
            .block = b->block.hash,
            .root = b->block.header.state_root,
        };
        c->genesis = b->block.hash;
        cd_chaindb_put_genesis(&extra, &b->block.hash);
        put_configs(&extra, c, g);
        cd__chain_put(c, &extra, b);
        e = cd_world_accept(c->world, b->view, &extra, &head, CD_KV_SYNC, why);
    }
    if (e == CD_OK) {
        c->recent_from = b->block.header.number;
        cd__chain_remember(c, b->block.header.number, &b->block.hash);
        cd__views_restart(&c->views, cd__chain_share(b));
        e = cd_chain_publish(c, why);
    }
    cd__chain_block_free(c, b);
    cd_kv_batch_fini(&extra);
    return e;
}

/* The rules that the chain has run under, from the configurations in the store. */
static cd_err stored_rules(const cd_chain *c, cd_chain_rules *out, const cd_chain_rules_cfg *cfg, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_buf config = {0};
    cd_buf upgrades = {0};
    cd_json doc;
    cd_chain_config parsed;
    cd_chain_rules_cfg old = *cfg;
    cd_err e = cd_chaindb_meta(c->cfg.kv, &config, CD_CHAINDB_CONFIG);
    if (e == CD_OK) {
        e = cd_chaindb_meta(c->cfg.kv, &upgrades, CD_CHAINDB_UPGRADES);
    }
    if (e == CD_OK) {
        e = cd_json_parse(&doc, &a, cd_buf_bytes(&config), 0, why);
    }
    if (e == CD_OK) {
        e = cd_chain_config_parse(&parsed, doc, why);
    }
    if (e == CD_OK) {
        old.config = &parsed;
        old.upgrades = cd_buf_bytes(&upgrades);
        e = cd_chain_rules_init(out, &old, why);
    }
    cd_arena_fini(&a);
    cd_buf_fini(&config);
    cd_buf_fini(&upgrades);
    return e;
}

/* May the chain go on with the configuration it is opened with? Then that is the one in the store. */
static cd_err change_configs(cd_chain *c, const cd_genesis *g, const cd_chain_rules_cfg *cfg, cd_errinfo *why)
{
    cd_chain_rules old = {0};
    cd_kv_batch batch = {0};
    cd_err e = stored_rules(c, &old, cfg, why);
    if (e == CD_OK) {
        e = cd_chain_rules_compatible(&old, &c->rules, cd_chain_head(c)->header.time, why);
    }
    cd_chain_rules_fini(&old);
    if (e != CD_OK && !c->cfg.skip_upgrade_check) {
        return e;
    }
    cd_kv_batch_for(&batch, c->cfg.kv);
    put_configs(&batch, c, g);
    /* No need to wait for the disk: whatever is accepted under it comes behind it in the log. */
    e = cd_kv_commit(c->cfg.kv, &batch, CD_KV_NOSYNC, why);
    cd_kv_batch_fini(&batch);
    return e;
}

static cd_err check_digest(const cd_chain *c, const cd_genesis *g, cd_errinfo *why)
{
    cd_buf stored = {0};
    cd_hash32 digest;
    cd__genesis_digest(&digest, g);
    cd_err e = cd_chaindb_meta(c->cfg.kv, &stored, CD_CHAINDB_DIGEST);
    if (e == CD_OK && !cd_bytes_eq(cd_buf_bytes(&stored), cd_bytes_of(digest.b, 32))) {
        e = cd_fail(why, CD_EFOREIGN, "the data directory belongs to a chain with another genesis");
    }
    cd_buf_fini(&stored);
    return e;
}

static cd_err load_epoch(cd_chain *c)
{
    cd_buf value = {0};
    cd_err e = cd_chaindb_meta(c->cfg.kv, &value, CD_CHAINDB_EPOCH);
    if (e == CD_OK) {
        e = value.n == 8 ? CD_OK : CD_ECORRUPT;
    }
    if (e == CD_OK) {
        c->views.epoch = cd_be64(value.p);
    }
    cd_buf_fini(&value);
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err reopen(cd_chain *c, const cd_flat_head *head, const cd_genesis *g, const cd_chain_rules_cfg *cfg,
                     cd_errinfo *why)
{
    CD_TRY(cd_chaindb_genesis(c->cfg.kv, &c->genesis));
    CD_TRY(check_digest(c, g, why));
    CD_TRY(load_epoch(c));
    CD_TRY(cd__chain_reload(c, &head->block));
    if (!c->cfg.is_ethereum) {
        CD_TRY(change_configs(c, g, cfg, why));
    }
    return cd_chain_publish(c, why);
}

static cd_err open_world(cd_chain *c, cd_errinfo *why)
{
    cd_world_cfg cfg = {
        .kv = c->cfg.kv,
        .form = c->rules.account_form,
        .pool = c->cfg.pool,
        .commit_interval = c->cfg.commit_interval,
        .trie_bytes = c->cfg.trie_bytes,
        .cache_bytes = c->cfg.cache_bytes,
        .history = c->cfg.history,
        .summaries = c->cfg.summaries,
        .preimages = c->cfg.preimages,
    };
    return cd_world_open(&c->world, &cfg, why);
}

cd_err cd_chain_open(cd_chain **out, const cd_chain_cfg *cfg, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_genesis g;
    cd_flat_head head;
    cd_chain *c = cd_new(cd_chain);
    c->cfg = *cfg;
    if (cfg->fee_recipient != NULL) {
        c->fee_recipient = *cfg->fee_recipient;
        c->cfg.fee_recipient = &c->fee_recipient;
    }
    cd__views_init(&c->views);
    cd_chain_rules_cfg rules = {
        .config = &g.config,
        .upgrades = cfg->upgrades,
        .network = cfg->network,
        .network_id = cfg->network_id,
        .blockchain_id = cfg->blockchain_id,
        .addrs = cfg->addrs,
        .is_atomic = cfg->ext != NULL,
        .is_dev = cfg->is_dev,
        .warp_quorum_min = cfg->warp_quorum_min,
        .unverified = cfg->unverified,
    };
    cd_err e = cd_genesis_parse(&g, &a, cfg->genesis, why);
    if (e == CD_OK && cfg->is_ethereum) {
        g.config.layout = CD_HEADER_ETHEREUM;
    }
    if (e == CD_OK) {
        e = cd_chain_rules_init(&c->rules, &rules, why);
    }
    e = e != CD_OK ? e : cd_adopt_recover(cfg->kv, why);
    if (e == CD_OK) {
        e = open_world(c, why);
    }
    if (e != CD_OK) {
        goto out;
    }
    c->evm = cd_evm_new();
    c->st = cd_state_new(NULL);
    if (cfg->index != NULL) {
        cd_chain_add_index(c, cfg->index);
    }
    e = cd_world_head(c->world, &head) ? reopen(c, &head, &g, &rules, why) : make_new(c, &g, why);
out:
    cd_arena_fini(&a);
    if (e != CD_OK) {
        cd_chain_close(c);
        return e;
    }
    c->cfg.genesis = (cd_bytes){0};
    c->cfg.upgrades = (cd_bytes){0};
    c->cfg.airdrop = (cd_bytes){0};
    *out = c;
    return CD_OK;
}

void cd_chain_close(cd_chain *c)
{
    if (c == NULL) {
        return;
    }
    for (usize i = 0; i < c->index_cnt; i++) {
        if (c->indices[i]->end != NULL) {
            c->indices[i]->end(c->indices[i]->ctx);
        }
    }
    while (c->blocks != NULL) {
        cd__chain_block_free(c, c->blocks);
    }
    if (c->transfers != NULL) {
        cd_transfers_fini(c->transfers);
        cd_free(c->transfers);
    }
    if (c->st != NULL) {
        cd_state_free(c->st);
    }
    if (c->evm != NULL) {
        cd_evm_free(c->evm);
    }
    cd__views_fini(&c->views);
    cd_world_close(c->world);
    cd_chain_rules_fini(&c->rules);
    cd_free(c);
}

/* --- accepted blocks --- */

static cd_err give(cd_block *out, usize *size, const cd_accepted *acc)
{
    *out = acc->block;
    if (size != NULL) {
        *size = acc->rlp.n;
    }
    return CD_OK;
}

cd_err cd_chain_block_by_hash(cd_chain *c, cd_block *out, usize *size, cd_arena *a, const cd_hash32 *hash)
{
    const cd_accepted *acc;
    CD_TRY(cd_view_block_by_hash(c->views.newest, &acc, a, hash));
    return give(out, size, acc);
}

cd_err cd_chain_block_at(cd_chain *c, cd_block *out, usize *size, cd_arena *a, u64 number)
{
    const cd_accepted *acc;
    CD_TRY(cd_view_block(c->views.newest, &acc, a, number));
    return give(out, size, acc);
}

/* --- state and execution --- */

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
    u64 head = cd_chain_head(c)->header.number;
    bool is_known = number >= c->recent_from && number <= head && head - number < CD__CHAIN_RECENT;
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

cd_err cd_chain_freeze(cd_chain *c, struct cd_world_frozen **out, const cd_chain_block *b, cd_state_source *base)
{
    return cd_world_freeze(out, c->world, b->view, base);
}

cd_err cd_chain_prove(cd_chain *c, cd_world_proof *out, cd_arena *a, const cd_addr20 *addr, const cd_hash32 *keys,
                      usize cnt, cd_errinfo *why)
{
    return cd_world_prove(c->world, out, a, addr, keys, cnt, why);
}

cd_err cd_chain_child(cd_chain *c, cd_child_rules *out)
{
    cd_chain_source src;
    cd_chain_source_init(&src, c, NULL);
    cd_err e = cd_child_rules_read(out, &c->rules, &src.world.src, cd_chain_head(c)->header.time);
    cd_world_source_fini(&src.world);
    return e;
}

cd_err cd_chain_next_header_as(cd_chain *c, cd_header *out, cd_arena *a, const cd_header_wish *wish, cd_errinfo *why)
{
    cd_header h;
    u32 chosen;
    const cd_block *head = cd_chain_head(c);
    cd_parent_l1 p = {.rules = &c->rules, .header = &head->header};
    CD_TRY(cd_chain_child(c, &p.child));
    CD_TRY(cd_header_make_l1(&p, &h, &chosen, a, wish, why));
    h.parent_hash = head->hash;
    *out = h;
    return CD_OK;
}
