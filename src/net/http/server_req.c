#include "net/http/server_priv.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/clock.h"
#include "codec/gzip.h"

#include <stdio.h>
#include <string.h>

enum {
    GZIP_MIN = 1024,           /* below it the answer is one packet anyway */
    GZIP_LOOP_MAX = 64 * 1024, /* on the loop's own thread others wait meanwhile */
};

void cd__http_req_init(cd_http_req *r, cd_http_server *s, const cd__http_req_ops *ops)
{
    r->server = s;
    r->ops = ops;
}

void cd__http_buf_recycle(const cd_http_server *s, cd_buf *b)
{
    bool is_scarce = s->held_bytes > s->cfg.memory_max / 2;
    if (b->cap > (is_scarce ? 0 : CD__HTTP_KEEP_MAX)) {
        cd_buf_fini(b);
    }
    cd_buf_clear(b);
}

void cd__http_req_reset(cd_http_req *r)
{
    cd__http_buf_recycle(r->server, &r->out);
    cd_splices_cut(&r->splices, 0);
    cd_buf_clear(&r->lines);
    r->is_coded = false;
    cd_buf_clear(&r->trailers);
    r->status = 0;
}

void cd__http_req_leave(cd_http_req *r)
{
    CD_ASSERT(r->left_bytes == 0);
    r->left_bytes = r->msg->text.cap + r->msg->body.cap;
    r->server->held_bytes += r->left_bytes;
}

void cd__http_req_fini(cd_http_req *r)
{
    r->server->held_bytes -= r->left_bytes;
    r->left_bytes = 0;
    cd_buf_fini(&r->lines);
    cd_buf_fini(&r->trailers);
    cd_buf_fini(&r->out);
    cd_splices_cut(&r->splices, 0);
}

/* --- what was asked --- */

cd_http_method cd_http_req_method(const cd_http_req *r)
{
    return r->msg->method;
}

cd_bytes cd_http_req_path(const cd_http_req *r)
{
    return cd_http_msg_path(r->msg);
}

/* The last of a list: what the proxy itself has seen. */
static bool forwarded(cd_bytes list, char out[CD_TCP_PEER_MAX])
{
    usize from = list.n;
    while (from > 0 && list.p[from - 1] != ',' && list.p[from - 1] != ' ') {
        from--;
    }
    cd_bytes last = cd_bytes_sub(list, from, list.n - from);
    if (last.n == 0 || last.n >= CD_TCP_PEER_MAX) {
        return false;
    }
    for (usize i = 0; i < last.n; i++) {
        if (strchr("0123456789abcdefABCDEF.:", last.p[i]) == NULL) {
            return false;
        }
    }
    memcpy(out, last.p, last.n);
    out[last.n] = '\0';
    return true;
}

void cd_http_req_peer(const cd_http_req *r, char out[CD_TCP_PEER_MAX])
{
    if (!cd_http_req_is_local(r) || !forwarded(cd_http_req_header(r, "x-forwarded-for"), out)) {
        r->ops->peer(r, out);
    }
}

bool cd_http_req_is_local(const cd_http_req *r)
{
    return r->ops->is_local(r);
}

u16 cd_http_req_port(const cd_http_req *r)
{
    return r->ops->port == NULL ? 0 : r->ops->port(r);
}

cd_bytes cd_http_req_query(const cd_http_req *r)
{
    return cd_http_msg_query(r->msg);
}

cd_bytes cd_http_req_header(const cd_http_req *r, const char *name)
{
    return cd_http_msg_header(r->msg, name);
}

bool cd_http_req_field(const cd_http_req *r, u32 idx, cd_bytes *name, cd_bytes *value)
{
    if (idx >= r->msg->fields_cnt) {
        return false;
    }
    *name = cd_http_msg_span(r->msg, r->msg->fields[idx].name);
    *value = cd_http_msg_span(r->msg, r->msg->fields[idx].value);
    return true;
}

cd_bytes cd_http_req_body(const cd_http_req *r)
{
    return cd_buf_bytes(&r->msg->body);
}

/* --- answers --- */

cd_buf *cd_http_req_out(cd_http_req *r)
{
    return &r->out;
}

cd_splices *cd_http_req_splices(cd_http_req *r)
{
    return &r->splices;
}

static void add_line(cd_buf *lines, const char *name, const char *value)
{
    CD_ASSERT(strpbrk(name, "\r\n:") == NULL && strpbrk(value, "\r\n") == NULL);
    cd_buf_fmt(lines, "%s: %s\r\n", name, value);
}

void cd_http_req_add_header(cd_http_req *r, const char *name, const char *value)
{
    r->is_coded = r->is_coded || strcmp(name, "Content-Encoding") == 0 ||
                  (strcmp(name, "Vary") == 0 && strcmp(value, "Accept-Encoding") == 0);
    add_line(&r->lines, name, value);
}

void cd_http_req_add_lines(cd_http_req *r, cd_bytes lines)
{
    cd_buf_put(&r->lines, lines);
}

void cd_http_req_add_trailer(cd_http_req *r, const char *name, const char *value)
{
    add_line(&r->trailers, name, value);
}

static const char *date_now(cd_http_server *s)
{
    u64 now = cd_clock_wall_s(cd_clock_real());
    if (now != s->date_s) {
        s->date_s = now;
        cd_http_date_fmt(s->date, now);
    }
    return s->date;
}

void cd__http_put_u64(cd_buf *b, u64 v)
{
    char *at = (char *)cd_buf_reserve(b, CD_U64_TEXT_MAX);
    b->n += cd_u64_fmt(at, v);
}

void cd__http_answer_lines(const cd_http_req *r, cd_buf *out)
{
    cd_http_server *s = r->server;
    cd_buf_str(out, "Date: ");
    cd_buf_put(out, cd_bytes_of(date_now(s), CD_HTTP_DATE_LEN));
    if (r->content_type[0] != '\0') {
        cd_buf_str(out, "\r\nContent-Type: ");
        cd_buf_str(out, r->content_type);
    }
    if (r->status != 204 && r->status != 304 && r->trailers.n == 0 && !r->is_stream) {
        cd_buf_str(out, "\r\nContent-Length: ");
        cd__http_put_u64(out, r->out.n + cd_splices_size(&r->splices, 0));
    }
    cd_buf_str(out, "\r\n");
    cd_buf_str(out, s->extra_headers);
    cd_buf_put(out, cd_buf_bytes(&r->lines));
}

bool cd__http_answer_has_body(const cd_http_req *r)
{
    return r->status != 204 && r->status != 304 && r->msg->method != CD_HTTP_HEAD;
}

/* A strong tag names these very bytes; the compressed ones are equal in meaning only. [RFC 9110 8.8.1] */
static void weaken_etag(cd_buf *lines)
{
    static const char name[] = "ETag: \"";
    enum { N = sizeof name - 1 };
    for (usize at = 0; at + N <= lines->n; at++) {
        if (memcmp(lines->p + at, name, N) == 0) {
            usize tag = at + N - 1;
            (void)cd_buf_extend(lines, 2);
            memmove(lines->p + tag + 2, lines->p + tag, lines->n - tag - 2);
            memcpy(lines->p + tag, "W/", 2);
            return;
        }
    }
}

/* Compresses the answer if that is wanted and worth it; not what its handler has
 * decided about itself. */
static void compress(cd_http_req *r)
{
    if (r->is_coded) {
        return;
    }
    usize max = cd_loop_is_here(r->server->loop) ? GZIP_LOOP_MAX : SIZE_MAX;
    if (!r->server->cfg.gzip) {
        return;
    }
    cd_splices_flatten(&r->splices, &r->out);
    if (r->out.n < GZIP_MIN || r->status == 204 || r->status == 304) {
        return;
    }
    cd_buf_str(&r->lines, "Vary: Accept-Encoding\r\n");
    if (r->out.n <= max && cd_http_accepts(cd_http_req_header(r, "accept-encoding"), "gzip")) {
        cd_buf packed = {0};
        cd_gzip_enc(&packed, cd_buf_bytes(&r->out), CD_GZIP_FAST);
        cd_buf_fini(&r->out);
        r->out = packed;
        cd_buf_str(&r->lines, "Content-Encoding: gzip\r\n");
        weaken_etag(&r->lines);
    }
}

static void answer(cd_http_req *r)
{
    r->server->held--;
    r->ops->answer(r);
}

/* --- answers on their way to the loop --- */

enum { LARGE_ANSWER = 64 * 1024, PATIENCE_MS = 2000 };

/* Large answers that other threads have made wait for their turn to be given to the loop: it sends more slowly than
 * they are made, and until it has them nobody counts them. Not for ever: the loop may have its reasons. */
static void coming_in(cd_http_req *r)
{
    cd_http_server *s = r->server;
    r->coming = r->out.cap >= LARGE_ANSWER && !cd_loop_is_here(s->loop) ? r->out.cap : 0;
    if (r->coming == 0) {
        return;
    }
    cd_mutex_lock(&s->coming_lock);
    bool is_patient = true;
    while (is_patient && s->coming != 0 && s->coming + r->coming > s->cfg.memory_max / 4) {
        is_patient = cd_cond_wait_ms(&s->coming_less, &s->coming_lock, PATIENCE_MS);
    }
    s->coming += r->coming;
    cd_mutex_unlock(&s->coming_lock);
}

static void coming_out(cd_http_server *s, usize bytes)
{
    if (bytes != 0) {
        cd_mutex_lock(&s->coming_lock);
        s->coming -= bytes;
        cd_cond_wake_all(&s->coming_less);
        cd_mutex_unlock(&s->coming_lock);
    }
}

/* An answer that came after its handler had returned. */
static void on_reply(cd_loop_task *t)
{
    cd_http_req *r = (cd_http_req *)(void *)t;
    cd_http_server *s = r->server;
    usize bytes = r->coming;
    answer(r);
    coming_out(s, bytes);
    cd__http_check_done(s);
}

void cd_http_req_watch(cd_http_req *r, void (*fn)(void *ctx), void *ctx)
{
    CD_ASSERT(r->over == NULL);
    r->over = fn;
    r->over_ctx = ctx;
}

void cd__http_req_over(cd_http_req *r)
{
    void (*over)(void *ctx) = r->over;
    if (CD_UNLIKELY(over != NULL)) {
        r->over = NULL;
        over(r->over_ctx);
    }
}

void cd_http_reply(cd_http_req *r, u32 status, const char *content_type)
{
    cd_http_server *s = r->server;
    CD_ASSERT(status >= 200 && status <= 999 && r->status == 0);
    r->status = status;
    cd_bytes type = content_type == NULL ? (cd_bytes){0} : cd_bytes_str(content_type);
    CD_ASSERT(type.n < sizeof r->content_type);
    if (type.n != 0) {
        memcpy(r->content_type, type.p, type.n);
    }
    r->content_type[type.n] = '\0';
    compress(r);
    cd__http_req_over(r);
    if (cd_loop_is_here(s->loop) && s->dispatching == r) {
        s->dispatching = NULL;
        answer(r);
        return;
    }
    r->task.fn = on_reply;
    coming_in(r);
    cd_loop_post(s->loop, &r->task);
}

static bool wants_json(const cd_http_req *r)
{
    static const char want[] = "application/json";
    cd_bytes accept = cd_http_req_header(r, "accept");
    usize n = sizeof want - 1;
    return accept.n >= n && cd_http_name_eq(cd_bytes_sub(accept, 0, n), cd_bytes_of(want, n));
}

static void put_json_text(cd_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        u8 c = (u8)*text;
        if (c == '"' || c == '\\') {
            cd_buf_u8(out, '\\');
        }
        if (c < 0x20) {
            cd_buf_fmt(out, "\\u%04x", c);
        } else {
            cd_buf_u8(out, c);
        }
    }
}

void cd_http_reply_error(cd_http_req *r, u32 status, const char *text)
{
    cd_buf_clear(&r->out);
    cd_splices_cut(&r->splices, 0);
    cd_http_req_add_header(r, "X-Content-Type-Options", "nosniff");
    if (wants_json(r)) {
        cd_buf_fmt(&r->out, "{\"error\":{\"code\":%u,\"message\":\"", status);
        put_json_text(&r->out, text);
        cd_buf_str(&r->out, "\"}}");
        cd_http_reply(r, status, "application/json");
    } else {
        cd_buf_fmt(&r->out, "%s\n", text);
        cd_http_reply(r, status, "text/plain; charset=utf-8");
    }
}

/* --- another protocol --- */

bool cd_http_req_origin_allowed(const cd_http_req *r)
{
    return cd_http_access_origin(r->server->access, cd_http_req_header(r, "origin"));
}

cd_bytes cd_http_req_foreign(const cd_http_req *r)
{
    cd_bytes origin = cd_http_req_header(r, "origin");
    return cd_http_access_is_foreign(r->server->access, origin) ? origin : (cd_bytes){0};
}

bool cd_http_req_offers_upgrade(const cd_http_req *r, const char *protocol)
{
    return !r->server->is_stopping && r->ops->offers_upgrade(r, protocol);
}

cd_http_up *cd_http_req_upgrade(cd_http_req *r, const char *protocol, const cd_http_up_events *events, void *ctx)
{
    cd_http_server *s = r->server;
    CD_ASSERT(s->dispatching == r && r->status == 0);
    s->dispatching = NULL;
    s->held--;
    cd__http_req_over(r);
    return r->ops->upgrade(r, protocol, events, ctx);
}

/* --- routes --- */

static bool route_has(const cd__http_route *x, cd_bytes path)
{
    return (x->is_prefix ? path.n >= x->path_n : path.n == x->path_n) && memcmp(path.p, x->path, x->path_n) == 0;
}

/* The route of a request; *allowed collects the methods of its path. */
static const cd__http_route *route_find(const cd_http_server *s, const cd_http_msg *m, u32 *allowed)
{
    const cd__http_route *found = NULL;
    cd_bytes path = cd_http_msg_path(m);
    u32 method = m->method == CD_HTTP_HEAD ? CD_HTTP_HEAD | CD_HTTP_GET : m->method;
    *allowed = 0;
    for (usize i = 0; i < s->routes_cnt; i++) {
        const cd__http_route *x = &s->routes[i];
        if (route_has(x, path)) {
            *allowed |= x->pub.methods;
            found = found == NULL && (x->pub.methods & method) != 0 ? x : found;
        }
    }
    return found;
}

usize cd__http_body_max(const cd_http_server *s, const cd_http_msg *m)
{
    u32 allowed;
    const cd__http_route *x = route_find(s, m, &allowed);
    usize max = x == NULL                    ? 0
                : x->pub.body_max_of != NULL ? x->pub.body_max_of(x->pub.ctx, cd_http_msg_path(m))
                                             : x->pub.body_max;
    bool is_foreign = cd_http_access_is_foreign(s->access, cd_http_msg_header(m, "origin"));
    return max == 0 ? s->cfg.body_max : is_foreign && max > s->cfg.body_max ? s->cfg.body_max : max;
}

void cd_http_reply_not_found(cd_http_req *r)
{
    cd_http_reply_error(r, 404, "404 page not found");
}

void cd_http_reply_not_allowed(cd_http_req *r, u32 allowed)
{
    char text[64];
    usize n = 0;
    allowed |= (allowed & CD_HTTP_GET) != 0 ? CD_HTTP_HEAD : 0;
    text[0] = '\0';
    for (u32 bit = CD_HTTP_GET; bit < CD_HTTP_OTHER; bit *= 2) {
        if ((allowed & bit) != 0) {
            n += (usize)snprintf(text + n, sizeof text - n, "%s%s", n == 0 ? "" : ", ",
                                 cd_http_method_name((cd_http_method)bit));
        }
    }
    cd_http_req_add_header(r, "Allow", text);
    cd_http_reply_error(r, 405, "method not allowed");
}

static void begin(cd_http_req *r)
{
    CD_ASSERT(r->server->dispatching == NULL);
    r->status = 0;
    r->server->held++;
    r->server->dispatching = r;
}

static bool is_page(const cd_http_server *s, const cd_http_msg *m)
{
    cd_bytes path = cd_http_msg_path(m);
    for (usize i = 0; i < s->routes_cnt; i++) {
        if (s->routes[i].pub.is_page && route_has(&s->routes[i], path)) {
            return true;
        }
    }
    return false;
}

void cd__http_req_take(cd_http_req *r)
{
    cd_http_server *s = r->server;
    begin(r);
    if (s->cfg.site != NULL) {
        s->cfg.site->request(s->cfg.site_ctx, r);
        s->dispatching = NULL;
        return;
    }
    cd_bytes origin = cd_http_req_header(r, "origin");
    bool has_cors = !is_page(s, r->msg);
    if (r->msg->method == CD_HTTP_OPTIONS && has_cors) {
        cd_bytes asked = cd_http_req_header(r, "access-control-request-method");
        if (asked.p != NULL) {
            cd_http_access_preflight(s->access, &r->lines, origin, asked,
                                     cd_http_req_header(r, "access-control-request-headers"));
            cd_http_reply(r, 204, NULL);
            return;
        }
    }
    if (has_cors) {
        cd_http_access_cors(s->access, &r->lines, origin);
    }
    if (!cd_http_access_host(s->access, cd_http_msg_host(r->msg))) {
        cd_buf text = {0};
        const char *hint = s->cfg.hosts_hint;
        cd_buf_fmt(&text, "invalid host specified%s%s", hint == NULL ? "" : ": ", hint == NULL ? "" : hint);
        cd_http_reply_error(r, 403, cd_buf_cstr(&text));
        cd_buf_fini(&text);
        return;
    }
    if (s->cfg.admit != NULL && !s->cfg.admit(s->cfg.admit_ctx, r)) {
        return;
    }
    u32 allowed;
    const cd__http_route *x = route_find(s, r->msg, &allowed);
    if (x != NULL) {
        x->pub.handler(x->pub.ctx, r);
        s->dispatching = NULL;
    } else if (allowed != 0) {
        cd_http_reply_not_allowed(r, allowed);
    } else {
        cd_http_reply_not_found(r);
    }
}

void cd__http_req_refuse(cd_http_req *r, u32 status, const char *text)
{
    const cd_http_cfg *cfg = &r->server->cfg;
    begin(r);
    if (cfg->site != NULL) {
        cfg->site->refused(cfg->site_ctx, r, status, text);
        return;
    }
    if (!is_page(r->server, r->msg)) {
        cd_http_access_cors(r->server->access, &r->lines, cd_http_req_header(r, "origin"));
    }
    cd_http_reply_error(r, status, text);
}
