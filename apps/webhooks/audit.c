/* candela-webhooks audit - is the ledger what the chain says? And how chains are named on the command line. */
#include "apps/webhooks/commands.h"
#include "base/os/clock.h"
#include "net/ws/client.h"
#include "services/webhook/core/chain/compare.h"

#include <ctype.h>
#include <stdio.h>

/* "lux:LUX=ws://…" into its three parts. */
static cd_err split_chain(cd_webhook_chain *out, cd_arena *mem, const char *text, const char **url, cd_errinfo *why)
{
    usize n = strcspn(text, "=");
    usize name = strcspn(text, ":=");
    if (text[n] == '\0' || name == 0 || name > 32) {
        return cd_fail(why, CD_EINVAL, "--chain must be NAME=URL, got \"%.80s\"", text);
    }
    out->name = cd_arena_str(mem, cd_bytes_of(text, name));
    if (name < n) {
        out->symbol = cd_arena_str(mem, cd_bytes_of(text + name + 1, n - name - 1));
    } else {
        char *symbol = cd_arena_str(mem, cd_bytes_of(text, name));
        for (char *c = symbol; *c != '\0'; c++) {
            *c = (char)toupper((unsigned char)*c);
        }
        out->symbol = symbol;
    }
    *url = text + n + 1;
    return CD_OK;
}

/* http://…/rpc of ws://…/ws, as our node has them; other paths are the same for both. */
static const char *http_of(cd_arena *mem, const char *ws)
{
    usize n = strlen(ws);
    const char *rest = ws + 2; /* "s://" or "://" */
    bool has_ws = n > 3 && strcmp(ws + n - 3, "/ws") == 0;
    return cd_arena_fmt(mem, "http%.*s%s", (int)(n - 2 - (has_ws ? 3 : 0)), rest, has_ws ? "/rpc" : "");
}

cd_err cd_chain_read(cd_webhook_chain *out, cd_arena *mem, const cd_args *args, const char *text, usize http_id,
                     cd_errinfo *why)
{
    const char *const *https;
    usize cnt = cd_args_list(args, http_id, &https);
    const char *url;
    CD_TRY(split_chain(out, mem, text, &url, why));
    bool is_ws = strncmp(url, "ws://", 5) == 0 || strncmp(url, "wss://", 6) == 0;
    if (is_ws) {
        CD_TRY(cd_ws_url_check(url, why));
    } else if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return cd_fail(why, CD_EINVAL, "--chain %s must lead to ws://, wss://, http:// or https://", out->name);
    }
    out->ws_url = is_ws ? url : NULL;
    out->http_url = is_ws ? http_of(mem, url) : url;
    for (usize i = 0; i < cnt; i++) {
        usize n = strlen(out->name);
        if (strncmp(https[i], out->name, n) == 0 && https[i][n] == '=') {
            out->http_url = https[i] + n + 1;
        }
    }
    return CD_OK;
}

/* --- the audit --- */

// clang-format off
#define OPTIONS(X)                                                                                                   \
    CD_STORE_OPTIONS(X)                                                                                              \
    CD_CHAIN_OPTIONS(X)                                                                                              \
    X(OPT_CA_FILE, .name = "ca-file", .type = CD_ARG_PATH, .meta = "FILE",                                           \
      .help = "certificates to believe, instead of the system's")                                                    \
    X(OPT_FROM, .name = "from", .type = CD_ARG_U64, .dflt = "1", .meta = "BLOCK", .group = "Range",                  \
      .max = 1ull << 60, .help = "the first block")                                                                  \
    X(OPT_TO, .name = "to", .type = CD_ARG_U64, .meta = "BLOCK", .max = 1ull << 60,                                  \
      .help = "the last one; the last in the ledger when not given")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct audit {
    const cd_args *args;
    cd_arena mem, asked;
    cd_loop *loop;
    cd_jobs *db;
    cd_http_client *http;
    cd_upstream node;
    cd_webhook_chain chain;
    cd_wh_tokens *tokens;
    cd_wh_source source;
    cd_wh_compare *compare;
    cd_buf out;
    cd_errinfo why;
    int code;
} audit;

static void give_up(audit *a, const char *reason)
{
    cd_errinfo why = {0};
    (void)cd_fail(&why, CD_EIO, "%s", reason);
    a->code = cd_cmd_fail("candela-webhooks audit", &why, 1);
    cd_loop_stop(a->loop);
}

static void on_compared(void *ctx, const cd_wh_compared *r, const char *reason)
{
    static const char *const words[] = {
        [CD_WH_MISSING] = "missing", [CD_WH_EXTRA] = "extra", [CD_WH_OTHER] = "other bytes"};
    audit *a = ctx;
    if (r == NULL) {
        give_up(a, reason);
        return;
    }
    cd_buf_fmt(&a->out, "blocks %llu to %llu: %llu matches, %llu rows, %llu differences\n",
               (unsigned long long)r->first, (unsigned long long)r->last, (unsigned long long)r->matches,
               (unsigned long long)r->rows, (unsigned long long)r->differences);
    for (usize i = 0; i < r->differences && i < CD_WH_DIFFERENCES_MAX; i++) {
        cd_buf_fmt(&a->out, "%s: block %llu, webhook %lld, event %s\n", words[r->list[i].kind],
                   (unsigned long long)r->list[i].block, (long long)r->list[i].hook, r->list[i].event_id);
    }
    a->code = r->differences == 0 ? 0 : 1;
    cd_loop_stop(a->loop);
}

static void on_id(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    audit *a = ctx;
    u64 id;
    if (err != CD_OK || answers[0].is_error || cd_json_qty_u64(&id, answers[0].result, NULL) != CD_OK) {
        (void)cd_fail(&a->why, CD_EIO, "the node of %s does not answer: %.200s", a->chain.name,
                      err != CD_OK ? reason : "it does not say which chain it has");
        give_up(a, a->why.msg);
        return;
    }
    a->tokens = cd_wh_tokens_new(a->loop, a->db, &a->node, a->chain.name);
    a->source = (cd_wh_source){
        .loop = a->loop,
        .node = &a->node,
        .chain = {.name = a->chain.name, .symbol = a->chain.symbol, .id = id},
        .tokens = a->tokens,
    };
    a->compare = cd_wh_compare_new(&a->source, a->db, cd_args_u64(a->args, OPT_FROM), cd_args_u64(a->args, OPT_TO),
                                   on_compared, a);
}

static cd_err open_audit(audit *a, cd_errinfo *why)
{
    const char *const *chains;
    u8 master_key[32];
    cd_wh_store_cfg store;
    if (cd_args_list(a->args, OPT_CHAIN, &chains) != 1) {
        return cd_fail(why, CD_EINVAL, "one --chain is wanted");
    }
    CD_TRY(cd_chain_read(&a->chain, &a->mem, a->args, chains[0], OPT_CHAIN_HTTP, why));
    CD_TRY(cd_store_cfg(&store, master_key, &a->mem, a->args, OPT_DATA_DIR, true, why));
    CD_TRY(cd_loop_new(&a->loop, why));
    CD_TRY(cd_wh_db_open(&a->db, a->loop, &store, NULL, why));
    const char *ca = cd_args_path(a->args, &a->mem, OPT_CA_FILE);
    const cd_http_client_cfg http = {.ca_file = ca[0] == '\0' ? NULL : ca};
    CD_TRY(cd_http_client_new(&a->http, a->loop, &http, why));
    a->node = (cd_upstream){.http = a->http, .url = a->chain.http_url};
    return CD_OK;
}

static void run_audit(audit *a)
{
    static const cd_ask ask = {.method = "eth_chainId", .params = "[]"};
    (void)cd_call_new(&a->node, &a->asked, &ask, 1, 0, on_id, a);
    cd_loop_run(a->loop);
}

int cd_cmd_audit(int argc, char **argv)
{
    static const cd_cmd_info info = {
        .program = "candela-webhooks audit",
        .purpose = "works every match of a range of blocks out anew and compares with the ledger",
        .example = "candela-webhooks audit --chain=lux=http://127.0.0.1:9650/ext/bc/C/rpc --from=1",
        .options = options,
        .options_cnt = OPT_CNT,
    };
    audit a = {0};
    cd_errinfo why = {0};
    cd_args *args = cd_cmd_args(&info, &a.code, argc, argv);
    if (args == NULL) {
        return a.code;
    }
    a.args = args;
    cd_err err = open_audit(&a, &why);
    if (err != CD_OK) {
        a.code = cd_cmd_fail(info.program, &why, err == CD_EINVAL ? 2 : 1);
    } else {
        run_audit(&a);
    }
    cd_jobs_close(a.db);
    cd_wh_compare_free(a.compare);
    cd_wh_tokens_free(a.tokens);
    cd_http_client_free(a.http);
    cd_loop_free(a.loop);
    (void)fputs(cd_buf_cstr(&a.out), stdout);
    cd_buf_fini(&a.out);
    cd_arena_fini(&a.asked);
    cd_arena_fini(&a.mem);
    cd_args_free(args);
    return a.code;
}
