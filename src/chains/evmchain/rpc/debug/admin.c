/* admin_ methods: blocks to files and back. [spec:eth-rpc#10] */
#include "base/os/fileio.h"
#include "chains/evmchain/core/import.h"
#include "chains/evmchain/rpc/debug/profile.h"
#include "chains/evmchain/rpc/methods.h"
#include "chains/evmchain/rpc/scope.h"
#include "chains/evmchain/rpc/seat.h"
#include "chains/evmchain/rpc/sending/send.h"
#include "codec/gzip.h"
#include "codec/rlp.h"

enum { PIECE = 1 << 20, PIECE_BLOCKS = 64, IMPORT_MAX = 256 << 20, FILE_MODE = 0644 };

/* Blocks [first, last] one after another; compressed, each piece is a member of the gzip file. */
static cd_err write_blocks(cd_rpc_call *call, cd_fs_out *file, bool gzip, u64 first, u64 last, cd_errinfo *why)
{
    cd_view *view = cd_api_view(call);
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
    u64 head = cd_view_head(cd_api_view(call))->block.header.number;
    u64 *const ends[] = {first, last};
    *first = 0;
    *last = head;
    if (!cd_rpc_has_arg(call, 1) && cd_rpc_has_arg(call, 2)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "last cannot be specified without first");
    }
    for (usize i = 0; i < CD_COUNT(ends); i++) {
        if (cd_rpc_has_arg(call, i + 1) && cd_json_u64(ends[i], cd_rpc_arg(call, i + 1), NULL) != CD_OK) {
            return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                               "invalid argument %zu: json: cannot unmarshal value into Go value "
                               "of type uint64",
                               i + 1);
        }
    }
    if (*first > *last) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "export failed: first (%llu) is greater than last (%llu)",
                           (unsigned long long)*first, (unsigned long long)*last);
    }
    if (*last > head) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "export failed on #%llu: not found",
                           (unsigned long long)cd_max_u64(*first, head + 1));
    }
    return CD_OK;
}

static cd_err read_name(cd_rpc_call *call, cd_bytes *out)
{
    if (cd_json_str(out, cd_rpc_arg(call, 0), NULL) == CD_OK) {
        return CD_OK;
    }
    return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS,
                       "invalid argument 0: json: cannot unmarshal value into Go value of type "
                       "string");
}

static bool is_gzip_name(cd_bytes name)
{
    return name.n >= 3 && memcmp(name.p + name.n - 3, ".gz", 3) == 0;
}

/* A file that exists stays as it is: whoever may call this must not overwrite what is on the machine. */
cd_err cd__admin_export_chain(cd_rpc_call *call)
{
    cd_fs_out file;
    cd_errinfo why = {0};
    cd_bytes name;
    const char *path;
    u64 first;
    u64 last;
    CD_TRY(read_name(call, &name));
    CD_TRY(read_range(call, &first, &last));
    CD_TRY(cd__admin_path(call, &path, name));
    cd_err e = cd_fs_out_open(&file, cd_fs_real(), path, FILE_MODE, &why);
    if (e == CD_EEXIST) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "location would overwrite an existing file");
    }
    if (e == CD_OK) {
        e = write_blocks(call, &file, is_gzip_name(name), first, last, &why);
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

/* --- taking in --- */

/* What is left of a file, taken in piece by piece so that others have their turn with the chain. */
typedef struct intake {
    cd_api *e;
    cd_bytes rest;
    u64 head; /* the chain's head after the last piece */
    cd_err err;
    cd_errinfo why;
} intake;

static u64 head_of(const cd_api *e)
{
    return cd_chain_head(e->chain)->header.number;
}

/* Whether the chain has the block already; a bad or another one of its height is an error. */
static cd_err is_there(bool *out, intake *t, cd_bytes raw)
{
    cd_arena a = {0};
    cd_block theirs;
    cd_block ours;
    cd_header_layout layout = cd_chain_rules_of(t->e->chain)->layout;
    cd_err err = cd_block_dec(&theirs, &a, layout, raw, &t->why);
    *out = err == CD_OK && theirs.header.number <= head_of(t->e);
    if (*out) {
        err = cd_chain_block_at(t->e->chain, &ours, NULL, &a, theirs.header.number);
        if (err == CD_OK && !cd_hash32_eq(&ours.hash, &theirs.hash)) {
            err = cd_fail(&t->why, CD_EINVAL, "block %llu is not the one of this chain",
                          (unsigned long long)theirs.header.number);
        }
    }
    cd_arena_fini(&a);
    return err;
}

/* Blocks that are not there yet, as they stand in the file. */
typedef struct batch {
    cd_api *e;
    cd_bytes blocks;
} batch;

static cd_err import(void *arg, cd_errinfo *why)
{
    const batch *b = arg;
    u64 now_ms = cd_clock_wall_ns(b->e->clock) / CD_NS_PER_MS;
    return cd_chain_import(b->e->chain, b->blocks, b->e->workers, now_ms, why);
}

/* On the owner's thread: some blocks, those that are there already passed over. */
static void take_piece(void *arg)
{
    intake *t = arg;
    cd_rlp in = cd_rlp_init(t->rest);
    cd_bytes fresh = {0};
    usize taken = 0;
    bool has = false;
    for (int i = 0; i < PIECE_BLOCKS && t->err == CD_OK && taken < t->rest.n; i++) {
        cd_rlp_item item = cd_rlp_next(&in);
        if (in.err != CD_OK) {
            t->err = cd_fail(&t->why, in.err, "not a list of blocks");
            break;
        }
        t->err = fresh.n == 0 ? is_there(&has, t, item.raw) : CD_OK;
        if (t->err == CD_OK && !has) {
            fresh = cd_bytes_of(fresh.n == 0 ? item.raw.p : fresh.p, fresh.n + item.raw.n);
        }
        taken += item.raw.n;
    }
    if (fresh.n != 0) {
        cd_errinfo why = {0};
        batch b = {.e = t->e, .blocks = fresh};
        cd_err err = cd_api_change(t->e, import, &b, &why);
        cd_err follow = cd_api_follow(t->e); /* blocks that were taken before a bad one stay */
        if (err != CD_OK) {
            t->err = err;
            t->why = why;
        } else if (t->err == CD_OK) {
            t->err = follow;
        }
    }
    t->rest = cd_bytes_sub(t->rest, taken, t->rest.n - taken);
    t->head = head_of(t->e);
}

typedef struct lookup {
    const char *path;
    bool is_file;
} lookup;

static cd_err look(void *ctx, const char *path, cd_fs_kind kind)
{
    lookup *l = ctx;
    l->is_file = l->is_file || (kind == CD_FS_FILE && strcmp(path, l->path) == 0);
    return CD_OK;
}

/* A file right in the folder; a link to one elsewhere is none. */
static cd_err read_blocks(cd_rpc_call *call, cd_buf *out, cd_bytes name)
{
    cd_errinfo why = {0};
    cd_buf packed = {0};
    lookup l = {.path = NULL};
    CD_TRY(cd__admin_path(call, &l.path, name));
    const char *dir = cd_arena_str(call->arena, cd_bytes_of(l.path, (usize)(strrchr(l.path, '/') - l.path)));
    cd_err e = cd_fs_list(cd_fs_real(), dir, look, &l, &why);
    if (e == CD_OK && !l.is_file) {
        e = cd_fail(&why, CD_ENOENT, "%s: no such file", l.path);
    }
    if (e == CD_OK) {
        e = cd_fs_read_file(cd_fs_real(), is_gzip_name(name) ? &packed : out, l.path, IMPORT_MAX, &why);
    }
    if (e == CD_OK && is_gzip_name(name)) {
        e = cd_gzip_dec(out, cd_buf_bytes(&packed), IMPORT_MAX);
    }
    cd_buf_fini(&packed);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg[0] != '\0' ? why.msg : cd_err_str(e));
}

static void write_imported(cd_json_w *w, u64 before, u64 after)
{
    const struct {
        const char *key;
        u64 v;
    } rows[] = {{"blocksImported", after - before}, {"heightBefore", before}, {"heightAfter", after}};
    cd_json_w_obj(w);
    cd_json_w_key(w, "success");
    cd_json_w_bool(w, true);
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd_json_w_key(w, rows[i].key);
        cd_json_w_u64(w, rows[i].v);
    }
    cd_json_w_key(w, "message");
    cd_json_w_cstr(w, after == before ? "nothing new in the file" : "blocks imported");
    cd_json_w_obj_end(w);
}

/* Blocks pass the checks that those of peers pass. A bad one ends it; those in front of it stay. */
cd_err cd__admin_import_chain(cd_rpc_call *call)
{
    cd_api *e = cd_api_of(call);
    cd_buf file = {0};
    cd_bytes name;
    u64 before = cd_view_head(cd_api_view(call))->block.header.number;
    CD_TRY(read_name(call, &name));
    cd_err err = read_blocks(call, &file, name);
    intake t = {.e = e, .rest = cd_buf_bytes(&file), .head = before};
    while (err == CD_OK && t.rest.n != 0) {
        err = cd_rpc_is_late(call) ? cd_rpc_fail_late(call) : cd__api_on_owner(call, take_piece, &t);
        if (err == CD_OK && t.err != CD_OK) {
            err = cd_rpc_fail(call, CD_RPC_SERVER, "import failed at height %llu: %s", (unsigned long long)t.head,
                              t.why.msg[0] != '\0' ? t.why.msg : cd_err_str(t.err));
        }
    }
    cd_buf_fini(&file);
    cd__api_renew(call);
    if (err == CD_OK) {
        write_imported(call->out, before, t.head);
    }
    return err;
}
