/* What a plugin may ask of its database, of shared memory and of the world: one call behind the other, each a byte for
 * the method, two for the length, the message. Odd methods begin, take, land or abandon what is held between. */
#include "base/mem/mem.h"
#include "plugin/host/db.h"
#include "plugin/host/world.h"
#include "vm/shared/memory.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

typedef struct rig {
    cd_kv *store;
    cd_kv *kv;
    cd_kv *memory;
    cd_vm_memory ours;
    cd_plugin_db *db;
    cd_plugin_world *world;
    cd_kv_batch batch;
    bool is_taken;
} rig;

static void on_waiting(void *ctx)
{
    (void)ctx;
}

static void begin(rig *r)
{
    const cd_hash32 self = {.b = {5}};
    const cd_plugin_world_cfg world = {.network_id = 1337, .chain_id = self, .waiting = on_waiting};
    *r = (rig){.store = cd_kv_mem_open()};
    r->kv = cd_kv_prefix_open(r->store, cd_bytes_str("K01"));
    r->memory = cd_kv_prefix_open(r->store, cd_bytes_str("M"));
    cd_vm_memory_init(&r->ours, r->memory, &self);
    r->db = cd_plugin_db_new(r->kv, r->store, &r->ours.shared);
    r->world = cd_plugin_world_new(&world);
}

static void end(rig *r)
{
    cd_plugin_db_free(r->db);
    cd_plugin_world_free(r->world);
    cd_kv_batch_fini(&r->batch);
    cd_kv_close(r->memory);
    cd_kv_close(r->kv);
    cd_kv_close(r->store);
}

/* The host's own steps, in any order in which it may take them. */
static void step(rig *r, u8 which)
{
    if (!cd_plugin_db_is_holding(r->db)) {
        cd_plugin_db_hold(r->db);
        r->is_taken = false;
    } else if (which % 4 == 0) {
        cd_plugin_db_abandon(r->db);
    } else if (!r->is_taken) {
        cd_kv_batch_for(&r->batch, r->kv);
        r->is_taken = cd_plugin_db_take(r->db, &r->batch, NULL) == CD_OK;
        if (!r->is_taken) {
            cd_plugin_db_abandon(r->db);
        }
    } else {
        cd_kv_batch_widen(&r->batch);
        CD_ASSERT(cd_kv_commit(r->store, &r->batch, CD_KV_NOSYNC, NULL) == CD_OK);
        (void)!cd_plugin_db_landed(r->db, NULL);
    }
}

static void serve(const rig *r, u8 which, cd_bytes msg)
{
    usize n[3];
    const cd_plugin_method *rows[3] = {cd_plugin_db_methods(&n[0]), cd_plugin_shared_methods(&n[1]),
                                       cd_plugin_world_methods(&n[2])};
    usize i = which % (n[0] + n[1] + n[2]);
    usize set = i < n[0] ? 0 : i < n[0] + n[1] ? 1 : 2;
    cd_buf out = {0};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    i -= set == 0 ? 0 : set == 1 ? n[0] : n[0] + n[1];
    (void)!rows[set][i].serve(set == 2 ? (void *)r->world : (void *)r->db, &out, &mem, msg, &why);
    cd_buf_fini(&out);
    cd_arena_fini(&mem);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    enum { STEP = 0x80, HEAD = 3 };
    rig r;
    begin(&r);
    for (usize at = 0; size - at >= HEAD;) {
        u8 which = data[at];
        usize n = cd_min_u64(cd_be16(data + at + 1), size - at - HEAD);
        cd_bytes msg = cd_bytes_of(data + at + HEAD, n);
        at += HEAD + n;
        if ((which & STEP) != 0) {
            step(&r, which & 0x7f);
        } else {
            serve(&r, which, msg);
        }
    }
    for (cd_plugin_word *w = cd_plugin_world_take(r.world); w != NULL;) {
        cd_plugin_word *next = w->next;
        cd_free(w);
        w = next;
    }
    end(&r);
    return 0;
}
