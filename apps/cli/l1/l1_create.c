/* `l1 create`: decides what the L1 is from the flags, once, and makes it. */
#include "base/hex.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "crypto/hash/keccak.h"
#include "l1/l1.h"
#include "l1/l1_genesis.h"
#include "l1/l1_make.h"
#include "network/network_run.h"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_NODE, .name = "node", .type = CD_ARG_LIST, .meta = "URL[:WEIGHT]", .group = "What is made",                  \
      .help = "a node that validates, which tells its keys itself; may be repeated")                                   \
    X(OPT_VALIDATOR, .name = "validator", .type = CD_ARG_LIST, .meta = "NodeID-…:WEIGHT:BALANCE:KEY:POP",              \
      .help = "one that cannot be asked; may be repeated")                                                             \
    X(OPT_NETWORK, .name = "network-dir", .type = CD_ARG_PATH, .meta = "DIR",                                          \
      .help = "a network of `candela-cli network`: those of its nodes validate that do not validate the primary "      \
              "network (all, when there are none), and are started again")                                             \
    X(OPT_WEIGHT, .name = "weight", .type = CD_ARG_U64, .dflt = "100", .min = 1, .max = 1000000000, .meta = "N",       \
      .help = "of each validator")                                                                                     \
    X(OPT_BALANCE, .name = "balance", .type = CD_ARG_STR, .dflt = "1", .meta = "AMOUNT",                               \
      .help = "what the P-Chain takes of it, day by day, in whole tokens")                                             \
    X(OPT_KIND, .name = "kind", .type = CD_ARG_STR, .dflt = "poa", .choices = "poa|pos", .meta = "KIND",               \
      .help = "who may validate: whom an owner names, or who stakes the L1's coin")                                    \
    X(OPT_OWNER, .name = "owner", .type = CD_ARG_STR, .meta = "0xACCOUNT",                                             \
      .help = "that owner; of pos: who may remove the first validators. The payer's account when not given")           \
    X(OPT_EVM_ID, .name = "evm-chain-id", .type = CD_ARG_U64, .max = 4503599627370476, .meta = "N",                    \
      .help = "number of the chain for wallets; made of the name when not given")                                      \
    X(OPT_SUPPLY, .name = "supply", .type = CD_ARG_STR, .dflt = "1000000", .meta = "AMOUNT",                           \
      .help = "coins that the payer's account begins with")                                                            \
    X(OPT_ALLOC, .name = "alloc", .type = CD_ARG_LIST, .meta = "0xACCOUNT:AMOUNT",                                     \
      .help = "coins of somebody else; may be repeated")                                                               \
    X(OPT_CHURN, .name = "churn-percent", .type = CD_ARG_U64, .max = 100, .meta = "N",                                 \
      .help = "how much of the weight may change within --churn-period; 0: all. Of pos 20 when not given")             \
    X(OPT_PERIOD, .name = "churn-period", .type = CD_ARG_DURATION, .dflt = "1h", .meta = "TIME", .help = "see there")  \
    X(OPT_STAKE, .name = "min-stake", .type = CD_ARG_STR, .dflt = "1", .meta = "AMOUNT",                               \
      .help = "of pos: the least that is staked, in coins")                                                            \
    X(OPT_STAKE_TIME, .name = "min-stake-duration", .type = CD_ARG_DURATION, .dflt = "24h", .meta = "TIME",            \
      .help = "of pos: for how long")                                                                                  \
    X(OPT_WAIT, .name = "wait", .type = CD_ARG_DURATION, .dflt = "10m", .meta = "TIME",                                \
      .help = "how long a node may take until it runs the chain")
// clang-format on

enum { BEFORE = L1_CNT - 1, OPTIONS(CD_ARG_ID) OPT_CNT, POS_CHURN = 20, ALLOCS_MAX = 1024 };
static const cd_arg_def options[] = {CD__PAYER_OPTIONS(CD_ARG_ROW) CD__L1_OPTIONS(CD_ARG_ROW) OPTIONS(CD_ARG_ROW)};

/* --- parts --- */

/* Reads "1.5" coins as wei. */
static cd_err read_coins(cd_u256 *out, const char *text, cd_errinfo *why)
{
    enum { UNIT = 9 }; /* as 10^-9 coins, which fit 64 bits up to 18 thousand million */
    u64 n;
    CD_TRY(cd__amount_read(&n, text, UNIT, why));
    const cd_u256 units = cd_u256_from_u64(n);
    (void)cd_u256_mul_u64(out, &units, 1000000000);
    return CD_OK;
}

static cd_err read_account(cd_addr20 *out, cd_bytes text, cd_errinfo *why)
{
    if (text.n != 42 || text.p[0] != '0' || text.p[1] != 'x' ||
        cd_hex_parse(out->b, cd_bytes_sub(text, 2, 40)) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "an account is 0x and 40 digits, got \"%.*s\"", (int)cd_min_u64(text.n, 60),
                       (const char *)text.p);
    }
    return CD_OK;
}

static cd_err read_allocs(cd__l1_job *j, cd__l1_genesis *g, cd_errinfo *why)
{
    const char *const *texts;
    usize cnt = cd_args_list(j->args, OPT_ALLOC, &texts);
    cd__l1_alloc *all = cd_arena_array(j->mem, cd__l1_alloc, cnt + 1);
    if (cnt > ALLOCS_MAX) {
        return cd_fail(why, CD_ELIMIT, "--alloc: more than %d accounts", ALLOCS_MAX);
    }
    all[0].account = j->payer.eth[0];
    CD_TRY(read_coins(&all[0].wei, cd_args_str(j->args, OPT_SUPPLY), why));
    for (usize i = 0; i < cnt; i++) {
        const char *colon = strchr(texts[i], ':');
        if (colon == NULL) {
            return cd_fail(why, CD_EINVAL, "--alloc: 0xACCOUNT:AMOUNT, got \"%.60s\"", texts[i]);
        }
        CD_TRY(read_account(&all[i + 1].account, cd_bytes_of(texts[i], (usize)(colon - texts[i])), why));
        CD_TRY(read_coins(&all[i + 1].wei, colon + 1, why));
    }
    g->allocs = all;
    g->alloc_cnt = cnt + 1;
    return CD_OK;
}

/* The number is the same each time a name is tried with a key, and hardly that of another chain. */
static u64 number_of(const cd__l1_job *j, const char *name)
{
    enum { BITS = 30 };
    cd_hash32 h;
    cd_buf text = {0};
    cd_buf_str(&text, name);
    cd_buf_put(&text, cd_bytes_of(j->payer.eth[0].b, sizeof j->payer.eth[0].b));
    cd_keccak256(&h, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return (1ull << BITS) + (cd_be64(h.b) >> (64 - BITS));
}

/* Networks of the upstream family have the Warp precompile where the upstream has it, and only there. */
static cd_err find_warp(cd__l1_job *j, cd_addr20 *out, cd_errinfo *why)
{
    static const cd_addr20 own = {{[17] = 0x01, 0x62, 0x01}};
    static const cd_addr20 upstream = {{0x02, [19] = 0x05}};
    cd_json v;
    cd_bytes code;
    const char *params =
        cd_arena_fmt(j->mem, "[\"%s\",\"latest\"]", cd__hex_text(j->mem, cd_bytes_of(own.b, sizeof own.b)));
    CD_TRY(cd__remote_ask(j->world.node, &v, "/ext/bc/C/rpc", "eth_getCode", params, why));
    CD_TRY(cd_json_hex(&code, j->mem, v, why));
    *out = code.n != 0 ? own : upstream;
    return CD_OK;
}

static cd_err decide_genesis(cd__l1_job *j, cd__l1_plan *p, cd_errinfo *why)
{
    const cd_args *a = j->args;
    const char *owner = cd_args_str(a, OPT_OWNER);
    cd_buf text = {0};
    cd__l1_genesis g = {.chain_id = cd_args_u64(a, OPT_EVM_ID),
                        .time = j->world.now,
                        .is_pos = strcmp(cd_args_str(a, OPT_KIND), "pos") == 0,
                        .owner = j->payer.eth[0],
                        .churn_percent = cd_args_u64(a, OPT_CHURN),
                        .churn_s = cd_args_u64(a, OPT_PERIOD) / CD_NS_PER_SEC,
                        .stake_s = cd_args_u64(a, OPT_STAKE_TIME) / CD_NS_PER_SEC};
    g.chain_id = g.chain_id != 0 ? g.chain_id : number_of(j, p->name);
    if (g.is_pos && cd_args_source(a, OPT_CHURN) == CD_ARG_FROM_DEFAULT) {
        g.churn_percent = POS_CHURN;
    }
    CD_TRY(owner[0] == '\0' ? CD_OK : read_account(&g.owner, cd_bytes_str(owner), why));
    CD_TRY(find_warp(j, &g.warp, why));
    CD_TRY(read_coins(&g.stake_min, cd_args_str(a, OPT_STAKE), why));
    CD_TRY(read_coins(&g.weight_unit, "1", why));
    CD_TRY(read_allocs(j, &g, why));
    cd__l1_genesis_put(&text, j->mem, &g);
    p->genesis = cd_arena_str(j->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return CD_OK;
}

/* --- validators --- */

static cd_err first_of(cd__l1_plan *p, cd__l1_first **out, cd_errinfo *why)
{
    if (p->first_cnt == CD__L1_NODES_MAX) {
        return cd_fail(why, CD_ELIMIT, "more than %d validators", CD__L1_NODES_MAX);
    }
    *out = &p->firsts[p->first_cnt++];
    return CD_OK;
}

static cd_err ask_node(cd__l1_job *j, cd__l1_plan *p, const char *url, u64 weight, cd_errinfo *why)
{
    cd__l1_first *f;
    CD_TRY(first_of(p, &f, why));
    *f = (cd__l1_first){.url = url, .weight = weight, .balance = cd_args_str(j->args, OPT_BALANCE)};
    return cd__l1_ask_keys(j, url, &f->node, &f->key, &f->proof, why);
}

/* URL:WEIGHT, or the URL alone: a port is no weight. */
static cd_err read_node(cd__l1_job *j, cd__l1_plan *p, const char *text, cd_errinfo *why)
{
    const char *host = strstr(text, "://");
    const char *port = host == NULL ? NULL : strchr(host + 3, ':');
    const char *last = port == NULL ? NULL : strchr(port + 1, ':');
    u64 weight = cd_args_u64(j->args, OPT_WEIGHT);
    if (last != NULL && (cd_u64_parse(&weight, cd_bytes_str(last + 1)) != CD_OK || weight == 0)) {
        return cd_fail(why, CD_EINVAL, "--node: URL:WEIGHT, got \"%.80s\"", text);
    }
    return ask_node(j, p, last == NULL ? text : cd_arena_str(j->mem, cd_bytes_of(text, (usize)(last - text))), weight,
                    why);
}

static cd_err read_validator(cd__l1_job *j, cd__l1_plan *p, const char *text, cd_errinfo *why)
{
    enum { PARTS = 5 };
    const char *parts[PARTS];
    cd__l1_first *f;
    usize n = 0;
    for (const char *at = text; at != NULL && n < PARTS; n++) {
        const char *end = strchr(at, ':');
        parts[n] = end == NULL ? at : cd_arena_str(j->mem, cd_bytes_of(at, (usize)(end - at)));
        at = end == NULL ? NULL : end + 1;
    }
    CD_TRY(first_of(p, &f, why));
    if (n != PARTS || cd_u64_parse(&f->weight, cd_bytes_str(parts[1])) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "--validator: NodeID:WEIGHT:BALANCE:KEY:POP are needed, got \"%.60s\"", text);
    }
    *f = (cd__l1_first){
        .url = "", .node = parts[0], .weight = f->weight, .balance = parts[2], .key = parts[3], .proof = parts[4]};
    return CD_OK;
}

/* Those of a network on this machine that validate nothing yet; all, when each validates the primary network. */
static cd_err read_network(cd__l1_job *j, cd__l1_plan *p, cd_errinfo *why)
{
    cd__net *net = cd_arena_zalloc(j->mem, sizeof *net);
    bool are_others = false;
    CD_TRY(cd__net_load(net, j->mem, p->network_dir, why));
    for (usize i = 0; i < net->cnt; i++) {
        are_others = are_others || !net->nodes[i].validates;
    }
    for (usize i = 0; i < net->cnt; i++) {
        const cd__net_node *x = &net->nodes[i];
        if (are_others && x->validates) {
            continue;
        }
        const char *url = cd_arena_fmt(j->mem, "http://127.0.0.1:%u", x->http_port);
        CD_TRY(ask_node(j, p, url, cd_args_u64(j->args, OPT_WEIGHT), why));
        p->track = cd_arena_fmt(j->mem, "%s%s%s", p->track, p->track[0] == '\0' ? "" : ",", x->name);
    }
    return CD_OK;
}

static cd_err decide(cd__l1_job *j, cd__l1_plan *p, const char *name, cd_errinfo *why)
{
    const char *const *texts;
    usize cnt = cd_args_list(j->args, OPT_NODE, &texts);
    *p = (cd__l1_plan){.path = p->path,
                       .name = name,
                       .network_id = j->world.network.id,
                       .manager = cd__l1_manager_at,
                       .network_dir = cd_args_path(j->args, j->mem, OPT_NETWORK),
                       .track = ""};
    for (usize i = 0; i < CD__L1_STEPS; i++) {
        p->steps[i].tx = "";
    }
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(read_node(j, p, texts[i], why));
    }
    cnt = cd_args_list(j->args, OPT_VALIDATOR, &texts);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(read_validator(j, p, texts[i], why));
    }
    if (p->network_dir[0] != '\0') {
        CD_TRY(read_network(j, p, why));
    }
    if (p->first_cnt == 0) {
        return cd_fail(why, CD_EINVAL, "who validates? --node=URL for each node, or --network-dir=DIR");
    }
    CD_TRY(decide_genesis(j, p, why));
    return cd__l1_plan_save(p, why);
}

/* --- the command --- */

static cd_err create(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why)
{
    cd__l1_plan *p = cd_arena_zalloc(j->mem, sizeof *p);
    const char *path;
    if (cnt != 1) {
        return cd_fail(why, CD_EINVAL, "that command goes: candela-cli l1 create [flags] NAME");
    }
    CD_TRY(cd__l1_plan_path(&path, j->mem, cd_args_path(j->args, j->mem, L1_STATE), words[0], why));
    cd_err e = cd__l1_plan_load(p, j->mem, path, why);
    if (e == CD_ENOENT) {
        p->path = path;
        e = decide(j, p, words[0], why);
    } else if (e == CD_OK) {
        cd__l1_tell(j, "going on with %s, as it was decided when it was begun", path);
    }
    CD_TRY(e);
    if (p->network_id != j->world.network.id) {
        return cd_fail(why, CD_EINVAL, "%.120s is of network %u, the node of network %u", path, p->network_id,
                       j->world.network.id);
    }
    return cd__l1_make(j, p, cd_args_u64(j->args, OPT_WAIT) / CD_NS_PER_MS, why);
}

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    return cd__l1_run(a, mem, w, create, why);
}

int cd__l1_create_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 create",
        .purpose = "Makes an L1: net, chain with a manager of validators in it, conversion; goes on where it stopped.",
        .usage = "[flags] NAME",
        .example = "candela-cli l1 create mine --network-dir=$HOME/.candela/network --key-file=key.txt",
        .options = options,
        .option_cnt = CD_COUNT(options),
        .json = L1_JSON,
        .words_max = 1,
    };
    return cd__json_cmd(&cmd, argc, argv, run);
}
