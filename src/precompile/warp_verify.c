#include "precompile/warp_verify.h"

#include "base/thread/pool.h"
#include "precompile/module_priv.h"

cd_err cd_warp_check_signed(const cd_warp_message *m, const cd_module_config *config, cd_warp_host *host, u64 height,
                            cd_errinfo *why)
{
    static const cd_hash32 primary; /* the primary network's subnet, and the P-chain */
    static const char cannot[] = "cannot retrieve validator set";
    if (host == NULL) {
        return cd_fail(why, CD_ENOENT, "%s: this network has no validators", cannot);
    }
    cd_hash32 subnet;
    cd_err e = host->subnet_of(host, &subnet, &m->body.source_chain);
    if (e != CD_OK) {
        return cd_fail(why, e, "%s: %s", cannot, cd_err_str(e));
    }
    /* Every validator follows the P-chain, and may follow the whole primary network. So the receiving
     * chain's own validators sign for these, unless the configuration requires those of the primary
     * network; for the P-chain they always do. */
    bool is_p_chain = cd_hash32_eq(&m->body.source_chain, &primary);
    if (cd_hash32_eq(&subnet, &primary) && (is_p_chain || !config->own.warp.require_primary_signers)) {
        subnet = host->subnet;
    }
    cd_arena a = {0};
    cd_warp_set set;
    e = host->validators(host, &set, &a, &subnet, height);
    if (e != CD_OK) {
        (void)cd_fail(why, e, "%s: %s", cannot, cd_err_str(e));
    } else {
        u64 quorum = config->own.warp.quorum != 0 ? config->own.warp.quorum : CD_WARP_QUORUM_DEFAULT;
        e = cd_warp_check(m, host->network_id, &set, quorum, CD_WARP_QUORUM_DEN, why);
    }
    cd_arena_fini(&a);
    return e;
}

/* --- predicates of a transaction --- */

static bool is_predicate(const cd_precompile_table *table, const cd_access_tuple *t)
{
    const cd_precompile *p = cd_precompile_find(table, &t->addr);
    return p != NULL && p->predicate_gas != NULL;
}

bool cd_predicates_has(const cd_schedule *s, u64 time, const cd_tx *tx)
{
    const cd_precompile_table *table = cd_schedule_table(s, time);
    for (usize i = 0; i < tx->access_cnt; i++) {
        if (is_predicate(table, &tx->access[i])) {
            return true;
        }
    }
    return false;
}

/* A predicate, and what came of it. */
typedef struct verdict {
    const cd_access_tuple *tuple;
    const cd_module_config *config;
    cd_err err;
    cd_errinfo why;
} verdict;

/* Those of several transactions, in the order of their bits. */
typedef struct verdicts {
    const cd_predicates_ctx *ctx;
    verdict *v;
    usize cnt;
} verdicts;

static void judge(void *arg, usize i, u32 slot)
{
    const verdicts *all = arg;
    verdict *v = &all->v[i];
    cd_bytes bytes;
    cd_warp_message m;
    (void)slot;
    bool is_message = cd_predicate_unpack(&bytes, v->tuple->keys, v->tuple->key_cnt, NULL) == CD_OK &&
                      cd_warp_message_dec(&m, bytes) == CD_OK;
    v->err = is_message ? cd_warp_check_signed(&m, v->config, all->ctx->host, all->ctx->height, &v->why) : CD_EINVAL;
}

/* What the host could not tell now is no verdict. */
static bool is_verdict(cd_err e)
{
    return e == CD_OK || e == CD_EINVAL || e == CD_ESIG || e == CD_ENOENT;
}

/* next_addr gives the lowest address with predicates above a bound (NULL: none); false when there is no
 * further one. */
static bool next_addr(cd_addr20 *out, const cd_precompile_table *table, const cd_tx *tx, const cd_addr20 *above)
{
    bool found = false;
    for (usize i = 0; i < tx->access_cnt; i++) {
        const cd_addr20 *addr = &tx->access[i].addr;
        if ((above == NULL || memcmp(addr->b, above->b, 20) > 0) && (!found || memcmp(addr->b, out->b, 20) < 0) &&
            is_predicate(table, &tx->access[i])) {
            *out = *addr;
            found = true;
        }
    }
    return found;
}

/* each_addr calls visit for the addresses of a transaction that have predicates, ascending. */
static void each_addr(const cd_predicates_ctx *ctx, const cd_tx *tx,
                      void (*visit)(void *arg, const cd_addr20 *addr, const cd_module_config *config), void *arg)
{
    const cd_precompile_table *table = cd_schedule_table(ctx->schedule, ctx->time);
    cd_addr20 addr;
    cd_addr20 last;
    for (bool is_first = true; next_addr(&addr, table, tx, is_first ? NULL : &last); is_first = false) {
        cd_module_id module;
        bool found = cd_schedule_find(ctx->schedule, &module, &addr, ctx->time);
        CD_ASSERT(found);
        visit(arg, &addr, cd_schedule_active(ctx->schedule, module, ctx->time));
        last = addr;
    }
}

/* One pass over a transaction: predicates are listed, then their verdicts become bits, in the same order. */
typedef struct pass {
    verdicts *all;
    const cd_tx *tx;
    cd_arena *a;
    cd_predicate_bits items[2]; /* Warp has at most two addresses */
    usize cnt;
    usize next; /* verdict */
} pass;

static void list_addr(void *arg, const cd_addr20 *addr, const cd_module_config *config)
{
    const pass *p = arg;
    for (usize i = 0; i < p->tx->access_cnt; i++) {
        if (cd_addr20_eq(&p->tx->access[i].addr, addr)) {
            p->all->v[p->all->cnt++] = (verdict){.tuple = &p->tx->access[i], .config = config};
        }
    }
}

static void bits_of_addr(void *arg, const cd_addr20 *addr, const cd_module_config *config)
{
    pass *p = arg;
    bool *failed = cd_arena_array(p->a, bool, p->tx->access_cnt);
    usize cnt = 0;
    cd_buf bits = {0};
    (void)config;
    for (usize i = 0; i < p->tx->access_cnt; i++) {
        if (cd_addr20_eq(&p->tx->access[i].addr, addr)) {
            failed[cnt++] = p->all->v[p->next++].err != CD_OK;
        }
    }
    cd_bits_put(&bits, failed, cnt);
    CD_ASSERT(p->cnt < CD_COUNT(p->items));
    p->items[p->cnt++] = (cd_predicate_bits){.addr = *addr, .failed = cd_arena_dup(p->a, cd_buf_bytes(&bits))};
    cd_buf_fini(&bits);
}

static void add_results(cd_predicate_results *out, verdicts *all, cd_arena *a, const cd_tx *txs, usize cnt)
{
    pass p = {.all = all, .a = a};
    for (usize i = 0; i < cnt; i++) {
        p.tx = &txs[i];
        p.cnt = 0;
        each_addr(all->ctx, p.tx, bits_of_addr, &p);
        if (p.cnt != 0) {
            cd_predicate_bits *kept = cd_arena_array(a, cd_predicate_bits, p.cnt);
            memcpy(kept, p.items, p.cnt * sizeof *kept);
            cd_predicate_results_add(out, a, &(cd_predicate_tx){.hash = p.tx->hash, .items = kept, .cnt = p.cnt});
        }
    }
}

cd_err cd_predicates_check(cd_predicate_results *out, cd_arena *a, const cd_predicates_ctx *ctx, const cd_tx *txs,
                           usize cnt, cd_errinfo *why)
{
    cd_arena scratch = {0};
    verdicts all = {.ctx = ctx};
    pass p = {.all = &all};
    usize max = 0;
    cd_err e = CD_OK;
    for (usize i = 0; i < cnt; i++) {
        max += txs[i].access_cnt;
    }
    if (max == 0) {
        return CD_OK;
    }
    all.v = cd_arena_array(&scratch, verdict, max);
    for (usize i = 0; i < cnt; i++) {
        p.tx = &txs[i];
        each_addr(ctx, p.tx, list_addr, &p);
    }
    cd_pool_for(ctx->pool, all.cnt, judge, &all);
    for (usize i = 0; i < all.cnt && e == CD_OK; i++) {
        if (!is_verdict(all.v[i].err)) {
            e = cd_fail(why, all.v[i].err, "%s", all.v[i].why.msg);
        }
    }
    if (e == CD_OK) {
        add_results(out, &all, a, txs, cnt);
    }
    cd_arena_fini(&scratch);
    return e;
}

/* --- messages of this chain --- */

bool cd_warp_sent(cd_bytes *out, const cd_schedule *s, u64 time, const cd_log *log)
{
    enum { OFFSET = 32, HEAD = 2 * 32 };
    cd_module_id module;
    if (log->topic_cnt != 3 || !cd_hash32_eq(&log->topics[0], cd__warp_sent_topic()) ||
        !cd_schedule_find(s, &module, &log->addr, time) || module != CD_MODULE_WARP) {
        return false;
    }
    CD_ASSERT(log->data.n >= HEAD); /* only the module itself logs under its address */
    u64 n = cd_be64(log->data.p + OFFSET + 24);
    CD_ASSERT(n <= log->data.n - HEAD);
    *out = cd_bytes_sub(log->data, HEAD, n);
    return true;
}

cd_err cd_warp_off_chain_check(cd_warp_unsigned *out, cd_bytes bytes, usize idx, u32 network_id,
                               const cd_hash32 *chain_id, cd_errinfo *why)
{
    static const char cannot[] = "failed to parse off-chain message";
    cd_warp_unsigned m;
    cd_err e = cd_warp_unsigned_dec(&m, bytes);
    if (e != CD_OK) {
        return cd_fail(why, e, "%s at index %zu: %s", cannot, idx, cd_err_str(e));
    }
    if (m.network_id != network_id) {
        return cd_fail(why, CD_EINVAL, "wrong networkID at index %zu", idx);
    }
    if (!cd_hash32_eq(&m.source_chain, chain_id)) {
        return cd_fail(why, CD_EINVAL, "wrong source chainID at index %zu", idx);
    }
    cd_warp_payload p;
    e = cd_warp_payload_dec(&p, m.payload);
    if (e == CD_OK && p.type != CD_WARP_ADDRESSED_CALL) {
        e = CD_ETYPE;
    }
    if (e != CD_OK) {
        return cd_fail(why, e, "%s at index %zu as AddressedCall: %s", cannot, idx, cd_err_str(e));
    }
    *out = m;
    return CD_OK;
}
