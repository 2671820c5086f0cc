#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"
#include "plugin/host/vm_priv.h"

enum { CACHE_BYTES = 64 << 20, MISSING_MAX = 2048, ENTRY_COST = 256, TOO_MANY = 1 << 16 };

/* A block of a plugin: its bytes follow. */
typedef struct wire_block {
    cd_vm_block pub; /* first */
    u8 bytes[];
} wire_block;

/* What we know of a block without asking the plugin; n bytes of the block follow where they are needed. */
typedef struct fact {
    cd_hash32 id;
    cd_hash32 parent;
    u64 height;
    u64 time;
    bool needs_context;
    usize n;
    u8 bytes[];
} fact;

static cd__plugin_vm *of(void *owner)
{
    return owner;
}

cd_err cd__pvm_id(cd_hash32 *out, cd_bytes id, const char *what, cd_errinfo *why)
{
    if (id.n != sizeof out->b) {
        return cd_fail(why, CD_EFORMAT, "the plugin's %s has %zu bytes, not 32", what, id.n);
    }
    memcpy(out->b, id.p, sizeof out->b);
    return CD_OK;
}

static u64 seconds_of(const cd_wire_vm_time *t)
{
    return t == NULL || t->seconds < 0 ? 0 : (u64)t->seconds;
}

/* --- caches --- */

static void drop_fact(void *ctx, void *val)
{
    (void)ctx;
    cd_free(val);
}

void cd__pvm_caches_new(cd__plugin_vm *v)
{
    v->known = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), CACHE_BYTES, drop_fact, NULL);
    v->decided = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), CACHE_BYTES, drop_fact, NULL);
    v->missing = cd_lru_new(CD_HASH_KEYED, sizeof(cd_hash32), MISSING_MAX, NULL, NULL);
}

void cd__pvm_caches_free(cd__plugin_vm *v)
{
    cd_lru_free(v->known);
    cd_lru_free(v->decided);
    cd_lru_free(v->missing);
}

static fact *fact_of(const cd_hash32 *id, const cd_hash32 *parent, const cd_wire_vm_built *m, cd_bytes bytes)
{
    fact *f = cd_alloc(sizeof *f + bytes.n);
    f->id = *id;
    f->parent = *parent;
    f->height = m->height;
    f->time = seconds_of(m->timestamp);
    f->needs_context = m->verify_with_context;
    f->n = bytes.n;
    if (bytes.n != 0) {
        memcpy(f->bytes, bytes.p, bytes.n);
    }
    return f;
}

static void keep(cd_lru *cache, const cd_hash32 *key, fact *f, usize cost)
{
    if (!cd_lru_put(cache, key, f, cost + ENTRY_COST)) {
        cd_free(f);
    }
}

static void note_known(cd__plugin_vm *v, const fact *f, cd_bytes bytes)
{
    cd_hash32 digest;
    cd_sha256(&digest, bytes);
    fact *own = cd_alloc(sizeof *own);
    *own = *f;
    own->n = 0;
    keep(v->known, &digest, own, bytes.n);
    (void)cd_lru_del(v->missing, &f->id);
}

static void note_decided(cd__plugin_vm *v, const cd_vm_block *b)
{
    const cd_wire_vm_time time = {.seconds = (i64)b->time};
    const cd_wire_vm_built m = {
        .height = b->height, .timestamp = (cd_wire_vm_time *)(usize)&time, .verify_with_context = b->needs_context};
    keep(v->decided, &b->id, fact_of(&b->id, &b->parent, &m, b->bytes), b->bytes.n);
}

/* --- blocks of facts --- */

static cd_vm_block *block_of(const fact *f, cd_bytes bytes)
{
    wire_block *b = cd_alloc(sizeof *b + bytes.n);
    if (bytes.n != 0) {
        memcpy(b->bytes, bytes.p, bytes.n);
    }
    b->pub = (cd_vm_block){
        .id = f->id,
        .parent = f->parent,
        .height = f->height,
        .time = f->time,
        .bytes = cd_bytes_of(b->bytes, bytes.n),
        .span = 1,
        .needs_context = f->needs_context,
    };
    return &b->pub;
}

static cd_err learn(cd__plugin_vm *v, fact *out, const cd_wire_vm_built *m, cd_bytes bytes, cd_errinfo *why)
{
    *out = (fact){.height = m->height, .time = seconds_of(m->timestamp), .needs_context = m->verify_with_context};
    CD_TRY(cd__pvm_id(&out->id, m->id, "block id", why));
    CD_TRY(cd__pvm_id(&out->parent, m->parent_id, "parent id", why));
    note_known(v, out, bytes);
    return CD_OK;
}

cd_err cd__pvm_block(cd__plugin_vm *v, cd_vm_block **out, const cd_wire_vm_built *m, cd_bytes bytes, cd_errinfo *why)
{
    fact f;
    CD_TRY(learn(v, &f, m, bytes, why));
    *out = block_of(&f, bytes);
    return CD_OK;
}

/* Finds out what block bytes are: from the cache, or from the plugin. */
static cd_err fact_at(cd__plugin_vm *v, fact *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_hash32 digest;
    cd_sha256(&digest, bytes);
    const fact *f = cd_lru_get(v->known, &digest);
    if (f != NULL) {
        *out = *f;
        return CD_OK;
    }
    const cd_wire_vm_bytes ask = {.bytes = bytes};
    cd_wire_vm_built said = {0};
    cd_err e = CD__PVM_ASK(v, "ParseBlock", vm_bytes, &ask, vm_built, &said, why);
    if (e != CD_OK) {
        return e == CD_EIO ? CD_EFORMAT : e; /* why keeps the plugin's own words */
    }
    return learn(v, out, &said, bytes, why);
}

static cd_err id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    fact f;
    CD_TRY(fact_at(of(owner), &f, bytes, why));
    *out = f.id;
    return CD_OK;
}

static cd_err decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    fact f;
    CD_TRY(fact_at(of(owner), &f, bytes, why));
    *out = block_of(&f, bytes);
    return CD_OK;
}

static cd_err fetch(cd__plugin_vm *v, cd_vm_block **out, const cd_hash32 *id)
{
    const cd_wire_vm_id ask = {.id = cd_bytes_of(id->b, sizeof id->b)};
    cd_wire_vm_block_got said = {0};
    cd_errinfo why = {0};
    CD_TRY(CD__PVM_ASK(v, "GetBlock", vm_id, &ask, vm_block_got, &said, &why));
    if (said.err == CD_WIRE_NOT_FOUND) {
        (void)!cd_lru_put(v->missing, id, v, 1);
        return CD_ENOENT;
    }
    const cd_wire_vm_built m = {
        .id = ask.id,
        .parent_id = said.parent_id,
        .height = said.height,
        .timestamp = said.timestamp,
        .verify_with_context = said.verify_with_context,
    };
    return said.err != 0 ? CD_ECLOSED : cd__pvm_block(v, out, &m, said.bytes, &why);
}

static cd_err load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    cd__plugin_vm *v = owner;
    const fact *f = cd_lru_get(v->decided, id);
    if (f != NULL) {
        *out = block_of(f, cd_bytes_of(f->bytes, f->n));
        return CD_OK;
    }
    if (cd_lru_get(v->missing, id) != NULL) {
        return CD_ENOENT;
    }
    CD_TRY(fetch(v, out, id));
    return CD_OK;
}

static cd_err id_at_height(void *owner, cd_hash32 *id, u64 height)
{
    cd__plugin_vm *v = owner;
    const cd_wire_vm_height ask = {.height = height};
    cd_wire_vm_id_at said = {0};
    if (height > v->blocks.last_height) {
        return CD_ENOENT;
    }
    if (height == v->blocks.last_height) {
        *id = v->blocks.last;
        return CD_OK;
    }
    CD_TRY(CD__PVM_ASK(v, "GetBlockIDAtHeight", vm_height, &ask, vm_id_at, &said, NULL));
    return said.err == CD_WIRE_NOT_FOUND ? CD_ENOENT
           : said.err != 0               ? CD_ECLOSED
                                         : cd__pvm_id(id, said.blk_id, "block id", NULL);
}

static void free_block(void *owner, cd_vm_block *b)
{
    (void)owner;
    cd_free(b);
}

/* --- deciding --- */

static cd_err verify(void *owner, cd_vm_block *b, cd_vm_block *parent, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_wire_vm_verified said = {0};
    cd_wire_vm_verify ask = {.bytes = b->bytes};
    (void)parent;
    if (b->needs_context && ctx->pchain_height != 0) {
        ask.p_chain_height = ctx->pchain_height;
        ask.has_p_chain_height = 2;
    }
    cd_err e = CD__PVM_ASK(of(owner), "BlockVerify", vm_verify, &ask, vm_verified, &said, why);
    return e == CD_EIO ? CD_EINVAL : e; /* why keeps the plugin's own words */
}

/* Fails the plugin, which may have accepted a block that is not in the store, and forgets what it wrote for it. */
static void give_up(cd__plugin_vm *v, const char *reason)
{
    cd_plugin_db_abandon(v->db);
    v->is_pending = false;
    cd_plugin_fail(v->plugin, reason);
}

static cd_err ask_accept(cd__plugin_vm *v, const cd_vm_block *b, cd_errinfo *why)
{
    const cd_wire_vm_id ask = {.id = cd_bytes_of(b->id.b, sizeof b->id.b)};
    cd_plugin_db_hold(v->db);
    cd_err e = cd__pvm_call(v, "/vm.VM/BlockAccept", &cd_wire_vm_id_type, &ask, NULL, NULL, why);
    if (e != CD_OK) {
        give_up(v, "it could not accept a block");
        return e;
    }
    v->pending = b->id;
    v->is_pending = true;
    return CD_OK;
}

static cd_err accept(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    cd__plugin_vm *v = owner;
    if (v->cfg.has_own_store) {
        return CD_OK; /* accepted tells it */
    }
    if (v->is_pending && !cd_hash32_eq(&v->pending, &b->id)) {
        give_up(v, "it has accepted a block that was not committed");
        return cd_fail(why, CD_ECLOSED, "the plugin has accepted another block, which was not committed");
    }
    if (!v->is_pending) {
        CD_TRY(ask_accept(v, b, why));
    }
    cd_err e = cd_plugin_db_take(v->db, batch, why);
    if (e != CD_OK) {
        give_up(v, "what it wrote with a block cannot be written");
    }
    return e;
}

/* The block is in our store. A plugin that has not heard of it begins below it when it is opened anew, and what our
 * store has above is cut off then: so a store of its own is never ahead of ours. */
static void tell_accepted(cd__plugin_vm *v, const cd_vm_block *b)
{
    const cd_wire_vm_id ask = {.id = cd_bytes_of(b->id.b, sizeof b->id.b)};
    cd_errinfo why = {0};
    if (cd__pvm_call(v, "/vm.VM/BlockAccept", &cd_wire_vm_id_type, &ask, NULL, NULL, &why) != CD_OK) {
        cd_plugin_fail(v->plugin, "it could not accept a block");
    }
}

static cd_err accepted(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    cd__plugin_vm *v = owner;
    v->is_pending = false;
    note_decided(v, b);
    if (v->cfg.has_own_store) {
        tell_accepted(v, b);
        return CD_OK;
    }
    cd_err e = cd_plugin_db_landed(v->db, why);
    if (e != CD_OK) {
        cd_plugin_fail(v->plugin, "the store failed");
    }
    return e;
}

static void reject(void *owner, cd_vm_block *b)
{
    cd__plugin_vm *v = owner;
    const cd_wire_vm_id ask = {.id = cd_bytes_of(b->id.b, sizeof b->id.b)};
    cd_errinfo why = {0};
    if (v->is_pending && cd_hash32_eq(&v->pending, &b->id)) {
        give_up(v, "it has accepted a block that was not committed");
        return;
    }
    cd_err e = cd__pvm_call(v, "/vm.VM/BlockReject", &cd_wire_vm_id_type, &ask, NULL, NULL, &why);
    if (e != CD_OK) {
        cd_log_warn(v->ctx.log, "the plugin does not reject a block", CD_F("chain", v->ctx.name),
                    CD_F("error", why.msg));
    }
}

const cd_blocks_ops cd__pvm_blocks = {
    .id_of = id_of,
    .decode = decode,
    .load = load,
    .id_at_height = id_at_height,
    .free = free_block,
    .verify = verify,
    .accept = accept,
    .accepted = accepted,
    .reject = reject,
};

/* --- many at once --- */

cd_err cd__pvm_ancestors(cd_vm *vm, cd_buf *out, const cd_hash32 *id, u32 cnt_max, usize bytes_max)
{
    enum { PATIENCE_NS = 50000000 };
    cd__plugin_vm *v = (cd__plugin_vm *)(void *)vm;
    const cd_wire_vm_ancestors_of ask = {
        .blk_id = cd_bytes_of(id->b, sizeof id->b),
        .max_blocks_num = (i32)cd_min_u64(cnt_max, INT32_MAX),
        .max_blocks_size = (i32)cd_min_u64(bytes_max, INT32_MAX),
        .max_blocks_retrival_time = PATIENCE_NS,
    };
    cd_wire_vm_blocks said = {0};
    u64 until = cd_clock_mono_ns(v->ctx.clock) + PATIENCE_NS;
    cd_err e = CD__PVM_ASK(v, "GetAncestors", vm_ancestors_of, &ask, vm_blocks, &said, NULL);
    const cd_bytes *blocks = said.blks_bytes.v;
    if (e != CD_OK || said.blks_bytes.cnt == 0) {
        return cd_vm_ancestors(vm, out, id, cnt_max, bytes_max, v->ctx.clock, until);
    }
    usize used = 0;
    for (u32 i = 0; i < said.blks_bytes.cnt && i < cnt_max; i++) {
        u8 length[4];
        if (blocks[i].n > UINT32_MAX || blocks[i].n + sizeof length > bytes_max - used) {
            break;
        }
        cd_put_be32(length, (u32)blocks[i].n);
        cd_buf_put(out, cd_bytes_of(length, sizeof length));
        cd_buf_put(out, blocks[i]);
        used += blocks[i].n + sizeof length;
    }
    return CD_OK;
}

/* Asks in one call for all blocks that are not known yet, so that parsing them afterwards finds them in the cache. */
static void learn_many(cd__plugin_vm *v, const cd_bytes *in, usize cnt)
{
    cd_hash32 digest;
    cd_wire_vm_parsed_many said = {0};
    cd_bytes *unknown = cd_new_array(cd_bytes, cnt);
    u32 n = 0;
    for (usize i = 0; i < cnt; i++) {
        cd_sha256(&digest, in[i]);
        if (cd_lru_get(v->known, &digest) == NULL) {
            unknown[n++] = in[i];
        }
    }
    const cd_wire_vm_blocks ask = {.blks_bytes = cd_wire_list(unknown, n)};
    cd_err e = n < 2 ? CD_ENOENT : CD__PVM_ASK(v, "BatchedParseBlock", vm_blocks, &ask, vm_parsed_many, &said, NULL);
    if (e == CD_OK && said.response.cnt == n) {
        const cd_wire_vm_built *m = said.response.v;
        fact f;
        for (u32 i = 0; i < n && learn(v, &f, &m[i], unknown[i], NULL) == CD_OK; i++) {
        }
    } else if (e == CD_OK) {
        cd_log_warn(v->ctx.log, "BatchedParseBlock returned different number of blocks than expected",
                    CD_F("chain", v->ctx.name));
    }
    cd_free(unknown);
}

void cd__pvm_parse_many(cd_vm *vm, cd_vm_block **out, const cd_bytes *in, usize cnt)
{
    if (cnt < TOO_MANY) {
        learn_many((cd__plugin_vm *)(void *)vm, in, cnt);
    }
    cd_vm_parse_many(vm, out, in, cnt);
}
