#include "chains/platform/state/l1.h"

#include "chains/platform/state/nets.h"
#include "chains/platform/txs/exec_priv.h"
#include "chains/platform/txs/shape.h"
#include "crypto/hash/sha2.h"
#include "types/pwarp.h"
#include "types/warp.h"

#include <string.h>

/* A message that registers a validator is good for this long at most. */
enum { EXPIRY_MAX_S = 24 * 3600, NODE_LEN = 20 };

static cd_err refuse(cd_errinfo *why, const char *words)
{
    return cd_fail(why, CD_EINVAL, "%s", words);
}

/* --- money of validators --- */

/* One more that pays: is there room? */
static cd_err room_for(cd_p_exec *x, u64 more, cd_errinfo *why)
{
    u64 active;
    CD_TRY(cd_pstate_num_get(x->state, &active, CD_PSTATE_ACTIVE_L1));
    return active + more > x->rules->l1.capacity ? refuse(why, "already at the max number of active validators")
                                                 : CD_OK;
}

static cd_err end_fee_of(cd_p_exec *x, u64 *out, u64 paid, cd_errinfo *why)
{
    u64 accrued;
    CD_TRY(cd_pstate_num_get(x->state, &accrued, CD_PSTATE_ACCRUED_FEES));
    return cd_add_u64(out, accrued, paid) ? CD_OK : refuse(why, "overflow");
}

/* What an active validator has left goes back to its owner. */
static cd_err refund_of(cd_p_exec *x, cd_transfer_output *out, const cd_p_l1 *v, cd_errinfo *why)
{
    u64 accrued;
    CD_TRY(cd_pstate_num_get(x->state, &accrued, CD_PSTATE_ACCRUED_FEES));
    if (v->end_fee <= accrued) {
        return cd_fail(why, CD_ECORRUPT, "state corruption: validator should have already been disabled");
    }
    const cd_p_l1_owner *o = &v->remaining_balance_owner;
    *out =
        (cd_transfer_output){.amount = v->end_fee - accrued, .owners = {.threshold = o->threshold, .addrs = o->addrs}};
    return CD_OK;
}

static cd_err load(cd_p_exec *x, cd__flow *f, cd_p_l1 *out, const cd_hash32 *id, const char *words, cd_errinfo *why)
{
    cd_err e = cd_pstate_l1_get(x->state, out, f->a, id);
    return e == CD_ENOENT ? cd_fail(why, CD_EINVAL, "%snot found", words) : e;
}

static const char no_validator[] = "could not load L1 validator: ";

/* --- conversion --- */

static cd_err convert_check(cd_p_exec *x, cd__flow *f, const cd_p_convert_net_to_l1 *t, cd_errinfo *why)
{
    const cd_p_l1_validator *v = t->validators.v;
    u64 weights = 0;
    u64 balances = 0;
    u64 active = 0;
    CD_TRY(cd__net_auth(x, f, &t->net_id, &t->net_auth, true, why));
    for (u32 i = 0; i < t->validators.cnt; i++) {
        u64 end;
        active += v[i].balance != 0;
        CD_TRY(v[i].balance != 0 ? room_for(x, active, why) : CD_OK);
        CD_TRY(end_fee_of(x, &end, v[i].balance, why));
        if (!cd_add_u64(&weights, weights, v[i].weight) || !cd_add_u64(&balances, balances, v[i].balance)) {
            return refuse(why, "overflow");
        }
    }
    f->burned = balances;
    return cd__flow_check(x, f, why);
}

static cd_err convert(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_convert_net_to_l1 *t = f->tx->tx.body.v;
    const cd_p_l1_validator *v = t->validators.v;
    cd_p_conversion c = {.chain_id = t->chain_id, .address = t->address};
    CD_TRY(convert_check(x, f, t, why));
    for (u32 i = 0; i < t->validators.cnt; i++) {
        cd_bls_pk key;
        cd_p_l1 l;
        memset(&l, 0, sizeof l);
        cd_p_validation_id(&l.validation_id, &t->net_id, i);
        l.net_id = t->net_id;
        memcpy(l.node_id.b, v[i].node_id.p, NODE_LEN);
        CD_TRY(cd_bls_pk_dec(&key, cd_bytes_of(v[i].signer.key, sizeof v[i].signer.key)));
        cd_bls_pk_enc_raw(l.key, &key);
        l.remaining_balance_owner = v[i].remaining_balance_owner;
        l.deactivation_owner = v[i].deactivation_owner;
        l.start = f->now;
        l.weight = v[i].weight;
        if (v[i].balance != 0) {
            CD_TRY(end_fee_of(x, &l.end_fee, v[i].balance, why));
        }
        CD_TRY(cd_pstate_l1_put(x->state, &l));
    }
    cd_p_conversion_id(&c.id, t);
    CD_TRY(cd_pstate_conversion_set(x->state, &t->net_id, &c));
    return cd__flow_write(x, f, NULL);
}

/* --- messages of managers --- */

typedef struct call {
    cd_warp_message warp;
    cd_warp_payload payload;
    cd_p_payload said;
} call;

static cd_err read_call(call *out, cd_arena *a, cd_bytes message, cd_p_payload_type type, cd_errinfo *why)
{
    cd_err e = cd_warp_message_dec(&out->warp, message);
    e = e != CD_OK ? e : cd_warp_payload_dec(&out->payload, out->warp.body.payload);
    if (e != CD_OK) {
        return cd_fail_codec(why, e);
    }
    if (out->payload.type != CD_WARP_ADDRESSED_CALL) {
        return cd_fail(why, CD_ETYPE, "wrong payload type: *payload.Hash");
    }
    CD_TRY(cd_linear_parse(&out->said, &cd_p_payload_table, a, out->payload.payload, CD_WARP_PAYLOAD_MAX, why));
    return out->said.body.is->id == type ? CD_OK : cd_fail(why, CD_ETYPE, "wrong payload type");
}

static cd_err from_manager(cd_p_exec *x, cd__flow *f, const cd_hash32 *net, const call *c, cd_errinfo *why)
{
    cd_p_conversion l1;
    cd_err e = cd_pstate_conversion_get(x->state, &l1, f->a, net);
    if (e == CD_ENOENT) {
        return cd_fail(why, CD_EINVAL, "could not load net conversion for %s with: not found", cd_text_id(net).s);
    }
    CD_TRY(e);
    if (!cd_hash32_eq(&l1.chain_id, &c->warp.body.source_chain)) {
        return cd_fail(why, CD_EINVAL, "wrong warp message source chain ID expected %s but had %s",
                       cd_text_id(&l1.chain_id).s, cd_text_id(&c->warp.body.source_chain).s);
    }
    if (cd_bytes_eq(l1.address, c->payload.source)) {
        return CD_OK;
    }
    cd_buf text = {0};
    cd_buf_str(&text, "wrong warp message source address expected 0x");
    for (usize i = 0; i < l1.address.n; i++) {
        cd_buf_fmt(&text, "%02x", l1.address.p[i]);
    }
    cd_buf_str(&text, " but got 0x");
    for (usize i = 0; i < c->payload.source.n; i++) {
        cd_buf_fmt(&text, "%02x", c->payload.source.p[i]);
    }
    e = cd_fail(why, CD_EINVAL, "%s", cd_buf_cstr(&text));
    cd_buf_fini(&text);
    return e;
}

static cd_err owner_ok(const cd_p_l1_owner *o, cd_errinfo *why)
{
    cd_err e = cd_p_l1_owner_check(o, why);
    return e == CD_OK ? CD_OK : cd_fail_under(why, e, "invalid owner");
}

static cd_err register_shape(const cd_p_payload_register *m, cd_errinfo *why)
{
    static const u8 empty[NODE_LEN];
    if (cd_hash32_eq(&m->net_id, &cd__p_primary)) {
        return refuse(why, "invalid net ID");
    }
    if (m->weight == 0) {
        return refuse(why, "invalid weight");
    }
    if (m->node_id.n != NODE_LEN) {
        return cd_fail(why, CD_EINVAL, "invalid node ID: invalid hash length: expected %d bytes but got %zu", NODE_LEN,
                       m->node_id.n);
    }
    if (memcmp(m->node_id.p, empty, NODE_LEN) == 0) {
        return refuse(why, "invalid node ID: empty nodeID is disallowed");
    }
    CD_TRY(owner_ok(&m->remaining_balance_owner, why));
    return owner_ok(&m->disable_owner, why);
}

static cd_err expiry_ok(cd_p_exec *x, const cd__flow *f, u64 expiry, const cd_hash32 *id, cd_errinfo *why)
{
    bool is_used;
    if (expiry <= f->now) {
        return cd_fail(why, CD_EINVAL, "warp message expired at %llu and it is currently %llu",
                       (unsigned long long)expiry, (unsigned long long)f->now);
    }
    if (expiry - f->now > EXPIRY_MAX_S) {
        return cd_fail(why, CD_EINVAL,
                       "warp message not yet allowed because time is %llu seconds in the future but the limit is %d",
                       (unsigned long long)(expiry - f->now), EXPIRY_MAX_S);
    }
    CD_TRY(cd_pstate_expiry_has(x->state, &is_used, expiry, id));
    return is_used ? cd_fail(why, CD_EINVAL, "warp message already issued for validationID %s", cd_text_id(id).s)
                   : CD_OK;
}

static cd_err register_check(cd_p_exec *x, cd__flow *f, cd_p_l1 *l, const call *c, cd_errinfo *why)
{
    const cd_p_register_l1_validator *t = f->tx->tx.body.v;
    const cd_p_payload_register *m = c->said.body.v;
    cd_bls_pk key;
    cd_hash32 other;
    u64 weights;
    CD_TRY(register_shape(m, why));
    CD_TRY(from_manager(x, f, &m->net_id, c, why));
    cd_sha256(&l->validation_id, c->payload.payload);
    CD_TRY(expiry_ok(x, f, m->expiry, &l->validation_id, why));
    CD_TRY(cd_p_pop_check(&key, m->key, t->pop, why));
    l->net_id = m->net_id;
    memcpy(l->node_id.b, m->node_id.p, NODE_LEN);
    cd_bls_pk_enc_raw(l->key, &key);
    l->remaining_balance_owner = m->remaining_balance_owner;
    l->deactivation_owner = m->disable_owner;
    l->start = f->now;
    l->weight = m->weight;
    if (t->balance != 0) {
        CD_TRY(room_for(x, 1, why));
        CD_TRY(end_fee_of(x, &l->end_fee, t->balance, why));
    }
    cd_err e = cd_pstate_l1_find(x->state, &other, &l->net_id, &l->node_id);
    if (e == CD_OK) {
        return refuse(why, "L1 validator contains duplicate netID + nodeID pair");
    }
    CD_TRY(e == CD_ENOENT ? CD_OK : e);
    CD_TRY(cd_pstate_l1_weight(x->state, &weights, &l->net_id));
    return cd_add_u64(&weights, weights, l->weight) ? CD_OK : refuse(why, "overflow");
}

static cd_err register_validator(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_register_l1_validator *t = f->tx->tx.body.v;
    cd_p_l1 l;
    call c = {.payload = {.type = CD_WARP_HASH}};
    memset(&l, 0, sizeof l);
    f->burned = t->balance;
    CD_TRY(cd__flow_check(x, f, why));
    CD_TRY(read_call(&c, f->a, t->message, CD_P_PAYLOAD_REGISTER, why));
    CD_TRY(register_check(x, f, &l, &c, why));
    CD_TRY(cd_pstate_l1_put(x->state, &l));
    CD_TRY(cd_pstate_expiry_put(x->state, ((const cd_p_payload_register *)c.said.body.v)->expiry, &l.validation_id));
    return cd__flow_write(x, f, NULL);
}

/* The net keeps at least one validator, and its weight 64 bits. */
static cd_err weight_ok(cd_p_exec *x, const cd_p_l1 *l, u64 weight, cd_errinfo *why)
{
    u64 all;
    CD_TRY(cd_pstate_l1_weight(x->state, &all, &l->net_id));
    if (weight == 0 && all == l->weight) {
        return refuse(why, "attempting to remove the last L1 validator from a converted net");
    }
    return cd_add_u64(&all, all - l->weight, weight) ? CD_OK : refuse(why, "overflow");
}

static cd_err set_weight(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_set_l1_validator_weight *t = f->tx->tx.body.v;
    cd_p_l1 l;
    cd_transfer_output refund;
    call c = {.payload = {.type = CD_WARP_HASH}};
    CD_TRY(cd__flow_check(x, f, why));
    CD_TRY(read_call(&c, f->a, t->message, CD_P_PAYLOAD_WEIGHT, why));
    const cd_p_payload_weight *m = c.said.body.v;
    if (m->nonce == UINT64_MAX && m->weight != 0) {
        return refuse(why, "maxUint64 nonce is reserved for removal");
    }
    CD_TRY(load(x, f, &l, &m->validation_id, no_validator, why));
    if (m->nonce < l.min_nonce) {
        return cd_fail(why, CD_EINVAL, "warp message contains stale nonce %llu must be at least %llu",
                       (unsigned long long)m->nonce, (unsigned long long)l.min_nonce);
    }
    CD_TRY(from_manager(x, f, &l.net_id, &c, why));
    CD_TRY(weight_ok(x, &l, m->weight, why));
    bool is_refunded = m->weight == 0 && l.end_fee != 0;
    if (is_refunded) {
        CD_TRY(refund_of(x, &refund, &l, why));
    }
    l.min_nonce = m->nonce + 1; /* of one that is removed it does not matter */
    l.weight = m->weight;
    CD_TRY(cd_pstate_l1_put(x->state, &l));
    return cd__flow_write(x, f, is_refunded ? &refund : NULL);
}

/* --- without messages --- */

static cd_err increase(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_increase_l1_balance *t = f->tx->tx.body.v;
    cd_p_l1 l;
    f->burned = t->balance;
    CD_TRY(cd__flow_check(x, f, why));
    CD_TRY(load(x, f, &l, &t->validation_id, "", why));
    if (l.end_fee == 0) {
        CD_TRY(room_for(x, 1, why));
        CD_TRY(cd_pstate_num_get(x->state, &l.end_fee, CD_PSTATE_ACCRUED_FEES));
    }
    if (!cd_add_u64(&l.end_fee, l.end_fee, t->balance)) {
        return refuse(why, "overflow");
    }
    CD_TRY(cd_pstate_l1_put(x->state, &l));
    return cd__flow_write(x, f, NULL);
}

static cd_err disable(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    const cd_p_disable_l1_validator *t = f->tx->tx.body.v;
    cd_p_l1 l;
    cd_transfer_output refund;
    CD_TRY(load(x, f, &l, &t->validation_id, no_validator, why));
    const cd_owners owners = {.threshold = l.deactivation_owner.threshold, .addrs = l.deactivation_owner.addrs};
    CD_TRY(cd__auth(x, f, &owners, &t->auth, why));
    CD_TRY(cd__flow_check(x, f, why));
    if (l.end_fee == 0) {
        return cd__flow_write(x, f, NULL);
    }
    CD_TRY(refund_of(x, &refund, &l, why));
    l.end_fee = 0;
    CD_TRY(cd_pstate_l1_put(x->state, &l));
    return cd__flow_write(x, f, &refund);
}

cd_err cd__exec_l1(cd_p_exec *x, cd__flow *f, cd_errinfo *why)
{
    switch (f->tx->tx.body.is->id) {
    case CD_P_CONVERT_NET_TO_L1:
        return convert(x, f, why);
    case CD_P_REGISTER_L1_VALIDATOR:
        return register_validator(x, f, why);
    case CD_P_SET_L1_VALIDATOR_WEIGHT:
        return set_weight(x, f, why);
    case CD_P_INCREASE_L1_BALANCE:
        return increase(x, f, why);
    case CD_P_DISABLE_L1_VALIDATOR:
        return disable(x, f, why);
    }
    CD_UNREACHABLE();
}
