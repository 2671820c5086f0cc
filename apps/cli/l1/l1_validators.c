/* `l1 add-validator`, `l1 join`, `l1 remove-validator`, `l1 top-up`. */
#include "codec/api_json.h"
#include "l1/l1.h"
#include "l1/l1_change.h"
#include "l1/l1_plan.h"

// clang-format off
#define WHO(X)                                                                                                         \
    X(OPT_NODE, .name = "node", .type = CD_ARG_STR, .meta = "URL", .group = "The validator",                           \
      .help = "the node, which tells its keys itself")                                                                 \
    X(OPT_NODE_ID, .name = "node-id", .type = CD_ARG_STR, .meta = "NodeID-…", .help = "one that cannot be asked,")     \
    X(OPT_KEY, .name = "bls-key", .type = CD_ARG_STR, .meta = "HEX", .help = "its BLS key")                            \
    X(OPT_POP, .name = "bls-pop", .type = CD_ARG_STR, .meta = "HEX", .help = "and proof of possession")                \
    X(OPT_BALANCE, .name = "balance", .type = CD_ARG_STR, .dflt = "1", .meta = "AMOUNT",                               \
      .help = "what the P-Chain takes of it, day by day, in whole tokens")                                             \
    X(OPT_WEIGHT, .name = "weight", .type = CD_ARG_U64, .dflt = "100", .min = 1, .max = 1000000000, .meta = "N",       \
      .help = "of add-validator: its weight")                                                                          \
    X(OPT_STAKE, .name = "stake", .type = CD_ARG_STR, .meta = "AMOUNT",                                                \
      .help = "of join: what it stakes, in whole coins of the L1; as much is its weight")
#define TOP(X)                                                                                                         \
    X(OPT_AMOUNT, .name = "amount", .type = CD_ARG_STR, .dflt = "1", .meta = "AMOUNT", .group = "The payment",         \
      .help = "for each, in whole tokens")                                                                             \
    X(OPT_ALL, .name = "all", .type = CD_ARG_BOOL, .help = "all validators of the L1")
// clang-format on

enum {
    BEFORE_WHO = L1_CNT - 1,
    WHO(CD_ARG_ID) OPT_WHO_CNT,
    BEFORE_TOP = L1_CNT - 1,
    TOP(CD_ARG_ID) OPT_TOP_CNT,
};
static const cd_arg_def who_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW) WHO(CD_ARG_ROW)};
static const cd_arg_def top_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW) TOP(CD_ARG_ROW)};
static const cd_arg_def plain_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW)};

static cd_err net_of(cd__l1_job *j, cd_hash32 *out, const char *const *words, usize cnt, usize wanted,
                     const char *usage, cd_errinfo *why)
{
    return cnt >= wanted ? cd__l1_net(j, out, words[0], why)
                         : cd_fail(why, CD_EINVAL, "that command goes: candela-cli l1 %s", usage);
}

/* --- one comes --- */

static cd_err read_candidate(cd__l1_job *j, cd__l1_candidate *c, cd_errinfo *why)
{
    const char *url = cd_args_str(j->args, OPT_NODE);
    const char *node = cd_args_str(j->args, OPT_NODE_ID);
    const char *key = cd_args_str(j->args, OPT_KEY);
    *c = (cd__l1_candidate){.proof = cd_args_str(j->args, OPT_POP), .weight = cd_args_u64(j->args, OPT_WEIGHT)};
    if (url[0] == '\0' && node[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "which node? --node=URL, or --node-id, --bls-key and --bls-pop");
    }
    if (url[0] != '\0') {
        CD_TRY(cd__l1_ask_keys(j, url, &node, &key, &c->proof, why));
    }
    CD_TRY(cd__make_read_node(&c->node, node, why));
    return cd__make_read_fixed(c->key, sizeof c->key, "--bls-key", cd_bytes_str(key), why);
}

static cd_err come(cd__l1_job *j, cd__l1_manager *m, cd__l1_candidate *c, cd_errinfo *why)
{
    cd__l1_validation v;
    CD_TRY(cd__l1_add(m, j, c, cd_args_str(j->args, OPT_BALANCE), &v, why));
    cd_json_put_cstr(j->w, "subnetID", cd__l1_id_text(j, &m->net));
    cd_json_put_node_id(j->w, "nodeID", &c->node);
    cd_json_put_id(j->w, "validationID", &v.id);
    cd_json_put_dec(j->w, "weight", v.weight);
    cd_json_put_cstr(j->w, "status", v.status == CD__L1_ACTIVE ? "active" : "pending");
    return CD_OK;
}

static cd_err open_l1(cd__l1_job *j, cd__l1_manager *m, const cd_hash32 *net, cd_errinfo *why)
{
    bool is_ready;
    CD_TRY(cd__l1_manager_open(m, j, net, why));
    CD_TRY(cd__l1_manager_ready(m, &is_ready, why));
    return is_ready ? CD_OK
                    : cd_fail(why, CD_EINVAL,
                              "the manager of this L1 does not know its first validators yet: "
                              "candela-cli l1 create NAME goes on with that");
}

static cd_err add_validator(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd__l1_manager m;
    cd__l1_candidate c;
    CD_TRY(net_of(j, &net, words, cnt, 1, "add-validator NAME|NET-ID --node=URL", why));
    CD_TRY(open_l1(j, &m, &net, why));
    if (m.is_pos) {
        return cd_fail(why, CD_EINVAL, "who stakes validates this L1: candela-cli l1 join");
    }
    CD_TRY(read_candidate(j, &c, why));
    return come(j, &m, &c, why);
}

/* Whoever may not name validators is told what the owner has to type. */
static cd_err tell_owner(cd__l1_job *j, const cd__l1_manager *m, const cd__l1_candidate *c, cd_errinfo *why)
{
    cd_buf id = {0};
    cd_node_id_put(&id, &c->node);
    cd__l1_tell(j, "candela-cli l1 add-validator %s --node-id=%s --bls-key=%s --bls-pop=%s", cd__l1_id_text(j, &m->net),
                cd_buf_cstr(&id), cd__hex_text(j->mem, cd_bytes_of(c->key, sizeof c->key)), c->proof);
    cd_buf_fini(&id);
    return cd_fail(why, CD_EACCES, "the owner %s names the validators of this L1: the line above is for it",
                   cd__hex_text(j->mem, cd_bytes_of(m->owner.b, sizeof m->owner.b)));
}

static cd_err join(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    enum { UNIT = 9 };
    cd_hash32 net;
    cd__l1_manager m;
    cd__l1_candidate c;
    u64 amount;
    CD_TRY(net_of(j, &net, words, cnt, 1, "join NAME|NET-ID --node=URL --stake=AMOUNT", why));
    CD_TRY(open_l1(j, &m, &net, why));
    CD_TRY(read_candidate(j, &c, why));
    if (!m.is_pos) {
        bool is_owner = memcmp(m.owner.b, j->payer.eth[0].b, sizeof m.owner.b) == 0;
        return is_owner ? come(j, &m, &c, why) : tell_owner(j, &m, &c, why);
    }
    if (cd_args_str(j->args, OPT_STAKE)[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--stake: who validates this L1 stakes its coin");
    }
    CD_TRY(cd__amount_read(&amount, cd_args_str(j->args, OPT_STAKE), UNIT, why));
    const cd_u256 units = cd_u256_from_u64(amount);
    (void)cd_u256_mul_u64(&c.stake, &units, 1000000000);
    return come(j, &m, &c, why);
}

/* --- one goes, or is paid for --- */

/* A validator by its node or its validation. */
static cd_err find(cd_hash32 *out, const cd_l1_facts *f, const char *word, cd_errinfo *why)
{
    cd_node_id node;
    bool is_node = cd_node_id_parse(&node, cd_bytes_str(word), NULL) == CD_OK;
    if (!is_node && cd_id_parse(out, cd_bytes_str(word), NULL) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "NodeID-… or a validation's ID, got \"%.80s\"", word);
    }
    for (usize i = 0; is_node && i < f->cnt; i++) {
        if (memcmp(&f->v[i].node_id, &node, sizeof node) == 0) {
            *out = f->v[i].validation_id;
            return CD_OK;
        }
    }
    return is_node ? CD_ENOENT : CD_OK;
}

static cd_err remove_validator(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd_hash32 id;
    cd_node_id node;
    cd_l1_facts f;
    cd_l1_member *v;
    cd__l1_manager m;
    cd__l1_validation found = {0};
    CD_TRY(net_of(j, &net, words, cnt, 2, "remove-validator NAME|NET-ID NodeID-…|VALIDATION-ID", why));
    CD_TRY(open_l1(j, &m, &net, why));
    CD_TRY(cd__l1_read(&f, &v, j->world.node, j->mem, &net, why));
    cd_err e = find(&id, &f, words[1], why);
    if (e == CD_ENOENT) { /* gone on the P-Chain: the manager may still wait for that */
        CD_TRY(cd_node_id_parse(&node, cd_bytes_str(words[1]), why));
        CD_TRY(cd__l1_manager_find(&m, &found, &node, why));
        id = found.id;
        e = found.status != CD__L1_UNKNOWN ? CD_OK
                                           : cd_fail(why, CD_ENOENT, "%.60s does not validate this L1", words[1]);
    }
    CD_TRY(e);
    CD_TRY(cd__l1_remove(&m, j, &id, why));
    cd_json_put_cstr(j->w, "subnetID", cd__l1_id_text(j, &net));
    cd_json_put_id(j->w, "validationID", &id);
    cd_json_put_cstr(j->w, "status", "removed");
    return CD_OK;
}

static cd_err pay(cd__l1_job *j, const cd_hash32 *id, cd_errinfo *why)
{
    const char *const words[] = {cd_arena_fmt(j->mem, "--validation-id=%s", cd__l1_id_text(j, id)),
                                 cd_arena_fmt(j->mem, "--amount=%s", cd_args_str(j->args, OPT_AMOUNT))};
    CD_TRY(cd__l1_do(j, "increase-l1-balance", words, CD_COUNT(words), why));
    cd_json_w_id(j->w, id);
    return CD_OK;
}

static cd_err top_up(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd_hash32 id;
    cd_l1_facts f;
    cd_l1_member *v;
    bool is_all = cd_args_bool(j->args, OPT_ALL);
    CD_TRY(
        net_of(j, &net, words, cnt, is_all ? 1 : 2, "top-up NAME|NET-ID NodeID-…|VALIDATION-ID|--all --amount=1", why));
    CD_TRY(cd__l1_read(&f, &v, j->world.node, j->mem, &net, why));
    if (!is_all) {
        cd_err e = find(&id, &f, words[1], why);
        CD_TRY(e == CD_ENOENT ? cd_fail(why, e, "%.60s does not validate this L1", words[1]) : e);
    }
    cd_json_put_cstr(j->w, "subnetID", cd__l1_id_text(j, &net));
    cd_json_put_cstr(j->w, "amount", cd_args_str(j->args, OPT_AMOUNT));
    cd_json_w_key(j->w, "validationIDs");
    cd_json_w_arr(j->w);
    if (!is_all) {
        CD_TRY(pay(j, &id, why));
    }
    for (usize i = 0; is_all && i < f.cnt; i++) {
        CD_TRY(pay(j, &f.v[i].validation_id, why));
    }
    cd_json_w_arr_end(j->w);
    return CD_OK;
}

/* --- the commands --- */

static cd_err run_add(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, add_validator, why);
}

static cd_err run_join(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, join, why);
}

static cd_err run_remove(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, remove_validator, why);
}

static cd_err run_top_up(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, top_up, why);
}

int cd__l1_add_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 add-validator",
        .purpose = "Has the manager of an L1 add a validator, and the P-Chain register it; goes on where it stopped.",
        .usage = "[flags] NAME|NET-ID",
        .example = "candela-cli l1 add-validator mine --node=http://10.0.0.4:9650 --weight=100 --key-file=owner.txt",
        .options = who_options,
        .option_cnt = OPT_WHO_CNT,
        .json = L1_JSON,
        .words_max = 1,
    };
    return cd__json_cmd(&cmd, argc, argv, run_add);
}

int cd__l1_join_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 join",
        .purpose = "Has a node of yours validate an L1: stakes, or says what its owner has to type.",
        .usage = "[flags] NAME|NET-ID",
        .example = "candela-cli l1 join mine --node=http://127.0.0.1:9650 --stake=100 --key-file=key.txt",
        .options = who_options,
        .option_cnt = OPT_WHO_CNT,
        .json = L1_JSON,
        .words_max = 1,
    };
    return cd__json_cmd(&cmd, argc, argv, run_join);
}

int cd__l1_remove_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 remove-validator",
        .purpose = "Has the manager of an L1 let a validator go, and the P-Chain, too; goes on where it stopped.",
        .usage = "[flags] NAME|NET-ID NodeID-…|VALIDATION-ID",
        .example = "candela-cli l1 remove-validator mine NodeID-7Xhw2… --key-file=owner.txt",
        .options = plain_options,
        .option_cnt = L1_CNT,
        .json = L1_JSON,
        .words_max = 2,
    };
    return cd__json_cmd(&cmd, argc, argv, run_remove);
}

int cd__l1_top_up_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 top-up",
        .purpose = "Pays for validators of an L1: their balance on the P-Chain grows.",
        .usage = "[flags] NAME|NET-ID NodeID-…|VALIDATION-ID|--all",
        .example = "candela-cli l1 top-up mine --all --amount=5 --key-file=key.txt",
        .options = top_options,
        .option_cnt = OPT_TOP_CNT,
        .json = L1_JSON,
        .words_max = 2,
    };
    return cd__json_cmd(&cmd, argc, argv, run_top_up);
}
