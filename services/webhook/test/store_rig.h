/* services/webhook/test/store_rig.h - a store in a temporary folder, or on a PostgreSQL server of the test's own,
 * with a clock that the test moves. */
#ifndef CD_WEBHOOK_TEST_STORE_RIG_H
#define CD_WEBHOOK_TEST_STORE_RIG_H

#include "services/common/test/engines.h"
#include "services/webhook/core/store/store_priv.h"

#define RIG_T0 ((u64)1768473322000)

typedef struct rig {
    cd_wh_store *s;
    cd_clock_virtual clock;
    cd_arena mem;
    char dir[64];
    char url[256];
    u8 master_key[32];
    bool in_tx;
} rig;

/* rig_open makes an empty store on engine 0 (SQLite) or 1 (PostgreSQL); rig_again closes and opens it as the same
 * worker; rig_another opens it once more as another one. */
void rig_open(rig *r, usize engine);
void rig_again(rig *r);
cd_wh_store *rig_another(rig *r, const char *worker);
void rig_close(rig *r);

/* rig_begin and rig_commit hold a write transaction around calls. */
void rig_begin(rig *r);
void rig_commit(rig *r);

/* rig_hook adds webhook number n ("wh_n") of project "p"; strict or not. rig_event makes event number n of it. */
i64 rig_hook(rig *r, u32 n, bool is_strict);
cd_wh_event rig_event(rig *r, i64 hook, u64 block, u32 n);

/* rig_wait moves the clock. rig_now: milliseconds. */
void rig_wait(rig *r, u64 ms);
u64 rig_now(const rig *r);

/* rig_ok fails the test with the reason. */
#define rig_ok engines_ok

#endif
