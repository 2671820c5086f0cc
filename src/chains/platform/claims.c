#include "chains/platform/claims.h"

#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "chains/platform/txs/words.h"
#include "crypto/hash/sha2.h"
#include "types/pwarp.h"

/* Says why, and gives the code. */
#define refuse(why, code, ...) ((void)cd_fail((why), CD_EINVAL, __VA_ARGS__), (code))

/* What is judged. */
typedef struct claim {
    const cd_pstate *s;
    cd_arena a;
    cd_bytes justification;
    cd_errinfo *why;
} claim;

static cd_p_claim broken(const claim *c, cd_err e)
{
    return refuse(c->why, CD_P_CLAIM_BROKEN, "the state cannot be read: %s", cd_err_str(e));
}

static bool id_of(const claim *c, cd_hash32 *out, cd_bytes bytes, const char *what)
{
    if (bytes.n != sizeof out->b) {
        (void)refuse(c->why, 0, "failed to parse %s: invalid hash length: expected 32 bytes but got %zu", what,
                     bytes.n);
        return false;
    }
    memcpy(out->b, bytes.p, sizeof out->b);
    return true;
}

static cd_p_claim find_conversion(claim *c, cd_p_conversion *out, const cd_hash32 *net)
{
    cd_err e = cd_pstate_conversion_get(c->s, out, &c->a, net);
    if (e == CD_ENOENT) {
        return refuse(c->why, CD_P_CLAIM_NO_CONVERSION, "subnet \"%s\" has not been converted", cd_text_id(net).s);
    }
    return e == CD_OK ? CD_P_CLAIM_TRUE : broken(c, e);
}

static cd_p_claim find_validation(claim *c, cd_p_l1 *out, const cd_hash32 *id)
{
    cd_err e = cd_pstate_l1_get(c->s, out, &c->a, id);
    if (e == CD_ENOENT) {
        return refuse(c->why, CD_P_CLAIM_NO_VALIDATION, "validation \"%s\" does not exist", cd_text_id(id).s);
    }
    return e == CD_OK ? CD_P_CLAIM_TRUE : broken(c, e);
}

static cd_p_claim judge_conversion(claim *c, const cd_p_payload_conversion *m)
{
    cd_hash32 net;
    cd_p_conversion conversion;
    if (!id_of(c, &net, c->justification, "justification")) {
        return CD_P_CLAIM_NO_JUSTIFICATION;
    }
    cd_p_claim found = find_conversion(c, &conversion, &net);
    if (found != CD_P_CLAIM_TRUE || cd_hash32_eq(&m->id, &conversion.id)) {
        return found;
    }
    return refuse(c->why, CD_P_CLAIM_OTHER_CONVERSION, "provided conversionID \"%s\" != expected conversionID \"%s\"",
                  cd_text_id(&m->id).s, cd_text_id(&conversion.id).s);
}

/* --- registrations --- */

static cd_p_claim same_validation(claim *c, const cd_hash32 *claimed, const cd_hash32 *justified)
{
    if (cd_hash32_eq(claimed, justified)) {
        return CD_P_CLAIM_TRUE;
    }
    return refuse(c->why, CD_P_CLAIM_OTHER_VALIDATION, "validationID \"%s\" != justificationID \"%s\"",
                  cd_text_id(claimed).s, cd_text_id(justified).s);
}

static cd_p_claim judge_absent(claim *c, const cd_hash32 *id)
{
    cd_p_l1 l;
    cd_p_claim found = find_validation(c, &l, id);
    if (found == CD_P_CLAIM_TRUE) {
        return refuse(c->why, CD_P_CLAIM_VALIDATION, "validation \"%s\" exists", cd_text_id(id).s);
    }
    return found == CD_P_CLAIM_NO_VALIDATION ? CD_P_CLAIM_TRUE : found;
}

static cd_p_claim judge_gone(claim *c, const cd_hash32 *id, const cd_p_net_index *from)
{
    cd_hash32 net;
    cd_hash32 justified;
    cd_p_conversion conversion;
    if (!id_of(c, &net, from->net_id, "subnetID")) {
        return CD_P_CLAIM_NO_NET;
    }
    cd_p_validation_id(&justified, &net, from->index);
    cd_p_claim found = same_validation(c, id, &justified);
    found = found != CD_P_CLAIM_TRUE ? found : find_conversion(c, &conversion, &net);
    return found != CD_P_CLAIM_TRUE ? found : judge_absent(c, id);
}

/* One that is too old cannot be used any more, one that was used cannot be used again. */
static cd_p_claim judge_never(claim *c, const cd_hash32 *id, cd_bytes message)
{
    cd_p_payload p;
    cd_hash32 justified;
    cd_errinfo inner = {0};
    u64 now = 0;
    bool is_used = false;
    cd_err e = cd_linear_parse(&p, &cd_p_payload_table, &c->a, message, CD_WARP_PAYLOAD_MAX, &inner);
    if (e != CD_OK || p.body.is->id != CD_P_PAYLOAD_REGISTER) {
        return refuse(c->why, CD_P_CLAIM_NO_REGISTER, "failed to parse RegisterL1Validator justification: %s",
                      e == CD_OK ? "wrong payload type" : inner.msg);
    }
    const cd_p_payload_register *m = p.body.v;
    cd_sha256(&justified, message);
    cd_p_claim found = same_validation(c, id, &justified);
    found = found != CD_P_CLAIM_TRUE ? found : judge_absent(c, id);
    if (found != CD_P_CLAIM_TRUE) {
        return found;
    }
    e = cd_pstate_num_get(c->s, &now, CD_PSTATE_TIME);
    if (e == CD_OK && m->expiry > now) {
        e = cd_pstate_expiry_has(c->s, &is_used, m->expiry, id);
    }
    if (e != CD_OK) {
        return broken(c, e);
    }
    return m->expiry <= now || is_used
               ? CD_P_CLAIM_TRUE
               : refuse(c->why, CD_P_CLAIM_TO_COME, "validation \"%s\" can still be registered", cd_text_id(id).s);
}

static cd_p_claim judge_registration(claim *c, const cd_p_payload_registration *m)
{
    cd_p_l1 l;
    cd_p_justification j = {.preimage = CD_P_PREIMAGE_NONE};
    cd_errinfo inner = {0};
    if (m->is_registered) {
        return find_validation(c, &l, &m->validation_id);
    }
    if (cd_proto_parse(&j, &cd_p_justification_table, &c->a, c->justification, &inner) != CD_OK) {
        return refuse(c->why, CD_P_CLAIM_NO_JUSTIFICATION, "failed to parse justification: %s", inner.msg);
    }
    switch ((cd_p_preimage)j.preimage) {
    case CD_P_PREIMAGE_INDEX:
        return judge_gone(c, &m->validation_id, j.index);
    case CD_P_PREIMAGE_REGISTER:
        return judge_never(c, &m->validation_id, j.message);
    case CD_P_PREIMAGE_NONE:
        break;
    }
    return refuse(c->why, CD_P_CLAIM_OTHER_JUSTIFICATION, "invalid justification type: <nil>");
}

static cd_p_claim judge_weight(claim *c, const cd_p_payload_weight *m)
{
    cd_p_l1 l;
    if (m->nonce == UINT64_MAX) {
        return refuse(c->why, CD_P_CLAIM_LAST_NONCE, "impossible nonce");
    }
    cd_p_claim found = find_validation(c, &l, &m->validation_id);
    if (found != CD_P_CLAIM_TRUE) {
        return found;
    }
    if (m->nonce + 1 != l.min_nonce) {
        return refuse(c->why, CD_P_CLAIM_OTHER_NONCE, "provided nonce %llu != expected nonce (%llu - 1)",
                      (unsigned long long)m->nonce, (unsigned long long)l.min_nonce);
    }
    return m->weight == l.weight
               ? CD_P_CLAIM_TRUE
               : refuse(c->why, CD_P_CLAIM_OTHER_WEIGHT, "provided weight %llu != expected weight %llu",
                        (unsigned long long)m->weight, (unsigned long long)l.weight);
}

/* --- messages --- */

static cd_p_claim judge_payload(claim *c, cd_bytes payload)
{
    cd_p_payload p;
    cd_errinfo inner = {0};
    if (cd_linear_parse(&p, &cd_p_payload_table, &c->a, payload, CD_WARP_PAYLOAD_MAX, &inner) != CD_OK) {
        return refuse(c->why, CD_P_CLAIM_NO_PAYLOAD, "failed to parse warp addressed call payload: %s", inner.msg);
    }
    switch ((cd_p_payload_type)p.body.is->id) {
    case CD_P_PAYLOAD_CONVERSION:
        return judge_conversion(c, p.body.v);
    case CD_P_PAYLOAD_REGISTRATION:
        return judge_registration(c, p.body.v);
    case CD_P_PAYLOAD_WEIGHT:
        return judge_weight(c, p.body.v);
    case CD_P_PAYLOAD_REGISTER:
        break;
    }
    return refuse(c->why, CD_P_CLAIM_OTHER_PAYLOAD,
                  "unsupported warp addressed call payload type: *message.RegisterL1Validator");
}

cd_p_claim cd_p_claim_judge(const cd_pstate *s, const cd_warp_unsigned *m, cd_bytes justification, cd_errinfo *why)
{
    claim c = {.s = s, .justification = justification, .why = why};
    cd_warp_payload call;
    cd_errinfo inner = {0};
    cd_err e = cd_warp_payload_dec(&call, m->payload);
    if (e != CD_OK) {
        (void)cd_fail_codec(&inner, e);
    } else if (call.type != CD_WARP_ADDRESSED_CALL) {
        e = cd_fail(&inner, CD_ETYPE, "wrong payload type: *payload.Hash");
    }
    if (e != CD_OK) {
        return refuse(why, CD_P_CLAIM_NO_CALL, "failed to parse warp addressed call: %s", inner.msg);
    }
    if (call.source.n != 0) {
        return refuse(why, CD_P_CLAIM_HAS_SOURCE, "source address should be empty");
    }
    cd_p_claim said = judge_payload(&c, call.payload);
    cd_arena_fini(&c.a);
    return said;
}
