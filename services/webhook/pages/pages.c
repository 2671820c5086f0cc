/* The dashboard's way of a request: place, session, job, answer. */
#include "services/webhook/pages/visit.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/api/path.h"
#include "services/webhook/core/store/seal.h"
#include "web/serve.h"

#include <stdio.h>

#define ASSETS "/assets/"

static const struct {
    cd_http_method method;
    const char *path;
    u32 flags;
    const cd__wpage_page_steps *steps;
} places[] = {
#define CD_PLACE(name, method, path, tab, flags)                                                                       \
    [CD__WH_AT_##name] = {CD_HTTP_##method, path, flags, &cd__wpage_at_##name},
#include "services/webhook/pages/places.def"
#undef CD_PLACE
};

/* --- values --- */

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

/* --- who did what --- */

cd_err cd__wpage_audit(cd__wpage_visit *v, cd_wh_store *s, const char *action, const char *target, cd_errinfo *why)
{
    const cd_wh_audit a = {
        .at_ms = v->now_s * 1000,
        .project = v->account.project.id,
        .actor = v->account.key.id,
        .action = action,
        .target = target,
        .address = v->address,
    };
    return cd_wh_audit_add(s, &a, why);
}

/* --- the way of a visit --- */

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

void cd__wpage_store_gone(cd__wpage_visit *v, cd_err err)
{
    cd_http_req_add_lines(v->req, cd_bytes_str("Retry-After: 5\r\n"));
    cd__wpage_page_message(v, 503, "Not now",
                           err == CD_ENOSPC ? "The service has no disk space left. Nothing was changed."
                                            : "The database does not answer. Nothing was changed; try again soon.");
}

static void fail(cd__wpage_visit *v)
{
    v->to = NULL;
    if (v->job.err == CD_ENOENT) {
        cd__wpage_page_message(v, 404, "Not found", "No webhook, delivery or key of this project has this address.");
    } else if (cd_jobs_is_trouble(v->job.err)) {
        cd__wpage_store_gone(v, v->job.err);
    } else {
        cd_log_error(v->pages->cfg.log, "page failed", CD_F("why", v->job.why.msg));
        cd__wpage_page_message(v, 500, "That failed", "Nothing was changed. The log says why.");
    }
    cd__wpage_visit_end(v);
}

static void on_done(cd_job *job)
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

static cd_err on_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd__wpage_visit *v = cd_list_of(job, cd__wpage_visit, job);
    cd_buf_clear(v->h.out); /* it may be another try */
    return places[v->place].steps->run(v, s, why);
}

static void post(cd__wpage_visit *v)
{
    v->job = (cd_job){.run = on_run, .done = on_done, .is_hasty = true};
    if ((places[v->place].flags & P_WRITE) != 0) {
        cd_jobs_write(v->pages->cfg.db, &v->job);
    } else {
        cd_jobs_read(v->pages->cfg.db, &v->job);
    }
}

typedef struct again {
    cd_job job;
    cd__wpage_visit *v;
    cd_err (*run)(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why);
} again;

static cd_err run_again(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    again *g = cd_list_of(job, again, job);
    return g->run(g->v, s, why);
}

static void done_again(cd_job *job)
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

void cd__wpage_visit_again(cd__wpage_visit *v, cd_err (*run)(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why))
{
    again *g = cd_arena_new(&v->mem, again);
    g->v = v;
    g->run = run;
    g->job = (cd_job){.run = run_again, .done = done_again};
    cd_jobs_read(v->pages->cfg.db, &g->job);
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
        e->check_url(e->ctx, v->account.project.id, v->check_url, on_checked, v);
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

static void on_account(void *arg, const cd_wh_account *found, cd_err err)
{
    cd__wpage_visit *v = arg;
    if (found == NULL && err != CD_ENOENT) {
        cd__wpage_store_gone(v, err);
        cd__wpage_visit_end(v);
        return;
    }
    if (found == NULL) {
        v->to = "/sign-in";
        cd__wpage_visit_end(v);
        return;
    }
    copy_account(v, found);
    if ((places[v->place].flags & P_RIGHT) != 0 && !v->account.key.may_write) {
        cd__wpage_page_message(v, 403, "This key may only read", "Sign in with a key that may write to do this.");
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

static void on_session(cd__wpage_visit *v, bool has_session, cd_err err)
{
    if (err != CD_OK) {
        cd__wpage_store_gone(v, err);
        cd__wpage_visit_end(v);
    } else if (places[v->place].method == CD_HTTP_POST && (!has_session || !has_token(v))) {
        cd__wpage_page_message(v, 403, "This form is no longer valid",
                               "The session has ended or began elsewhere. Sign in and try again.");
        cd__wpage_visit_end(v);
    } else if ((places[v->place].flags & P_FREE) != 0) {
        begin(v);
    } else if (!has_session) {
        v->to = "/sign-in";
        cd__wpage_visit_end(v);
    } else {
        cd_wh_api_account(v->pages->cfg.api, v->key, on_account, v);
    }
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
    cd_http_req_peer(r, v->address);
    cd__wpage_session(v, on_session);
}

/* --- places --- */

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

/* --- life --- */

cd_wh_pages *cd_wh_pages_new(const cd_wh_pages_cfg *cfg)
{
    cd_wh_pages *p = cd_new(cd_wh_pages);
    p->cfg = *cfg;
    p->cfg.clock = cfg->clock == NULL ? cd_clock_real() : cfg->clock;
    p->cfg.brand = cfg->brand == NULL ? "Svc" : cfg->brand;
    cd__wpage_sessions_init(p);
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
    cd_wipe(p->session_key, sizeof p->session_key);
    cd_free(p);
}
