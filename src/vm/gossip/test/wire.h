/* vm/gossip/test/wire.h - a line from one VM to another in a test: what one says, the other hears at once. */
#ifndef CD_VM_GOSSIP_TEST_WIRE_H
#define CD_VM_GOSSIP_TEST_WIRE_H

#include "p2p/sdk.h"
#include "vm/vm.h"

typedef struct wire {
    cd_vm_sender sender; /* first */
    cd_node_id from;     /* the node that speaks */
    cd_vm *to;           /* NULL: nobody listens */
    u32 gossips;
    u32 requests;
    cd_buf said; /* the last message */
} wire;

CD_INLINE wire *wire_of(const cd_vm_sender *s)
{
    return (wire *)(usize)(const void *)s;
}

CD_INLINE void wire_note(wire *w, cd_bytes msg)
{
    cd_buf_clear(&w->said);
    cd_buf_put(&w->said, msg);
}

CD_INLINE void wire_request(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    wire *w = wire_of(s);
    (void)to;
    w->requests++;
    wire_note(w, msg);
    if (w->to != NULL) {
        w->to->ops->app->request(w->to, &w->from, id, UINT64_MAX, msg);
    }
}

CD_INLINE void wire_response(const cd_vm_sender *s, const cd_node_id *to, u32 id, cd_bytes msg)
{
    wire *w = wire_of(s);
    (void)to;
    wire_note(w, msg);
    if (w->to != NULL) {
        w->to->ops->app->response(w->to, &w->from, id, msg);
    }
}

CD_INLINE void wire_error(const cd_vm_sender *s, const cd_node_id *to, u32 id, i32 code, cd_bytes text)
{
    const wire *w = wire_of(s);
    (void)to;
    if (w->to != NULL) {
        w->to->ops->app->failed(w->to, &w->from, id, code, text);
    }
}

CD_INLINE void wire_gossip(const cd_vm_sender *s, const cd_vm_gossip_to *to, cd_bytes msg)
{
    wire *w = wire_of(s);
    (void)to;
    w->gossips++;
    wire_note(w, msg);
    if (w->to != NULL) {
        w->to->ops->app->gossip(w->to, &w->from, msg);
    }
}

CD_INLINE void wire_init(wire *w, u8 from)
{
    *w = (wire){
        .sender = {.request = wire_request, .response = wire_response, .error = wire_error, .gossip = wire_gossip},
        .from = {{from}}};
}

CD_INLINE void wire_fini(wire *w)
{
    cd_buf_fini(&w->said);
}

/* A stranger pushes one thing to a VM. */
CD_INLINE void wire_push(cd_vm *vm, u64 handler, cd_bytes item)
{
    const cd_node_id peer = {{99}};
    cd_buf body = {0};
    cd_buf msg = {0};
    cd_p2p_gossip_put(&body, item);
    cd_p2p_app_put(&msg, handler, cd_buf_bytes(&body));
    vm->ops->app->gossip(vm, &peer, cd_buf_bytes(&msg));
    cd_buf_fini(&body);
    cd_buf_fini(&msg);
}

#endif
