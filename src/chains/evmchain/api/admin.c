/* admin_ methods, and those of debug_ that steer the process. [spec:eth-rpc#4] */
#include "base/fileio.h"
#include "base/log.h"
#include "chains/evmchain/evm_vm_priv.h"
#include "codec/gzip.h"

enum { PIECE = 1 << 20, FILE_MODE = 0644 };

/* Blocks [first, last] one after another; compressed, each piece is a member of the gzip file. */
static cd_err write_blocks(cd_rpc_call *call, cd_fs_out *file, bool gzip, u64 first, u64 last,
                           cd_errinfo *why)
{
    cd_view *view = cd__api_view(call);
    cd_arena block = {0};
    cd_buf piece = {0};
    cd_buf packed = {0};
    cd_err e = CD_OK;
    for (u64 i = first; e == CD_OK && i <= last; i++) {
        const cd_accepted *acc;
        e = cd_rpc_is_late(call) ? CD_ETIMEOUT : cd_view_block(view, &acc, &block, i);
        if (e != CD_OK) {
            break;
        }
        cd_buf_put(&piece, acc->rlp);
        cd_arena_reset(&block);
        if (piece.n < PIECE && i != last) {
            continue;
        }
        if (gzip) {
            cd_gzip_enc(&packed, cd_buf_bytes(&piece), CD_GZIP_SMALL);
        }
        e = cd_fs_out_put(file, cd_buf_bytes(gzip ? &packed : &piece), why);
        cd_buf_clear(&piece);
        cd_buf_clear(&packed);
    }
    cd_arena_fini(&block);
    cd_buf_fini(&piece);
    cd_buf_fini(&packed);
    return e;
}

/* The numbers of a range that may leave out its end, or both. */
static cd_err read_range(cd_rpc_call *call, u64 *first, u64 *last)
{
    u64 head = cd_view_head(cd__api_view(call))->block.header.number;
    u64 *const ends[] = {first, last};
    *first = 0;
    *last = head;
    if (!cd_rpc_has_arg(call, 1) && cd_rpc_has_arg(call, 2)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "last cannot be specified without first");
    }
    for (usize i = 0; i < CD_COUNT(ends); i++) {
        if (cd_rpc_has_arg(call, i + 1) &&
            cd_json_u64(ends[i], cd_rpc_arg(call, i + 1), NULL) != CD_OK) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                               "invalid argument %zu: json: cannot unmarshal value into Go value "
                               "of type uint64",
                               i + 1);
        }
    }
    if (*first > *last) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "export failed: first (%llu) is greater than last (%llu)",
                           (unsigned long long)*first, (unsigned long long)*last);
    }
    if (*last > head) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "export failed on #%llu: not found",
                           (unsigned long long)cd_max_u64(*first, head + 1));
    }
    return CD_OK;
}

/* A file that exists stays as it is: whoever may call this must not overwrite what is on the machine. */
cd_err cd__admin_export_chain(cd_rpc_call *call)
{
    cd_fs_out file;
    cd_errinfo why = {0};
    cd_bytes path;
    u64 first;
    u64 last;
    if (cd_json_str(&path, cd_rpc_arg(call, 0), NULL) != CD_OK ||
        memchr(path.p, '\0', path.n) != NULL) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: json: cannot unmarshal value into Go value of "
                           "type string");
    }
    CD_TRY(read_range(call, &first, &last));
    bool gzip = path.n >= 3 && memcmp(path.p + path.n - 3, ".gz", 3) == 0;
    cd_err e =
        cd_fs_out_open(&file, cd_fs_real(), cd_arena_str(call->arena, path), FILE_MODE, &why);
    if (e == CD_EEXIST) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "location would overwrite an existing file");
    }
    if (e == CD_OK) {
        e = write_blocks(call, &file, gzip, first, last, &why);
        e = e != CD_OK ? e : cd_fs_out_close(&file, &why);
        if (e != CD_OK) {
            cd_fs_out_drop(&file);
        }
    }
    if (e == CD_ETIMEOUT) {
        return cd_rpc_fail_late(call);
    }
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg[0] != '\0' ? why.msg : cd_err_str(e));
    }
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

/* The levels count as go-ethereum's do: 0 critical, 1 error, 2 warn, 3 info, 4 debug, 5 trace. */
cd_err cd__debug_verbosity(cd_rpc_call *call)
{
    static const cd_log_level levels[] = {CD_LOG_ERROR, CD_LOG_ERROR, CD_LOG_WARN,
                                          CD_LOG_INFO,  CD_LOG_DEBUG, CD_LOG_TRACE};
    cd_logger *log = cd__vm_of(call)->ctx.log;
    u64 level;
    if (cd_json_u64(&level, cd_rpc_arg(call, 0), NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                           "invalid argument 0: json: cannot unmarshal value into Go value of "
                           "type int");
    }
    if (log != NULL) {
        cd_log_set_level(log, levels[cd_min_u64(level, CD_COUNT(levels) - 1)]);
    }
    cd_json_w_null(call->out);
    return CD_OK;
}
