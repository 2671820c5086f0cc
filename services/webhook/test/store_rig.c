#include "services/webhook/test/store_rig.h"

#include "base/os/fileio.h"
#include "crypto/hash/sha2.h"

#include <stdio.h>

static cd_wh_store_cfg cfg_of(rig *r, const char *worker)
{
    return (cd_wh_store_cfg){.url = r->url,
                             .worker = worker,
                             .master_key = r->master_key,
                             .clock = &r->clock.clock,
                             .lease_ms = 60000,
                             .ahead = 4};
}

void rig_open(rig *r, usize engine)
{
    memset(r, 0, sizeof *r);
    cd_clock_virtual_init(&r->clock, RIG_T0 * CD_NS_PER_MS);
    engines_dir(r->dir);
    engines_url(r->url, engine, r->dir);
    memset(r->master_key, 7, sizeof r->master_key);
    const cd_wh_store_cfg cfg = cfg_of(r, "one");
    rig_ok(cd__wh_store_open(&r->s, &cfg, true, why));
}

void rig_again(rig *r)
{
    const cd_wh_store_cfg cfg = cfg_of(r, "one");
    cd__wh_store_close(r->s);
    r->s = NULL;
    r->in_tx = false;
    rig_ok(cd__wh_store_open(&r->s, &cfg, true, why));
}

cd_wh_store *rig_another(rig *r, const char *worker)
{
    const cd_wh_store_cfg cfg = cfg_of(r, worker);
    cd_wh_store *s = NULL;
    rig_ok(cd__wh_store_open(&s, &cfg, true, why));
    return s;
}

void rig_close(rig *r)
{
    cd__wh_store_close(r->s);
    cd_arena_fini(&r->mem);
    rig_ok(cd_fs_remove_tree(cd_fs_real(), r->dir, why));
}

void rig_begin(rig *r)
{
    rig_ok(cd__wh_begin(r->s, true, why));
}

void rig_commit(rig *r)
{
    rig_ok(cd__wh_commit(r->s, why));
}

i64 rig_hook(rig *r, u32 n, bool is_strict)
{
    static const u32 selector = 0xa9059cbb;
    cd_wh_project p = {.id = "p", .name = "Project", .tier = "free", .email = "a@b.example"};
    cd_wh_hook h = {
        .id = cd_arena_fmt(&r->mem, "wh_%u", n),
        .project = "p",
        .face = CD_WH_B,
        .name = "",
        .url = "https://receiver.example/hook",
        .chain = "lux",
        .network = "",
        .types = 1u << CD_WH_B_ADDRESS,
        .config = cd_bytes_str("{\"addresses\":[]}"),
        .settings = cd_bytes_str("{}"),
        .secret = cd_bytes_str("whsec_k7m9p2q4r6s8t0v2w4x6y8z0"),
        .created_ms = rig_now(r),
        .updated_ms = rig_now(r),
        .is_strict = is_strict,
        .filter = {.selectors = &selector, .selectors_cnt = 1},
    };
    rig_ok(cd_wh_project_put(r->s, &p, why));
    rig_ok(cd_wh_hook_add(r->s, &h, 0, why));
    return h.key;
}

cd_wh_event rig_event(rig *r, i64 hook, u64 block, u32 n)
{
    cd_wh_event e = {.hook = hook, .type = CD_WH_B_ADDRESS, .block = block, .time_ms = RIG_T0};
    u64 parts[3] = {(u64)hook, block, n};
    cd_hash32 h;
    cd_sha256(&h, cd_bytes_of(parts, sizeof parts));
    memcpy(e.h, h.b, sizeof e.h);
    (void)snprintf(e.id, sizeof e.id, "evt_%llu_%llu_%u", (unsigned long long)hook, (unsigned long long)block, n);
    e.body = cd_bytes_str(cd_arena_fmt(&r->mem, "{\"id\":\"%s\"}", e.id));
    return e;
}

void rig_wait(rig *r, u64 ms)
{
    cd_clock_virtual_advance(&r->clock, ms * CD_NS_PER_MS);
}

u64 rig_now(const rig *r)
{
    return cd_clock_wall_ns(&r->clock.clock) / CD_NS_PER_MS;
}
