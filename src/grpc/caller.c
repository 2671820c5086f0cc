#include "grpc/caller.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <stdatomic.h>

enum { CLOSING_MS = 1 };

struct cd_grpc_caller {
    cd_mutex turn; /* held by the thread that works the loop */
    cd_loop *loop;
    cd_grpc_client *client;
    atomic_bool is_cut;
    cd_loop_task cut;
    cd_loop_task end;
    cd_timer *closing;
};

/* A call, on the stack of its thread. */
typedef struct turn {
    cd_grpc_ask ask;
    cd_loop_task begin;
    cd_grpc_caller *caller;
} turn;

static void on_cut(cd_loop_task *t)
{
    cd_grpc_client_close(cd_list_of(t, cd_grpc_caller, cut)->client);
}

cd_err cd_grpc_caller_new(cd_grpc_caller **out, const cd_grpc_client_cfg *cfg, const char *addr, cd_errinfo *why)
{
    cd_grpc_caller *c = cd_new(cd_grpc_caller);
    cd_err err = cd_loop_new(&c->loop, why);
    err = err != CD_OK ? err : cd_grpc_client_new(&c->client, c->loop, cfg, addr, why);
    if (err != CD_OK) {
        cd_loop_free(c->loop);
        cd_free(c);
        return err;
    }
    cd_mutex_init(&c->turn);
    c->cut.fn = on_cut;
    *out = c;
    return CD_OK;
}

static void on_begin(cd_loop_task *t)
{
    turn *u = cd_list_of(t, turn, begin);
    cd_grpc_ask_start(u->caller->client, &u->ask);
}

static void on_done(cd_grpc_ask *a)
{
    cd_loop_leave(cd_list_of(a, turn, ask)->caller->loop);
}

cd_err cd_grpc_caller_call(cd_grpc_caller *c, cd_buf *reply, const char *path, cd_buf *msg, u64 timeout_ms,
                           cd_grpc_status *st, cd_errinfo *why)
{
    turn u = {
        .ask = {.path = path, .timeout_ms = timeout_ms, .done = on_done},
        .begin = {.fn = on_begin},
        .caller = c,
    };
    if (msg != NULL) {
        u.ask.msg = *msg;
        *msg = (cd_buf){0};
    }
    cd_mutex_lock(&c->turn);
    cd_loop_run_with(c->loop, &u.begin);
    cd_mutex_unlock(&c->turn);
    cd_err err = cd_grpc_status_err(&u.ask.status, why);
    if (err == CD_OK) {
        cd_buf_fini(reply);
        *reply = u.ask.reply;
        u.ask.reply = (cd_buf){0};
    }
    if (st != NULL) {
        *st = u.ask.status;
        u.ask.status = (cd_grpc_status){0};
    }
    cd_grpc_ask_fini(&u.ask);
    return err;
}

void cd_grpc_caller_cut(cd_grpc_caller *c)
{
    if (!atomic_exchange(&c->is_cut, true)) {
        cd_loop_post(c->loop, &c->cut);
    }
}

static void on_closing(void *ctx)
{
    cd_grpc_caller *c = ctx;
    cd_timer_free(c->closing);
    cd_loop_leave(c->loop);
}

/* Ends the client and gives what that leaves to do a few rounds. */
static void on_end(cd_loop_task *t)
{
    cd_grpc_caller *c = cd_list_of(t, cd_grpc_caller, end);
    cd_grpc_client_free(c->client);
    c->closing = cd_timer_new(c->loop, on_closing, c);
    cd_timer_start(c->closing, CLOSING_MS, 0);
}

void cd_grpc_caller_free(cd_grpc_caller *c)
{
    if (c == NULL) {
        return;
    }
    if (atomic_exchange(&c->is_cut, true)) {
        /* The task that cuts may not have run yet, and comes first. */
        c->end.fn = on_end;
        cd_loop_post(c->loop, &c->end);
        cd_loop_run(c->loop);
    } else {
        c->end.fn = on_end;
        cd_loop_run_with(c->loop, &c->end);
    }
    cd_loop_free(c->loop);
    cd_mutex_fini(&c->turn);
    cd_free(c);
}
