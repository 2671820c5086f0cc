/* `l1 add-validator`, `l1 join`: a validator comes. */
#include "codec/api_json.h"
#include "l1/l1.h"
#include "l1/l1_change.h"
#include "l1/l1_words.h"

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
// clang-format on

enum {
    BEFORE_WHO = L1_CNT - 1,
    WHO(CD_ARG_ID) OPT_WHO_CNT,
};
static const cd_arg_def who_options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW) WHO(CD_ARG_ROW)};

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

static cd_err add_validator(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd_hash32 net;
    cd__l1_manager m;
    cd__l1_candidate c;
    CD_TRY(cd__l1_words_net(j, &net, words, cnt, 1, "add-validator NAME|NET-ID --node=URL", why));
    CD_TRY(cd__l1_words_manager(j, &m, &net, why));
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
    CD_TRY(cd__l1_words_net(j, &net, words, cnt, 1, "join NAME|NET-ID --node=URL --stake=AMOUNT", why));
    CD_TRY(cd__l1_words_manager(j, &m, &net, why));
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

/* --- the commands --- */

static cd_err run_add(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, add_validator, why);
}

static cd_err run_join(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, join, why);
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
