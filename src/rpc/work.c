#include "rpc/work.h"

#include "base/os/clock.h"

/* What it waited for is of no use to it any more. */
static void drop_wait(cd__rpc_work *w)
{
    const cd_rpc_wait wait = w->req.wait;
    w->req.wait = (cd_rpc_wait){0};
    if (wait.ctx != NULL) {
        wait.drop(wait.ctx);
    }
}

static void refuse(cd__rpc_work *w, cd_err e)
{
    drop_wait(w);
    w->is_refused = !cd__rpc_req_has_begun(&w->req);
    cd_rpc_req_refuse(&w->req, w->out, CD_RPC_BUSY,
                      e == CD_ECLOSED ? "the server is stopping" : "too many requests are waiting");
    w->done(w);
}

/* False: it has to go on in the lane that it now says. */
static bool run(cd__rpc_work *w, bool is_try)
{
    w->req.splices = w->splices;
    w->req.writing = w->lanes->writing;
    w->req.origins = w->lanes->origins;
    w->req.log = w->lanes->log;
    w->req.foreign = w->foreign;
    w->req.may_wait = !is_try;
    w->req.is_waiting = false;
    if (is_try) {
        return cd__rpc_req_try(&w->req, w->out);
    }
    return cd__rpc_req_step(&w->req, w->out);
}

static bool serve(cd__rpc_work *w, bool is_try)
{
    bool is_served;
    if (!w->has_quota) {
        is_served = run(w, is_try);
    } else {
        const cd_clock *clock = cd_clock_real();
        u64 start = cd_clock_mono_ns(clock);
        is_served = run(w, is_try);
        w->cpu_ns += cd_clock_mono_ns(clock) - start;
    }
    if (is_served) {
        drop_wait(w);
        w->done(w);
    }
    return is_served;
}

static void send(cd__rpc_work *w, cd_rpc_lane lane);

/* The call has waited. */
static void resume(void *arg)
{
    cd__rpc_work *w = arg;
    send(w, w->req.lane);
}

/* Serves what this thread may and sends the rest on. */
static void serve_on(cd__rpc_work *w)
{
    if (serve(w, false)) {
        return;
    }
    if (w->req.is_waiting) {
        const cd_rpc_wait wait = w->req.wait;
        wait.arm(wait.ctx, resume, w); /* by now another thread may have it */
    } else {
        send(w, w->req.lane);
    }
}

static void run_serve(cd_rpc_job *job)
{
    serve_on((cd__rpc_work *)(void *)job);
}

static void send(cd__rpc_work *w, cd_rpc_lane lane)
{
    w->job.run = run_serve;
    w->job.kind = w->req.is_batch ? (const void *)w->service : w->req.single.method;
    cd_err e = w->lanes->run(w->lanes->ctx, lane, &w->job);
    if (e != CD_OK) {
        refuse(w, e);
    }
}

void cd__rpc_work_go_on(cd__rpc_work *w)
{
    bool is_here = w->req.lane == CD_RPC_FAST || w->req.lane == CD_RPC_TRY;
    if (!is_here || !serve(w, true)) {
        send(w, w->req.lane);
    }
}

static void parse(cd__rpc_work *w)
{
    u64 now = w->service->limits.duration_ns == 0 ? 0 : cd_clock_mono_ns(cd_clock_real());
    (void)cd_rpc_req_parse(&w->req, w->service, w->session, w->body, now);
}

/* A long body is read by a READ thread, which serves it too unless it is the owner's. */
static void run_parse(cd_rpc_job *job)
{
    cd__rpc_work *w = (cd__rpc_work *)(void *)job;
    parse(w);
    if (w->req.has_subs && w->open != NULL) {
        w->open(w);
    } else if (w->req.lane == CD_RPC_OWNER) {
        send(w, CD_RPC_OWNER);
    } else {
        serve_on(w);
    }
}

void cd__rpc_work_start(cd__rpc_work *w)
{
    w->is_refused = false;
    w->cpu_ns = 0;
    if (w->body.n <= CD__RPC_INLINE_MAX) {
        parse(w);
        if (w->req.has_subs && w->open != NULL) {
            w->open(w);
        } else {
            cd__rpc_work_go_on(w);
        }
        return;
    }
    w->job.run = run_parse;
    w->job.kind = w->service;
    cd_err e = w->lanes->run(w->lanes->ctx, CD_RPC_READ, &w->job);
    if (e != CD_OK) {
        /* Nobody has looked at it yet, so nobody knows its ids. */
        w->req = (cd_rpc_req){.service = w->service, .arena = w->req.arena};
        w->req.error_code = CD_RPC_BUSY;
        w->req.error_message = "too many requests are waiting";
        refuse(w, e);
    }
}
