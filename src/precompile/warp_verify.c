#include "precompile/warp_verify.h"

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

static bool passes(const cd_access_tuple *t, const cd_module_config *config, cd_warp_host *host, u64 height)
{
    cd_bytes bytes;
    cd_warp_message m;
    return cd_predicate_unpack(&bytes, t->keys, t->key_cnt, NULL) == CD_OK && cd_warp_message_dec(&m, bytes) == CD_OK &&
           cd_warp_check_signed(&m, config, host, height, NULL) == CD_OK;
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

/* check_addr checks the predicates addressed to one precompile and gives their bits: 1 = failed. */
static cd_bytes check_addr(cd_arena *a, const cd_module_config *config, const cd_tx *tx, const cd_addr20 *addr,
                           cd_warp_host *host, u64 height)
{
    bool *failed = cd_arena_array(a, bool, tx->access_cnt);
    usize cnt = 0;
    for (usize i = 0; i < tx->access_cnt; i++) {
        if (cd_addr20_eq(&tx->access[i].addr, addr)) {
            failed[cnt++] = !passes(&tx->access[i], config, host, height);
        }
    }
    cd_buf bits = {0};
    cd_bits_put(&bits, failed, cnt);
    cd_bytes kept = cd_arena_dup(a, cd_buf_bytes(&bits));
    cd_buf_fini(&bits);
    return kept;
}

void cd_predicates_check(cd_predicate_results *out, cd_arena *a, const cd_schedule *s, u64 time, const cd_tx *tx,
                         cd_warp_host *host, u64 height)
{
    const cd_precompile_table *table = cd_schedule_table(s, time);
    cd_predicate_bits items[2]; /* Warp has at most two addresses */
    cd_addr20 addr;
    usize cnt = 0;
    while (next_addr(&addr, table, tx, cnt == 0 ? NULL : &items[cnt - 1].addr)) {
        cd_module_id module;
        bool found = cd_schedule_find(s, &module, &addr, time);
        CD_ASSERT(found && cnt < CD_COUNT(items));
        items[cnt].addr = addr;
        items[cnt].failed = check_addr(a, cd_schedule_active(s, module, time), tx, &addr, host, height);
        cnt++;
    }
    if (cnt != 0) {
        cd_predicate_bits *kept = cd_arena_array(a, cd_predicate_bits, cnt);
        memcpy(kept, items, cnt * sizeof *kept);
        cd_predicate_results_add(out, a, &(cd_predicate_tx){.hash = tx->hash, .items = kept, .cnt = cnt});
    }
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
