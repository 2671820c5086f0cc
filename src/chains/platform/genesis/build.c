#include "chains/platform/genesis/genesis_priv.h"

#include "types/xtx.h"

#include <stdlib.h>

/* What the config gives to somebody at one time. */
typedef struct piece {
    cd_addr20 addr;
    cd_addr20 eth_addr;
    u64 amount;
    u64 locktime;
} piece;

typedef struct pieces {
    piece *v;
    usize cnt;
} pieces;

/* All that is needed while building. */
typedef struct build {
    cd_arena *a;
    const cd_pgenesis_config *c;
    const cd_network *net;
    cd_hash32 asset_id;
    cd_errinfo *why;
} build;

static cd_owners owners_of(cd_arena *a, const cd_addr20 *addr)
{
    cd_addr20 *one = cd_arena_new(a, cd_addr20);
    *one = *addr;
    return (cd_owners){.threshold = 1, .addrs = {.v = one, .cnt = 1}};
}

static void copy_id(cd_hash32 *out, const char *name)
{
    usize n = strlen(name);
    CD_ASSERT(n <= 32);
    memset(out, 0, sizeof *out);
    memcpy(out->b, name, n);
}

/* --- the X-Chain --- */

static int by_amount(const void *a, const void *b)
{
    const cd_pgenesis_allocation *x = a;
    const cd_pgenesis_allocation *y = b;
    int c = (x->initial_amount > y->initial_amount) - (x->initial_amount < y->initial_amount);
    return c != 0 ? c : memcmp(x->addr.b, y->addr.b, 20);
}

/* Outputs of the same kind order by amount, then by owner, as their encodings do. */
static void asset_outputs(cd_linear_list *out, cd_bytes *memo, const build *b)
{
    cd_pgenesis_allocation *sorted = cd_arena_array(b->a, cd_pgenesis_allocation, b->c->allocation_cnt);
    u32 n = 0;
    for (usize i = 0; i < b->c->allocation_cnt; i++) {
        if (b->c->allocations[i].initial_amount != 0) {
            sorted[n++] = b->c->allocations[i];
        }
    }
    if (n != 0) {
        qsort(sorted, n, sizeof *sorted, by_amount);
    }
    cd_linear_any *outs = cd_arena_array(b->a, cd_linear_any, n);
    u8 *words = cd_arena_alloc(b->a, (usize)n * 20 + 1);
    for (u32 i = 0; i < n; i++) {
        cd_transfer_output *o = cd_arena_new(b->a, cd_transfer_output);
        *o = (cd_transfer_output){.amount = sorted[i].initial_amount, .owners = owners_of(b->a, &sorted[i].addr)};
        outs[i] = (cd_linear_any){.is = cd_x_case(CD_X_SECP_OUTPUT), .v = o};
        memcpy(words + (usize)i * 20, sorted[i].eth_addr.b, 20);
    }
    *out = (cd_linear_list){.v = outs, .cnt = n};
    *memo = cd_bytes_of(words, (usize)n * 20);
}

static cd_bytes put(cd_arena *a, const cd_linear_type *t, const void *v)
{
    cd_buf b = {0};
    cd_linear_put(&b, t, v);
    cd_bytes kept = cd_arena_dup(a, cd_buf_bytes(&b));
    cd_buf_fini(&b);
    return kept;
}

static cd_bytes x_genesis(const build *b)
{
    cd_x_initial_state state = {.fx_index = 0};
    cd_x_genesis_asset asset = {
        .alias = cd_bytes_str(b->net->family->symbol),
        .tx = {.base = {.network_id = b->net->id},
               .name = cd_bytes_str(b->net->family->asset),
               .symbol = cd_bytes_str(b->net->family->symbol),
               .denomination = b->net->decimals,
               .states = {.v = &state, .cnt = 1}},
    };
    asset_outputs(&state.outs, &asset.tx.base.memo, b);
    cd_x_genesis g = {.assets = {.v = &asset, .cnt = 1}};
    return put(b->a, &cd_x_genesis_table, &g);
}

/* --- the P-Chain: who gets what --- */

static bool is_staked(const cd_pgenesis_config *c, const cd_addr20 *addr)
{
    for (usize i = 0; i < c->staked_cnt; i++) {
        if (cd_addr20_eq(&c->staked[i], addr)) {
            return true;
        }
    }
    return false;
}

/* The pieces of those who stake theirs, or of the others. */
static pieces pieces_of(const build *b, bool staked)
{
    usize n = 0;
    for (usize i = 0; i < b->c->allocation_cnt; i++) {
        n += b->c->allocations[i].unlock_cnt;
    }
    pieces p = {.v = cd_arena_array(b->a, piece, n)};
    for (usize i = 0; i < b->c->allocation_cnt; i++) {
        const cd_pgenesis_allocation *al = &b->c->allocations[i];
        if (is_staked(b->c, &al->addr) != staked) {
            continue;
        }
        for (usize j = 0; j < al->unlock_cnt; j++) {
            if (al->unlock[j].amount != 0) {
                p.v[p.cnt++] = (piece){.addr = al->addr,
                                       .eth_addr = al->eth_addr,
                                       .amount = al->unlock[j].amount,
                                       .locktime = al->unlock[j].locktime};
            }
        }
    }
    return p;
}

/* An output that is locked when its time is still to come. */
static cd_linear_any output_of(const build *b, const piece *p)
{
    cd_transfer_output *o = cd_arena_new(b->a, cd_transfer_output);
    *o = (cd_transfer_output){.amount = p->amount, .owners = owners_of(b->a, &p->addr)};
    cd_linear_any plain = {.is = cd_p_case(7), .v = o};
    if (p->locktime <= b->c->start_time) {
        return plain;
    }
    cd_locked *l = cd_arena_new(b->a, cd_locked);
    *l = (cd_locked){.locktime = p->locktime, .inner = plain};
    return (cd_linear_any){.is = cd_p_case(22), .v = l};
}

static void put_utxos(cd_linear_list *out, const build *b)
{
    pieces p = pieces_of(b, false);
    cd_pgenesis_utxo *v = cd_arena_array(b->a, cd_pgenesis_utxo, p.cnt);
    for (usize i = 0; i < p.cnt; i++) {
        v[i].utxo = (cd_utxo){.output_idx = (u32)i, .asset_id = b->asset_id, .out = output_of(b, &p.v[i])};
        v[i].message = cd_bytes_of(p.v[i].eth_addr.b, 20);
    }
    *out = (cd_linear_list){.v = v, .cnt = (u32)p.cnt};
}

/* --- stakers --- */

static int by_locktime(const void *a, const void *b)
{
    const piece *x = a;
    const piece *y = b;
    int c = (x->locktime > y->locktime) - (x->locktime < y->locktime);
    c = c != 0 ? c : (x->amount > y->amount) - (x->amount < y->amount);
    return c != 0 ? c : memcmp(x->addr.b, y->addr.b, 20);
}

/* Takes want from the front of what is left, or all when want is UINT64_MAX. */
static pieces take(cd_arena *a, pieces *left, u64 want)
{
    pieces got = {.v = cd_arena_array(a, piece, left->cnt)};
    while (left->cnt != 0 && want != 0) {
        u64 amount = cd_min_u64(left->v->amount, want);
        got.v[got.cnt] = *left->v;
        got.v[got.cnt++].amount = amount;
        left->v->amount -= amount;
        want -= want == UINT64_MAX ? 0 : amount;
        if (left->v->amount == 0) {
            left->v++;
            left->cnt--;
        }
    }
    return got;
}

static cd_linear_list stake_of(const build *b, pieces *p, u64 *weight)
{
    if (p->cnt != 0) {
        qsort(p->v, p->cnt, sizeof *p->v, by_locktime);
    }
    cd_p_output *outs = cd_arena_array(b->a, cd_p_output, p->cnt);
    *weight = 0;
    for (usize i = 0; i < p->cnt; i++) {
        outs[i] = (cd_p_output){.asset_id = b->asset_id, .out = output_of(b, &p->v[i])};
        *weight += p->v[i].amount;
    }
    return (cd_linear_list){.v = outs, .cnt = (u32)p->cnt};
}

static cd_linear_any owner_of(cd_arena *a, const cd_addr20 *addr)
{
    cd_owners *o = cd_arena_new(a, cd_owners);
    *o = owners_of(a, addr);
    return (cd_linear_any){.is = cd_p_case(11), .v = o};
}

static cd_linear_any staker_body(const build *b, const cd_pgenesis_staker *s, const cd_p_validator *v,
                                 cd_linear_list stake)
{
    cd_p_base base = {.network_id = b->net->id};
    if (!s->has_signer) {
        cd_p_add_validator *t = cd_arena_new(b->a, cd_p_add_validator);
        *t = (cd_p_add_validator){.base = base,
                                  .validator = *v,
                                  .stake = stake,
                                  .rewards_owner = owner_of(b->a, &s->reward_addr),
                                  .shares = s->delegation_fee};
        return (cd_linear_any){.is = cd_p_case(CD_P_ADD_VALIDATOR), .v = t};
    }
    cd_p_pop *pop = cd_arena_new(b->a, cd_p_pop);
    memcpy(pop->key, s->key, sizeof pop->key);
    memcpy(pop->proof, s->proof, sizeof pop->proof);
    cd_p_add_permissionless_validator *t = cd_arena_new(b->a, cd_p_add_permissionless_validator);
    *t = (cd_p_add_permissionless_validator){.base = base,
                                             .validator = *v,
                                             .signer = {.is = cd_p_case(28), .v = pop},
                                             .stake = stake,
                                             .validation_owner = owner_of(b->a, &s->reward_addr),
                                             .delegation_owner = owner_of(b->a, &s->reward_addr),
                                             .shares = s->delegation_fee};
    return (cd_linear_any){.is = cd_p_case(CD_P_ADD_PERMISSIONLESS_VALIDATOR), .v = t};
}

/* The i-th staker's transaction, of what is left of the funds; each of them gets the same, the last one the rest. */
static cd_err staker_tx(cd_p_tx *out, u64 *end, const build *b, usize i, pieces *left, u64 share)
{
    const cd_pgenesis_config *c = b->c;
    u64 early;
    if (!cd_mul_u64(&early, c->stake_offset_s, i) || early >= c->stake_duration_s ||
        !cd_add_u64(end, c->start_time, c->stake_duration_s - early)) {
        return cd_fail(b->why, CD_EINVAL, "staker %zu of the genesis has no time to stake", i);
    }
    pieces mine = take(b->a, left, i + 1 == c->staker_cnt ? UINT64_MAX : share);
    cd_p_validator v = {.node_id = c->stakers[i].node_id, .start = c->start_time, .end = *end};
    cd_linear_list stake = stake_of(b, &mine, &v.weight);
    if (v.weight == 0) {
        return cd_fail(b->why, CD_EINVAL, "staker %zu of the genesis has nothing to stake", i);
    }
    *out = (cd_p_tx){.body = staker_body(b, &c->stakers[i], &v, stake)};
    return CD_OK;
}

/* Puts tx into the heap of those in front of it: the one that ends first stands at the root. Its array is what is
 * written. */
static void heap_push(cd_p_tx *heap, u64 *ends, usize cnt, const cd_p_tx *tx, u64 end)
{
    usize at = cnt;
    while (at != 0 && end < ends[(at - 1) / 2]) {
        heap[at] = heap[(at - 1) / 2];
        ends[at] = ends[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = *tx;
    ends[at] = end;
}

static cd_err put_stakers(cd_linear_list *out, const build *b)
{
    usize cnt = b->c->staker_cnt;
    pieces left = pieces_of(b, true);
    u64 total = 0;
    for (usize i = 0; i < left.cnt; i++) {
        total += left.v[i].amount; /* the supply, which is more, has been checked */
    }
    if (cnt == 0 && total != 0) {
        return cd_fail(b->why, CD_EINVAL, "the genesis stakes funds, and has nobody who stakes");
    }
    cd_p_tx *heap = cd_arena_array(b->a, cd_p_tx, cnt);
    u64 *ends = cd_arena_array(b->a, u64, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_p_tx tx;
        u64 end;
        CD_TRY(staker_tx(&tx, &end, b, i, &left, total / cnt));
        heap_push(heap, ends, i, &tx, end);
    }
    *out = (cd_linear_list){.v = heap, .cnt = (u32)cnt};
    return CD_OK;
}

/* --- chains --- */

static cd_p_tx chain_tx(const build *b, const char *name, const char *vm, cd_linear_list fx_ids, cd_bytes genesis)
{
    cd_p_create_chain *t = cd_arena_new(b->a, cd_p_create_chain);
    *t = (cd_p_create_chain){
        .base = {.network_id = b->net->id},
        .name = cd_bytes_str(name),
        .fx_ids = fx_ids,
        .genesis = genesis,
        .net_auth = {.is = cd_p_case(10), .v = cd_arena_new(b->a, cd_auth_input)},
    };
    copy_id(&t->vm_id, vm);
    return (cd_p_tx){.body = {.is = cd_p_case(CD_P_CREATE_CHAIN), .v = t}};
}

static void put_chains(cd_linear_list *out, const build *b, cd_bytes x)
{
    static const char *const fx_names[] = {"secp256k1fx", "nftfx", "propertyfx"};
    cd_hash32 *fx_ids = cd_arena_array(b->a, cd_hash32, CD_COUNT(fx_names));
    for (usize i = 0; i < CD_COUNT(fx_names); i++) {
        copy_id(&fx_ids[i], fx_names[i]);
    }
    cd_p_tx *v = cd_arena_array(b->a, cd_p_tx, 2);
    v[0] = chain_tx(b, "X-Chain", "avm", (cd_linear_list){.v = fx_ids, .cnt = CD_COUNT(fx_names)}, x);
    v[1] = chain_tx(b, "C-Chain", "evm", (cd_linear_list){.cnt = 0}, b->c->c_genesis);
    *out = (cd_linear_list){.v = v, .cnt = 2};
}

/* --- the whole --- */

static cd_err supply_of(u64 *out, const build *b)
{
    u64 sum = 0;
    bool fits = true;
    for (usize i = 0; i < b->c->allocation_cnt; i++) {
        const cd_pgenesis_allocation *al = &b->c->allocations[i];
        fits = fits && cd_add_u64(&sum, sum, al->initial_amount);
        for (usize j = 0; j < al->unlock_cnt; j++) {
            fits = fits && cd_add_u64(&sum, sum, al->unlock[j].amount);
        }
    }
    *out = sum;
    return fits ? CD_OK : cd_fail(b->why, CD_EINVAL, "the genesis gives out more than 64 bits can count");
}

cd_err cd_pgenesis_build(cd_pgenesis *out, cd_arena *a, const cd_pgenesis_config *c, const cd_network *net,
                         cd_errinfo *why)
{
    build b = {.a = a, .c = c, .net = net, .why = why};
    cd_pgenesis_state g = {.time = c->start_time, .message = c->message};
    CD_TRY(supply_of(&g.supply, &b));
    cd_bytes x = x_genesis(&b);
    CD_TRY(cd__pgenesis_asset_of(&b.asset_id, a, x, why));
    put_utxos(&g.utxos, &b);
    CD_TRY(put_stakers(&g.validators, &b));
    put_chains(&g.chains, &b, x);
    return cd_pgenesis_read(out, a, put(a, &cd_pgenesis_table, &g), why);
}
