#include "chains/evmchain/rpc/debug/trace_chain.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/tracers/replay.h"
#include "rpc/param.h"

#include <stdatomic.h>

/* Chains traced at a time, and notifications that may wait for a client. */
enum { JOBS_MAX = 4, AHEAD = 128 };

struct cd_trace_chains {
    cd_loop *home;
    cd_mutex lock; /* protects the rest */
    cd_list jobs;
    usize cnt; /* jobs that somebody listens to */
    bool is_closing;
};

/* One subscription. Its thread lives until nobody listens any more, then home gives it back. */
typedef struct job {
    cd_clock clock; /* first: the real one, until the job is to stop: then all time is up */
    cd_list link;
    cd_trace_chains *of;
    cd_rpc_topic *topic;
    cd_thread thread;
    cd_view *view;
    cd_arena arena; /* holds opts */
    cd_trace_opts opts;
    u64 from; /* the first block that is traced */
    u64 to;
    atomic_bool must_stop;
    cd_mutex lock;
    cd_cond wake;
} job;

/* --- tracing --- */

static u64 job_mono(const cd_clock *c)
{
    const job *j = (const job *)(const void *)c;
    return atomic_load_explicit(&j->must_stop, memory_order_relaxed) ? UINT64_MAX : cd_clock_mono_ns(cd_clock_real());
}

static u64 job_wall(const cd_clock *c)
{
    (void)c;
    return cd_clock_wall_ns(cd_clock_real());
}

/* Writes what became of the next transaction; false when it is the last that can be traced. */
static bool put_trace(const job *j, cd_json_w *w, cd_replay *r, const cd_tx *tx)
{
    cd_errinfo why = {0};
    cd_buf text = {0};
    cd_json_w result = {.out = &text};
    cd_err e = cd_replay_trace(r, &result, &j->opts, &j->clock, &why);
    cd_json_w_obj(w);
    cd_json_w_key(w, "txHash");
    cd_json_w_hex(w, cd_bytes_of(tx->hash.b, sizeof tx->hash.b));
    if (e == CD_OK) {
        cd_json_w_key(w, "result");
        cd_json_w_raw(w, cd_buf_bytes(&text));
    } else {
        cd_json_w_key(w, "error");
        cd_json_w_cstr(w, why.msg[0] != '\0' ? why.msg : cd_err_str(e));
    }
    cd_json_w_obj_end(w);
    cd_buf_fini(&text);
    return e == CD_OK;
}

static cd_err put_traces(const job *j, cd_json_w *w, const cd_block *b)
{
    cd_replay *r;
    CD_TRY(cd_replay_new(&r, j->view, b, NULL));
    cd_json_w_arr(w);
    for (usize i = 0; i < b->tx_cnt; i++) {
        if (!put_trace(j, w, r, &b->txs[i])) {
            break;
        }
    }
    cd_json_w_arr_end(w);
    cd_replay_free(r);
    return CD_OK;
}

/* Tells of one block. */
static cd_err trace_block(const job *j, u64 number)
{
    const cd_accepted *acc;
    cd_arena a = {0};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_err e = cd_view_block(j->view, &acc, &a, number);
    if (e == CD_OK && (acc->block.tx_cnt != 0 || number == j->to)) {
        cd_json_w_obj(&w);
        cd_json_w_key(&w, "block");
        cd_json_w_qty(&w, number);
        cd_json_w_key(&w, "hash");
        cd_json_w_hex(&w, cd_bytes_of(acc->block.hash.b, sizeof acc->block.hash.b));
        cd_json_w_key(&w, "traces");
        e = put_traces(j, &w, &acc->block);
        cd_json_w_obj_end(&w);
        if (e == CD_OK && !atomic_load(&j->must_stop)) {
            cd_rpc_topic_publish(j->topic, cd_rpc_note_new(&text, ""));
        }
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return e;
}

/* --- the thread --- */

/* Waits until the client has taken most of what it was told; false when it left. */
static bool has_room(job *j)
{
    cd_mutex_lock(&j->lock);
    while (!atomic_load(&j->must_stop) && cd_rpc_topic_pending(j->topic) > AHEAD) {
        cd_cond_wait(&j->wake, &j->lock);
    }
    cd_mutex_unlock(&j->lock);
    return !atomic_load(&j->must_stop);
}

static void job_free(void *ctx)
{
    job *j = ctx;
    cd_rpc_topic_unref(j->topic);
    cd_arena_fini(&j->arena);
    cd_cond_fini(&j->wake);
    cd_mutex_fini(&j->lock);
    cd_free(j);
}

static void job_end(void *ctx)
{
    job *j = ctx;
    cd_thread_join(&j->thread);
    job_free(j);
}

static void run(void *arg)
{
    job *j = arg;
    cd_trace_chains *of = j->of;
    for (u64 n = j->from; n <= j->to && has_room(j); n++) {
        if (trace_block(j, n) != CD_OK) {
            break; /* the store failed: what comes after cannot be told */
        }
    }
    cd_view_unref(j->view);
    cd_mutex_lock(&j->lock);
    while (!atomic_load(&j->must_stop)) {
        cd_cond_wait(&j->wake, &j->lock);
    }
    cd_mutex_unlock(&j->lock);
    cd_mutex_lock(&of->lock);
    bool is_closing = of->is_closing;
    if (!is_closing) {
        cd_list_del(&j->link);
    }
    cd_mutex_unlock(&of->lock);
    if (!is_closing) {
        cd_rpc_topic_after(j->topic, job_end, j);
    }
}

static void stop(job *j)
{
    cd_mutex_lock(&j->lock);
    atomic_store(&j->must_stop, true);
    cd_cond_wake_all(&j->wake);
    cd_mutex_unlock(&j->lock);
}

static void on_idle(void *ctx, cd_rpc_topic *t)
{
    job *j = ctx;
    (void)t;
    cd_mutex_lock(&j->of->lock);
    j->of->cnt--;
    cd_mutex_unlock(&j->of->lock);
    stop(j);
}

static void on_drained(void *ctx, cd_rpc_topic *t)
{
    job *j = ctx;
    (void)t;
    cd_mutex_lock(&j->lock);
    cd_cond_wake_all(&j->wake);
    cd_mutex_unlock(&j->lock);
}

static const cd_rpc_topic_events events = {.idle = on_idle, .drained = on_drained};

/* --- life --- */

cd_trace_chains *cd_trace_chains_new(cd_loop *home)
{
    cd_trace_chains *t = cd_new(cd_trace_chains);
    t->home = home;
    cd_mutex_init(&t->lock);
    cd_list_init(&t->jobs);
    return t;
}

void cd_trace_chains_close(cd_trace_chains *t)
{
    if (t == NULL) {
        return;
    }
    cd_mutex_lock(&t->lock);
    t->is_closing = true;
    cd_mutex_unlock(&t->lock);
    /* From here on the list is this thread's. */
    cd_list_each_safe(it, &t->jobs)
    {
        job *j = cd_list_of(it, job, link);
        cd_list_del(it);
        stop(j);
        cd_thread_join(&j->thread);
        cd_rpc_topic_after(j->topic, job_free, j);
    }
    cd_mutex_fini(&t->lock);
    cd_free(t);
}

/* --- opening --- */

/* The height of a block that is given by number or tag. */
static cd_err read_height(cd_rpc_call *call, u64 *out, usize idx)
{
    cd_block_ref ref;
    bool found;
    CD_TRY(cd_rpc_read_block(call, &ref, cd_rpc_arg(call, idx), idx));
    CD_TRY(cd__api_number(call, out, &found, &ref));
    return found ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "block not found");
}

static cd_err read_range(cd_rpc_call *call, u64 *from, u64 *to)
{
    const cd_view *view = cd_api_view(call);
    u64 start;
    u64 end;
    CD_TRY(read_height(call, &start, 1));
    CD_TRY(read_height(call, &end, 2));
    if (end <= start) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "end block (#%llu) needs to come after start block (#%llu)",
                           (unsigned long long)end, (unsigned long long)start);
    }
    if (start < cd_view_oldest_state(view)) {
        return cd__api_no_state(call, CD_EMISSING, start);
    }
    *from = start + 1;
    *to = end;
    return CD_OK;
}

/* Reads the options into memory of the job's, which outlives the call. */
static cd_err read_opts(cd_rpc_call *call, job *j)
{
    cd_buf text = {0};
    cd_json opts = {0};
    cd_txtracer *tracer = NULL;
    cd_errinfo why = {0};
    cd_err e = CD_OK;
    if (cd_rpc_has_arg(call, 3)) {
        cd_json_raw(&text, cd_rpc_arg(call, 3));
        e = cd_json_parse(&opts, &j->arena, cd_arena_dup(&j->arena, cd_buf_bytes(&text)), 0, &why);
        cd_buf_fini(&text);
    }
    if (e == CD_OK) {
        e = cd_trace_opts_read(&j->opts, &j->arena, opts, &why);
    }
    if (e == CD_OK) { /* an unknown tracer is refused now, not with the first block */
        e = cd_tracer_make(&tracer, j->opts.tracer, j->opts.cfg, &why);
        cd_tracer_free(tracer);
    }
    if (e == CD_ETYPE) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 3: %s", why.msg);
    }
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

/* Lets the job run, if there is room for one more. */
static cd_err start(cd_rpc_call *call, job *j)
{
    cd_trace_chains *t = j->of;
    cd_errinfo why = {0};
    cd_err e = CD_OK;
    cd_mutex_lock(&t->lock);
    bool is_full = t->cnt == JOBS_MAX;
    if (!is_full) {
        e = cd_thread_start(&j->thread, "trace", run, j, &why);
        if (e == CD_OK) {
            cd_list_push_back(&t->jobs, &j->link);
            t->cnt++;
        }
    }
    cd_mutex_unlock(&t->lock);
    if (is_full) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%d chains are being traced already", JOBS_MAX);
    }
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

cd_err cd__trace_chain_open(cd_rpc_call *call, cd_rpc_topic **out)
{
    cd_api *vm = cd_api_of(call);
    u64 from = 0;
    u64 to = 0;
    CD_TRY(read_range(call, &from, &to));
    job *j = cd_new(job);
    j->clock = (cd_clock){.mono_ns = job_mono, .wall_ns = job_wall};
    j->of = vm->service.chains;
    j->from = from;
    j->to = to;
    cd_list_init(&j->link);
    cd_mutex_init(&j->lock);
    cd_cond_init(&j->wake);
    j->topic = cd_rpc_topic_new(j->of->home, &events, j);
    cd_err e = read_opts(call, j);
    if (e == CD_OK) {
        j->view = cd_view_newest(vm->chain);
        e = start(call, j);
    }
    if (e != CD_OK) {
        cd_view_unref(j->view);
        job_free(j);
        return e;
    }
    *out = cd_rpc_topic_ref(j->topic); /* a job lives until somebody has listened and left */
    return CD_OK;
}
