/* The debug methods that leave traces in files: one a transaction, as JSON lines (trace3155.h), below the data
 * directory. Names are go-ethereum's: block_0x<of the block>-<index>-0x<of the transaction>-<number>.
 * [spec:eth-rpc#4] */
#include "base/hex.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/tracers/replay.h"
#include "chains/evmchain/tracers/trace3155.h"
#include "rpc/param.h"

/* The largest trace of one transaction, what is written at a time, and who may read it. */
#define FILE_BYTES_MAX ((u64)1 << 30)
enum { PIECE = 1 << 20, FILE_MODE = 0600, DIR_MODE = 0700 };

typedef struct job {
    cd_rpc_call *call;
    cd_view *view;
    cd_replay *replay;
    const char *dir;
    cd_hash32 only; /* transaction, if has_only */
    bool has_only;
    bool memory;
    bool return_data;
    bool no_stack;
    cd_errinfo why;
} job;

/* A trace on its way to its file. */
typedef struct writer {
    cd_trace3155 trace; /* first: the EVM is given the address of its tracer */
    void (*step)(cd_tracer *t, const cd_trace_step *s);
    cd_rpc_call *call;
    cd_buf text;
    cd_fs_out file;
    u64 size;
    cd_err err;
    cd_errinfo *why;
} writer;

static void flush(writer *w)
{
    w->size += w->text.n;
    if (w->err == CD_OK && w->size > FILE_BYTES_MAX) {
        w->err = cd_fail(w->why, CD_ELIMIT, "the trace of a transaction exceeds 1 GiB");
    }
    if (w->err == CD_OK) {
        w->err = cd_fs_out_put(&w->file, cd_buf_bytes(&w->text), w->why);
    }
    cd_buf_clear(&w->text);
}

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    writer *w = (writer *)t;
    w->step(t, s);
    if (w->text.n >= PIECE) {
        flush(w);
        t->stop = w->err != CD_OK;
    }
}

static bool on_poll(cd_tracer *t)
{
    writer *w = (writer *)t;
    if (cd_rpc_is_late(w->call)) {
        w->err = w->err != CD_OK ? w->err : CD_ETIMEOUT;
        return false;
    }
    return true;
}

/* A file that is not there yet; *path is its name. */
static cd_err open_file(job *j, cd_fs_out *out, const char **path, const cd_block *b, usize idx)
{
    char block[9] = {0};
    char tx[9] = {0};
    cd_err e;
    cd_hex_fmt(block, cd_bytes_of(b->hash.b, 4));
    cd_hex_fmt(tx, cd_bytes_of(b->txs[idx].hash.b, 4));
    cd_rng rng = cd_rng_os();
    do {
        *path = cd_arena_fmt(j->call->arena, "%s/block_0x%s-%zu-0x%s-%llu", j->dir, block, idx, tx,
                             (unsigned long long)cd_rng_below(&rng, UINT32_MAX));
        e = cd_fs_out_open(out, cd_fs_real(), *path, FILE_MODE, &j->why);
    } while (e == CD_EEXIST);
    return e;
}

static cd_err trace_tx(job *j, const cd_block *b, usize idx)
{
    const char *path;
    writer w = {.call = j->call, .why = &j->why};
    CD_TRY(open_file(j, &w.file, &path, b, idx));
    cd_trace3155_init(&w.trace, &w.text);
    w.trace.memory = j->memory;
    w.trace.return_data = j->return_data;
    w.trace.no_stack = j->no_stack;
    w.step = w.trace.tracer.step;
    w.trace.tracer.step = on_step;
    w.trace.tracer.poll = on_poll;
    cd_err e = cd_replay_watch(j->replay, &w.trace.tracer, &j->why);
    flush(&w);
    e = w.err != CD_OK ? w.err : e;
    if (e == CD_OK) {
        e = cd_fs_out_close(&w.file, &j->why);
    }
    cd_buf_fini(&w.text);
    if (e != CD_OK) {
        cd_fs_out_drop(&w.file);
        return e;
    }
    cd_json_w_cstr(j->call->out, path);
    return CD_OK;
}

static cd_err read_flag(job *j, bool *out, const char *name)
{
    cd_json v = cd_json_get(cd_rpc_arg(j->call, 1), name);
    return cd_json_has(v) ? cd_rpc_read_bool(j->call, out, v, 1) : CD_OK;
}

static cd_err read_config(job *j)
{
    cd_json only = cd_json_get(cd_rpc_arg(j->call, 1), "txHash");
    CD_TRY(read_flag(j, &j->memory, "enableMemory"));
    CD_TRY(read_flag(j, &j->return_data, "enableReturnData"));
    CD_TRY(read_flag(j, &j->no_stack, "disableStack"));
    j->has_only = cd_json_has(only);
    return j->has_only ? cd_rpc_read_hash(j->call, &j->only, only, 1) : CD_OK;
}

static cd_err trace_block(job *j)
{
    const cd_accepted *acc;
    cd_hash32 hash;
    const char *dir = cd_api_of(j->call)->dir;
    CD_TRY(cd_rpc_read_hash(j->call, &hash, cd_rpc_arg(j->call, 0), 0));
    CD_TRY(read_config(j));
    if (dir == NULL) {
        return cd_fail(&j->why, CD_EUNSUPPORTED,
                       "there is no data directory to put files into: the node runs in memory");
    }
    cd_err e = cd_view_block_by_hash(j->view, &acc, j->call->arena, &hash);
    if (e == CD_ENOENT) {
        char hex[65] = {0};
        cd_hex_fmt(hex, cd_bytes_of(hash.b, 32));
        return cd_fail(&j->why, e, "block 0x%s not found", hex);
    }
    CD_TRY(e);
    CD_TRY(cd_replay_new(&j->replay, j->view, &acc->block, &j->why));
    j->dir = cd_arena_fmt(j->call->arena, "%s/traces", dir);
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), j->dir, DIR_MODE, &j->why));
    cd_json_w_arr(j->call->out);
    for (usize i = 0; i < acc->block.tx_cnt; i++) {
        if (!j->has_only || cd_hash32_eq(&acc->block.txs[i].hash, &j->only)) {
            CD_TRY(cd_replay_to(j->replay, i, &j->why));
            CD_TRY(trace_tx(j, &acc->block, i));
        }
    }
    cd_json_w_arr_end(j->call->out);
    return CD_OK;
}

cd_err cd__debug_std_trace_block(cd_rpc_call *call)
{
    job j = {.call = call, .view = cd_api_view(call)};
    cd_err e = trace_block(&j);
    cd_replay_free(j.replay);
    if (e == CD_ETIMEOUT) {
        return cd_rpc_fail_late(call);
    }
    return e == CD_OK || call->error_message != NULL
               ? e
               : cd_rpc_fail(call, CD_RPC_SERVER, "%s", j.why.msg[0] != '\0' ? j.why.msg : cd_err_str(e));
}
