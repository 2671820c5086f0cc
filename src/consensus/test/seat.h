/* A VM's host without a node: an engine of one node, called where it stands. Test code. */
#ifndef CD_CONSENSUS_TEST_SEAT_H
#define CD_CONSENSUS_TEST_SEAT_H

#include "consensus/solo.h"

typedef struct seat {
    cd_vm_host host; /* first: for the VM's context */
    cd_engine *engine;
} seat;

CD_INLINE void seat_notify(cd_vm_host *host, cd_vm_event event)
{
    const seat *s = (seat *)(void *)host;
    s->engine->ops->notify(s->engine, event);
}

CD_INLINE cd_err seat_produce(cd_vm_host *host, cd_errinfo *why)
{
    const seat *s = (seat *)(void *)host;
    return s->engine->ops->produce(s->engine, why);
}

CD_INLINE cd_err seat_rewind(cd_vm_host *host, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    const seat *s = (seat *)(void *)host;
    return s->engine->ops->rewind(s->engine, job, arg, why);
}

/* Begins a seat for a VM whose store is all of kv. */
CD_INLINE void seat_init(seat *s, cd_kv *kv)
{
    *s = (seat){.host = {.notify = seat_notify, .produce = seat_produce, .rewind = seat_rewind}};
    s->engine = cd_solo_new(&(cd_solo_cfg){.door = {.store = kv, .chain = kv, .sync = CD_KV_NOSYNC}, .name = "test"});
}

CD_INLINE cd_err seat_start(seat *s, cd_vm *vm, cd_errinfo *why)
{
    return s->engine->ops->start(s->engine, vm, why);
}

/* Ends the seat, before the VM is closed. */
CD_INLINE void seat_fini(seat *s)
{
    s->engine->ops->stop(s->engine);
    cd_solo_free(s->engine);
}

#endif
