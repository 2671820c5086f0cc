#include "rpc/origin.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

enum { SEEN_MAX = 100, ORIGIN_MAX = 200 };

struct cd_rpc_origins {
    cd_logger *log;
    cd_mutex lock; /* guards the members below */
    cd_bytes seen[SEEN_MAX];
    usize seen_cnt;
};

cd_rpc_origins *cd_rpc_origins_new(cd_logger *log)
{
    cd_rpc_origins *o = cd_new(cd_rpc_origins);
    o->log = log;
    cd_mutex_init(&o->lock);
    return o;
}

void cd_rpc_origins_free(cd_rpc_origins *o)
{
    if (o != NULL) {
        for (usize i = 0; i < o->seen_cnt; i++) {
            cd_free((void *)(usize)o->seen[i].p);
        }
        cd_mutex_fini(&o->lock);
        cd_free(o);
    }
}

/* True for the first refusal of an origin. */
static bool is_new(cd_rpc_origins *o, cd_bytes origin)
{
    cd_mutex_lock(&o->lock);
    bool is_known = o->seen_cnt == SEEN_MAX;
    for (usize i = 0; i < o->seen_cnt && !is_known; i++) {
        is_known = cd_bytes_eq(o->seen[i], origin);
    }
    if (!is_known) {
        u8 *copy = cd_alloc(origin.n);
        memcpy(copy, origin.p, origin.n);
        o->seen[o->seen_cnt++] = cd_bytes_of(copy, origin.n);
    }
    cd_mutex_unlock(&o->lock);
    return !is_known;
}

cd_err cd_rpc_origin_check(cd_rpc_call *call, cd_rpc_origins *o)
{
    if (call->foreign.n == 0 || !call->method->acts) {
        return CD_OK;
    }
    cd_bytes origin = cd_bytes_sub(call->foreign, 0, cd_min_u64(call->foreign.n, ORIGIN_MAX));
    if (o != NULL && is_new(o, origin)) {
        cd_log_warn(o->log, "a web page was refused a method that acts without a signature", CD_F("origin", origin),
                    CD_F("method", call->method->name), CD_F("allow_with", "--http-allowed-origins"));
    }
    return cd_rpc_fail(
        call, CD_RPC_UNAUTHORIZED,
        "%s acts without a signature: not for pages of \"%.*s\", unless --http-allowed-origins names them",
        call->method->name, (int)origin.n, (const char *)origin.p);
}
