#include "notes.h"

#include "base/mem/mem.h"
#include "base/rd.h"
#include "base/utf8.h"
#include "codec/api_json.h"
#include "crypto/hash/sha2.h"
#include "rpc/named.h"
#include "vm/blocks.h"

/* Bounds of what anybody may send. */
enum { TEXT_MAX = 256, PER_BLOCK = 64, WAITING_MAX = 1024, HEAD = 32 + 8 + 8 + 2 };

/* Tables of the store; the last accepted block's id is under a key of its own. */
enum { BY_ID = 'b', BY_HEIGHT = 'h' };
#define LAST "L"

/* A block: parent, height, time, how many notes, then each with its length in front. */
typedef struct notes_block {
    cd_vm_block pub; /* first */
    u8 bytes[];
} notes_block;

typedef struct notes {
    cd_vm vm; /* first */
    cd_vm_ctx ctx;
    cd_blocks blocks;
    cd_buf waiting[WAITING_MAX]; /* texts that are in no block yet */
    usize waiting_cnt;
    u64 ticks; /* notes of our own; 0: none are made */
    cd_vm_handler handler;
    cd_rpc_service service;
} notes;

static notes *of(void *vm_or_owner)
{
    return vm_or_owner;
}
/* --- bytes --- */

static cd_err check_text(cd_bytes text, cd_errinfo *why)
{
    if (text.n == 0 || text.n > TEXT_MAX || !cd_utf8_is_valid(text)) {
        return cd_fail(why, CD_EINVAL, "a note has 1 to %d bytes of UTF-8", TEXT_MAX);
    }
    return CD_OK;
}

static bool next_note(cd_bytes *rest, cd_bytes *text)
{
    usize n = rest->n < 2 ? SIZE_MAX : cd_be16(rest->p);
    if (n > rest->n || rest->n - n < 2) {
        return false;
    }
    *text = cd_bytes_of(rest->p + 2, n);
    *rest = cd_bytes_of(rest->p + 2 + n, rest->n - 2 - n);
    return true;
}

static cd_bytes notes_of(cd_bytes block)
{
    return cd_bytes_sub(block, HEAD, block.n - HEAD);
}

static void put_head(cd_buf *out, const cd_hash32 *parent, u64 height, u64 time, u16 cnt)
{
    u8 *p = cd_buf_extend(out, HEAD);
    memcpy(p, parent->b, 32);
    cd_put_be64(p + 32, height);
    cd_put_be64(p + 40, time);
    cd_put_be16(p + 48, cnt);
}

static void put_note(cd_buf *out, cd_bytes text)
{
    u8 n[2];
    cd_put_be16(n, (u16)text.n);
    cd_buf_put(out, cd_bytes_of(n, sizeof n));
    cd_buf_put(out, text);
}

/* --- what is a block's own: see vm/blocks.h --- */

static cd_err id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    cd_bytes rest;
    cd_bytes text;
    u32 cnt = 0;
    (void)owner;
    if (bytes.n < HEAD || bytes.n > HEAD + PER_BLOCK * (2 + TEXT_MAX)) {
        return cd_fail(why, CD_EFORMAT, "%zu bytes are no block", bytes.n);
    }
    for (rest = notes_of(bytes); next_note(&rest, &text); cnt++) {
        CD_TRY(check_text(text, why));
    }
    if (rest.n != 0 || cnt != cd_be16(bytes.p + 48) || cnt > PER_BLOCK) {
        return cd_fail(why, CD_EFORMAT, "the notes of a block are not as many as it says");
    }
    cd_sha256(out, bytes);
    return CD_OK;
}

static cd_err decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd_hash32 id;
    CD_TRY(id_of(owner, &id, bytes, why));
    notes_block *b = cd_alloc(sizeof *b + bytes.n);
    memcpy(b->bytes, bytes.p, bytes.n);
    b->pub.id = id;
    memcpy(b->pub.parent.b, b->bytes, 32);
    b->pub.height = cd_be64(b->bytes + 32);
    b->pub.time = cd_be64(b->bytes + 40);
    b->pub.bytes = cd_bytes_of(b->bytes, bytes.n);
    *out = &b->pub;
    return CD_OK;
}

static void free_block(void *owner, cd_vm_block *b)
{
    (void)owner;
    cd_free(b);
}

static cd_bytes key_of(u8 key[33], u8 table, const void *rest, usize n)
{
    key[0] = table;
    memcpy(key + 1, rest, n);
    return cd_bytes_of(key, 1 + n);
}

static cd_err load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    u8 key[33];
    cd_buf bytes = {0};
    cd_err e = cd_kv_get(of(owner)->ctx.kv, &bytes, key_of(key, BY_ID, id->b, sizeof id->b));
    e = e != CD_OK ? e : decode(owner, out, cd_buf_bytes(&bytes), NULL);
    cd_buf_fini(&bytes);
    return e;
}

static cd_err id_at_height(void *owner, cd_hash32 *id, u64 height)
{
    u8 key[33];
    u8 be[8];
    cd_buf v = {0};
    cd_put_be64(be, height);
    cd_err e = cd_kv_get(of(owner)->ctx.kv, &v, key_of(key, BY_HEIGHT, be, sizeof be));
    if (e == CD_OK) {
        memcpy(id->b, v.p, sizeof id->b);
    }
    cd_buf_fini(&v);
    return e;
}

/* A function of block and parent alone: every node must come to the same. */
static cd_err verify(void *owner, cd_vm_block *b, cd_vm_block *parent, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    (void)owner;
    (void)ctx;
    bool is_good = notes_of(b->bytes).n != 0 && (parent == NULL || b->time >= parent->time);
    return is_good ? CD_OK : cd_fail(why, CD_EINVAL, "a block without notes, or older than its parent");
}

static void put_block(cd_kv_batch *batch, const cd_vm_block *b)
{
    u8 key[33];
    u8 be[8];
    cd_put_be64(be, b->height);
    cd_kv_batch_put(batch, key_of(key, BY_ID, b->id.b, sizeof b->id.b), b->bytes);
    cd_kv_batch_put(batch, key_of(key, BY_HEIGHT, be, sizeof be), cd_bytes_of(b->id.b, sizeof b->id.b));
    cd_kv_batch_put(batch, cd_bytes_str(LAST), cd_bytes_of(b->id.b, sizeof b->id.b));
}

/* All that accepting writes, and nothing that anybody sees before it is written. */
static cd_err accept(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    (void)owner;
    (void)why;
    put_block(batch, b);
    return CD_OK;
}

static void drop_waiting(notes *v, usize i)
{
    cd_buf_fini(&v->waiting[i]);
    v->waiting_cnt--;
    memmove(v->waiting + i, v->waiting + i + 1, (v->waiting_cnt - i) * sizeof *v->waiting);
}

/* What is in a block waits no more. */
static cd_err accepted(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    notes *v = owner;
    cd_bytes rest = notes_of(b->bytes);
    (void)why;
    for (cd_bytes text; next_note(&rest, &text);) {
        for (usize i = 0; i < v->waiting_cnt; i++) {
            if (cd_bytes_eq(cd_buf_bytes(&v->waiting[i]), text)) {
                drop_waiting(v, i);
                break;
            }
        }
    }
    return CD_OK;
}

static void reject(void *owner, cd_vm_block *b)
{
    (void)owner;
    (void)b;
}

static const cd_blocks_ops blocks_ops = {
    .id_of = id_of,
    .decode = decode,
    .load = load,
    .id_at_height = id_at_height,
    .free = free_block,
    .verify = verify,
    .accept = accept,
    .accepted = accepted,
    .reject = reject,
};

/* --- the VM: vm/vm.h --- */

static cd_err vm_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    (void)vm;
    (void)state;
    (void)why;
    return CD_OK;
}

/* Is it in a block that is verified, and not decided? */
static bool is_under_way(const notes *v, cd_bytes text)
{
    for (const cd_vm_block *b = cd_blocks_preferred(&v->blocks); b != NULL; b = b->own.above) {
        cd_bytes rest = notes_of(b->bytes);
        for (cd_bytes other; next_note(&rest, &other);) {
            if (cd_bytes_eq(other, text)) {
                return true;
            }
        }
    }
    return false;
}

static u16 put_waiting(const notes *v, cd_buf *out)
{
    u16 cnt = 0;
    for (usize i = 0; i < v->waiting_cnt && cnt < PER_BLOCK; i++) {
        if (!is_under_way(v, cd_buf_bytes(&v->waiting[i]))) {
            put_note(out, cd_buf_bytes(&v->waiting[i]));
            cnt++;
        }
    }
    return cnt;
}

static cd_err vm_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    notes *v = of(vm);
    const cd_vm_block *on = cd_blocks_preferred(&v->blocks); /* NULL: the last accepted block */
    cd_buf bytes = {0};
    (void)ctx;
    put_head(&bytes, on == NULL ? &v->blocks.last : &on->id, (on == NULL ? v->blocks.last_height : on->height) + 1,
             cd_max_u64(on == NULL ? 0 : on->time, cd_clock_wall_s(v->ctx.clock)), 0);
    u16 cnt = put_waiting(v, &bytes);
    if (cnt == 0 && v->ticks != 0) {
        cd_buf tick = {0};
        cd_buf_fmt(&tick, "tick %llu", (unsigned long long)v->ticks++);
        put_note(&bytes, cd_buf_bytes(&tick));
        cd_buf_fini(&tick);
        cnt = 1;
    }
    cd_put_be16(bytes.p + 48, cnt);
    cd_vm_block *b = NULL;
    cd_err e = cnt == 0 ? CD_ENOENT : decode(v, &b, cd_buf_bytes(&bytes), why);
    if (e == CD_OK) {
        cd_blocks_add(&v->blocks, out, b, false);
    }
    cd_buf_fini(&bytes);
    return e;
}

static cd_err vm_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    return cd_blocks_parse(&of(vm)->blocks, out, bytes, why);
}

static cd_err vm_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    return cd_blocks_get(&of(vm)->blocks, out, id);
}

static void vm_release(cd_vm *vm, cd_vm_block *b)
{
    cd_blocks_release(&of(vm)->blocks, b);
}

static cd_err vm_verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    return cd_blocks_verify(&of(vm)->blocks, b, ctx, why);
}

static cd_err vm_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    return cd_blocks_accept(&of(vm)->blocks, b, batch, why);
}

static cd_err vm_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    return cd_blocks_accepted(&of(vm)->blocks, b, why);
}

static cd_err vm_reject(cd_vm *vm, cd_vm_block *b)
{
    return cd_blocks_reject(&of(vm)->blocks, b);
}

static cd_err vm_prefer(cd_vm *vm, const cd_hash32 *id)
{
    return cd_blocks_prefer(&of(vm)->blocks, id);
}

static void vm_last(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    *id = of(vm)->blocks.last;
    *height = of(vm)->blocks.last_height;
}

static cd_err vm_id_at_height(cd_vm *vm, cd_hash32 *id, u64 height)
{
    return id_at_height(vm, id, height);
}

static const cd_vm_handler *vm_handlers(cd_vm *vm, usize *cnt)
{
    *cnt = 1;
    return &of(vm)->handler;
}

static const char *vm_version(cd_vm *vm)
{
    (void)vm;
    return "0.1.0";
}

static void vm_close(cd_vm *vm)
{
    notes *v = of(vm);
    cd_blocks_fini(&v->blocks);
    while (v->waiting_cnt != 0) {
        drop_waiting(v, v->waiting_cnt - 1);
    }
    cd_rpc_table_free((cd_rpc_table *)(usize)v->service.table);
    cd_free(v);
}

static const cd_vm_ops vm_ops = {
    .name = "notes",
    .set_state = vm_set_state,
    .build = vm_build,
    .parse = vm_parse,
    .get = vm_get,
    .release = vm_release,
    .verify = vm_verify,
    .accept = vm_accept,
    .accepted = vm_accepted,
    .reject = vm_reject,
    .set_preference = vm_prefer,
    .last_accepted = vm_last,
    .id_at_height = vm_id_at_height,
    .handlers = vm_handlers,
    .version = vm_version,
    .close = vm_close,
};

/* --- what people ask --- */

cd_err notes_post(cd_vm *vm, cd_bytes text)
{
    notes *v = of(vm);
    CD_TRY(check_text(text, NULL));
    if (v->waiting_cnt == WAITING_MAX) {
        return CD_EFULL;
    }
    v->waiting[v->waiting_cnt] = (cd_buf){0};
    cd_buf_put(&v->waiting[v->waiting_cnt++], text);
    if (v->ctx.host != NULL) {
        v->ctx.host->notify(v->ctx.host, CD_VM_WANTS_BLOCK);
    }
    return CD_OK;
}

#define X CD_RPC_NAMED_DECL
#include "notes.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "notes.def"
#undef X
};

/* Lane OWNER: on the thread that owns the chain, so everything here may be used. */
cd_err notes_rpc_post(cd_rpc_call *call)
{
    const notes_rpc_post_args *args = call->args;
    notes *v = call->ctx;
    cd_err e = notes_post(&v->vm, args->text);
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "no note, or too many wait: %s", cd_err_str(e));
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "waiting", v->waiting_cnt);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err notes_rpc_get(cd_rpc_call *call)
{
    const notes_rpc_get_args *args = call->args;
    cd_hash32 id;
    cd_vm_block *b;
    if (id_at_height(call->ctx, &id, args->height) != CD_OK || load(call->ctx, &b, &id) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "there is no block of that height");
    }
    cd_bytes rest = notes_of(b->bytes);
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "notes");
    cd_json_w_arr(call->out);
    for (cd_bytes text; next_note(&rest, &text);) {
        cd_json_w_str(call->out, text);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    cd_free(b);
    return CD_OK;
}

/* --- begin --- */

/* The first block, made of the genesis. */
static cd_err begin(notes *v, cd_vm_block **out, cd_errinfo *why)
{
    cd_buf bytes = {0};
    cd_kv_batch batch = {0};
    CD_TRY(check_text(v->ctx.genesis, why));
    put_head(&bytes, &(cd_hash32){0}, 0, 0, 1);
    put_note(&bytes, v->ctx.genesis);
    CD_TRY(decode(v, out, cd_buf_bytes(&bytes), why));
    cd_kv_batch_for(&batch, v->ctx.kv);
    put_block(&batch, *out);
    cd_err e = cd_kv_commit(v->ctx.kv, &batch, CD_KV_SYNC, why);
    cd_kv_batch_fini(&batch);
    cd_buf_fini(&bytes);
    return e;
}

/* Where the chain was left, or its beginning. */
static cd_err last_block(notes *v, cd_vm_block **out, cd_errinfo *why)
{
    cd_buf last = {0};
    cd_hash32 id;
    cd_err e = cd_kv_get(v->ctx.kv, &last, cd_bytes_str(LAST));
    if (e == CD_ENOENT) {
        e = begin(v, out, why);
    } else if (e == CD_OK) {
        e = last.n == sizeof id.b ? CD_OK : CD_ECORRUPT;
        memcpy(id.b, last.p, e == CD_OK ? sizeof id.b : 0);
        e = e != CD_OK ? e : load(v, out, &id);
    }
    cd_buf_fini(&last);
    return e;
}

cd_err notes_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why)
{
    notes *v = cd_new(notes);
    cd_vm_block *last = NULL;
    v->vm.ops = &vm_ops;
    v->ctx = *ctx;
    v->ticks = cd_bytes_eq(ctx->genesis, cd_bytes_str("ticks")) ? 1 : 0;
    cd_err e = last_block(v, &last, why);
    if (e != CD_OK) {
        cd_free(last);
        cd_free(v);
        return e;
    }
    cd_rpc_table *table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(table, methods, CD_COUNT(methods));
    v->service = (cd_rpc_service){.form = CD_RPC_JSON2, .table = table, .ctx = v};
    v->handler = (cd_vm_handler){.route = "/rpc", .over = CD_VM_HTTP, .service = &v->service};
    cd_blocks_init(&v->blocks, &blocks_ops, v, &last->id, last->height);
    cd_free(last);
    *out = &v->vm;
    return CD_OK;
}
