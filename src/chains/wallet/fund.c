#include "chains/wallet/fund.h"

#include "chains/platform/fees/complexity.h"
#include "chains/utxo/fx.h"
#include "chains/utxo/utxo.h"

#include <stdlib.h>

/* An output that can be spent: its input, and the slot of those who sign. */
typedef struct coin {
    cd_p_input in;
    cd_wallet_slot slot;
    u64 amount;
} coin;

/* --- small things --- */

cd_owners cd_wallet_owners(cd_arena *a, const cd_addr20 *addr)
{
    cd_addr20 *v = cd_arena_new(a, cd_addr20);
    *v = *addr;
    return (cd_owners){.threshold = 1, .addrs = {.v = v, .cnt = 1}};
}

cd_p_output cd_wallet_output(cd_arena *a, const cd_hash32 *asset_id, u64 amount, const cd_owners *owners)
{
    cd_transfer_output *o = cd_arena_new(a, cd_transfer_output);
    *o = (cd_transfer_output){.amount = amount, .owners = *owners};
    return (cd_p_output){.asset_id = *asset_id, .out = cd_p_part(CD_P_TRANSFER_OUTPUT, o)};
}

static int output_cmp(const void *a, const void *b)
{
    cd_buf x = {0};
    cd_buf y = {0};
    cd_linear_put(&x, &cd_p_output_table, a);
    cd_linear_put(&y, &cd_p_output_table, b);
    int c = memcmp(x.p, y.p, cd_min_u64(x.n, y.n));
    c = c != 0 ? c : (x.n > y.n) - (x.n < y.n);
    cd_buf_fini(&x);
    cd_buf_fini(&y);
    return c;
}

void cd_wallet_sort_outputs(cd_p_output *outs, usize cnt)
{
    if (cnt > 1) {
        qsort(outs, cnt, sizeof *outs, output_cmp);
    }
}

static int coin_cmp(const void *a, const void *b)
{
    const coin *x = a;
    const coin *y = b;
    int c = memcmp(x->in.tx_id.b, y->in.tx_id.b, sizeof x->in.tx_id.b);
    return c != 0 ? c : (x->in.output_idx > y->in.output_idx) - (x->in.output_idx < y->in.output_idx);
}

static int richer_first(const void *a, const void *b)
{
    const coin *x = a;
    const coin *y = b;
    return x->amount != y->amount ? (x->amount < y->amount) - (x->amount > y->amount) : coin_cmp(a, b);
}

/* Finds as many signers in the purse as owners ask for; false: there are not so many. */
static bool signers_of(cd_linear_list *indices, cd_wallet_slot *slot, const cd_wallet_purse *p, const cd_owners *owners)
{
    u32 *v = cd_arena_array(p->mem, u32, owners->addrs.cnt);
    if (!cd_fx_match(v, owners->addrs.cnt, owners, p->addrs, p->addr_cnt, p->now)) {
        return false;
    }
    cd_addr20 *who = cd_arena_array(p->mem, cd_addr20, owners->threshold);
    for (u32 i = 0; i < owners->threshold; i++) {
        who[i] = ((const cd_addr20 *)owners->addrs.v)[v[i]];
    }
    *indices = (cd_linear_list){.v = v, .cnt = owners->threshold};
    *slot = (cd_wallet_slot){.type = CD_P_CREDENTIAL, .cnt = owners->threshold, .signers = who};
    return true;
}

cd_err cd_wallet_permit(cd_linear_any *auth, cd_wallet_slot *slot, const cd_wallet_purse *p, const cd_owners *owners,
                        cd_errinfo *why)
{
    cd_auth_input *in = cd_arena_new(p->mem, cd_auth_input);
    if (!signers_of(&in->sig_indices, slot, p, owners)) {
        return cd_fail(why, CD_EACCES, "%u of the %u owners have to sign, and not enough of them are there",
                       owners->threshold, owners->addrs.cnt);
    }
    *auth = cd_p_part(CD_P_AUTH, in);
    return CD_OK;
}

/* Lists what the purse can spend of an asset (NULL: of all), the largest output first; gives the number. */
static usize spendable(coin **out, const cd_wallet_purse *p, const cd_hash32 *asset)
{
    coin *v = cd_arena_array(p->mem, coin, p->utxo_cnt);
    usize n = 0;
    for (usize i = 0; i < p->utxo_cnt; i++) {
        const cd_utxo *u = &p->utxos[i];
        if (u->out.is->id != CD_P_TRANSFER_OUTPUT || (asset != NULL && !cd_hash32_eq(asset, &u->asset_id))) {
            continue;
        }
        const cd_transfer_output *o = u->out.v;
        cd_transfer_input *in = cd_arena_new(p->mem, cd_transfer_input);
        coin c = {.amount = o->amount};
        if (!signers_of(&in->sig_indices, &c.slot, p, &o->owners)) {
            continue;
        }
        in->amount = o->amount;
        c.in = (cd_p_input){.tx_id = u->tx_id,
                            .output_idx = u->output_idx,
                            .asset_id = u->asset_id,
                            .in = cd_p_part(CD_P_TRANSFER_INPUT, in)};
        v[n++] = c;
    }
    if (n > 1) {
        qsort(v, n, sizeof *v, richer_first);
    }
    *out = v;
    return n;
}

/* --- fees --- */

cd_err cd_wallet_fee_of(u64 *out, const cd_wallet_draft *d, const cd_wallet_fee *fee, cd_errinfo *why)
{
    cd_gas_dims dims;
    const cd_p_tx tx = {.body = d->body};
    if (fee->weights == NULL) {
        *out = fee->fixed;
        return CD_OK;
    }
    CD_TRY(cd_gas_complexity(&dims, &tx, fee->legacy_stakers, why));
    return cd_gas_fee(out, &dims, fee->weights, fee->price);
}

/* --- funding --- */

/* A transaction that is being funded, and the coins that were taken for it so far. */
typedef struct work {
    cd_wallet_draft *d;
    const cd_wallet_purse *p;
    const cd_wallet_fee *fee;
    cd_p_base *base;
    coin *taken;
    usize cnt;
    u64 credit; /* imported amount that pays a part of the fee, base units */
} work;

/* Writes the inputs that were taken so far into the body, whose fee depends on them. */
static void show_inputs(work *w)
{
    cd_p_input *v = cd_arena_array(w->p->mem, cd_p_input, w->cnt);
    for (usize i = 0; i < w->cnt; i++) {
        v[i] = w->taken[i].in;
    }
    w->base->ins = (cd_linear_list){.v = v, .cnt = (u32)w->cnt};
}

static void add_output(work *w, const cd_hash32 *asset, u64 amount)
{
    cd_linear_list *outs = &w->base->outs;
    cd_p_output *v = cd_arena_array(w->p->mem, cd_p_output, (usize)outs->cnt + 1);
    if (outs->cnt != 0) {
        memcpy(v, outs->v, outs->cnt * sizeof *v);
    }
    v[outs->cnt] = cd_wallet_output(w->p->mem, asset, amount, &w->p->change);
    *outs = (cd_linear_list){.v = v, .cnt = outs->cnt + 1};
}

static cd_err too_little(const cd_hash32 *asset, u64 missing, cd_errinfo *why)
{
    cd_buf id = {0};
    cd_id_put(&id, asset);
    cd_err e = cd_fail(why, CD_ERANGE, "insufficient funds: needs %llu more %s", (unsigned long long)missing,
                       cd_buf_cstr(&id));
    cd_buf_fini(&id);
    return e;
}

static cd_err take(work *w, const coin *c, cd_errinfo *why)
{
    if (w->cnt == CD_WALLET_INPUTS_MAX) {
        return cd_fail(why, CD_ELIMIT, "funds lie in more than %d small outputs: send part of them to yourself first",
                       CD_WALLET_INPUTS_MAX);
    }
    w->taken[w->cnt++] = *c;
    return CD_OK;
}

/* Takes coins for an amount of an asset in which no fee is paid, and gives change. */
static cd_err fund_plain(work *w, const cd_wallet_need *need, cd_errinfo *why)
{
    coin *coins;
    u64 sum = 0;
    usize n = spendable(&coins, w->p, &need->asset_id);
    for (usize i = 0; i < n && sum < need->amount; i++) {
        CD_TRY(take(w, &coins[i], why));
        if (!cd_add_u64(&sum, sum, coins[i].amount)) {
            return cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
        }
    }
    if (sum < need->amount) {
        return too_little(&need->asset_id, need->amount - sum, why);
    }
    if (sum > need->amount) {
        add_output(w, &need->asset_id, sum - need->amount);
    }
    return CD_OK;
}

/* Takes coins of the asset of fees, one after the other, until need and fee are paid: each coin makes the fee larger.
 * Change that would not pay for its own output is left to the chain. */
static cd_err fund_fee(work *w, u64 need, cd_errinfo *why)
{
    coin *coins;
    u64 sum = 0;
    u64 fee;
    u64 want;
    usize n = spendable(&coins, w->p, &w->fee->asset_id);
    const cd_linear_list outs = w->base->outs;
    for (usize i = 0;; i++) {
        show_inputs(w);
        CD_TRY(cd_wallet_fee_of(&fee, w->d, w->fee, why));
        if (!cd_add_u64(&want, need, fee)) {
            return cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
        }
        want -= cd_min_u64(want, w->credit);
        if (sum >= want) {
            break;
        }
        if (i == n) {
            return too_little(&w->fee->asset_id, want - sum, why);
        }
        CD_TRY(take(w, &coins[i], why));
        if (!cd_add_u64(&sum, sum, coins[i].amount)) {
            return cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
        }
    }
    if (sum == want) {
        return CD_OK;
    }
    add_output(w, &w->fee->asset_id, 1);
    CD_TRY(cd_wallet_fee_of(&fee, w->d, w->fee, why));
    w->base->outs = outs;
    fee -= cd_min_u64(fee, w->credit);
    if (sum - need > fee) {
        add_output(w, &w->fee->asset_id, sum - need - fee);
    }
    return CD_OK;
}

/* Puts inputs and outputs in order, and the slots of the inputs in front of the other slots. */
static void finish(work *w)
{
    cd_wallet_draft *d = w->d;
    const cd_wallet_slot *rest = d->slots;
    u32 rest_cnt = d->slot_cnt;
    cd_wallet_slot *slots = cd_arena_array(w->p->mem, cd_wallet_slot, w->cnt);
    if (w->cnt > 1) {
        qsort(w->taken, w->cnt, sizeof *w->taken, coin_cmp);
    }
    for (usize i = 0; i < w->cnt; i++) {
        slots[i] = w->taken[i].slot;
    }
    show_inputs(w);
    cd_wallet_sort_outputs(w->base->outs.v, w->base->outs.cnt);
    d->slot_cnt = 0;
    cd_wallet_slots_add(d, w->p->mem, slots, (u32)w->cnt);
    cd_wallet_slots_add(d, w->p->mem, rest, rest_cnt);
}

static cd_err fund(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_wallet_need *needs, usize need_cnt,
                   const cd_wallet_fee *fee, u64 credit, cd_errinfo *why)
{
    work w = {.d = d, .p = p, .fee = fee, .base = d->body.v, .credit = credit};
    u64 own = 0;
    w.taken = cd_arena_array(p->mem, coin, CD_WALLET_INPUTS_MAX);
    for (usize i = 0; i < need_cnt; i++) {
        if (!cd_hash32_eq(&needs[i].asset_id, &fee->asset_id)) {
            CD_TRY(fund_plain(&w, &needs[i], why));
        } else if (!cd_add_u64(&own, own, needs[i].amount)) {
            return cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
        }
    }
    CD_TRY(fund_fee(&w, own, why));
    finish(&w);
    return CD_OK;
}

cd_err cd_wallet_fund(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_wallet_need *needs, usize need_cnt,
                      const cd_wallet_fee *fee, cd_errinfo *why)
{
    return fund(d, p, needs, need_cnt, fee, 0, why);
}

/* --- imports --- */

static cd_err add_sum(cd_wallet_taken *t, const cd_hash32 *asset, u64 amount, cd_errinfo *why)
{
    usize i = 0;
    while (i < t->sum_cnt && !cd_hash32_eq(&t->sums[i].asset_id, asset)) {
        i++;
    }
    if (i == t->sum_cnt) {
        t->sums[t->sum_cnt++] = (cd_wallet_need){.asset_id = *asset};
    }
    return cd_add_u64(&t->sums[i].amount, t->sums[i].amount, amount)
               ? CD_OK
               : cd_fail(why, CD_ERANGE, "amounts do not fit 64 bits");
}

cd_err cd_wallet_take(cd_wallet_taken *out, const cd_wallet_purse *p, const cd_hash32 *only, usize most,
                      cd_errinfo *why)
{
    coin *coins;
    usize n = cd_min_u64(spendable(&coins, p, only), most);
    if (n == 0) {
        return cd_fail(why, CD_ENOENT, "there is nothing to be imported");
    }
    if (n > 1) {
        qsort(coins, n, sizeof *coins, coin_cmp);
    }
    cd_p_input *ins = cd_arena_array(p->mem, cd_p_input, n);
    *out = (cd_wallet_taken){.ins = {.v = ins, .cnt = (u32)n}};
    out->slots = cd_arena_array(p->mem, cd_wallet_slot, n);
    out->sums = cd_arena_array(p->mem, cd_wallet_need, n);
    for (usize i = 0; i < n; i++) {
        ins[i] = coins[i].in;
        out->slots[i] = coins[i].slot;
        CD_TRY(add_sum(out, &coins[i].in.asset_id, coins[i].amount, why));
    }
    return CD_OK;
}

cd_err cd_wallet_fund_import(cd_wallet_draft *d, const cd_wallet_purse *p, const cd_wallet_taken *taken,
                             const cd_owners *owner, const cd_wallet_fee *fee, cd_errinfo *why)
{
    cd_p_base *base = d->body.v;
    cd_p_output *outs = cd_arena_array(p->mem, cd_p_output, taken->sum_cnt);
    u64 own = 0;
    u32 n = 0;
    for (usize i = 0; i < taken->sum_cnt; i++) {
        const cd_wallet_need *s = &taken->sums[i];
        if (cd_hash32_eq(&s->asset_id, &fee->asset_id)) {
            own = s->amount;
        } else {
            outs[n++] = cd_wallet_output(p->mem, &s->asset_id, s->amount, owner);
        }
    }
    d->slot_cnt = 0;
    cd_wallet_slots_add(d, p->mem, taken->slots, taken->ins.cnt);
    u64 cost;
    outs[n] = cd_wallet_output(p->mem, &fee->asset_id, 1, owner);
    base->outs = (cd_linear_list){.v = outs, .cnt = own == 0 ? n : n + 1};
    CD_TRY(cd_wallet_fee_of(&cost, d, fee, why));
    if (own > cost) {
        ((cd_transfer_output *)outs[n].out.v)->amount = own - cost;
        cd_wallet_sort_outputs(outs, n + 1);
        return CD_OK;
    }
    /* The imported amount pays as much of the fee as it can, the purse the rest. */
    base->outs.cnt = n;
    CD_TRY(cd_wallet_fee_of(&cost, d, fee, why));
    if (own >= cost) {
        cd_wallet_sort_outputs(outs, n);
        return CD_OK;
    }
    return fund(d, p, NULL, 0, fee, own, why);
}
