#include "chains/platform/service/service_priv.h"

#include "base/mem/mem.h"
#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/state/stakers.h"
#include "crypto/bls/bls.h"

#include <stdlib.h>

static cd_err fail_store(cd_rpc_call *call, cd_err e)
{
    return cd__fail(call, "%s", cd__words(e));
}

/* --- what a staker's transaction says --- */

typedef struct told {
    const cd_owners *validation_owner; /* NULL: a validator with permission, which is not rewarded */
    const cd_owners *delegation_owner; /* of a delegator: NULL */
    const cd_p_pop *signer;            /* NULL: none */
    u32 shares;
} told;

static void read_told(told *out, const cd_p_tx *tx)
{
    *out = (told){.shares = 0};
    switch (tx->body.is->id) {
    case CD_P_ADD_VALIDATOR: {
        const cd_p_add_validator *t = tx->body.v;
        *out =
            (told){.validation_owner = t->rewards_owner.v, .delegation_owner = t->rewards_owner.v, .shares = t->shares};
        return;
    }
    case CD_P_ADD_PERMISSIONLESS_VALIDATOR: {
        const cd_p_add_permissionless_validator *t = tx->body.v;
        *out = (told){.validation_owner = t->validation_owner.v,
                      .delegation_owner = t->delegation_owner.v,
                      .signer = t->signer.is->id == 28 ? t->signer.v : NULL,
                      .shares = t->shares};
        return;
    }
    case CD_P_ADD_DELEGATOR:
        out->validation_owner = ((const cd_p_add_delegator *)tx->body.v)->rewards_owner.v;
        return;
    case CD_P_ADD_PERMISSIONLESS_DELEGATOR:
        out->validation_owner = ((const cd_p_add_permissionless_delegator *)tx->body.v)->rewards_owner.v;
        return;
    default:
        return;
    }
}

/* Reads the transaction of a staker; it lies in a. */
static cd_err told_of(told *out, const cd_pstate *s, cd_arena *a, const cd_p_staker *t)
{
    cd_bytes bytes;
    cd_p_tx tx;
    CD_TRY(cd_pstate_tx_get(s, &bytes, NULL, a, &t->tx_id));
    if (cd_linear_parse(&tx, &cd_p_tx_table, a, bytes, 0, NULL) != CD_OK) {
        return CD_ECORRUPT;
    }
    read_told(out, &tx);
    return CD_OK;
}

/* --- elements --- */

static bool is_primary(const cd_p_staker *t)
{
    return cd_hash32_is_zero(&t->net_id);
}

/* What every staker has. */
static void put_staker(cd_rpc_call *call, const cd_p_staker *t)
{
    cd_json_w *w = call->out;
    cd_json_put_id(w, "txID", &t->tx_id);
    cd_json_put_dec(w, "startTime", t->start);
    cd_json_put_dec(w, "endTime", t->end);
    cd_json_put_dec(w, "weight", t->weight);
    if (is_primary(t) && cd__service_of(call)->cfg.network->family->stake_amount) {
        cd_json_put_dec(w, "stakeAmount", t->weight);
    }
    cd_json_put_node_id(w, "nodeID", &t->node_id);
}

static void put_owner(cd_rpc_call *call, const char *key, const cd_owners *o)
{
    if (o != NULL) {
        cd__put_owner(call, key, o->locktime, o->threshold, &o->addrs);
    }
}

static void put_signer(cd_rpc_call *call, const cd_p_pop *signer)
{
    if (signer != NULL) {
        cd_json_w_key(call->out, "signer");
        cd_json_w_obj(call->out);
        cd_json_put_hex(call->out, "publicKey", cd_bytes_of(signer->key, sizeof signer->key));
        cd_json_put_hex(call->out, "proofOfPossession", cd_bytes_of(signer->proof, sizeof signer->proof));
        cd_json_w_obj_end(call->out);
    }
}

static cd_err put_uptime(cd_rpc_call *call, const cd_p_staker *t)
{
    const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
    u64 up = 0;
    u64 span = 1;
    if (cfg->uptime != NULL) {
        CD_TRY(cd_uptime_get(cfg->uptime, &up, &span, t));
    }
    cd_json_put_ratio(call->out, "uptime", up, span, cfg->network->family->uptime_percent ? 100 : 1);
    cd_json_put_bool(call->out, "connected", cfg->uptime != NULL && cd_uptime_is_connected(cfg->uptime, &t->node_id));
    return CD_OK;
}

static cd_err put_delegator(cd_rpc_call *call, const cd_pstate *s, cd_arena *a, const cd_p_staker *t)
{
    told d;
    CD_TRY(told_of(&d, s, a, t));
    cd_json_w_obj(call->out);
    put_staker(call, t);
    put_owner(call, "rewardOwner", d.validation_owner);
    cd_json_put_dec(call->out, "potentialReward", t->potential_reward);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err put_delegators(cd_rpc_call *call, const cd_pstate *s, const cd_p_staker *t)
{
    cd_p_staker_iter it;
    cd_p_staker d;
    cd_arena a = {0};
    CD_TRY(cd_pstate_delegators(s, &it, CD_P_CURRENT, &t->net_id, &t->node_id));
    cd_json_w_key(call->out, "delegators");
    cd_json_w_arr(call->out);
    cd_err e = CD_OK;
    for (u32 i = 0; e == CD_OK && i < CD__DELEGATORS_MAX && cd_p_staker_next(&it, &d); i++) {
        cd_arena_reset(&a);
        e = put_delegator(call, s, &a, &d);
    }
    cd_json_w_arr_end(call->out);
    e = e != CD_OK ? e : it.err;
    cd_p_staker_iter_fini(&it);
    cd_arena_fini(&a);
    return e;
}

/* --- cards --- */

/* Writes the parts of a card, which end at end. */
static cd_err write_card(cd_rpc_call *call, usize end[CD__CARD_PARTS], const cd_pstate *s, cd_arena *a,
                         const cd_p_staker *t)
{
    told d;
    cd_json_w *w = call->out;
    CD_TRY(told_of(&d, s, a, t));
    put_staker(call, t);
    put_owner(call, "validationRewardOwner", d.validation_owner);
    put_owner(call, "delegationRewardOwner", d.delegation_owner);
    cd_json_put_dec(w, "potentialReward", t->potential_reward);
    end[0] = w->out->n;
    w->comma = false;
    cd_json_put_ratio(w, "delegationFee", d.shares, 1000000, 100);
    end[1] = w->out->n;
    w->comma = false;
    put_signer(call, d.signer);
    end[2] = w->out->n;
    return CD_OK;
}

static cd_err make_card(cd_rpc_call *call, cd_buf *text, usize end[CD__CARD_PARTS], const cd_pstate *s, cd_arena *a,
                        const cd_p_staker *t)
{
    cd_platform_service *service = call->ctx;
    cd_json_w w = {.out = text};
    cd_json_w *out = call->out;
    call->out = &w;
    cd_err e = write_card(call, end, s, a, t);
    call->out = out;
    if (e != CD_OK) {
        return e;
    }
    cd__card *card = cd_alloc(sizeof *card + text->n);
    for (usize i = 0; i < CD__CARD_PARTS; i++) {
        card->n[i] = (u32)(end[i] - (i == 0 ? 0 : end[i - 1]));
    }
    memcpy(card->text, text->p, text->n);
    cd_mutex_lock(&service->lock);
    bool is_taken = cd_lru_put(service->cards, &t->tx_id, card, sizeof *card + text->n);
    cd_mutex_unlock(&service->lock);
    if (!is_taken) {
        cd_free(card);
    }
    return CD_OK;
}

/* Puts the card of a current validator into text, empty before; its parts end at end. */
static cd_err get_card(cd_rpc_call *call, cd_buf *text, usize end[CD__CARD_PARTS], const cd_pstate *s, cd_arena *a,
                       const cd_p_staker *t)
{
    cd_platform_service *service = call->ctx;
    cd_mutex_lock(&service->lock);
    const cd__card *card = cd_lru_get(service->cards, &t->tx_id);
    if (card != NULL) {
        usize n = 0;
        for (usize i = 0; i < CD__CARD_PARTS; i++) {
            n += card->n[i];
            end[i] = n;
        }
        cd_buf_put(text, cd_bytes_of(card->text, n));
    }
    cd_mutex_unlock(&service->lock);
    return card != NULL ? CD_OK : make_card(call, text, end, s, a, t);
}

/* Members that stand in text from start to end, perhaps none. */
static void put_part(cd_rpc_call *call, const cd_buf *text, usize start, usize end)
{
    if (end != start) {
        cd_json_w_raw(call->out, cd_bytes_of(text->p + start, end - start));
    }
}

/* A validator that is rewarded: what is on its card, and what changes. */
static cd_err put_rewarded(cd_rpc_call *call, const cd__roll_row *row, const cd_buf *card,
                           const usize end[CD__CARD_PARTS])
{
    cd_json_w *w = call->out;
    const cd_p_staker *t = &row->staker;
    put_part(call, card, 0, end[0]);
    cd_json_put_dec(w, "accruedDelegateeReward", row->accrued);
    put_part(call, card, end[0], end[1]);
    if (is_primary(t)) {
        CD_TRY(put_uptime(call, t));
    }
    put_part(call, card, end[1], end[2]);
    cd_json_put_dec(w, "delegatorCount", row->delegated.cnt);
    cd_json_put_dec(w, "delegatorWeight", row->delegated.weight);
    return CD_OK;
}

static cd_err put_row(cd_rpc_call *call, const cd_pstate *s, cd_arena *a, const cd__roll_row *row, bool with_delegators)
{
    const cd_p_staker *t = &row->staker;
    cd_buf card = {0};
    usize end[CD__CARD_PARTS];
    bool is_rewarded = t->priority != CD_P_CURRENT_PERMISSIONED;
    cd_err e = is_rewarded ? get_card(call, &card, end, s, a, t) : CD_OK;
    if (e == CD_OK) {
        cd_json_w_obj(call->out);
        if (is_rewarded) {
            e = put_rewarded(call, row, &card, end);
            e = e == CD_OK && with_delegators ? put_delegators(call, s, t) : e;
        } else {
            put_staker(call, t);
        }
        cd_json_w_obj_end(call->out);
    }
    cd_buf_fini(&card);
    return e;
}

static cd_err put_validator(cd_rpc_call *call, const cd_pstate *s, cd_arena *a, const cd_p_staker *t,
                            bool with_delegators)
{
    cd__roll_row row = {.staker = *t};
    CD_TRY(cd_pstate_delegatee_get(s, &row.accrued, &t->net_id, &t->node_id));
    CD_TRY(cd_pstate_delegated_get(s, &row.delegated, CD_P_CURRENT, &t->net_id, &t->node_id));
    return put_row(call, s, a, &row, with_delegators);
}

/* --- validators of L1s --- */

/* Members of one; its balance is what it has left to pay with. */
static cd_err put_l1(cd_rpc_call *call, const cd_pstate *s, const cd_p_l1 *v)
{
    cd_json_w *w = call->out;
    u64 accrued;
    u8 key[48];
    cd_bls_pk_compress(key, v->key);
    CD_TRY(cd_pstate_num_get(s, &accrued, CD_PSTATE_ACCRUED_FEES));
    cd_json_put_node_id(w, "nodeID", &v->node_id);
    cd_json_put_dec(w, "weight", v->weight);
    cd_json_put_dec(w, "startTime", v->start);
    cd_json_put_id(w, "validationID", &v->validation_id);
    cd_json_put_hex(w, "publicKey", cd_bytes_of(key, sizeof key));
    cd__put_owner(call, "remainingBalanceOwner", 0, v->remaining_balance_owner.threshold,
                  &v->remaining_balance_owner.addrs);
    cd__put_owner(call, "deactivationOwner", 0, v->deactivation_owner.threshold, &v->deactivation_owner.addrs);
    cd_json_put_dec(w, "minNonce", v->min_nonce);
    cd_json_put_dec(w, "balance", v->end_fee > accrued ? v->end_fee - accrued : 0);
    return CD_OK;
}

cd_err cd__platform_l1_validator(cd_rpc_call *call)
{
    const cd__platform_l1_validator_args *args = call->args;
    cd_pstate s;
    cd_p_l1 v;
    u64 height;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_l1_get(&s, &v, call->arena, &args->validation_id);
    e = e != CD_OK ? e : cd_pstate_num_get(&s, &height, CD_PSTATE_LAST_HEIGHT);
    if (e != CD_OK) {
        return cd__fail(call, "fetching L1 validator \"%s\" failed: %s", cd__id_text(call, &args->validation_id),
                        cd__words(e));
    }
    cd_json_w_obj(call->out);
    e = put_l1(call, &s, &v);
    cd_json_put_id(call->out, cd__service_of(call)->net_id, &v.net_id);
    cd_json_put_dec(call->out, "height", height);
    cd_json_w_obj_end(call->out);
    return e == CD_OK ? CD_OK : fail_store(call, e);
}

/* --- getCurrentValidators --- */

typedef struct wanted {
    const cd_hash32 *net;
    const cd_rpc_node_ids *nodes; /* none: all */
} wanted;

/* Is the i-th node of a list its first there? */
static bool is_first(const cd_rpc_node_ids *nodes, usize i)
{
    for (usize j = 0; j < i; j++) {
        if (memcmp(&nodes->v[j], &nodes->v[i], sizeof nodes->v[i]) == 0) {
            return false;
        }
    }
    return true;
}

static cd_err put_named_stakers(cd_rpc_call *call, const cd_pstate *s, const wanted *q)
{
    cd_arena a = {0};
    cd_err e = CD_OK;
    for (usize i = 0; e == CD_OK && i < q->nodes->n; i++) {
        cd_p_staker t;
        cd_arena_reset(&a);
        e = is_first(q->nodes, i) ? cd_pstate_validator_get(s, &t, CD_P_CURRENT, q->net, &q->nodes->v[i]) : CD_ENOENT;
        e = e == CD_OK ? put_validator(call, s, &a, &t, q->nodes->n == 1) : e == CD_ENOENT ? CD_OK : e;
    }
    cd_arena_fini(&a);
    return e;
}

static cd_err put_all_stakers(cd_rpc_call *call, const cd_pstate *s, const wanted *q)
{
    cd_p_staker_iter it;
    cd_p_staker t;
    cd_arena a = {0};
    CD_TRY(cd_pstate_stakers_of_net(s, &it, CD_P_CURRENT, q->net));
    cd_err e = CD_OK;
    while (e == CD_OK && cd_p_staker_next(&it, &t)) {
        if (!cd_p_priority_delegates(t.priority)) {
            cd_arena_reset(&a);
            e = put_validator(call, s, &a, &t, false);
        }
        if (cd_rpc_is_late(call)) {
            e = CD_ETIMEOUT;
        }
    }
    e = e != CD_OK ? e : it.err;
    cd_p_staker_iter_fini(&it);
    cd_arena_fini(&a);
    return e;
}

static cd_err put_one_l1(cd_rpc_call *call, const cd_pstate *s, const cd_p_l1 *v)
{
    cd_json_w_obj(call->out);
    cd_err e = put_l1(call, s, v);
    cd_json_w_obj_end(call->out);
    return e;
}

static cd_err put_named_l1s(cd_rpc_call *call, const cd_pstate *s, const wanted *q)
{
    for (usize i = 0; i < q->nodes->n; i++) {
        cd_hash32 id;
        cd_p_l1 v;
        cd_err e = is_first(q->nodes, i) ? cd_pstate_l1_find(s, &id, q->net, &q->nodes->v[i]) : CD_ENOENT;
        if (e == CD_ENOENT) {
            continue;
        }
        CD_TRY(e);
        CD_TRY(cd_pstate_l1_get(s, &v, call->arena, &id));
        CD_TRY(put_one_l1(call, s, &v));
    }
    return CD_OK;
}

static cd_err put_all_l1s(cd_rpc_call *call, const cd_pstate *s, const wanted *q)
{
    enum { STEP = 256 };
    cd_hash32 after = {{0}};
    cd_arena a = {0};
    cd_err e = CD_OK;
    usize n = STEP;
    for (usize done = 0; e == CD_OK && n == STEP && done < CD__L1_MAX; done += n) {
        cd_p_l1 *v;
        cd_arena_reset(&a);
        e = cd_pstate_l1_of_net(s, &v, &n, &a, q->net, &after, STEP);
        for (usize i = 0; e == CD_OK && i < n; i++) {
            e = put_one_l1(call, s, &v[i]);
            after = v[i].validation_id;
        }
        if (cd_rpc_is_late(call)) {
            e = CD_ETIMEOUT;
        }
    }
    cd_arena_fini(&a);
    return e;
}

/* The primary network from the roll, other nets and more than it holds from the state. */
static cd_err put_stakers(cd_rpc_call *call, const cd_pstate *s, const wanted *q)
{
    cd_platform_service *service = call->ctx;
    cd__roll *roll = NULL;
    cd_err e = cd_hash32_is_zero(q->net) ? cd__roll_get(&roll, service, s) : CD_EFULL;
    if (e == CD_EFULL) {
        return put_all_stakers(call, s, q);
    }
    cd_arena a = {0};
    for (usize i = 0; e == CD_OK && i < roll->cnt; i++) {
        cd_arena_reset(&a);
        e = cd_rpc_is_late(call) ? CD_ETIMEOUT : put_row(call, s, &a, &roll->v[i], false);
    }
    cd_arena_fini(&a);
    cd__roll_end(service, roll);
    return e;
}

cd_err cd__platform_current_validators(cd_rpc_call *call)
{
    const cd__platform_current_validators_args *args = call->args;
    const wanted q = {.net = &args->net_id, .nodes = &args->node_ids};
    cd_pstate s;
    if (q.nodes->n > CD__ADDRS_MAX) {
        return cd__fail(call, "number of nodes given, %zu, exceeds maximum, %d", q.nodes->n, CD__ADDRS_MAX);
    }
    CD_TRY(cd__state_of(&s, call));
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "validators");
    cd_json_w_arr(call->out);
    cd_err e = q.nodes->n != 0 ? put_named_stakers(call, &s, &q) : put_stakers(call, &s, &q);
    if (e == CD_OK && !cd_hash32_is_zero(q.net)) {
        e = q.nodes->n != 0 ? put_named_l1s(call, &s, &q) : put_all_l1s(call, &s, &q);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return e == CD_OK ? CD_OK : e == CD_ETIMEOUT ? cd_rpc_fail_late(call) : fail_store(call, e);
}

/* --- getPendingValidators --- */

static bool is_wanted(const wanted *q, const cd_node_id *node)
{
    for (usize i = 0; i < q->nodes->n; i++) {
        if (memcmp(&q->nodes->v[i], node, sizeof *node) == 0) {
            return true;
        }
    }
    return q->nodes->n == 0;
}

static cd_err put_pending(cd_rpc_call *call, const cd_pstate *s, cd_arena *a, const cd_p_staker *t)
{
    told d;
    CD_TRY(told_of(&d, s, a, t));
    cd_json_w_obj(call->out);
    put_staker(call, t);
    if (d.delegation_owner != NULL) {
        const cd_platform_cfg *cfg = &cd__service_of(call)->cfg;
        cd_json_put_ratio(call->out, "delegationFee", d.shares, 1000000, 100);
        cd_json_put_bool(call->out, "connected",
                         cfg->uptime != NULL && cd_uptime_is_connected(cfg->uptime, &t->node_id));
        put_signer(call, d.signer);
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

static cd_err put_pending_list(cd_rpc_call *call, const cd_pstate *s, const wanted *q, bool delegators)
{
    cd_p_staker_iter it;
    cd_p_staker t;
    cd_arena a = {0};
    CD_TRY(cd_pstate_stakers_of_net(s, &it, CD_P_PENDING, q->net));
    cd_err e = CD_OK;
    cd_json_w_arr(call->out);
    while (e == CD_OK && cd_p_staker_next(&it, &t)) {
        if (cd_p_priority_delegates(t.priority) == delegators && is_wanted(q, &t.node_id)) {
            cd_arena_reset(&a);
            e = put_pending(call, s, &a, &t);
        }
        if (cd_rpc_is_late(call)) {
            e = CD_ETIMEOUT;
        }
    }
    cd_json_w_arr_end(call->out);
    e = e != CD_OK ? e : it.err;
    cd_p_staker_iter_fini(&it);
    cd_arena_fini(&a);
    return e;
}

cd_err cd__platform_pending_validators(cd_rpc_call *call)
{
    const cd__platform_pending_validators_args *args = call->args;
    const wanted q = {.net = &args->net_id, .nodes = &args->node_ids};
    cd_pstate s;
    if (q.nodes->n > CD__ADDRS_MAX) {
        return cd__fail(call, "number of nodes given, %zu, exceeds maximum, %d", q.nodes->n, CD__ADDRS_MAX);
    }
    CD_TRY(cd__state_of(&s, call));
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "validators");
    cd_err e = put_pending_list(call, &s, &q, false);
    cd_json_w_key(call->out, "delegators");
    e = e != CD_OK ? e : put_pending_list(call, &s, &q, true);
    cd_json_w_obj_end(call->out);
    return e == CD_OK ? CD_OK : e == CD_ETIMEOUT ? cd_rpc_fail_late(call) : fail_store(call, e);
}
