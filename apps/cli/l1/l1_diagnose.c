/* `l1 diagnose`: what is wrong with an L1, from a node of its network and, where they are named, its validators. */
#include "base/os/clock.h"
#include "codec/api_json.h"
#include "commands.h"
#include "l1/l1.h"
#include "l1/l1_plan.h"

#include <stdio.h>
#include <time.h>

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL",                      \
      .help = "the node that is asked: best one that tracks the L1")                                                   \
    X(OPT_PEER, .name = "peer", .type = CD_ARG_LIST, .meta = "URL",                                                    \
      .help = "a validator of the L1, asked for its key, version, upgrades and last block; may be repeated")           \
    X(OPT_WITHIN, .name = "within", .type = CD_ARG_DURATION, .dflt = "168h", .meta = "TIME",                           \
      .help = "balances that end so soon are warned of")                                                               \
    X(OPT_STATE, .name = "state-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/l1", .meta = "DIR",                 \
      .help = "where NAME.json says of L1s that were made here what they are")                                         \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT, PEERS_MAX = 64, PATIENCE_MS = 5000 };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

/* What is asked about. */
typedef struct asked {
    cd_arena *mem;
    const char *net;
    cd_hash32 chain; /* zero: the L1 has none */
    cd_l1_facts f;
    cd_l1_member *v;
    const char *releases[PEERS_MAX]; /* what validators report, each once */
    u32 release_cnt;
    cd_json_w *w; /* an array: a row for each validator that was asked */
} asked;

/* --- one validator --- */

static cd_l1_member *member_of(const asked *q, const cd_node_id *node)
{
    for (usize i = 0; i < q->f.cnt; i++) {
        if (memcmp(&q->v[i].node_id, node, sizeof *node) == 0) {
            return &q->v[i];
        }
    }
    return NULL;
}

/* A number for a version and its upgrades. */
static u32 release_of(asked *q, const char *text)
{
    for (u32 i = 0; i < q->release_cnt; i++) {
        if (strcmp(q->releases[i], text) == 0) {
            return i + 1;
        }
    }
    q->releases[q->release_cnt] = text;
    return ++q->release_cnt;
}

static const char *text_of(cd_arena *mem, cd_json v)
{
    cd_bytes text;
    return cd_json_has(v) && cd_json_str(&text, v, NULL) == CD_OK ? cd_arena_str(mem, text) : "";
}

/* Version and times of upgrades as one text; a node that does not tell the latter is known by the former. */
static const char *ask_release(const asked *q, cd__remote *node)
{
    cd_json v;
    cd_json u;
    cd_errinfo why = {0};
    if (cd__remote_ask(node, &v, "/ext/info", "info.getNodeVersion", "{}", &why) != CD_OK) {
        return NULL;
    }
    cd_buf text = {0};
    cd_buf_str(&text, text_of(q->mem, cd_json_get(v, "version")));
    if (cd__remote_ask(node, &u, "/ext/info", "info.upgrades", "{}", &why) == CD_OK) {
        for (cd_json_it it = cd_json_iter(u); cd_json_next(&it);) {
            cd_buf_fmt(&text, " %.*s=%s", (int)it.key.n, (const char *)it.key.p, text_of(q->mem, it.val));
        }
    }
    const char *s = cd_arena_str(q->mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return s;
}

/* The time of the chain's last block as this validator has it; 0: it does not tell. */
static u64 ask_last(const asked *q, cd__remote *node, u64 *height)
{
    cd_json block;
    cd_buf id = {0};
    cd_errinfo why = {0};
    u64 at = 0;
    cd_id_put(&id, &q->chain);
    const char *path = cd_arena_fmt(q->mem, "/ext/bc/%s/rpc", cd_buf_cstr(&id));
    if (!cd_hash32_is_zero(&q->chain) &&
        cd__remote_ask(node, &block, path, "eth_getBlockByNumber", "[\"latest\",false]", &why) == CD_OK &&
        (cd_json_qty_u64(height, cd_json_get(block, "number"), NULL) != CD_OK ||
         cd_json_qty_u64(&at, cd_json_get(block, "timestamp"), NULL) != CD_OK)) {
        at = 0;
    }
    cd_buf_fini(&id);
    return at;
}

/* Whether the key of a node is the one that the validator has on the P-Chain. */
static bool has_registered_key(const asked *q, cd__remote *p, const char *node_id, cd_json key)
{
    cd_json v;
    cd_errinfo why = {0};
    const char *params = cd_arena_fmt(q->mem, "{\"subnetID\":\"%s\",\"nodeIDs\":[\"%s\"]}", q->net, node_id);
    if (cd__remote_ask(p, &v, "/ext/bc/P", "platform.getCurrentValidators", params, &why) != CD_OK) {
        return true;
    }
    cd_json_it it = cd_json_iter(cd_json_get(v, "validators"));
    const char *registered = cd_json_next(&it) ? text_of(q->mem, cd_json_get(it.val, "publicKey")) : "";
    return registered[0] == '\0' || strcmp(registered, text_of(q->mem, key)) == 0;
}

static cd_err ask_known(asked *q, cd__remote *p, cd__remote *node, cd_errinfo *why)
{
    cd_json me;
    cd_node_id id;
    u64 height = 0;
    CD_TRY(cd__remote_ask(node, &me, "/ext/info", "info.getNodeID", "{}", why));
    const char *name = text_of(q->mem, cd_json_get(me, "nodeID"));
    CD_TRY(cd_node_id_parse(&id, cd_bytes_str(name), why));
    cd_l1_member *m = member_of(q, &id);
    const char *release = ask_release(q, node);
    u64 at = ask_last(q, node, &height);
    cd_json_put_cstr(q->w, "nodeID", name);
    cd_json_put_bool(q->w, "validates", m != NULL);
    cd_json_put_cstr(q->w, "release", release == NULL ? "" : release);
    if (at != 0) {
        cd_json_put_u64(q->w, "height", height);
        cd_json_put_u64(q->w, "lastBlock", at);
        q->f.last_block_s = cd_max_u64(q->f.last_block_s, at);
    }
    if (m != NULL) {
        cd_json key = cd_json_get(cd_json_get(me, "nodePOP"), "publicKey");
        m->reach = CD_L1_THERE;
        m->release = release == NULL ? 0 : release_of(q, release);
        m->has_key = m->has_key && has_registered_key(q, p, name, key);
        q->f.has_reach = true;
        cd_json_put_bool(q->w, "keyIsRegistered", m->has_key);
    }
    return CD_OK;
}

/* Who does not answer is told as that: its node ID is not known, and the connections of the node at --rpc decide. */
static void ask_peer(asked *q, cd__remote *p, const char *url)
{
    cd__remote *node = NULL;
    cd_errinfo why = {0};
    cd_json_w_obj(q->w);
    cd_json_put_cstr(q->w, "url", url);
    cd_err e = cd__remote_new(&node, q->mem, url, &why);
    if (e == CD_OK) {
        cd__remote_patience(node, PATIENCE_MS);
        e = ask_known(q, p, node, &why);
    }
    if (e != CD_OK) {
        cd_json_put_cstr(q->w, "error", why.msg);
    }
    cd__remote_free(node);
    cd_json_w_obj_end(q->w);
}

/* --- the command --- */

/* The L1's own chain: the newest, when it has several. */
static void find_chain(asked *q, cd__remote *p)
{
    cd_json v;
    cd_errinfo why = {0};
    const char *params = cd_arena_fmt(q->mem, "{\"subnetID\":\"%s\"}", q->net);
    if (cd__remote_ask(p, &v, "/ext/bc/P", "platform.validates", params, &why) == CD_OK) {
        cd_json_it it = cd_json_iter(cd_json_get(v, "blockchainIDs"));
        if (cd_json_next(&it) && cd_id_parse(&q->chain, cd_bytes_str(text_of(q->mem, it.val)), &why) != CD_OK) {
            q->chain = (cd_hash32){{0}};
        }
    }
}

static cd_err diagnose(asked *q, const cd_args *a, cd__remote *p, cd_json_w *w, cd_errinfo *why)
{
    const char *const *peers;
    usize cnt = cd_args_list(a, OPT_PEER, &peers);
    cd_hash32 net;
    cd_l1_health h;
    cd_buf rows = {0};
    cd_json_w list = {.out = &rows};
    u64 height = 0;
    if (cnt > PEERS_MAX) {
        return cd_fail(why, CD_ELIMIT, "--peer: at most %d", PEERS_MAX);
    }
    CD_TRY(cd_id_parse(&net, cd_bytes_str(q->net), why));
    CD_TRY(cd__l1_read(&q->f, &q->v, p, q->mem, &net, why));
    find_chain(q, p);
    q->f.last_block_s = ask_last(q, p, &height);
    q->w = &list;
    cd_json_w_arr(&list);
    for (usize i = 0; i < cnt; i++) {
        ask_peer(q, p, peers[i]);
    }
    cd_json_w_arr_end(&list);
    q->f.within_s = cd_args_u64(a, OPT_WITHIN) / CD_NS_PER_SEC;
    q->f.now_s = (u64)time(NULL);
    cd_l1_diagnose(&h, q->mem, &q->f);
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "subnetID", q->net);
    cd_l1_health_put(w, q->mem, &h, &q->f, true);
    if (q->f.last_block_s != 0) {
        cd_json_put_u64(w, "lastBlock", q->f.last_block_s);
    }
    cd_json_put_raw(w, "peers", cd_buf_bytes(&rows));
    cd_json_w_obj_end(w);
    cd_buf_fini(&rows);
    return CD_OK;
}

static cd_err run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why)
{
    const char *const *words;
    cd_hash32 net;
    cd_buf text = {0};
    cd__remote *p = NULL;
    if (cd_args_words(a, &words) != 1) {
        return cd_fail(why, CD_EINVAL, "that command goes: candela-cli l1 diagnose [flags] NAME|NET-ID");
    }
    asked *q = cd_arena_new(mem, asked);
    q->mem = mem;
    CD_TRY(cd__l1_net_read(&net, NULL, mem, cd_args_path(a, mem, OPT_STATE), words[0], why));
    cd_id_put(&text, &net);
    q->net = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    cd_err e = cd__remote_new(&p, mem, cd_args_str(a, OPT_RPC), why);
    if (e == CD_OK) {
        cd__remote_patience(p, PATIENCE_MS);
        e = diagnose(q, a, p, w, why);
    }
    cd__remote_free(p);
    return e;
}

int cd__l1_diagnose_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli l1 diagnose",
        .purpose = "Says how an L1 is: state, quorum, how long balances last, what is wrong and what helps.",
        .usage = "[flags] NAME|NET-ID",
        .example = "candela-cli l1 diagnose 2b175h… --rpc=http://127.0.0.1:9650 --peer=http://10.0.0.2:9650",
        .options = options,
        .option_cnt = CD_COUNT(options),
        .json = OPT_JSON,
        .words_max = 1,
    };
    return cd__json_cmd(&cmd, argc, argv, run);
}
