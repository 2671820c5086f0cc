/* State summaries, as vm.VM asks for them. Where there are none the answer says so. */
#include "plugin/guest/guest_priv.h"

/* Summaries are served whether or not this VM wants to be synced itself. */
static const cd_vm_sync_ops *sync_of(const cd_guest *g)
{
    return g->vm->ops->sync;
}

void cd__guest_put_progress(const cd_guest *g, cd_json_w *w)
{
    cd_vm_sync_progress p;
    if (g->is_syncing && sync_of(g) != NULL && sync_of(g)->progress != NULL) {
        sync_of(g)->progress(g->vm, &p);
        cd_json_w_key(w, CD_WIRE_SYNC_KEY);
        cd_json_w_obj(w);
        cd_json_put_u64(w, "items", p.items);
        cd_json_put_u64(w, "permille", p.permille);
        cd_json_put_u64(w, "secondsLeft", p.left_s);
        cd_json_w_obj_end(w);
    }
}

cd_err cd__guest_sync_enabled(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_wire_vm_sync_enabled answer = {.enabled = sync_of(g) != NULL && sync_of(g)->is_enabled(g->vm)};
    (void)mem;
    (void)msg;
    (void)why;
    CD_WIRE_PUT(out, vm_sync_enabled, &answer);
    return CD_OK;
}

/* Gives the code of an error that travels in an answer, and CD_OK; another error is given as it is. */
static cd_err sync_code(u32 *code, const cd_vm_sync_ops *sync, cd_err err)
{
    *code = sync == NULL ? CD_WIRE_NO_STATE_SYNC : err == CD_ENOENT ? CD_WIRE_NOT_FOUND : 0;
    return sync == NULL || err == CD_ENOENT ? CD_OK : err;
}

static cd_err summary_put(cd_guest *g, cd_buf *out, cd_arena *mem, bool is_ongoing)
{
    const cd_vm_sync_ops *sync = sync_of(g);
    cd_vm_summary s = {0};
    cd_wire_vm_summary_got answer = {0};
    cd_err err = sync == NULL ? CD_OK : is_ongoing ? sync->ongoing(g->vm, &s, mem) : sync->last(g->vm, &s, mem);
    CD_TRY(sync_code(&answer.err, sync, err));
    if (answer.err == 0) {
        answer =
            (cd_wire_vm_summary_got){.id = cd_bytes_of(s.id.b, sizeof s.id.b), .height = s.height, .bytes = s.bytes};
    }
    CD_WIRE_PUT(out, vm_summary_got, &answer);
    return CD_OK;
}

cd_err cd__guest_ongoing_summary(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    (void)msg;
    (void)why;
    return summary_put(g, out, mem, true);
}

cd_err cd__guest_last_summary(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    (void)msg;
    (void)why;
    return summary_put(g, out, mem, false);
}

cd_err cd__guest_parse_summary(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_sync_ops *sync = sync_of(g);
    cd_wire_vm_bytes req = {0};
    cd_vm_summary s = {0};
    cd_wire_vm_summary_parsed answer = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_bytes, mem, msg, why));
    cd_err err = sync == NULL ? CD_OK : sync->parse(g->vm, &s, mem, req.bytes, why);
    CD_TRY(sync_code(&answer.err, sync, err));
    if (answer.err == 0) {
        answer = (cd_wire_vm_summary_parsed){.id = cd_bytes_of(s.id.b, sizeof s.id.b), .height = s.height};
    }
    CD_WIRE_PUT(out, vm_summary_parsed, &answer);
    return CD_OK;
}

cd_err cd__guest_get_summary(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_sync_ops *sync = sync_of(g);
    cd_wire_vm_height req = {0};
    cd_vm_summary s = {0};
    cd_wire_vm_summary_at answer = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_height, mem, msg, why));
    cd_err err = sync == NULL ? CD_OK : sync->at(g->vm, &s, mem, req.height);
    CD_TRY(sync_code(&answer.err, sync, err));
    if (answer.err == 0) {
        answer = (cd_wire_vm_summary_at){.id = cd_bytes_of(s.id.b, sizeof s.id.b), .bytes = s.bytes};
    }
    CD_WIRE_PUT(out, vm_summary_at, &answer);
    return CD_OK;
}

cd_err cd__guest_accept_summary(cd_guest *g, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_sync_ops *sync = sync_of(g);
    cd_wire_vm_bytes req = {0};
    cd_vm_summary s = {0};
    cd_vm_sync_mode mode = CD_VM_SYNC_SKIPPED;
    cd_wire_vm_summary_accepted answer = {0};
    CD_TRY(CD_WIRE_PARSE(&req, vm_bytes, mem, msg, why));
    cd_err err = sync == NULL ? CD_OK : sync->parse(g->vm, &s, mem, req.bytes, why);
    err = sync == NULL || err != CD_OK ? err : sync->accept(g->vm, &mode, &s, why);
    CD_TRY(sync_code(&answer.err, sync, err));
    answer.mode = answer.err == 0 ? mode : 0;
    g->is_syncing = g->is_syncing || (answer.err == 0 && mode != CD_VM_SYNC_SKIPPED);
    CD_WIRE_PUT(out, vm_summary_accepted, &answer);
    return CD_OK;
}
