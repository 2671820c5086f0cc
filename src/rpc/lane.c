#include "rpc/lane.h"

#include "base/mem/mem.h"

#include <stdatomic.h>

cd_rpc_source *cd_rpc_source_new(void)
{
    cd_rpc_source *s = cd_new(cd_rpc_source);
    atomic_init(&s->refs, 1);
    return s;
}

cd_rpc_source *cd_rpc_source_ref(cd_rpc_source *s)
{
    (void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void cd_rpc_source_unref(cd_rpc_source *s)
{
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        cd_free(s);
    }
}
