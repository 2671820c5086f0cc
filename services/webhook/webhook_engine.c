/* What routes and pages want from intake and deliverer. */
#include "services/webhook/webhook_priv.h"

#include <stdio.h>

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/list.h"

cd__webhook_chain *cd__webhook_chain_of(cd_webhook *w, const char *name)
{
    for (usize i = 0; i < w->chains_cnt; i++) {
        if (strcmp(w->chains[i].cfg->name, name) == 0) {
            return &w->chains[i];
        }
    }
    return NULL;
}

static const char *trouble(void *ctx)
{
    cd_webhook *w = ctx;
    cd__webhook_trouble(w);
    return w->trouble;
}

/* --- chains --- */

static const char *chain_name(void *ctx, cd_bytes name)
{
    cd_webhook *w = ctx;
    u64 id;
    bool is_number = cd_u64_parse(&id, name) == CD_OK && id != 0;
    for (usize i = 0; i < w->chains_cnt; i++) {
        cd__webhook_chain *c = &w->chains[i];
        if (cd_bytes_eq(name, cd_bytes_str(c->cfg->name)) || (is_number && c->id == id)) {
            return c->cfg->name;
        }
    }
    return NULL;
}

static bool chain_head(void *ctx, cd_wh_head *out, usize idx)
{
    cd_webhook *w = ctx;
    if (idx >= w->chains_cnt) {
        return false;
    }
    cd__webhook_chain *c = &w->chains[idx];
    *out = (cd_wh_head){.chain = c->cfg->name};
    if (c->intake != NULL) {
        cd_wh_intake_state s = cd_wh_intake_look(c->intake);
        out->height = s.height;
        out->lag = s.node.head > s.height ? s.node.head - s.height : 0;
        out->is_connected = s.is_ready && !s.node.is_stopped && s.node.is_heard && !s.is_far;
        memcpy(out->problem, s.problem, sizeof out->problem);
    } else {
        (void)snprintf(out->problem, sizeof out->problem, "the node has not answered yet");
    }
    return true;
}

/* --- addresses of receivers --- */

typedef struct checking {
    cd_wh_checked_fn *fn;
    void *arg;
    char host[CD_WH_HOST_MAX];
} checking;

static const char *refusal_of(cd_err err, const char *host, cd_errinfo *text)
{
    if (err == CD_OK) {
        return NULL;
    }
    cd_fail_at(text, err, __FILE__, __LINE__, "%.100s %s", host,
               err == CD_EACCES   ? "leads to an address that is not allowed"
               : err == CD_ENOENT ? "leads to no address"
                                  : "is not answered for by its name servers");
    return text->msg;
}

static void on_vetted(void *ctx, cd_err err, const cd_wh_addresses *to)
{
    checking *c = ctx;
    cd_errinfo text = {0};
    (void)to;
    c->fn(c->arg, refusal_of(err, c->host, &text));
    cd_free(c);
}

static void check_url(void *ctx, const char *project, const char *url, cd_wh_checked_fn *fn, void *arg)
{
    cd_webhook *w = ctx;
    cd_wh_target target;
    cd_errinfo why = {0};
    cd_err err;
    const cd_wh_addresses *to;
    if (cd_wh_target_parse(&target, w->guard, cd_bytes_str(url), &why) != CD_OK) {
        fn(arg, why.msg);
    } else if (cd_wh_guard_known(w->guard, &target, &err, &to)) {
        fn(arg, refusal_of(err, target.host, &why));
    } else {
        checking *c = cd_new(checking);
        c->fn = fn;
        c->arg = arg;
        memcpy(c->host, target.host, sizeof c->host);
        (void)cd_wh_guard_look_up(w->guard, &target, project, on_vetted, c);
    }
}

/* --- webhooks that change --- */

static void changed(void *ctx, const cd_wh_hook *hook)
{
    cd_webhook *w = ctx;
    cd__webhook_chain *c = cd__webhook_chain_of(w, hook->chain);
    if (c != NULL && c->intake != NULL) {
        cd_wh_intake_put(c->intake, hook);
    }
    cd_wh_deliver_hook(w->deliverer, hook);
}

static void gone(void *ctx, i64 hook)
{
    cd_webhook *w = ctx;
    for (usize i = 0; i < w->chains_cnt; i++) {
        if (w->chains[i].intake != NULL) {
            cd_wh_intake_del(w->chains[i].intake, hook);
        }
    }
    cd_wh_deliver_hook_gone(w->deliverer, hook);
}

static void due(void *ctx)
{
    cd_wh_deliver_due(((cd_webhook *)ctx)->deliverer);
}

/* --- test events --- */

static cd_bytes example(void *ctx, cd_arena *mem, const cd_wh_hook *hook, cd_wh_type type)
{
    cd_webhook *w = ctx;
    cd__webhook_chain *c = cd__webhook_chain_of(w, hook->chain == NULL ? "" : hook->chain);
    c = c == NULL ? &w->chains[0] : c;
    const cd_wh_chain chain = cd__webhook_told(c);
    return cd_wh_event_example(mem, &chain, hook, type, cd_clock_wall_ns(w->cfg.store.clock) / CD_NS_PER_MS).body;
}

typedef struct testing {
    cd_job job;
    cd_webhook *w;
    cd_arena mem;
    cd_wh_event event;
    cd_wh_delivery row;
    cd_wh_tested_fn *fn;
    void *arg;
} testing;

static void testing_end(testing *t)
{
    cd_arena_fini(&t->mem);
    cd_free(t);
}

static void on_tested(void *ctx, const cd_wh_attempt *attempt)
{
    testing *t = ctx;
    t->fn(t->arg, attempt, &t->event.body, attempt == NULL ? "the webhook is gone" : NULL);
    testing_end(t);
}

static cd_err run_test(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    testing *t = cd_list_of(job, testing, job);
    return cd_wh_enqueue_test(s, &t->row, &t->event, why);
}

static void done_test(cd_job *job)
{
    testing *t = cd_list_of(job, testing, job);
    if (job->err != CD_OK || t->w->is_stopping) {
        t->fn(t->arg, NULL, NULL, job->err != CD_OK ? job->why.msg : "the service is stopping");
        testing_end(t);
        return;
    }
    cd_wh_deliver_test(t->w->deliverer, &t->row, on_tested, t);
}

static void test_event(void *ctx, const cd_wh_hook *hook, cd_wh_type type, cd_wh_tested_fn *fn, void *arg)
{
    cd_webhook *w = ctx;
    bool is_target = cd_wh_hook_is_target(hook);
    cd__webhook_chain *c = is_target ? &w->chains[0] : cd__webhook_chain_of(w, hook->chain);
    if (c == NULL) {
        fn(arg, NULL, NULL, "its chain is not followed any more");
        return;
    }
    testing *t = cd_new(testing);
    const cd_wh_chain chain = cd__webhook_told(c);
    t->w = w;
    t->fn = fn;
    t->arg = arg;
    u64 now = cd_clock_wall_ns(w->cfg.store.clock) / CD_NS_PER_MS;
    t->event = is_target ? cd_wh_notice_example(&t->mem, hook, (cd_wh_notice_type)type, now)
                         : cd_wh_event_example(&t->mem, &chain, hook, type, now);
    t->job = (cd_job){.run = run_test, .done = done_test};
    cd_jobs_write(w->db, &t->job);
}

/* --- previews --- */

typedef struct previewing {
    cd_wh_previewed_fn *fn;
    void *arg;
} previewing;

static void on_previewed(void *ctx, const cd_wh_preview *p, const char *reason)
{
    previewing *g = ctx;
    if (p == NULL) {
        g->fn(g->arg, NULL, reason);
    } else {
        const cd_wh_previewed out = {.blocks = p->blocks,
                                     .matched_blocks = p->matched_blocks,
                                     .events = p->events,
                                     .bodies = p->bodies,
                                     .bodies_cnt = p->bodies_cnt};
        g->fn(g->arg, &out, NULL);
    }
    cd_free(g);
}

static void preview(void *ctx, const cd_wh_hook *hook, u32 blocks, cd_wh_previewed_fn *fn, void *arg)
{
    cd_webhook *w = ctx;
    cd__webhook_chain *c = cd__webhook_chain_of(w, hook->chain);
    if (c == NULL || c->intake == NULL || w->is_stopping) {
        fn(arg, NULL, "the node has not answered yet");
        return;
    }
    previewing *g = cd_new(previewing);
    *g = (previewing){.fn = fn, .arg = arg};
    cd_wh_intake_preview(c->intake, hook, blocks, on_previewed, g);
}

void cd__webhook_engine(cd_webhook *w)
{
    w->engine = (cd_wh_engine){
        .ctx = w,
        .trouble = trouble,
        .chain = chain_name,
        .head = chain_head,
        .check_url = check_url,
        .changed = changed,
        .gone = gone,
        .due = due,
        .test = test_event,
        .example = example,
        .preview = preview,
    };
}
