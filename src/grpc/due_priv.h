/* grpc/due_priv.h - the deadlines of many calls on one timer.
 *
 * The timer is set for the earliest and only looks through all of them when it fires: most calls are over long before.
 * Threading: confined. */
#ifndef CD_GRPC_DUE_PRIV_H
#define CD_GRPC_DUE_PRIV_H

#include "base/table/list.h"
#include "net/loop.h"

/* A deadline; a member of what it belongs to. */
typedef struct cd__grpc_due_item {
    cd_list link;
    u64 at_ms;
} cd__grpc_due_item;

/* All deadlines. late is called once for each that has passed, after it was taken off the list. */
typedef struct cd__grpc_due {
    cd_loop *loop;
    cd_timer *timer;
    u64 set_ms; /* the time that the timer is set for; UINT64_MAX: it is not set */
    cd_list items;
    void (*late)(cd__grpc_due_item *it);
} cd__grpc_due;

/* cd__grpc_due_init begins, _fini ends the set. _item_init makes an item without a deadline, _add gives it one, _del
 * takes the deadline away. */
void cd__grpc_due_init(cd__grpc_due *d, cd_loop *l, void (*late)(cd__grpc_due_item *it));
void cd__grpc_due_fini(cd__grpc_due *d);
void cd__grpc_due_item_init(cd__grpc_due_item *it);
void cd__grpc_due_add(cd__grpc_due *d, cd__grpc_due_item *it, u64 at_ms);
void cd__grpc_due_del(cd__grpc_due_item *it);

#endif
