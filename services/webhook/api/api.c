/* Requests in, answers out: routes, keys, and the way of a call through loop and store. */
#include "services/webhook/api/call.h"
#include "services/webhook/api/path.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "crypto/hash/sha2.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    CONNS_MAX = 20000,
    HEADER_MAX = 64 << 10,
    IDEM_KEY_MAX = 255,
};

static const char json_type[] = "application/json";

const cd__wapi_route cd__wapi_routes[CD__WH_OTHER + 1] = {
#define CD_ROUTE(name_, method_, path_, flags_, audit_, summary_)                                                      \
    [CD__WH_##name_] = {.name = #name_,                                                                                \
                        .path = path_,                                                                                 \
                        .audit = audit_,                                                                               \
                        .summary = summary_,                                                                           \
                        .method = CD_HTTP_##method_,                                                                   \
                        .flags = flags_},
#include "services/webhook/api/routes.def"
#undef CD_ROUTE
    [CD__WH_OTHER] = {.name = "OTHER", .path = "other"},
};

static const cd__wapi_steps *const steps[CD__WH_OTHER] = {
#define CD_ROUTE(name, method, path, flags, audit, summary) [CD__WH_##name] = &cd__wapi_do_##name,
#include "services/webhook/api/routes.def"
#undef CD_ROUTE
};

u64 cd__wapi_now_ms(const cd_wh_api *a)
{
    return cd_clock_wall_ns(a->cfg.clock) / CD_NS_PER_MS;
}

/* --- answers --- */

void cd__wapi_blame(cd__wapi_call *c, u32 status, const char *code, const char *field, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->read.problem = (cd_wh_problem){
        .status = status, .code = code, .field = field, .message = cd_arena_str(&c->mem, cd_bytes_str(text))};
}

/* Nothing of the call was done: the database is away, or takes nothing. */
static void blame_store(cd__wapi_call *c, cd_err err)
{
    cd_http_req_add_lines(c->req, cd_bytes_str("Retry-After: 5\r\n"));
    if (err == CD_ENOSPC) {
        cd__wapi_blame(c, 503, "unavailable", "", "the service has no disk space left; nothing was changed");
    } else {
        cd__wapi_blame(c, 503, "unavailable", "", "the database does not answer or takes nothing; nothing was changed");
    }
}

static void note(cd_wh_api *a, cd_http_req *r, cd__wapi_route_id route, u32 status)
{
    if (a->cfg.metrics != NULL) {
        char code[CD_U64_TEXT_MAX + 1];
        code[cd_u64_fmt(code, status)] = '\0';
        const cd_label labels[] = {{"route", cd__wapi_routes[route].path}, {"code", code}};
        cd_counter_add(cd_metrics_counter(a->cfg.metrics, "requests_total", "Management requests answered", labels,
                                          CD_COUNT(labels)),
                       1);
    }
    cd_log_info(a->cfg.access_log, "request", CD_F("method", cd_http_method_name(cd_http_req_method(r))),
                CD_F("path", cd_http_req_path(r)), CD_F("status", status), CD_F("bytes", cd_http_req_out(r)->n));
}

static void fail(cd_wh_api *a, cd_http_req *r, cd__wapi_route_id route, cd_wh_face face, const cd_wh_problem *p)
{
    cd_buf *out = cd_http_req_out(r);
    cd_buf_clear(out);
    cd_wh_error_body(out, face, p);
    cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
    note(a, r, route, p->status);
    cd_http_reply(r, p->status, json_type);
}

void cd__wapi_answer(cd__wapi_call *c)
{
    cd_wh_api *a = c->api;
    cd_wh_problem *p = &c->read.problem;
    cd_http_req *r = c->req;
    if (p->status != 0) {
        if (cd__wapi_face(c) == CD_WH_C && p->status == 400 && p->kind != NULL) {
            p->status = 422;
        }
        fail(a, r, c->route, cd__wapi_face(c), p);
    } else {
        if (c->type == NULL) {
            cd_buf_u8(cd_http_req_out(r), '\n');
        }
        cd_http_req_add_lines(r, cd_bytes_str("Cache-Control: no-store\r\n"));
        note(a, r, c->route, c->status);
        cd_http_reply(r, c->status, c->type == NULL ? json_type : c->type);
    }
    cd_list_del(&c->link);
    cd_arena_fini(&c->mem);
    cd_free(c);
}

/* --- the way of a call --- */

static void on_done(cd_job *job)
{
    cd__wapi_call *c = cd_list_of(job, cd__wapi_call, job);
    const cd__wapi_steps *s = steps[c->route];
    if (job->err != CD_OK && c->read.problem.status == 0) {
        cd_log_error(c->api->cfg.log, "call failed", CD_F("route", cd__wapi_routes[c->route].name),
                     CD_F("why", job->why.msg));
        if (cd_jobs_is_trouble(job->err)) {
            blame_store(c, job->err);
        } else {
            cd__wapi_blame(c, 500, "internal", "", "the call failed; nothing was changed");
        }
    }
    if (c->read.problem.status != 0) {
        cd__wapi_answer(c);
        return;
    }
    const cd_wh_engine *e = c->api->cfg.engine;
    bool is_async = (cd__wapi_routes[c->route].flags & R_ASYNC) != 0;
    if (c->gone) {
        e->gone(e->ctx, c->hook.key);
    }
    if (c->changed) {
        e->changed(e->ctx, &c->hook);
    }
    if (c->draft.ops_is == CD_WH_OPS_GONE) {
        e->gone(e->ctx, c->draft.ops.key);
    } else if (c->draft.ops_is != CD_WH_OPS_SAME) {
        e->changed(e->ctx, &c->draft.ops);
    }
    if (c->due) {
        e->due(e->ctx);
    }
    if (s->after != NULL) {
        s->after(c);
    }
    if (!is_async) { // otherwise the call may be over
        cd__wapi_answer(c);
    }
}

/* What of the project's quota is left, on every answer. */
static cd_err add_quota(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    const cd_wh_project *p = &c->account.project;
    u64 used;
    if (p->quota_period == CD_WH_NO_QUOTA) {
        return CD_OK;
    }
    CD_TRY(cd_wh_usage(s, &used, p->id, cd__wapi_now_ms(c->api), why));
    const char *name = cd_arena_fmt(&c->mem, "X-%s-Quota-Remaining", c->read.brand);
    const char *left = cd_arena_fmt(&c->mem, "%llu", (unsigned long long)(used < p->quota ? p->quota - used : 0));
    cd_http_req_add_header(c->req, name, left);
    return CD_OK;
}

static cd_err add_audit(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    const char *action = cd__wapi_routes[c->route].audit;
    if (action == NULL) {
        return CD_OK;
    }
    const char *target = c->hook.id != NULL ? c->hook.id : "";
    const cd_wh_audit audit = {
        .at_ms = cd__wapi_now_ms(c->api),
        .project = c->account.project.id,
        .actor = c->account.key.id,
        .action = action,
        .target = c->sub == NULL ? target : cd_arena_fmt(&c->mem, "%s/%s", target, c->sub),
        .address = c->address,
    };
    return cd_wh_audit_add(s, &audit, why);
}

/* The answer that the same call got before. 0: it is a new one. */
static cd_err recall(cd__wapi_call *c, cd_wh_store *s, bool *known, cd_errinfo *why)
{
    cd_wh_kept kept;
    *known = false;
    if (c->idem_key.n == 0) {
        return CD_OK;
    }
    cd_err err = cd_wh_kept_get(s, &kept, &c->mem, c->account.project.id, c->idem_key, why);
    if (err == CD_ENOENT) {
        return CD_OK;
    }
    CD_TRY(err);
    if (memcmp(kept.request, c->idem_hash, 32) != 0) {
        return cd__wapi_refuse(c, 409, "idempotency_conflict", "", "this Idempotency-Key was used for another request");
    }
    cd_buf_put(cd_http_req_out(c->req), kept.body);
    c->status = kept.status;
    *known = true;
    return CD_OK;
}

static cd_err keep(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_kept kept = {
        .status = c->status, .body = cd_buf_bytes(cd_http_req_out(c->req)), .at_ms = cd__wapi_now_ms(c->api)};
    memcpy(kept.request, c->idem_hash, 32);
    return c->idem_key.n == 0 ? CD_OK : cd_wh_kept_put(s, &kept, c->account.project.id, c->idem_key, why);
}

static cd_err on_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd__wapi_call *c = cd_list_of(job, cd__wapi_call, job);
    bool is_known;
    cd_buf_clear(cd_http_req_out(c->req)); /* it may be another try */
    CD_TRY(recall(c, s, &is_known, why));
    if (!is_known && c->refused.status != 0) {
        c->read.problem = c->refused;
        return CD_EINVAL;
    }
    if (!is_known) {
        CD_TRY(steps[c->route]->run == NULL ? CD_OK : steps[c->route]->run(c, s, why));
        CD_TRY(keep(c, s, why));
        CD_TRY(add_audit(c, s, why));
    }
    return add_quota(c, s, why);
}

static void post(cd__wapi_call *c)
{
    c->job = (cd_job){.run = on_run, .done = on_done, .is_hasty = true};
    if (cd_jobs_away(c->api->cfg.db)) {
        blame_store(c, CD_ECLOSED);
        cd__wapi_answer(c);
    } else if ((cd__wapi_routes[c->route].flags & R_WRITE) != 0) {
        cd_jobs_write(c->api->cfg.db, &c->job);
    } else {
        cd_jobs_read(c->api->cfg.db, &c->job);
    }
}

static void check(cd__wapi_call *c);

static void on_checked(void *arg, const char *refusal)
{
    cd__wapi_call *c = arg;
    if (refusal == NULL) {
        check(c);
        return;
    }
    c->refused = (cd_wh_problem){
        .status = 400,
        .code = "invalid_url",
        .field = c->checking,
        .message = cd_arena_str(&c->mem, cd_bytes_str(refusal)),
        .kind = "value_error.url",
    };
    if (c->idem_key.n == 0) {
        c->read.problem = c->refused;
        cd__wapi_answer(c);
    } else { // the call may have been answered when the name led elsewhere
        post(c);
    }
}

/* Checks one address after the other, then goes on. */
static void check(cd__wapi_call *c)
{
    const cd_wh_engine *e = c->api->cfg.engine;
    const char **next = c->check_url != NULL ? &c->check_url : &c->check_ops;
    const char *url = *next;
    if (url == NULL || url[0] == '\0') {
        post(c);
        return;
    }
    c->checking = next == &c->check_url ? "url" : "ops_url";
    *next = NULL;
    e->check_url(e->ctx, c->account.project.id, url, on_checked, c);
}

static cd_err read_idem(cd__wapi_call *c)
{
    c->idem_key = cd_http_req_header(c->req, "idempotency-key");
    if (c->route != CD__WH_CREATE) {
        c->idem_key = (cd_bytes){0};
    }
    if (c->idem_key.n > IDEM_KEY_MAX) {
        return cd__wapi_refuse(c, 400, "invalid_value", "Idempotency-Key", "Idempotency-Key is longer than %d bytes",
                               IDEM_KEY_MAX);
    }
    cd_hash32 hash;
    cd_sha256(&hash, cd_http_req_body(c->req));
    memcpy(c->idem_hash, hash.b, 32);
    return CD_OK;
}

static bool is_json_type(cd_bytes type)
{
    static const char word[] = "application/json";
    usize n = sizeof word - 1;
    if (type.n == 0) {
        return true;
    }
    return type.n >= n && cd_http_name_eq(cd_bytes_sub(type, 0, n), cd_bytes_str(word)) &&
           (type.n == n || type.p[n] == ';' || type.p[n] == ' ');
}

/* C's clients may put this one field into the query. */
static cd_err read_is_active(cd__wapi_call *c, cd_bytes *text)
{
    static const char *const words[] = {"false", "0", "true", "1"};
    const char *value = cd__wapi_query(c, "is_active");
    for (usize i = 0; i < CD_COUNT(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            *text = cd_bytes_str(i < 2 ? "{\"is_active\":false}" : "{\"is_active\":true}");
            return CD_OK;
        }
    }
    return cd_wh_bad_shape(&c->read, "bool_parsing", "is_active", "must be true or false");
}

static cd_err read_body(cd__wapi_call *c)
{
    cd_bytes text = cd_http_req_body(c->req);
    if ((cd__wapi_routes[c->route].flags & R_BODY) == 0) {
        return CD_OK;
    }
    if (!is_json_type(cd_http_req_header(c->req, "content-type"))) {
        return cd__wapi_refuse(c, 415, "unsupported_media_type", "", "Content-Type must be JSON");
    }
    if (text.n == 0 && c->route == CD__WH_PATCH && cd__wapi_query(c, "is_active") != NULL) {
        CD_TRY(read_is_active(c, &text));
    }
    bool may_be_empty = c->route != CD__WH_CREATE && c->route != CD__WH_PATCH;
    if (text.n == 0 && may_be_empty) {
        text = cd_bytes_str("{}");
    }
    return cd_wh_read_body(&c->read, &c->body, text);
}

/* A member that nobody knows is a mistake, and what it was meant to narrow down would be wide open. */
static cd_err check_members(cd__wapi_call *c)
{
    static const char *const schemas[CD__WH_OTHER][3] = {
        [CD__WH_CREATE] = {"Create"},
        [CD__WH_PREVIEW] = {"Create", "Preview"},
        /* A record that comes back changes what can be changed. */
        [CD__WH_PATCH] = {"Change", "Create", "Webhook"},
        [CD__WH_TEST] = {"Test"},
        [CD__WH_ADDRESSES] = {"Watch"},
        [CD__WH_ROTATE] = {"Rotate"},
        [CD__WH_REPLAY] = {"Replay"},
        [CD__WH_NOTIFY] = {"Notify"},
    };
    for (cd_json_it it = cd_json_iter(c->body); cd_json_next(&it);) {
        bool is_known = schemas[c->route][0] == NULL;
        for (usize i = 0; i < CD_COUNT(schemas[0]) && schemas[c->route][i] != NULL; i++) {
            is_known |= cd_wh_api_takes(schemas[c->route][i], cd__wapi_face(c), it.key);
        }
        if (!is_known) {
            const char *name = cd_arena_str(&c->mem, cd_bytes_sub(it.key, 0, cd_min_u64(it.key.n, 64)));
            return cd_wh_bad_shape(&c->read, "extra_forbidden", name, "%s is not known", name);
        }
    }
    return CD_OK;
}

static cd_err begin(cd__wapi_call *c)
{
    const cd__wapi_route *route = &cd__wapi_routes[c->route];
    if ((route->flags & (R_WRITE | R_SCOPE)) != 0 && !c->account.key.may_write) {
        return cd__wapi_refuse(c, 403, "insufficient_scope", "", "this key may only read");
    }
    CD_TRY(read_idem(c));
    CD_TRY(read_body(c));
    CD_TRY(check_members(c));
    return steps[c->route]->prepare == NULL ? CD_OK : steps[c->route]->prepare(c);
}

static void copy_account(cd__wapi_call *c, const cd_wh_account *from)
{
    cd_wh_account *to = &c->account;
    *to = *from;
    to->key.id = cd_arena_str(&c->mem, cd_bytes_str(from->key.id));
    to->project.id = cd_arena_str(&c->mem, cd_bytes_str(from->project.id));
    to->project.name = cd_arena_str(&c->mem, cd_bytes_str(from->project.name));
    to->project.tier = cd_arena_str(&c->mem, cd_bytes_str(from->project.tier));
    to->project.email = cd_arena_str(&c->mem, cd_bytes_str(from->project.email));
    to->key.project = to->project.id;
    to->key.label = to->key.last4 = "";
    c->face = cd_wh_face_api_of(to->project.face);
    c->read.face = to->project.face;
}

/* --- keys --- */

static cd_bytes bearer(cd_http_req *r)
{
    static const char word[] = "bearer ";
    cd_bytes text = cd_http_req_header(r, "authorization");
    usize n = sizeof word - 1;
    if (text.n <= n || !cd_http_name_eq(cd_bytes_sub(text, 0, n), cd_bytes_str(word))) {
        return (cd_bytes){0};
    }
    text = cd_bytes_sub(text, n, text.n - n);
    while (text.n != 0 && text.p[0] == ' ') {
        text = cd_bytes_sub(text, 1, text.n - 1);
    }
    return text;
}

/* A takes Bearer, B X-API-Key, C both. */
static bool fits(const cd__wapi_call *c, bool is_bearer)
{
    cd_wh_face face = cd__wapi_face(c);
    u32 faces = c->api->cfg.faces;
    bool is_here = faces == 0 || (faces & 1u << face) != 0;
    return is_here && (face == CD_WH_C || (face == CD_WH_A) == is_bearer);
}

/* The face of a client whose key is not known. */
static cd_wh_face guess(const cd_wh_api *a, cd_http_req *r)
{
    u32 faces = a->cfg.faces;
    if (faces == 1u << CD_WH_B || faces == 1u << CD_WH_C) {
        return faces == 1u << CD_WH_B ? CD_WH_B : CD_WH_C;
    }
    return faces == 0 && bearer(r).n == 0 ? CD_WH_B : CD_WH_A;
}

static void on_account(void *arg, const cd_wh_account *found, cd_err said)
{
    cd__wapi_call *c = arg;
    bool is_bearer = bearer(c->req).n != 0;
    cd_err err = CD_OK;
    if (found != NULL) {
        copy_account(c, found);
    }
    if (found == NULL && said != CD_ENOENT) {
        c->account.project.face = guess(c->api, c->req);
        blame_store(c, said);
        err = said;
    } else if (found == NULL || !fits(c, is_bearer)) {
        bool may_be_bearer = c->api->cfg.faces != 1u << CD_WH_B;
        if (found == NULL) {
            c->account.project.face = guess(c->api, c->req);
        } else {
            may_be_bearer = cd__wapi_face(c) != CD_WH_B;
        }
        if (may_be_bearer) {
            cd_http_req_add_header(c->req, "WWW-Authenticate", "Bearer");
        }
        err = cd__wapi_refuse(c, 401, "unauthorized", "",
                              found == NULL ? "the API key is missing or not valid"
                                            : "this key is not taken in this header");
    } else if (!cd__wapi_take(c)) {
        err = cd__wapi_refuse(c, 429, "rate_limited", "", "too many requests in this second");
    } else {
        err = begin(c);
    }
    if (err != CD_OK) {
        cd__wapi_answer(c);
    } else {
        check(c);
    }
}

/* --- routes --- */

/* The route of a request; allow: methods of its path. A fixed path stands before one with a parameter. */
static cd__wapi_route_id route_of(cd_bytes path, cd_http_method method, cd_bytes params[2], u32 *allow)
{
    const char *first = NULL;
    *allow = 0;
    for (u32 i = 0; i < CD__WH_OTHER; i++) {
        const cd__wapi_route *r = &cd__wapi_routes[i];
        cd_bytes own[2] = {{0}};
        if (!cd_wh_path_fits(r->path, path, own) || (first != NULL && strcmp(first, r->path) != 0)) {
            continue;
        }
        first = r->path;
        *allow |= r->method;
        if (r->method == method || (r->method == CD_HTTP_GET && method == CD_HTTP_HEAD)) {
            params[0] = own[0];
            params[1] = own[1];
            return (cd__wapi_route_id)i;
        }
    }
    return CD__WH_OTHER;
}

static void add_allow(cd_http_req *r, u32 allow)
{
    static const cd_http_method all[] = {CD_HTTP_GET, CD_HTTP_HEAD, CD_HTTP_POST, CD_HTTP_PATCH, CD_HTTP_DELETE};
    cd_buf line = {0};
    cd_buf_str(&line, "Allow: ");
    allow |= (allow & CD_HTTP_GET) != 0 ? (u32)CD_HTTP_HEAD : 0;
    for (usize i = 0; i < CD_COUNT(all); i++) {
        if ((allow & all[i]) != 0) {
            cd_buf_str(&line, cd_http_method_name(all[i]));
            cd_buf_str(&line, ", ");
        }
    }
    cd_buf_str(&line, "OPTIONS\r\n");
    cd_http_req_add_lines(r, cd_buf_bytes(&line));
    cd_buf_fini(&line);
}

static bool is_api_path(cd_bytes path)
{
    return path.n >= 4 && memcmp(path.p, "/v1/", 4) == 0;
}

static cd__wapi_call *call_new(cd_wh_api *a, cd_http_req *r, cd__wapi_route_id id)
{
    cd__wapi_call *c = cd_new(cd__wapi_call);
    *c = (cd__wapi_call){.api = a, .req = r, .route = id, .status = 200, .rng = cd_rng_os()};
    cd_list_push_back(&a->calls, &c->link);
    cd_http_req_peer(r, c->address);
    c->read = (cd_wh_read){.mem = &c->mem,
                           .rng = &c->rng,
                           .chain = a->cfg.engine->chain,
                           .chain_ctx = a->cfg.engine->ctx,
                           .brand = a->cfg.brand,
                           .now_s = cd_clock_wall_s(a->cfg.clock)};
    return c;
}

static void find_account(cd__wapi_call *c, cd_wh_account_fn *fn)
{
    cd_bytes key = bearer(c->req);
    cd_wh_api_account(c->api, key.n != 0 ? key : cd_http_req_header(c->req, "x-api-key"), fn, c);
}

/* The key is looked at for nothing but the form of the answer. */
static void on_stranger(void *arg, const cd_wh_account *found, cd_err err)
{
    cd__wapi_call *c = arg;
    (void)err;
    c->account.project.face = found != NULL ? found->project.face : guess(c->api, c->req);
    cd__wapi_answer(c);
}

static void no_route(cd_wh_api *a, cd_http_req *r, u32 allow)
{
    if (allow != 0) {
        add_allow(r, allow);
    }
    if (allow != 0 && cd_http_req_method(r) == CD_HTTP_OPTIONS) {
        note(a, r, CD__WH_OTHER, 204);
        cd_http_reply(r, 204, NULL);
        return;
    }
    cd__wapi_call *c = call_new(a, r, CD__WH_OTHER);
    if (allow != 0) {
        cd__wapi_blame(c, 405, "method_not_allowed", "", "method not allowed");
    } else {
        cd__wapi_blame(c, 404, "not_found", "", "no such path");
    }
    find_account(c, on_stranger);
}

static void on_request(void *ctx, cd_http_req *r)
{
    cd_wh_api *a = ctx;
    cd_bytes path = cd_http_req_path(r);
    cd_bytes params[2] = {{0}};
    u32 allow;
    cd__wapi_route_id id = route_of(path, cd_http_req_method(r), params, &allow);
    if (id == CD__WH_OTHER && allow == 0 && !is_api_path(path) && a->cfg.page != NULL &&
        a->cfg.page(a->cfg.page_ctx, r)) {
        return;
    }
    if (id == CD__WH_OTHER) {
        no_route(a, r, allow);
        return;
    }
    cd__wapi_call *c = call_new(a, r, id);
    c->id = params[0].n == 0 ? NULL : cd_arena_str(&c->mem, params[0]);
    c->sub = params[1].n == 0 ? NULL : cd_arena_str(&c->mem, params[1]);
    if ((cd__wapi_routes[id].flags & R_OPEN) != 0) {
        c->account.project.face = guess(a, r);
        steps[id]->after(c);
        return;
    }
    find_account(c, on_account);
}

static void on_refused(void *ctx, cd_http_req *r, u32 status, const char *text)
{
    cd_wh_api *a = ctx;
    const cd_wh_problem p = {
        .status = status, .code = status == 413 ? "payload_too_large" : "bad_request", .message = text};
    fail(a, r, CD__WH_OTHER, guess(a, r), &p);
}

/* --- life --- */

cd_wh_api *cd_wh_api_new(const cd_wh_api_cfg *cfg)
{
    static const cd_http_site site = {.request = on_request, .refused = on_refused};
    cd_wh_api *a = cd_new(cd_wh_api);
    a->cfg = *cfg;
    a->cfg.clock = cfg->clock == NULL ? cd_clock_real() : cfg->clock;
    a->cfg.brand = cfg->brand == NULL ? "Svc" : cfg->brand;
    const cd_http_cfg http = {
        .conns_max = cfg->conns_max == 0 ? CONNS_MAX : cfg->conns_max,
        .header_max = HEADER_MAX,
        .body_max = CD_WH_BODY_MAX,
        .gzip = true,
        .site = &site,
        .site_ctx = a,
    };
    cd_list_init(&a->calls);
    cd__wapi_accounts_init(a);
    a->server = cd_http_server_new(cfg->loop, &http);
    for (u32 face = CD_WH_A; face <= CD_WH_C; face++) {
        cd_wh_api_openapi(&a->openapi[face], (cd_wh_face)face, a->cfg.brand);
    }
    return a;
}

cd_err cd_wh_api_listen(cd_wh_api *a, const char *host, u16 port, cd_errinfo *why)
{
    return cd_http_server_listen(a->server, host, port, why);
}

u16 cd_wh_api_port(const cd_wh_api *a)
{
    return cd_http_server_port(a->server);
}

void cd_wh_api_stop(cd_wh_api *a, u32 grace_ms, void (*done)(void *ctx), void *ctx)
{
    cd_http_server_stop(a->server, grace_ms, done, ctx);
}

void cd_wh_api_free(cd_wh_api *a)
{
    if (a == NULL) {
        return;
    }
    cd_http_server_free(a->server);
    cd__wapi_accounts_fini(a);
    for (usize i = 0; i < CD_COUNT(a->openapi); i++) {
        cd_buf_fini(&a->openapi[i]);
    }
    cd_free(a);
}
