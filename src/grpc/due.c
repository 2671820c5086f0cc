#include "grpc/due_priv.h"

static void set(cd__grpc_due *d, u64 at_ms)
{
    u64 now = cd_loop_now_ms(d->loop);
    d->set_ms = at_ms;
    cd_timer_start(d->timer, at_ms > now ? at_ms - now : 0, 0);
}

static void on_timer(void *ctx)
{
    cd__grpc_due *d = ctx;
    cd_list late;
    u64 now = cd_loop_now_ms(d->loop);
    u64 next = UINT64_MAX;
    cd_list_init(&late);
    cd_list_each_safe(at, &d->items)
    {
        cd__grpc_due_item *it = cd_list_of(at, cd__grpc_due_item, link);
        if (it->at_ms <= now) {
            cd_list_del(&it->link);
            cd_list_push_back(&late, &it->link);
        } else {
            next = cd_min_u64(next, it->at_ms);
        }
    }
    d->set_ms = UINT64_MAX;
    if (next != UINT64_MAX) {
        set(d, next);
    }
    for (cd_list *at; (at = cd_list_first(&late)) != NULL;) { /* late() may take other items off this list */
        cd_list_del(at);
        d->late(cd_list_of(at, cd__grpc_due_item, link));
    }
}

void cd__grpc_due_init(cd__grpc_due *d, cd_loop *l, void (*late)(cd__grpc_due_item *it))
{
    d->loop = l;
    d->timer = cd_timer_new(l, on_timer, d);
    d->set_ms = UINT64_MAX;
    d->late = late;
    cd_list_init(&d->items);
}

void cd__grpc_due_fini(cd__grpc_due *d)
{
    cd_timer_free(d->timer);
}

void cd__grpc_due_item_init(cd__grpc_due_item *it)
{
    cd_list_init(&it->link);
}

void cd__grpc_due_add(cd__grpc_due *d, cd__grpc_due_item *it, u64 at_ms)
{
    it->at_ms = at_ms;
    cd_list_push_back(&d->items, &it->link);
    if (at_ms < d->set_ms) {
        set(d, at_ms);
    }
}

void cd__grpc_due_del(cd__grpc_due_item *it)
{
    cd_list_del(&it->link);
}
