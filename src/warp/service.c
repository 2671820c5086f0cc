#include "warp/service.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "codec/api_json.h"
#include "rpc/named.h"

struct cd_warp_service {
    cd_warp *warp;
    cd_rpc_table *table;
    cd_rpc_service rpc;
};

#define X CD_RPC_NAMED_DECL
#include "warp/service.def"
#undef X

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "warp/service.def"
#undef X
};

static const char *id_text(cd_rpc_call *call, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    const char *s = cd_arena_str(call->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return s;
}

/* --- answers --- */

cd_err cd_warp_say_message(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_hash32 *id)
{
    cd_err e = cd_warp_find(w, out, id);
    if (e != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "failed to get message %s with error %s", id_text(call, id),
                           e == CD_ENOENT ? "not found" : cd_err_str(e));
    }
    return CD_OK;
}

cd_err cd_warp_say_signature(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_hash32 *id)
{
    cd_buf message = {0};
    cd_errinfo why = {0};
    u8 sig[CD_WARP_SIG_LEN];
    cd_err e = cd_warp_say_message(call, w, &message, id);
    if (e == CD_OK && cd_warp_sign(w, sig, cd_buf_bytes(&message), (cd_bytes){0}, &why) != 0) {
        e = cd_rpc_fail(call, CD_RPC_SERVER, "failed to get signature for message %s with error %s", id_text(call, id),
                        why.msg);
    }
    if (e == CD_OK) {
        cd_buf_put(out, cd_bytes_of(sig, sizeof sig));
    }
    cd_buf_fini(&message);
    return e;
}

cd_err cd_warp_say_block_signature(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_hash32 *block)
{
    cd_buf message = {0};
    cd_errinfo why = {0};
    u8 sig[CD_WARP_SIG_LEN];
    cd_warp_block_message(w, &message, block);
    i32 code = cd_warp_sign(w, sig, cd_buf_bytes(&message), (cd_bytes){0}, &why);
    cd_buf_fini(&message);
    if (code != 0) {
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "failed to get signature for block %s with error failed to validate block message: %d: %s",
                           id_text(call, block), (int)code, why.msg);
    }
    cd_buf_put(out, cd_bytes_of(sig, sizeof sig));
    return CD_OK;
}

static void wish_arm(void *ctx, void (*resume)(void *arg), void *arg)
{
    cd_warp_wish_arm(ctx, resume, arg);
}

static void wish_drop(void *ctx)
{
    cd_warp_wish_drop(ctx);
}

static cd_err take(cd_rpc_call *call, cd_warp_wish *wish, cd_buf *out)
{
    cd_errinfo why = {0};
    cd_err e = cd_warp_wish_take(wish, out, &why);
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why.msg);
}

cd_err cd_warp_say_collected(cd_rpc_call *call, cd_warp *w, cd_buf *out, const cd_warp_want *want)
{
    cd_errinfo why = {0};
    cd_warp_wish *wish;
    if (call->wait != NULL && call->wait->ctx != NULL) {
        wish = call->wait->ctx;
        call->wait->ctx = NULL;
        return take(call, wish, out);
    }
    cd_err e = cd_warp_collect(w, &wish, want, &why);
    if (e != CD_OK) {
        return cd_rpc_fail(call, e == CD_EFULL ? CD_RPC_BUSY : CD_RPC_SERVER, "%s", why.msg);
    }
    if (cd_warp_wish_is_done(wish)) {
        return take(call, wish, out);
    }
    if (call->wait == NULL) {
        cd_warp_wish_drop(wish); /* what is collected is kept for who asks again */
        return cd_rpc_fail(call, CD_RPC_BUSY, "signatures are being collected: ask again, outside of a batch");
    }
    *call->wait = (cd_rpc_wait){.arm = wish_arm, .drop = wish_drop, .ctx = wish};
    return CD_EAGAIN;
}

cd_err cd_warp_net_of(cd_rpc_call *call, const cd_warp *w, cd_hash32 *out, cd_bytes text)
{
    enum { SHOWN_MAX = 200 };
    *out = cd_warp_ctx(w)->subnet_id;
    if (text.n != 0 && cd_id_parse(out, text, NULL) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "failed to parse subnetID: \"%.*s\"",
                           (int)cd_min_u64(text.n, SHOWN_MAX), (const char *)text.p);
    }
    return CD_OK;
}

/* --- the service --- */

static cd_warp *warp_of(const cd_rpc_call *call)
{
    return ((const cd_warp_service *)call->ctx)->warp;
}

static cd_err bytes_of(cd_rpc_call *call, cd_bytes *out, cd_bytes text, const char *what)
{
    if (text.n != 0 && cd_hex_parse_prefixed(out, call->arena, text) != CD_OK) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "%s: not bytes in hex, as in 0x00ff", what);
    }
    return CD_OK;
}

/* The message itself, or the one of an ID. */
static cd_err message_of(cd_rpc_call *call, cd_bytes *out, const cd_hash32 *id, cd_bytes text)
{
    cd_buf message = {0};
    if (text.n != 0) {
        return bytes_of(call, out, text, "message");
    }
    if (cd_hash32_is_zero(id)) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "argument 'messageID' or 'message' not given");
    }
    cd_err e = cd_warp_say_message(call, warp_of(call), &message, id);
    if (e == CD_OK) {
        *out = cd_arena_dup(call->arena, cd_buf_bytes(&message));
    }
    cd_buf_fini(&message);
    return e;
}

static cd_err say(cd_rpc_call *call, cd_err e, const char *key, cd_buf *bytes)
{
    if (e == CD_OK) {
        cd_buf hex = {0};
        cd_hex_put(&hex, cd_buf_bytes(bytes));
        cd_json_w_obj(call->out);
        cd_json_put_str(call->out, key, cd_buf_bytes(&hex));
        cd_json_w_obj_end(call->out);
        cd_buf_fini(&hex);
    }
    cd_buf_fini(bytes);
    return e;
}

cd_err cd__warp_message(cd_rpc_call *call)
{
    const cd__warp_message_args *args = call->args;
    cd_buf out = {0};
    cd_err e = cd_warp_say_message(call, warp_of(call), &out, &args->message_id);
    return say(call, e, "message", &out);
}

cd_err cd__warp_message_signature(cd_rpc_call *call)
{
    const cd__warp_message_signature_args *args = call->args;
    cd_bytes message = {0};
    cd_bytes justification = {0};
    cd_errinfo why = {0};
    cd_buf out = {0};
    CD_TRY(message_of(call, &message, &args->message_id, args->message));
    CD_TRY(bytes_of(call, &justification, args->justification, "justification"));
    i32 code = cd_warp_sign(warp_of(call), cd_buf_extend(&out, CD_WARP_SIG_LEN), message, justification, &why);
    cd_err e = code == 0
                   ? CD_OK
                   : cd_rpc_fail(call, CD_RPC_SERVER, "failed to get signature with error %d: %s", (int)code, why.msg);
    return say(call, e, "signature", &out);
}

cd_err cd__warp_block_signature(cd_rpc_call *call)
{
    const cd__warp_block_signature_args *args = call->args;
    cd_buf out = {0};
    cd_err e = cd_warp_say_block_signature(call, warp_of(call), &out, &args->block_id);
    return say(call, e, "signature", &out);
}

cd_err cd__warp_message_aggregate(cd_rpc_call *call)
{
    const cd__warp_message_aggregate_args *args = call->args;
    cd_warp_want want = {.quorum = args->quorum};
    cd_buf out = {0};
    CD_TRY(message_of(call, &want.message, &args->message_id, args->message));
    CD_TRY(bytes_of(call, &want.justification, args->justification, "justification"));
    CD_TRY(cd_warp_net_of(call, warp_of(call), &want.subnet, args->net_id));
    cd_err e = cd_warp_say_collected(call, warp_of(call), &out, &want);
    return say(call, e, "message", &out);
}

cd_err cd__warp_block_aggregate(cd_rpc_call *call)
{
    const cd__warp_block_aggregate_args *args = call->args;
    cd_warp_want want = {.quorum = args->quorum};
    cd_buf message = {0};
    cd_buf out = {0};
    CD_TRY(cd_warp_net_of(call, warp_of(call), &want.subnet, args->net_id));
    cd_warp_block_message(warp_of(call), &message, &args->block_id);
    want.message = cd_buf_bytes(&message);
    cd_err e = cd_warp_say_collected(call, warp_of(call), &out, &want);
    cd_buf_fini(&message);
    return say(call, e, "message", &out);
}

cd_warp_service *cd_warp_service_new(cd_warp *w)
{
    cd_warp_service *s = cd_new(cd_warp_service);
    s->warp = w;
    s->table = cd_rpc_table_new(NULL, 0);
    cd_rpc_table_add(s->table, methods, CD_COUNT(methods));
    s->rpc = (cd_rpc_service){.form = CD_RPC_JSON2, .table = s->table, .ctx = s};
    return s;
}

void cd_warp_service_free(cd_warp_service *s)
{
    if (s != NULL) {
        cd_rpc_table_free(s->table);
        cd_free(s);
    }
}

const cd_rpc_service *cd_warp_service_rpc(const cd_warp_service *s)
{
    return &s->rpc;
}
