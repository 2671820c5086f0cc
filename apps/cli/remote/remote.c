#include "remote/remote.h"

#include "base/mem/mem.h"
#include "net/http/client.h"

enum { ANSWER_MAX = 64 << 20, TIMEOUT_MS = 60000 };

struct cd__remote {
    cd_arena *mem;
    const char *url;
    cd_loop *loop;
    cd_http_client *http;
    cd_timer *timer;
    u32 patience_ms;
    /* The result of the question that is open. */
    cd_err err;
    u32 status;
    const char *reason;
    cd_bytes body;
};

static void on_timer(void *ctx)
{
    cd_loop_stop(((cd__remote *)ctx)->loop);
}

cd_err cd__remote_new(cd__remote **out, cd_arena *mem, const char *url, cd_errinfo *why)
{
    bool is_url = strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
    usize n = strlen(url);
    if (!is_url) {
        return cd_fail(why, CD_EINVAL, "--rpc: a URL such as http://127.0.0.1:9650 is needed, got \"%.200s\"", url);
    }
    while (n > 8 && url[n - 1] == '/') {
        n--;
    }
    cd__remote *r = cd_new(cd__remote);
    r->mem = mem;
    r->patience_ms = TIMEOUT_MS;
    r->url = cd_arena_str(mem, cd_bytes_of(url, n));
    cd_err e = cd_loop_new(&r->loop, why);
    e = e != CD_OK ? e : cd_http_client_new(&r->http, r->loop, &(cd_http_client_cfg){.user_agent = "candela-cli"}, why);
    if (e != CD_OK) {
        cd__remote_free(r);
        return e;
    }
    r->timer = cd_timer_new(r->loop, on_timer, r);
    *out = r;
    return CD_OK;
}

void cd__remote_free(cd__remote *r)
{
    if (r != NULL) {
        cd_http_client_free(r->http);
        cd_timer_free(r->timer);
        cd_loop_free(r->loop);
        cd_free(r);
    }
}

void cd__remote_patience(cd__remote *r, u32 ms)
{
    r->patience_ms = ms;
}

void cd__remote_pause(cd__remote *r, u32 ms)
{
    cd_timer_start(r->timer, ms, 0);
    cd_loop_run(r->loop);
}

static void on_answer(void *ctx, const cd_http_result *got)
{
    cd__remote *r = ctx;
    r->err = got->err;
    r->status = got->status;
    r->reason = cd_arena_str(r->mem, cd_bytes_str(got->reason == NULL ? "" : got->reason));
    r->body = cd_arena_dup(r->mem, got->body);
    cd_loop_stop(r->loop);
}

static cd_err read_answer(cd__remote *r, cd_json *result, const char *path, cd_errinfo *why)
{
    cd_json all;
    if (r->err != CD_OK) {
        return cd_fail(why, CD_EIO, "no answer from %s: %s", r->url, r->reason);
    }
    if (r->status != 200 || cd_json_parse(&all, r->mem, r->body, 0, NULL) != CD_OK) {
        return cd_fail(why, CD_EPROTO, "%s%s answers with status %u: %.*s", r->url, path, r->status,
                       (int)cd_min_u64(r->body.n, 120), (const char *)r->body.p);
    }
    cd_json error = cd_json_get(all, "error");
    if (cd_json_has(error)) {
        cd_bytes text = {0};
        cd_bytes data = {0}; /* of a contract that refuses: what it says */
        (void)!cd_json_str(&text, cd_json_get(error, "message"), NULL);
        (void)!cd_json_str(&data, cd_json_get(error, "data"), NULL);
        bool has_data = data.n > 2 && data.p[0] == '0' && data.p[1] == 'x';
        return cd_fail(why, CD_EACCES, "%.*s%s%.*s", (int)cd_min_u64(text.n, 300), (const char *)text.p,
                       has_data ? ": " : "", has_data ? (int)cd_min_u64(data.n, 78) : 0, (const char *)data.p);
    }
    *result = cd_json_get(all, "result");
    return CD_OK;
}

cd_err cd__remote_ask(cd__remote *r, cd_json *result, const char *path, const char *method, const char *params,
                      cd_errinfo *why)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    const char *url = cd_arena_fmt(r->mem, "%s%s", r->url, path);
    const char *body =
        cd_arena_fmt(r->mem, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    const cd_http_ask ask = {.method = CD_HTTP_POST,
                             .url = url,
                             .headers = headers,
                             .headers_cnt = 1,
                             .body = cd_bytes_str(body),
                             .timeout_ms = r->patience_ms,
                             .body_max = ANSWER_MAX};
    (void)cd_http_client_call(r->http, &ask, on_answer, r);
    cd_loop_run(r->loop);
    return read_answer(r, result, path, why);
}
