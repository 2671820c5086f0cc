/* The dashboard's way of a request: place, session, job, answer. */
#include "services/webhook/pages/visit.h"

#include "base/hex.h"
#include "base/mem.h"
#include "base/secret.h"
#include "crypto/sha2.h"
#include "services/webhook/api/path.h"
#include "services/webhook/core/seal.h"
#include "web/serve.h"

#include <stdio.h>

#define ASSETS  "/assets/"
#define SESSION "candela_wh"

enum {
    SESSION_DAYS = 30,
    COOKIE_MAX = 1024,
    SEAL_TIME = 8,
    FIELD_MAX = 200 << 10,
};

static const struct {
    cd_http_method method;
    const char *path;
    u32 flags;
    const cd__wpage_page_steps *steps;
} places[] = {
#define CD_PLACE(name, method, path, tab, flags)                                                   \
    [CD__WH_AT_##name] = {CD_HTTP_##method, path, flags, &cd__wpage_at_##name},
#include "services/webhook/pages/places.def"
#undef CD_PLACE
};

/* ---- values ---- */

static const char *value_of(cd__wpage_visit *v, cd_bytes text, const char *name, usize max)
{
    cd_buf out = {0};
    (void)cd_web_query(&out, text, name, max);
    const char *s = cd_arena_str(&v->mem, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return s;
}

const char *cd__wpage_arg(cd__wpage_visit *v, const char *name, usize max)
{
    return value_of(v, cd_http_req_query(v->req), name, max);
}

const char *cd__wpage_field(cd__wpage_visit *v, const char *name, usize max)
{
    return value_of(v, v->form, name, max);
}

/* ---- sessions ---- */

cd_bytes cd__wpage_cookie(cd__wpage_visit *v, const char *name)
{
    cd_bytes rest = cd_http_req_header(v->req, "cookie");
    usize len = strlen(name);
    while (rest.n != 0) {
        const u8 *semi = memchr(rest.p, ';', rest.n);
        usize n = semi == NULL ? rest.n : (usize)(semi - rest.p);
        cd_bytes part = cd_bytes_sub(rest, 0, n);
        while (part.n != 0 && part.p[0] == ' ') {
            part = cd_bytes_sub(part, 1, part.n - 1);
        }
        if (part.n > len && memcmp(part.p, name, len) == 0 && part.p[len] == '=' &&
            part.n <= COOKIE_MAX) {
            return cd_bytes_sub(part, len + 1, part.n - len - 1);
        }
        n += semi != NULL;
        rest = cd_bytes_sub(rest, n, rest.n - n);
    }
    return (cd_bytes){0};
}

void cd__wpage_csrf_of(char out[CD__WH_CSRF_LEN + 1], cd_bytes cookie)
{
    static const char about[] = "candela webhook form ";
    cd_sha256_ctx ctx;
    cd_hash32 hash;
    cd_sha256_init(&ctx);
    cd_sha256_update(&ctx, cd_bytes_str(about));
    cd_sha256_update(&ctx, cookie);
    cd_sha256_final(&ctx, &hash);
    cd_hex_fmt(out, cd_bytes_of(hash.b, CD__WH_CSRF_LEN / 2));
    out[CD__WH_CSRF_LEN] = '\0';
}

static void set_cookie(cd__wpage_visit *v, const char *value, u32 days)
{
    cd_bytes proto = cd_http_req_header(v->req, "x-forwarded-proto");
    bool is_https = cd_bytes_eq(proto, cd_bytes_str("https"));
    cd_buf line = {0};
    cd_buf_fmt(&line,
               "Set-Cookie: " SESSION "=%s; Path=/; Max-Age=%u; HttpOnly; SameSite=Lax%s\r\n",
               value, days * 86400, is_https ? "; Secure" : "");
    cd_http_req_add_lines(v->req, cd_buf_bytes(&line));
    cd_buf_fini(&line);
}

/* An empty key begins a session of nobody, for the form that signs in. */
void cd__wpage_sign_in(cd__wpage_visit *v, cd_bytes key)
{
    u8 *plain = cd_arena_alloc(&v->mem, SEAL_TIME + 8 + key.n);
    cd_put_be64(plain, v->now_s + (u64)SESSION_DAYS * 86400);
    cd_rng_fill(&v->rng, plain + SEAL_TIME, 8);
    if (key.n != 0) {
        memcpy(plain + SEAL_TIME + 8, key.p, key.n);
    }
    cd_bytes sealed = cd_wh_seal(&v->mem, v->pages->cfg.master_key,
                                 cd_bytes_of(plain, SEAL_TIME + 8 + key.n), "session");
    cd_wipe(plain, SEAL_TIME + 8 + key.n);
    char *text = cd_arena_alloc(&v->mem, 2 * sealed.n + 1);
    cd_hex_fmt(text, sealed);
    text[2 * sealed.n] = '\0';
    set_cookie(v, text, SESSION_DAYS);
    cd__wpage_csrf_of(v->csrf, cd_bytes_of(text, 2 * sealed.n));
}

bool cd__wpage_session(cd__wpage_visit *v, cd_bytes *key)
{
    cd_bytes cookie = cd__wpage_cookie(v, SESSION);
    cd_bytes sealed;
    cd_bytes plain;
    if (cookie.n == 0 || cd_hex_parse_prefixed(&sealed, &v->mem, cookie) != CD_OK ||
        cd_wh_unseal(&plain, &v->mem, v->pages->cfg.master_key, sealed, "session", NULL) != CD_OK ||
        plain.n < SEAL_TIME + 8 || cd_be64(plain.p) < v->now_s) {
        return false;
    }
    cd__wpage_csrf_of(v->csrf, cookie);
    *key = cd_bytes_sub(plain, SEAL_TIME + 8, plain.n - SEAL_TIME - 8);
    return true;
}

/* ---- the way of a visit ---- */

void cd__wpage_visit_end(cd__wpage_visit *v)
{
    if (v->to != NULL) {
        cd_buf_clear(cd_http_req_out(v->req));
        cd_web_redirect(v->req, v->to);
    } else {
        cd_web_reply_page(v->req, v->status);
    }
    cd_list_del(&v->link);
    cd_buf_fini(&v->bar);
    cd_arena_fini(&v->mem);
    cd_free(v);
}

static void tell_engine(cd__wpage_visit *v)
{
    const cd_wh_engine *e = v->pages->cfg.engine;
    if (v->gone) {
        e->gone(e->ctx, v->hook.key);
    }
    if (v->changed) {
        e->changed(e->ctx, &v->hook);
    }
    for (usize i = 0; i < v->others_cnt; i++) {
        e->changed(e->ctx, &v->others[i]);
    }
    if (v->draft.ops_is == CD_WH_OPS_GONE) {
        e->gone(e->ctx, v->draft.ops.key);
    } else if (v->draft.ops_is != CD_WH_OPS_SAME) {
        e->changed(e->ctx, &v->draft.ops);
    }
    if (v->due) {
        e->due(e->ctx);
    }
    v->draft.ops_is = CD_WH_OPS_SAME;
    v->others_cnt = 0;
    v->gone = v->changed = v->due = false;
}

static void fail(cd__wpage_visit *v)
{
    v->to = NULL;
    if (v->job.err == CD_ENOENT) {
        cd__wpage_page_message(v, 404, "Not found",
                               "No webhook, delivery or key of this project has this address.");
    } else {
        cd_log_error(v->pages->cfg.log, "page failed", CD_F("why", v->job.why.msg));
        cd__wpage_page_message(v, 500, "That failed", "Nothing was changed. The log says why.");
    }
    cd__wpage_visit_end(v);
}

static void on_done(cd_wh_job *job)
{
    cd__wpage_visit *v = cd_list_of(job, cd__wpage_visit, job);
    if (job->err != CD_OK) {
        fail(v);
        return;
    }
    tell_engine(v);
    if (places[v->place].steps->after != NULL) {
        places[v->place].steps->after(v);
    }
    if (!v->is_async) {
        cd__wpage_visit_end(v);
    }
}

static cd_err on_run(cd_wh_job *job, cd_wh_store *s, cd_errinfo *why)
{
    cd__wpage_visit *v = cd_list_of(job, cd__wpage_visit, job);
    cd_buf_clear(v->h.out); /* it may be another try */
    return places[v->place].steps->run(v, s, why);
}

static void post(cd__wpage_visit *v)
{
    v->job = (cd_wh_job){.run = on_run, .done = on_done};
    if ((places[v->place].flags & P_WRITE) != 0) {
        cd_wh_db_write(v->pages->cfg.db, &v->job);
    } else {
        cd_wh_db_read(v->pages->cfg.db, &v->job);
    }
}

typedef struct again {
    cd_wh_job job;
    cd__wpage_visit *v;
    cd_err (*run)(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why);
} again;

static cd_err run_again(cd_wh_job *job, cd_wh_store *s, cd_errinfo *why)
{
    again *g = cd_list_of(job, again, job);
    return g->run(g->v, s, why);
}

static void done_again(cd_wh_job *job)
{
    again *g = cd_list_of(job, again, job);
    g->v->job.err = job->err;
    g->v->job.why = job->why;
    if (job->err != CD_OK) {
        fail(g->v);
    } else {
        cd__wpage_visit_end(g->v);
    }
}

void cd__wpage_visit_again(cd__wpage_visit *v,
                           cd_err (*run)(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why))
{
    again *g = cd_arena_new(&v->mem, again);
    g->v = v;
    g->run = run;
    g->job = (cd_wh_job){.run = run_again, .done = done_again};
    cd_wh_db_read(v->pages->cfg.db, &g->job);
}

static void on_checked(void *arg, const char *refusal)
{
    cd__wpage_visit *v = arg;
    v->refusal = refusal == NULL ? "" : cd_arena_str(&v->mem, cd_bytes_str(refusal));
    post(v);
}

static void begin(cd__wpage_visit *v)
{
    const cd__wpage_page_steps *steps = places[v->place].steps;
    if (steps->begin != NULL && !steps->begin(v)) {
        return;
    }
    if (v->check_url != NULL) {
        const cd_wh_engine *e = v->pages->cfg.engine;
        e->check_url(e->ctx, v->check_url, on_checked, v);
    } else if (steps->run == NULL) {
        cd__wpage_visit_end(v);
    } else {
        post(v);
    }
}

static void copy_account(cd__wpage_visit *v, const cd_wh_account *from)
{
    cd_wh_account *to = &v->account;
    *to = *from;
    to->key.id = cd_arena_str(&v->mem, cd_bytes_str(from->key.id));
    to->key.label = to->key.last4 = "";
    to->project.id = cd_arena_str(&v->mem, cd_bytes_str(from->project.id));
    to->project.name = cd_arena_str(&v->mem, cd_bytes_str(from->project.name));
    to->project.tier = cd_arena_str(&v->mem, cd_bytes_str(from->project.tier));
    to->project.email = cd_arena_str(&v->mem, cd_bytes_str(from->project.email));
    to->key.project = to->project.id;
    v->face = cd_wh_face_api_of(to->project.face);
    v->read.face = v->account.project.face;
}

static void on_account(void *arg, const cd_wh_account *found)
{
    cd__wpage_visit *v = arg;
    if (found == NULL) {
        v->to = "/sign-in";
        cd__wpage_visit_end(v);
        return;
    }
    copy_account(v, found);
    if ((places[v->place].flags & P_RIGHT) != 0 && !v->account.key.may_write) {
        cd__wpage_page_message(v, 403, "This key may only read",
                               "Sign in with a key that may write to do this.");
        cd__wpage_visit_end(v);
        return;
    }
    begin(v);
}

/* A form carries the token of the session; constant time, as the token is a secret. */
static bool has_token(cd__wpage_visit *v)
{
    const char *token = cd__wpage_field(v, "csrf", CD__WH_CSRF_LEN + 1);
    return strlen(token) == CD__WH_CSRF_LEN && cd_ct_eq(token, v->csrf, CD__WH_CSRF_LEN);
}

static void visit(cd_wh_pages *p, cd_http_req *r, cd__wpage_place place, cd_bytes params[2])
{
    cd__wpage_visit *v = cd_new(cd__wpage_visit);
    *v = (cd__wpage_visit){.pages = p, .req = r, .place = place, .status = 200, .rng = cd_rng_os()};
    cd_list_push_back(&p->visits, &v->link);
    v->now_s = cd_clock_wall_s(p->cfg.clock);
    v->h = (cd_html){.out = cd_http_req_out(r)};
    v->id = params[0].n == 0 ? NULL : cd_arena_str(&v->mem, params[0]);
    v->sub = params[1].n == 0 ? NULL : cd_arena_str(&v->mem, params[1]);
    v->form = cd_http_req_body(r);
    v->refusal = "";
    v->read = (cd_wh_read){.mem = &v->mem,
                           .rng = &v->rng,
                           .chain = p->cfg.engine->chain,
                           .chain_ctx = p->cfg.engine->ctx,
                           .brand = p->cfg.brand,
                           .now_s = v->now_s};
    cd_bytes key;
    bool has_session = cd__wpage_session(v, &key);
    if (places[place].method == CD_HTTP_POST && (!has_session || !has_token(v))) {
        cd__wpage_page_message(v, 403, "This form is no longer valid",
                               "The session has ended or began elsewhere. Sign in and try again.");
        cd__wpage_visit_end(v);
    } else if ((places[place].flags & P_FREE) != 0) {
        begin(v);
    } else if (!has_session) {
        v->to = "/sign-in";
        cd__wpage_visit_end(v);
    } else {
        cd_wh_api_account(p->cfg.api, key, on_account, v);
    }
}

/* ---- places ---- */

bool cd_wh_pages_take(cd_wh_pages *p, cd_http_req *r)
{
    static const cd_bytes assets = {.p = (const u8 *)ASSETS, .n = sizeof ASSETS - 1};
    cd_bytes path = cd_http_req_path(r);
    cd_http_method method = cd_http_req_method(r);
    if (path.n > assets.n && memcmp(path.p, assets.p, assets.n) == 0) {
        return cd_web_reply_asset(r, cd_bytes_sub(path, assets.n, path.n - assets.n));
    }
    method = method == CD_HTTP_HEAD ? CD_HTTP_GET : method;
    for (u32 i = 0; i < CD__WH_PLACES_CNT; i++) {
        cd_bytes params[2] = {{0}};
        if (places[i].method == method && cd_wh_path_fits(places[i].path, path, params)) {
            visit(p, r, (cd__wpage_place)i, params);
            return true;
        }
    }
    return false;
}

/* ---- life ---- */

cd_wh_pages *cd_wh_pages_new(const cd_wh_pages_cfg *cfg)
{
    cd_wh_pages *p = cd_new(cd_wh_pages);
    p->cfg = *cfg;
    p->cfg.clock = cfg->clock == NULL ? cd_clock_real() : cfg->clock;
    p->cfg.brand = cfg->brand == NULL ? "Svc" : cfg->brand;
    cd_list_init(&p->visits);
    p->tail = cd_sse_new(cfg->loop, &(cd_sse_cfg){0}, cd_clock_wall_ns(p->cfg.clock));
    return p;
}

void cd_wh_pages_free(cd_wh_pages *p)
{
    if (p == NULL) {
        return;
    }
    cd_sse_free(p->tail);
    cd_free(p);
}
