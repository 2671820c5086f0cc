#include "chains/evmchain/state_sync.h"

#include "crypto/hash/keccak.h"
#include "vm/gossip/gossip.h"

bool cd_evm_sync_answer(cd_sync_server *s, const cd_vm_sender *sender, const cd_node_id *from, u32 request_id,
                        u64 deadline_ns, cd_bytes msg)
{
    cd_buf out = {0};
    cd_err e = cd_sync_server_answer(s, &out, from, msg, deadline_ns);
    if (e == CD_OK) {
        sender->response(sender, from, request_id, cd_buf_bytes(&out));
    } else if (e == CD_EBUSY) {
        sender->error(sender, from, request_id, CD_P2P_APP_THROTTLED,
                      cd_bytes_str(cd_p2p_app_text(CD_P2P_APP_THROTTLED)));
    } else if (e != CD_ETYPE) {
        sender->error(sender, from, request_id, CD_EVM_SYNC_NOTHING, cd_bytes_str("not available"));
    }
    cd_buf_fini(&out);
    return e != CD_ETYPE;
}

cd_err cd_evm_sync_summary(cd_vm_summary *out, cd_arena *a, const cd_sync_summary *s)
{
    cd_buf bytes = {0};
    cd_sync_summary_put(&bytes, CD_SYNC_L1, s);
    *out = (cd_vm_summary){.height = s->height, .bytes = cd_arena_dup(a, cd_buf_bytes(&bytes))};
    cd_buf_fini(&bytes);
    cd_keccak256(&out->id, out->bytes);
    return CD_OK;
}

bool cd_evm_sync_is_enabled(cd_vm *vm)
{
    (void)vm;
    return false;
}

cd_err cd_evm_sync_ongoing(cd_vm *vm, cd_vm_summary *out, cd_arena *a)
{
    (void)vm;
    (void)out;
    (void)a;
    return CD_ENOENT;
}

/* The two families' differ in length, so either is known by its own. */
cd_err cd_evm_sync_parse(cd_vm *vm, cd_vm_summary *out, cd_arena *a, cd_bytes bytes, cd_errinfo *why)
{
    cd_sync_summary s;
    cd_hash32 id;
    (void)vm;
    cd_err e = cd_sync_summary_parse(&s, &id, CD_SYNC_L1, bytes, NULL);
    if (e != CD_OK) {
        e = cd_sync_summary_parse(&s, &id, CD_SYNC_C, bytes, why);
    }
    if (e == CD_OK) {
        *out = (cd_vm_summary){.id = id, .height = s.height, .bytes = cd_arena_dup(a, bytes)};
    }
    return e;
}

cd_err cd_evm_sync_accept(cd_vm *vm, cd_vm_sync_mode *mode, const cd_vm_summary *s, cd_errinfo *why)
{
    (void)vm;
    (void)s;
    (void)why;
    *mode = CD_VM_SYNC_SKIPPED;
    return CD_OK;
}
