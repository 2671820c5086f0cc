/* Steps of an L1's operator, simulated before they are made. */
#include "codec/api_json.h"
#include "l1/l1.h"
#include "types/pwarp.h"
#include "types/warp.h"

#include <stdio.h>

static const char *id_text(cd_arena *mem, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    const char *s = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return s;
}

/* --- reading --- */

static bool is_word(cd_json v, const char *word)
{
    cd_bytes text;
    return cd_json_has(v) && cd_json_str(&text, v, NULL) == CD_OK && cd_bytes_eq(text, cd_bytes_str(word));
}

static u64 number_or(cd_json v, u64 otherwise)
{
    u64 n = 0;
    return cd_json_has(v) && cd_json_u64(&n, v, NULL) == CD_OK ? n : otherwise;
}

static cd_err read_member(cd_l1_member *m, cd_json v, cd_errinfo *why)
{
    cd_bytes text;
    cd_json reach = cd_json_get(v, "reach");
    CD_TRY(cd_json_str(&text, cd_json_get(v, "nodeID"), why));
    CD_TRY(cd_node_id_parse(&m->node_id, text, why));
    CD_TRY(cd_json_str(&text, cd_json_get(v, "validationID"), why));
    CD_TRY(cd_id_parse(&m->validation_id, text, why));
    CD_TRY(cd_json_u64(&m->weight, cd_json_get(v, "weight"), why));
    CD_TRY(cd_json_u64(&m->balance, cd_json_get(v, "balance"), why));
    m->has_key = true;
    if (cd_json_has(cd_json_get(v, "hasKey"))) {
        CD_TRY(cd_json_bool(&m->has_key, cd_json_get(v, "hasKey"), why));
    }
    m->reach = is_word(reach, "connected")     ? CD_L1_THERE
               : is_word(reach, "unreachable") ? CD_L1_AWAY
                                               : CD_L1_REACH_UNKNOWN;
    m->left_s = number_or(cd_json_get(v, "secondsLeft"), m->balance == 0 ? 0 : CD_L1_FAR_S);
    m->worst_s = number_or(cd_json_get(v, "secondsLeftAtWorst"), m->left_s);
    return CD_OK;
}

cd_err cd__l1_read(cd_l1_facts *f, cd_l1_member **members, cd__remote *node, cd_arena *mem, const cd_hash32 *net,
                   cd_errinfo *why)
{
    cd_json all;
    usize n = 0;
    const char *params = cd_arena_fmt(mem, "{\"subnetID\":\"%s\"}", id_text(mem, net));
    *f = (cd_l1_facts){.quorum = cd_l1_quorum_default(), .has_address = true};
    cd_err e = cd__remote_ask(node, &all, "/ext/bc/P", "platform.getL1Health", params, why);
    if (e == CD_EACCES && strstr(why->msg, "is no L1") == NULL) {
        *why = (cd_errinfo){0};
        e = cd__remote_ask(node, &all, "/ext/bc/P", "platform.getCurrentValidators", params, why);
    }
    CD_TRY(e);
    cd_json manager = cd_json_get(all, "manager");
    f->manager = is_word(manager, "nowhere") ? CD_L1_MANAGER_NOWHERE
                 : is_word(manager, "other") ? CD_L1_MANAGER_OTHER
                                             : CD_L1_MANAGER_OWN;
    if (cd_json_has(cd_json_get(all, "managerIsContract"))) {
        CD_TRY(cd_json_bool(&f->has_address, cd_json_get(all, "managerIsContract"), why));
    }
    cd_json list = cd_json_get(all, "validators");
    *members = cd_arena_array(mem, cd_l1_member, cd_json_len(list) + 1);
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it);) {
        if (cd_json_has(cd_json_get(it.val, "validationID"))) { /* stakers with permission have none */
            CD_TRY(read_member(&(*members)[n++], it.val, why));
            f->has_reach = f->has_reach || (*members)[n - 1].reach != CD_L1_REACH_UNKNOWN;
        }
    }
    f->v = *members;
    f->cnt = n;
    return CD_OK;
}

/* --- checking --- */

static cd_err refuse(cd_errinfo *why, cd_err e, const cd_errinfo *said)
{
    return e == CD_EACCES ? cd_fail(why, e, "refused: %.180s; --force does it all the same", said->msg) : CD_OK;
}

cd_err cd__l1_check_new(cd_arena *mem, const cd_l1_member *v, usize cnt, cd_errinfo *why)
{
    const cd_l1_quorum q = cd_l1_quorum_default();
    const cd_l1_step step = {.kind = CD_L1_STEP_CREATE};
    cd_errinfo said = {0};
    return refuse(why, cd_l1_step_check(mem, &q, v, cnt, &step, &said), &said);
}

static cd_err net_of(cd_hash32 *net, cd__remote *node, cd_arena *mem, const cd_hash32 *validation)
{
    cd_json v;
    cd_bytes text;
    cd_errinfo said = {0};
    const char *params = cd_arena_fmt(mem, "{\"validationID\":\"%s\"}", id_text(mem, validation));
    CD_TRY(cd__remote_ask(node, &v, "/ext/bc/P", "platform.getL1Validator", params, &said));
    cd_json id = cd_json_get(v, "netID"); /* the families differ in this word */
    CD_TRY(cd_json_str(&text, cd_json_has(id) ? id : cd_json_get(v, "subnetID"), &said));
    return cd_id_parse(net, text, &said);
}

cd_err cd__l1_check(cd__remote *node, cd_arena *mem, const cd_hash32 *net, const cd_l1_step *step, cd_errinfo *why)
{
    cd_hash32 found;
    cd_l1_facts f;
    cd_l1_member *v;
    cd_errinfo said = {0};
    if (net == NULL && net_of(&found, node, mem, &step->validation_id) != CD_OK) {
        return CD_OK;
    }
    if (cd__l1_read(&f, &v, node, mem, net == NULL ? &found : net, &said) != CD_OK) {
        return CD_OK;
    }
    return refuse(why, cd_l1_step_check(mem, &f.quorum, v, f.cnt, step, &said), &said);
}

cd_err cd__l1_check_message(cd__remote *node, cd_arena *mem, cd_bytes message, u64 balance, cd_errinfo *why)
{
    cd_warp_message m;
    cd_warp_payload outer;
    cd_p_payload p;
    if (cd_warp_message_dec(&m, message) != CD_OK || cd_warp_payload_dec(&outer, m.body.payload) != CD_OK ||
        outer.type != CD_WARP_ADDRESSED_CALL ||
        cd_linear_parse(&p, &cd_p_payload_table, mem, outer.payload, 0, NULL) != CD_OK) {
        return CD_OK;
    }
    if (p.body.is->id == CD_P_PAYLOAD_REGISTER) {
        const cd_p_payload_register *r = p.body.v;
        const cd_l1_step step = {.kind = CD_L1_STEP_ADD, .weight = r->weight, .balance = balance};
        return cd__l1_check(node, mem, &r->net_id, &step, why);
    }
    if (p.body.is->id == CD_P_PAYLOAD_WEIGHT) {
        const cd_p_payload_weight *x = p.body.v;
        const cd_l1_step step = {.kind = CD_L1_STEP_WEIGHT, .validation_id = x->validation_id, .weight = x->weight};
        return cd__l1_check(node, mem, NULL, &step, why);
    }
    return CD_OK;
}
