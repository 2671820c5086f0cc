#include "chains/platform/service/service_priv.h"

#include "chains/platform/state/stakers.h"
#include "chains/utxo/store.h"

#include <stdlib.h>

/* --- sums by asset --- */

/* How what is owned may be used. */
enum { UNLOCKED, STAKEABLE, NOT_STAKEABLE, USES };

typedef struct sum {
    cd_hash32 asset_id;
    const char *text; /* the ID */
    u64 by_use[USES];
} sum;

typedef struct sums {
    sum v[CD__ASSETS_MAX];
    usize cnt;
} sums;

/* The sum of an asset; NULL when there are too many. */
static sum *sum_of(sums *s, const cd_rpc_call *call, const cd_hash32 *asset_id)
{
    for (usize i = 0; i < s->cnt; i++) {
        if (cd_hash32_eq(&s->v[i].asset_id, asset_id)) {
            return &s->v[i];
        }
    }
    if (s->cnt == CD__ASSETS_MAX) {
        return NULL;
    }
    s->v[s->cnt] = (sum){.asset_id = *asset_id, .text = cd__id_text(call, asset_id)};
    return &s->v[s->cnt++];
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const sum *)a)->text, ((const sum *)b)->text);
}

static u64 total_of(const sum *s)
{
    u64 total = 0;
    for (usize i = 0; i < USES; i++) {
        total = cd_add_u64(&total, total, s->by_use[i]) ? total : UINT64_MAX;
    }
    return total;
}

static u64 amount_of(const sum *s, int use)
{
    return s == NULL ? 0 : use == USES ? total_of(s) : s->by_use[use];
}

/* A map of what there is of each asset in a use (USES: in all); what there is nothing of is left out. */
static void put_map(cd_json_w *w, const char *key, const sums *s, int use)
{
    cd_json_w_key(w, key);
    cd_json_w_obj(w);
    for (usize i = 0; i < s->cnt; i++) {
        if (amount_of(&s->v[i], use) != 0) {
            cd_json_put_dec(w, s->v[i].text, amount_of(&s->v[i], use));
        }
    }
    cd_json_w_obj_end(w);
}

/* --- getBalance --- */

/* What an output is good for at a time; false for what holds no amount. */
static bool classify(u64 *amount, int *use, const cd_linear_any *out, u64 now)
{
    const cd_transfer_output *o = out->v;
    *use = UNLOCKED;
    if (out->is->id == 22) {
        const cd_locked *locked = out->v;
        o = locked->inner.v;
        *use = locked->locktime > now ? STAKEABLE : UNLOCKED;
    }
    if (o->owners.locktime > now) {
        *use = NOT_STAKEABLE;
    }
    *amount = o->amount;
    return true;
}

/* Where UTXOs of a balance are kept until the sums are written. */
typedef struct utxo_ref {
    cd_hash32 tx_id;
    u32 output_idx;
} utxo_ref;

static cd_err add_page(cd_rpc_call *call, sums *s, cd_buf *refs, const cd_utxo_found *page, usize cnt, u64 now)
{
    if (refs->n / sizeof(utxo_ref) + cnt > CD__BALANCE_MAX) {
        return cd__fail(call, "more than %d UTXOs: use platform.getUTXOs", CD__BALANCE_MAX);
    }
    for (usize i = 0; i < cnt; i++) {
        const cd_utxo *u = &page[i].utxo;
        utxo_ref ref = {.tx_id = u->tx_id, .output_idx = u->output_idx};
        sum *of = sum_of(s, call, &u->asset_id);
        u64 amount;
        int use;
        if (of == NULL) {
            return cd__fail(call, "more than %d assets: use platform.getUTXOs", CD__ASSETS_MAX);
        }
        if (classify(&amount, &use, &u->out, now) && !cd_add_u64(&of->by_use[use], of->by_use[use], amount)) {
            of->by_use[use] = UINT64_MAX;
        }
        cd_buf_put(refs, cd_bytes_of(&ref, sizeof ref));
    }
    return CD_OK;
}

static cd_err add_all(cd_rpc_call *call, sums *s, cd_buf *refs, cd_addr20 *addrs, usize cnt)
{
    cd_pstate state;
    CD_TRY(cd__state_of(&state, call));
    u64 now = cd_clock_wall_s(cd__service_of(call)->cfg.clock);
    cd_utxo_cursor at = {0};
    cd_arena a = {0};
    cd_err e = CD_OK;
    usize n = 1;
    while (e == CD_OK && n != 0 && cnt != 0) {
        cd_utxo_found *page;
        cd_arena_reset(&a);
        e = cd_utxo_page(&page, &n, &at, state.kv, &a, &cd_p_utxo_table, addrs, &cnt, CD__UTXOS_MAX);
        e = e != CD_OK ? cd__fail(call, "couldn't get UTXO set of addresses: %s", cd__words(e))
                       : add_page(call, s, refs, page, n, now);
        if (e == CD_OK && cd_rpc_is_late(call)) {
            e = cd_rpc_fail_late(call);
        }
    }
    cd_arena_fini(&a);
    return e;
}

static void put_refs(cd_rpc_call *call, const cd_buf *refs)
{
    const utxo_ref *v = (const utxo_ref *)(const void *)refs->p;
    cd_json_w *w = call->out;
    if (refs->n == 0 && cd__service_of(call)->cfg.network->family->null_lists) {
        cd_json_put_null(w, "utxoIDs");
        return;
    }
    cd_json_w_key(w, "utxoIDs");
    cd_json_w_arr(w);
    for (usize i = 0; i < refs->n / sizeof *v; i++) {
        cd_json_w_obj(w);
        cd_json_put_id(w, "txID", &v[i].tx_id);
        cd_json_put_u64(w, "outputIndex", v[i].output_idx);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

static void put_balance(cd_rpc_call *call, sums *s, const cd_buf *refs)
{
    static const struct {
        const char *one;
        const char *all;
        int use;
    } parts[] = {{"balance", "balances", USES},
                 {"unlocked", "unlockeds", UNLOCKED},
                 {"lockedStakeable", "lockedStakeables", STAKEABLE},
                 {"lockedNotStakeable", "lockedNotStakeables", NOT_STAKEABLE}};
    const cd_hash32 *native = &cd__service_of(call)->cfg.asset_id;
    const sum *mine = NULL;
    qsort(s->v, s->cnt, sizeof s->v[0], by_text);
    for (usize i = 0; i < s->cnt; i++) {
        mine = cd_hash32_eq(&s->v[i].asset_id, native) ? &s->v[i] : mine;
    }
    cd_json_w_obj(call->out);
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        cd_json_put_dec(call->out, parts[i].one, amount_of(mine, parts[i].use));
    }
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        put_map(call->out, parts[i].all, s, parts[i].use);
    }
    put_refs(call, refs);
    cd_json_w_obj_end(call->out);
}

static cd_err check_cnt(cd_rpc_call *call, usize n)
{
    return n <= CD__ADDRS_MAX ? CD_OK
                              : cd__fail(call, "number of addresses given, %zu, exceeds maximum, %d", n, CD__ADDRS_MAX);
}

cd_err cd__platform_balance(cd_rpc_call *call)
{
    const cd__platform_balance_args *args = call->args;
    cd_rpc_strings texts = args->addresses;
    cd_bytes one = args->address;
    if (texts.n == 0 && one.n != 0) {
        texts = (cd_rpc_strings){.v = &one, .n = 1};
    }
    cd_addr20 *addrs;
    CD_TRY(check_cnt(call, texts.n));
    CD_TRY(cd__addrs_read(&addrs, call, &texts));
    sums *s = cd_arena_new(call->arena, sums);
    cd_buf refs = {0};
    cd_err e = add_all(call, s, &refs, addrs, texts.n);
    if (e == CD_OK) {
        put_balance(call, s, &refs);
    }
    cd_buf_fini(&refs);
    return e;
}

/* --- getUTXOs --- */

static int by_addr(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

static cd_err read_start(cd_utxo_cursor *at, cd_rpc_call *call, const cd__platform_utxos_args *args)
{
    cd_errinfo why = {0};
    if (args->start_address.n == 0 && args->start_utxo.n == 0) {
        return CD_OK;
    }
    if (cd__addr_read(&at->addr, call, args->start_address) != CD_OK) {
        return cd__fail(call, "couldn't parse start index address \"%.*s\": %s",
                        (int)cd_min_u64(args->start_address.n, 256), (const char *)args->start_address.p,
                        cd_arena_str(call->arena, cd_bytes_str(call->error_message)));
    }
    if (cd_id_parse(&at->utxo, args->start_utxo, &why) != CD_OK) {
        return cd__fail(call, "couldn't parse start index utxo: %s", why.msg);
    }
    return CD_OK;
}

/* A page of this chain's UTXOs. */
static cd_err own_page(cd_rpc_call *call, cd_utxo_found **page, usize *n, cd_utxo_cursor *at, cd_addr20 *addrs,
                       usize cnt, usize limit)
{
    cd_pstate s;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_utxo_page(page, n, at, s.kv, call->arena, &cd_p_utxo_table, addrs, &cnt, limit);
    return e == CD_OK ? CD_OK : cd__fail(call, "problem retrieving UTXOs: %s", cd__words(e));
}

static cd_err parse_shared(cd_rpc_call *call, cd_utxo_found *out, cd_bytes bytes)
{
    if (cd_utxo_parse(&out->utxo, &cd_p_utxo_table, call->arena, bytes, NULL) != CD_OK) {
        return cd__fail(call, "problem retrieving UTXOs: %s", cd__words(CD_ECORRUPT));
    }
    out->bytes = bytes;
    cd_utxo_id(&out->id, &out->utxo.tx_id, out->utxo.output_idx);
    return CD_OK;
}

/* A page of what another chain left here. */
static cd_err shared_page(cd_rpc_call *call, cd_utxo_found **page, usize *n, cd_utxo_cursor *at, cd_addr20 *addrs,
                          usize cnt, const cd_hash32 *peer, usize limit)
{
    const cd_vm_shared *shared = cd__service_of(call)->cfg.shared;
    cd_bytes *values = NULL;
    *n = 0;
    qsort(addrs, cnt, sizeof *addrs, by_addr);
    if (shared == NULL) {
        at->addr = addrs[cnt - 1];
        return CD_OK;
    }
    cd_bytes *traits = cd_arena_array(call->arena, cd_bytes, cnt);
    for (usize i = 0; i < cnt; i++) {
        traits[i] = cd_bytes_of(addrs[i].b, 20);
    }
    cd_vm_shared_cursor place = {0};
    if (!cd_addr20_is_zero(&at->addr) || !cd_hash32_is_zero(&at->utxo)) {
        place = (cd_vm_shared_cursor){.trait = cd_bytes_of(at->addr.b, 20), .key = cd_bytes_of(at->utxo.b, 32)};
    }
    cd_err e = shared->indexed(shared, &values, n, call->arena, peer, traits, cnt, &place, limit);
    if (e != CD_OK) {
        return cd__fail(call, "problem retrieving UTXOs: %s", cd__words(e));
    }
    *page = cd_arena_array(call->arena, cd_utxo_found, *n);
    for (usize i = 0; i < *n; i++) {
        CD_TRY(parse_shared(call, &(*page)[i], values[i]));
    }
    at->addr = addrs[cnt - 1];
    if (*n != 0 && place.trait.n == 20 && place.key.n == 32) {
        memcpy(at->addr.b, place.trait.p, 20);
        memcpy(at->utxo.b, place.key.p, 32);
    }
    return CD_OK;
}

static cd_err put_page(cd_rpc_call *call, const cd_utxo_found *page, usize n, const cd_utxo_cursor *at,
                       cd_encoding encoding)
{
    cd_json_w *w = call->out;
    if (encoding == CD_ENCODING_JSON && n != 0) {
        return cd__fail(call, "couldn't encode UTXO %s as json: unsupported encoding in method",
                        cd__id_text(call, &page[0].id));
    }
    cd_json_w_obj(w);
    cd_json_put_dec(w, "numFetched", n);
    cd_json_w_key(w, "utxos");
    cd_json_w_arr(w);
    for (usize i = 0; i < n; i++) {
        cd_json_w_encoded(w, encoding, page[i].bytes);
    }
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "endIndex");
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "address", cd__addr_text(call, &at->addr));
    cd_json_put_id(w, "utxo", &at->utxo);
    cd_json_w_obj_end(w);
    cd_json_put_cstr(w, "encoding", cd_encoding_name(encoding));
    cd_json_w_obj_end(w);
    return CD_OK;
}

/* The chain whose exports are asked for; zero: none, this chain's own UTXOs are. */
static cd_err source_of(cd_hash32 *out, cd_rpc_call *call, cd_bytes text)
{
    const cd_platform_service *s = cd__service_of(call);
    *out = (cd_hash32){{0}};
    if (text.n == 0) {
        return CD_OK;
    }
    cd_errinfo why = {0};
    if (cd__chain_find(out, s, text, &why) != CD_OK) {
        return cd__fail(call, "problem parsing source chainID \"%.*s\": there is no ID with alias: %.*s",
                        (int)cd_min_u64(text.n, 64), (const char *)text.p, (int)cd_min_u64(text.n, 64),
                        (const char *)text.p);
    }
    return CD_OK;
}

cd_err cd__platform_utxos(cd_rpc_call *call)
{
    const cd__platform_utxos_args *args = call->args;
    cd_hash32 source;
    cd_addr20 *addrs;
    cd_utxo_cursor at = {0};
    cd_utxo_found *page = NULL;
    usize n;
    usize limit = args->limit == 0 || args->limit > CD__UTXOS_MAX ? CD__UTXOS_MAX : args->limit;
    if (args->addresses.n == 0) {
        return cd__fail(call, "no addresses provided");
    }
    CD_TRY(check_cnt(call, args->addresses.n));
    CD_TRY(source_of(&source, call, args->source_chain));
    CD_TRY(cd__addrs_read(&addrs, call, &args->addresses));
    CD_TRY(read_start(&at, call, args));
    CD_TRY(cd_hash32_is_zero(&source) ? own_page(call, &page, &n, &at, addrs, args->addresses.n, limit)
                                      : shared_page(call, &page, &n, &at, addrs, args->addresses.n, &source, limit));
    return put_page(call, page, n, &at, args->encoding);
}

cd_err cd__utxos_all(cd_utxo **out, usize *cnt, cd_rpc_call *call, cd_addr20 *addrs, usize addr_cnt,
                     const cd_hash32 *source)
{
    cd_buf all = {0};
    cd_utxo_cursor at = {0};
    cd_err e = CD_OK;
    usize n = addr_cnt;
    while (e == CD_OK && n != 0 && all.n / sizeof(cd_utxo) < CD__BALANCE_MAX) {
        cd_utxo_found *page = NULL;
        e = cd_hash32_is_zero(source) ? own_page(call, &page, &n, &at, addrs, addr_cnt, CD__UTXOS_MAX)
                                      : shared_page(call, &page, &n, &at, addrs, addr_cnt, source, CD__UTXOS_MAX);
        for (usize i = 0; e == CD_OK && i < n; i++) {
            cd_buf_put(&all, cd_bytes_of(&page[i].utxo, sizeof page[i].utxo));
        }
        e = e == CD_OK && cd_rpc_is_late(call) ? cd_rpc_fail_late(call) : e;
    }
    *cnt = all.n / sizeof(cd_utxo);
    *out = cd_arena_array(call->arena, cd_utxo, *cnt);
    if (*cnt != 0) {
        memcpy(*out, all.p, all.n);
    }
    cd_buf_fini(&all);
    return e;
}

/* --- getRewardUTXOs --- */

cd_err cd__platform_reward_utxos(cd_rpc_call *call)
{
    const cd__platform_reward_utxos_args *args = call->args;
    cd_pstate s;
    cd_bytes *v;
    usize n;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_reward_utxos_get(&s, &v, &n, call->arena, &args->tx_id);
    if (e != CD_OK) {
        return cd__fail(call, "couldn't get reward UTXOs: %s", cd__words(e));
    }
    if (args->encoding == CD_ENCODING_JSON && n != 0) {
        return cd__fail(call, "couldn't encode UTXO as json: unsupported encoding in method");
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "numFetched", n);
    cd_json_w_key(call->out, "utxos");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < n; i++) {
        cd_json_w_encoded(call->out, args->encoding, v[i]);
    }
    cd_json_w_arr_end(call->out);
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(args->encoding));
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- getStake --- */

/* What getStake collects. */
typedef struct stakes {
    sums *sums;
    cd_buf outs; /* texts, each as JSON, with commas between */
    cd_json_w w;
    usize cnt;
    const cd_addr20 *addrs;
    usize addr_cnt;
    cd_encoding encoding;
} stakes;

static bool has_addr(const stakes *k, const cd_linear_list *owners)
{
    const cd_addr20 *v = owners->v;
    for (u32 i = 0; i < owners->cnt; i++) {
        if (bsearch(&v[i], k->addrs, k->addr_cnt, sizeof *v, by_addr) != NULL) {
            return true;
        }
    }
    return false;
}

/* The outputs that a staker's transaction stakes; none when it stakes nothing. */
static cd_linear_list staked_by(const cd_p_tx *tx)
{
    switch (tx->body.is->id) {
    case CD_P_ADD_VALIDATOR:
        return ((const cd_p_add_validator *)tx->body.v)->stake;
    case CD_P_ADD_DELEGATOR:
        return ((const cd_p_add_delegator *)tx->body.v)->stake;
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR:
        return ((const cd_p_add_permissionless_validator *)tx->body.v)->stake;
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
        return ((const cd_p_add_permissionless_delegator *)tx->body.v)->stake;
    default:
        return (cd_linear_list){.cnt = 0};
    }
}

static cd_err add_output(cd_rpc_call *call, stakes *k, const cd_p_output *o)
{
    const cd_transfer_output *plain =
        o->out.is->id == 22 ? ((const cd_locked *)o->out.v)->inner.v : (const void *)o->out.v;
    if (!has_addr(k, &plain->owners.addrs)) {
        return CD_OK;
    }
    sum *of = sum_of(k->sums, call, &o->asset_id);
    if (of == NULL || ++k->cnt > CD__STAKED_MAX) {
        return cd__fail(call, "more than %d staked outputs", CD__STAKED_MAX);
    }
    if (!cd_add_u64(&of->by_use[0], of->by_use[0], plain->amount)) {
        of->by_use[0] = UINT64_MAX;
    }
    if (k->encoding == CD_ENCODING_JSON) {
        return cd__fail(call, "couldn't encode output as json: unsupported encoding in method");
    }
    cd_buf bytes = {0};
    cd_linear_put(&bytes, &cd_p_output_table, o);
    cd_json_w_encoded(&k->w, k->encoding, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    return CD_OK;
}

static cd_err add_staker(cd_rpc_call *call, stakes *k, const cd_pstate *s, cd_arena *a, const cd_p_staker *t)
{
    cd_bytes bytes;
    cd_p_tx tx;
    cd_err e = cd_pstate_tx_get(s, &bytes, NULL, a, &t->tx_id);
    if (e == CD_OK && cd_linear_parse(&tx, &cd_p_tx_table, a, bytes, 0, NULL) != CD_OK) {
        e = CD_ECORRUPT;
    }
    if (e != CD_OK) {
        return cd__fail(call, "%s", cd__words(e));
    }
    cd_linear_list outs = staked_by(&tx);
    for (u32 i = 0; i < outs.cnt; i++) {
        CD_TRY(add_output(call, k, &((const cd_p_output *)outs.v)[i]));
    }
    return CD_OK;
}

static cd_err add_stakers(cd_rpc_call *call, stakes *k, const cd_pstate *s, cd_p_set set, bool validators_only)
{
    cd_p_staker_iter it = {0};
    cd_p_staker t;
    cd_arena a = {0};
    cd_err e = cd_pstate_stakers(s, &it, set);
    e = e == CD_OK ? CD_OK : cd__fail(call, "%s", cd__words(e));
    while (e == CD_OK && cd_p_staker_next(&it, &t)) {
        if (validators_only && cd_p_priority_delegates(t.priority)) {
            continue;
        }
        cd_arena_reset(&a);
        e = add_staker(call, k, s, &a, &t);
        if (e == CD_OK && cd_rpc_is_late(call)) {
            e = cd_rpc_fail_late(call);
        }
    }
    if (e == CD_OK && it.err != CD_OK) {
        e = cd__fail(call, "%s", cd__words(it.err));
    }
    cd_p_staker_iter_fini(&it);
    cd_arena_fini(&a);
    return e;
}

static void put_stake(cd_rpc_call *call, const stakes *k)
{
    const cd_hash32 *native = &cd__service_of(call)->cfg.asset_id;
    u64 mine = 0;
    qsort(k->sums->v, k->sums->cnt, sizeof k->sums->v[0], by_text);
    for (usize i = 0; i < k->sums->cnt; i++) {
        mine = cd_hash32_eq(&k->sums->v[i].asset_id, native) ? k->sums->v[i].by_use[0] : mine;
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "staked", mine);
    put_map(call->out, "stakeds", k->sums, 0);
    cd_json_put_raw(call->out, "stakedOutputs", cd_buf_bytes(&k->outs));
    cd_json_put_cstr(call->out, "encoding", cd_encoding_name(k->encoding));
    cd_json_w_obj_end(call->out);
}

cd_err cd__platform_stake(cd_rpc_call *call)
{
    const cd__platform_stake_args *args = call->args;
    cd_addr20 *addrs;
    cd_pstate s;
    if (args->addresses.n > CD__STAKE_ADDRS_MAX) {
        return cd__fail(call, "%zu addresses provided but this method can take at most %d", args->addresses.n,
                        CD__STAKE_ADDRS_MAX);
    }
    CD_TRY(cd__addrs_read(&addrs, call, &args->addresses));
    CD_TRY(cd__state_of(&s, call));
    if (args->addresses.n != 0) {
        qsort(addrs, args->addresses.n, sizeof *addrs, by_addr);
    }
    stakes k = {.sums = cd_arena_new(call->arena, sums),
                .addrs = addrs,
                .addr_cnt = args->addresses.n,
                .encoding = args->encoding};
    k.w = (cd_json_w){.out = &k.outs};
    cd_json_w_arr(&k.w);
    cd_err e = add_stakers(call, &k, &s, CD_P_CURRENT, args->validators_only);
    e = e != CD_OK ? e : add_stakers(call, &k, &s, CD_P_PENDING, args->validators_only);
    cd_json_w_arr_end(&k.w);
    if (e == CD_OK) {
        put_stake(call, &k);
    }
    cd_buf_fini(&k.outs);
    return e;
}
