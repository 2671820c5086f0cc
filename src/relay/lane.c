#include "relay/lane.h"

#include "base/mem/mem.h"

typedef struct ask {
    struct ask *next;
    const char *method;
    cd_buf params;
    cd_relay_reply_fn *fn;
    void *ctx;
    void *what;
} ask;

typedef struct post {
    struct post *prev, *next;
    cd_relay_lane *lane;
    cd_http_call *call;
    ask *asks;
    usize cnt;
} post;

struct cd_relay_lane {
    cd_relay_lane_cfg cfg;
    ask *first;
    ask **end;
    post *posts;
    u32 post_cnt;
};

cd_relay_lane *cd_relay_lane_new(const cd_relay_lane_cfg *cfg)
{
    cd_relay_lane *l = cd_new(cd_relay_lane);
    l->cfg = *cfg;
    l->end = &l->first;
    return l;
}

static void asks_free(ask *a)
{
    while (a != NULL) {
        ask *next = a->next;
        cd_buf_fini(&a->params);
        cd_free(a);
        a = next;
    }
}

static void post_free(post *p)
{
    cd_relay_lane *l = p->lane;
    *(p->prev != NULL ? &p->prev->next : &l->posts) = p->next;
    if (p->next != NULL) {
        p->next->prev = p->prev;
    }
    l->post_cnt--;
    asks_free(p->asks);
    cd_free(p);
}

void cd_relay_lane_free(cd_relay_lane *l)
{
    if (l == NULL) {
        return;
    }
    while (l->posts != NULL) {
        cd_http_call_cancel(l->posts->call);
        post_free(l->posts);
    }
    asks_free(l->first);
    cd_free(l);
}

void cd_relay_lane_ask(cd_relay_lane *l, const char *method, const char *params, cd_relay_reply_fn *fn, void *ctx,
                       void *what)
{
    ask *a = cd_new(ask);
    a->method = method;
    cd_buf_str(&a->params, params);
    a->fn = fn;
    a->ctx = ctx;
    a->what = what;
    *l->end = a;
    l->end = &a->next;
}

/* --- answers --- */

static void read_reply(cd_relay_reply *out, cd_json v)
{
    cd_json error = cd_json_get(v, "error");
    cd_bytes text = {0};
    out->is_error = cd_json_has(error);
    out->result = cd_json_get(v, "result");
    out->is_answer = out->is_error || cd_json_kind_of(out->result) != CD_JSON_NONE;
    out->text = out->is_answer ? "" : "no answer to this question";
    if (out->is_error && cd_json_str(&text, cd_json_get(error, "message"), NULL) == CD_OK) {
        out->text = cd_arena_str(out->mem, text);
    }
}

/* Puts each reply in the place of its question. A request that is refused as a whole answers none. */
static void read_replies(cd_relay_reply *out, usize cnt, cd_json doc)
{
    if (cd_json_kind_of(doc) == CD_JSON_OBJ) {
        read_reply(&out[0], doc);
        for (usize i = 1; i < cnt; i++) {
            out[i].text = out[0].text;
        }
        return;
    }
    for (cd_json_it it = cd_json_iter(doc); cd_json_next(&it);) {
        u64 id;
        if (cd_json_u64(&id, cd_json_get(it.val, "id"), NULL) == CD_OK && id < cnt) {
            read_reply(&out[id], it.val);
        }
    }
}

static void on_answer(void *ctx, const cd_http_result *r)
{
    post *p = ctx;
    cd_relay_lane *l = p->lane;
    cd_arena mem = {0};
    cd_json doc = {0};
    cd_errinfo why = {0};
    const char *reason = "the node's answer is no JSON-RPC answer";
    cd_relay_reply *replies = cd_arena_array(&mem, cd_relay_reply, p->cnt);
    ask *asks = p->asks;
    if (r->err != CD_OK) {
        reason = r->reason;
    } else if (cd_json_parse(&doc, &mem, r->body, l->cfg.answer_max, &why) != CD_OK) {
        reason = r->status == 200 ? reason : cd_arena_fmt(&mem, "the node answers with status %u", r->status);
    }
    for (usize i = 0; i < p->cnt; i++) {
        replies[i] = (cd_relay_reply){.text = reason, .mem = &mem};
    }
    if (cd_json_kind_of(doc) != CD_JSON_NONE) {
        read_replies(replies, p->cnt, doc);
    }
    p->asks = NULL;
    post_free(p);
    usize i = 0;
    for (ask *a = asks; a != NULL; a = a->next, i++) {
        a->fn(a->ctx, a->what, &replies[i]);
    }
    asks_free(asks);
    cd_arena_fini(&mem);
    cd_relay_lane_flush(l);
}

static void send_post(cd_relay_lane *l)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    post *p = cd_new(post);
    cd_buf body = {0};
    bool is_batch = l->cfg.batch_max > 1;
    ask **end = &p->asks;
    p->lane = l;
    cd_buf_str(&body, is_batch ? "[" : "");
    while (l->first != NULL && p->cnt < l->cfg.batch_max) {
        ask *a = l->first;
        l->first = a->next;
        a->next = NULL;
        *end = a;
        end = &a->next;
        cd_buf_fmt(&body, "%s{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"%s\",\"params\":%s}", p->cnt == 0 ? "" : ",",
                   p->cnt, a->method, cd_buf_cstr(&a->params));
        p->cnt++;
    }
    if (l->first == NULL) {
        l->end = &l->first;
    }
    cd_buf_str(&body, is_batch ? "]" : "");
    p->next = l->posts;
    if (p->next != NULL) {
        p->next->prev = p;
    }
    l->posts = p;
    l->post_cnt++;
    const cd_http_ask http = {.method = CD_HTTP_POST,
                              .url = l->cfg.url,
                              .headers = headers,
                              .headers_cnt = 1,
                              .body = cd_buf_bytes(&body),
                              .timeout_ms = l->cfg.timeout_ms,
                              .body_max = l->cfg.answer_max};
    p->call = cd_http_client_call(l->cfg.http, &http, on_answer, p);
    cd_buf_fini(&body);
}

void cd_relay_lane_flush(cd_relay_lane *l)
{
    while (l->first != NULL && l->post_cnt < l->cfg.posts_max) {
        send_post(l);
    }
}
