#include "l1/l1_change.h"

#include "base/num_text.h"
#include "l1/l1.h"

enum { FIRSTS_MAX = 4096 };

/* --- parts --- */

/* Whether the P-Chain has a validation now. */
static cd_err is_there(cd__l1_job *j, bool *out, const cd_hash32 *id, cd_errinfo *why)
{
    cd_json v;
    cd_errinfo said = {0};
    const char *params = cd_arena_fmt(j->mem, "{\"validationID\":\"%s\"}", cd__l1_id_text(j, id));
    cd_err e = cd__l1_ask(j, &v, "platform.getL1Validator", params, &said);
    *out = e == CD_OK;
    if (e != CD_OK && (e != CD_EACCES || strstr(said.msg, "not found") == NULL)) {
        *why = said;
        return e;
    }
    return CD_OK;
}

/* What the manager says, signed by the L1's validators, as hexadecimal. */
static cd_err sign_payload(cd__l1_manager *m, cd__l1_job *j, const char **out, cd_bytes payload, cd_errinfo *why)
{
    cd_bytes message;
    const char *chain = cd__l1_id_text(j, &m->chain);
    CD_TRY(cd__l1_settled(j, why)); /* the P-Chain's next block judges by that height, too */
    cd__l1_tell(j, "the L1's validators sign what the manager asks for");
    CD_TRY(cd__l1_sign_call(j, &message, chain, &m->chain, cd_bytes_of(m->address.b, sizeof m->address.b), payload,
                            (cd_bytes){0}, &m->net, why));
    *out = cd__hex_text(j->mem, message);
    return CD_OK;
}

/* The P-Chain says that a validation is registered, or is not and never will be; the manager is told. */
static cd_err answer(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, bool is_registered, cd_bytes justification,
                     cd_errinfo *why)
{
    cd_p_payload_registration r = {.validation_id = *id, .is_registered = is_registered};
    const cd_p_payload payload = cd_p_payload_of(CD_P_PAYLOAD_REGISTRATION, &r);
    cd_bytes message;
    CD_TRY(cd__l1_settled(j, why));
    cd__l1_tell(j, "the L1's validators sign that the P-Chain has done it");
    CD_TRY(cd__l1_say_p(j, &message, &payload, justification, &m->net, why));
    return cd__l1_manager_complete(
        m, j, is_registered ? "completeValidatorRegistration(uint32)" : "completeValidatorRemoval(uint32)", message,
        why);
}

/* What a validation's ID was made of: a registration's payload, or a place in the conversion. */
static cd_err justify(cd__l1_manager *m, cd__l1_job *j, cd_bytes *out, const cd_hash32 *id, cd_errinfo *why)
{
    cd_p_net_index place = {.net_id = cd_bytes_of(m->net.b, sizeof m->net.b)};
    cd_p_justification x = {.preimage = CD_P_PREIMAGE_REGISTER};
    cd_buf bytes = {0};
    cd_hash32 made = {{0}};
    CD_TRY(cd__l1_manager_payload(m, &x.message, id, why));
    if (x.message.n == 0) {
        x = (cd_p_justification){.preimage = CD_P_PREIMAGE_INDEX, .index = &place};
        cd_p_validation_id(&made, &m->net, 0);
        while (!cd_hash32_eq(&made, id) && place.index < FIRSTS_MAX) {
            cd_p_validation_id(&made, &m->net, ++place.index);
        }
        if (!cd_hash32_eq(&made, id)) {
            return cd_fail(why, CD_ENOENT, "nobody knows of what %s was made", cd__l1_id_text(j, id));
        }
    }
    cd_proto_put(&bytes, &cd_p_justification_table, &x);
    *out = cd_arena_dup(j->mem, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    return CD_OK;
}

/* --- one comes --- */

static cd_err expiry_of(u64 *out, cd_arena *mem, cd_bytes payload, cd_errinfo *why)
{
    cd_p_payload p;
    CD_TRY(cd_linear_parse(&p, &cd_p_payload_table, mem, payload, 0, why));
    const cd_p_payload_register *r = p.body.v;
    *out = p.body.is->id == CD_P_PAYLOAD_REGISTER ? r->expiry : 0;
    return CD_OK;
}

static cd_err register_on_p(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, const cd__l1_candidate *c,
                            const char *balance, cd_errinfo *why)
{
    cd_bytes payload;
    cd_bytes justification;
    const char *message;
    u64 expiry;
    CD_TRY(cd__l1_manager_payload(m, &payload, id, why));
    CD_TRY(expiry_of(&expiry, j->mem, payload, why));
    if (expiry <= j->world.now) {
        CD_TRY(justify(m, j, &justification, id, why));
        CD_TRY(answer(m, j, id, false, justification, why));
        return cd_fail(why, CD_ETIMEOUT, "the registration had waited for more than a day and is given up: try again");
    }
    CD_TRY(sign_payload(m, j, &message, payload, why));
    const char *const words[] = {cd_arena_fmt(j->mem, "--amount=%s", balance),
                                 cd_arena_fmt(j->mem, "--bls-pop=%s", c->proof),
                                 cd_arena_fmt(j->mem, "--message-file=%s", message)};
    return cd__l1_do(j, "register-l1-validator", words, CD_COUNT(words), why);
}

cd_err cd__l1_add(cd__l1_manager *m, cd__l1_job *j, const cd__l1_candidate *c, const char *balance,
                  cd__l1_validation *out, cd_errinfo *why)
{
    bool is;
    CD_TRY(cd__l1_manager_find(m, out, &c->node, why));
    if (out->status == CD__L1_UNKNOWN) {
        CD_TRY(cd__l1_manager_register(m, j, c, why));
        CD_TRY(cd__l1_manager_find(m, out, &c->node, why));
    }
    if (out->status == CD__L1_ACTIVE) {
        return CD_OK;
    }
    if (out->status != CD__L1_PENDING_ADDED) {
        return cd_fail(why, CD_EINVAL, "it is about to leave: candela-cli l1 remove-validator completes that first");
    }
    CD_TRY(is_there(j, &is, &out->id, why));
    if (!is) {
        CD_TRY(register_on_p(m, j, &out->id, c, balance, why));
    }
    CD_TRY(answer(m, j, &out->id, true, (cd_bytes){0}, why));
    return cd__l1_manager_get(m, out, &out->id, why);
}

/* --- one goes, or weighs more or less --- */

/* The weight that the manager has asked for last; 0 of one that goes. */
static cd_err weigh_on_p(cd__l1_manager *m, cd__l1_job *j, const cd__l1_validation *v, u64 weight, cd_errinfo *why)
{
    cd_p_payload_weight x = {.validation_id = v->id, .nonce = v->nonce, .weight = weight};
    const cd_p_payload payload = cd_p_payload_of(CD_P_PAYLOAD_WEIGHT, &x);
    cd_buf bytes = {0};
    const char *message;
    cd_linear_put(&bytes, &cd_p_payload_table, &payload);
    cd_err e = sign_payload(m, j, &message, cd_buf_bytes(&bytes), why);
    cd_buf_fini(&bytes);
    CD_TRY(e);
    const char *const words[] = {cd_arena_fmt(j->mem, "--message-file=%s", message)};
    return cd__l1_do(j, "set-l1-weight", words, CD_COUNT(words), why);
}

/* The step is checked before the contract is changed: after that there is no way back. */
static cd_err check(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, u64 weight, cd_errinfo *why)
{
    const cd_l1_step step = {.kind = CD_L1_STEP_WEIGHT, .validation_id = *id, .weight = weight};
    return cd_args_bool(j->args, L1_FORCE) ? CD_OK : cd__l1_check(j->world.node, j->mem, &m->net, &step, why);
}

cd_err cd__l1_remove(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, cd_errinfo *why)
{
    cd__l1_validation v;
    cd_bytes justification;
    bool is;
    CD_TRY(cd__l1_manager_get(m, &v, id, why));
    if (v.status == CD__L1_ACTIVE) {
        CD_TRY(check(m, j, id, 0, why));
        CD_TRY(cd__l1_manager_remove(m, j, id, why));
        CD_TRY(cd__l1_manager_get(m, &v, id, why));
    }
    if (v.status != CD__L1_PENDING_REMOVED) {
        return cd_fail(why, CD_EINVAL, "%s does not validate", cd__l1_id_text(j, id));
    }
    CD_TRY(is_there(j, &is, id, why));
    if (is) {
        CD_TRY(weigh_on_p(m, j, &v, 0, why));
    }
    CD_TRY(justify(m, j, &justification, id, why));
    return answer(m, j, id, false, justification, why);
}

/* Whether the P-Chain has taken the weight that a nonce belongs to. */
static cd_err has_weighed(cd__l1_job *j, bool *out, const cd__l1_validation *v, cd_errinfo *why)
{
    cd_json answer;
    cd_bytes text;
    u64 next = 0;
    const char *params = cd_arena_fmt(j->mem, "{\"validationID\":\"%s\"}", cd__l1_id_text(j, &v->id));
    CD_TRY(cd__l1_ask(j, &answer, "platform.getL1Validator", params, why));
    CD_TRY(cd_json_str(&text, cd_json_get(answer, "minNonce"), why));
    CD_TRY(cd_u64_parse(&next, text));
    *out = next > v->nonce;
    return CD_OK;
}

/* The P-Chain says that it is so; the manager is told. */
static cd_err answer_weight(cd__l1_manager *m, cd__l1_job *j, const cd__l1_validation *v, cd_errinfo *why)
{
    cd_p_payload_weight x = {.validation_id = v->id, .nonce = v->nonce, .weight = v->weight};
    const cd_p_payload payload = cd_p_payload_of(CD_P_PAYLOAD_WEIGHT, &x);
    cd_bytes message;
    CD_TRY(cd__l1_settled(j, why));
    cd__l1_tell(j, "the L1's validators sign that the P-Chain has done it");
    CD_TRY(cd__l1_say_p(j, &message, &payload, (cd_bytes){0}, &m->net, why));
    return cd__l1_manager_complete(m, j, "completeValidatorWeightUpdate(uint32)", message, why);
}

cd_err cd__l1_weigh(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, u64 weight, cd_errinfo *why)
{
    cd__l1_validation v;
    bool is;
    CD_TRY(cd__l1_manager_get(m, &v, id, why));
    if (v.status != CD__L1_ACTIVE) {
        return cd_fail(why, CD_EINVAL, "%s is about to come or to go", cd__l1_id_text(j, id));
    }
    if (v.weight != weight) {
        CD_TRY(check(m, j, id, weight, why));
        CD_TRY(cd__l1_manager_weigh(m, j, id, weight, why));
        CD_TRY(cd__l1_manager_get(m, &v, id, why));
    }
    if (v.nonce <= v.received) {
        return CD_OK;
    }
    CD_TRY(has_weighed(j, &is, &v, why));
    if (!is) {
        CD_TRY(weigh_on_p(m, j, &v, weight, why));
    }
    return answer_weight(m, j, &v, why);
}
