#include "plugin/host/db.h"
#include "plugin/wire/wire.h"

/* Most elements in one answer; a plugin that wants more asks again. */
enum { INDEXED_MAX = 1024 };

static cd_err peer_of(cd_hash32 *out, cd_bytes id, cd_errinfo *why)
{
    if (id.n != sizeof out->b) {
        return cd_fail(why, CD_EFORMAT, "a chain's id has 32 bytes, not %zu", id.n);
    }
    memcpy(out->b, id.p, sizeof out->b);
    return CD_OK;
}

static cd_err shared_of(const cd_vm_shared **out, const cd_plugin_db *db, cd_errinfo *why)
{
    *out = cd_plugin_db_shared(db);
    return *out != NULL ? CD_OK : cd_fail(why, CD_EUNSUPPORTED, "this chain shares no memory");
}

static cd_err serve_get(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_shared *s;
    cd_wire_shared_get m = {0};
    cd_hash32 peer;
    CD_TRY(shared_of(&s, ctx, why));
    CD_TRY(CD_WIRE_PARSE(&m, shared_get, mem, msg, why));
    CD_TRY(peer_of(&peer, m.peer_chain_id, why));
    const cd_bytes *keys = m.keys.v;
    cd_bytes *values = cd_arena_array(mem, cd_bytes, m.keys.cnt);
    for (u32 i = 0; i < m.keys.cnt; i++) {
        cd_err e = s->get(s, &values[i], mem, &peer, keys[i]);
        if (e != CD_OK) {
            return cd_fail(why, e, "%s", cd_err_str(e)); /* with the text of the original: "not found" */
        }
    }
    const cd_wire_shared_values said = {.values = cd_wire_list(values, m.keys.cnt)};
    CD_WIRE_PUT(out, shared_values, &said);
    return CD_OK;
}

static cd_err serve_indexed(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_shared *s;
    cd_wire_shared_indexed m = {0};
    cd_hash32 peer;
    cd_bytes *values = NULL;
    usize cnt = 0;
    CD_TRY(shared_of(&s, ctx, why));
    CD_TRY(CD_WIRE_PARSE(&m, shared_indexed, mem, msg, why));
    CD_TRY(peer_of(&peer, m.peer_chain_id, why));
    cd_vm_shared_cursor at = {.trait = m.start_trait, .key = m.start_key};
    usize max = m.limit <= 0 ? 0 : (usize)cd_min_u64((u64)m.limit, INDEXED_MAX);
    cd_err e = s->indexed(s, &values, &cnt, mem, &peer, m.traits.v, m.traits.cnt, &at, max);
    if (e != CD_OK) {
        return cd_fail(why, e, "%s", cd_err_str(e));
    }
    const cd_wire_shared_found said = {.values = cd_wire_list(values, cnt), .last_trait = at.trait, .last_key = at.key};
    CD_WIRE_PUT(out, shared_found, &said);
    return CD_OK;
}

static cd_err change_of(cd_vm_shared_change *out, cd_arena *mem, const cd_wire_shared_change *m, cd_errinfo *why)
{
    const cd_wire_shared_elem *in = m->put_requests.v;
    cd_vm_shared_elem *puts = cd_arena_array(mem, cd_vm_shared_elem, m->put_requests.cnt);
    CD_TRY(peer_of(&out->peer, m->peer_chain_id, why));
    for (u32 i = 0; i < m->put_requests.cnt; i++) {
        puts[i] = (cd_vm_shared_elem){
            .key = in[i].key, .value = in[i].value, .traits = in[i].traits.v, .trait_cnt = in[i].traits.cnt};
    }
    out->removes = m->remove_requests.v;
    out->remove_cnt = m->remove_requests.cnt;
    out->puts = puts;
    out->put_cnt = m->put_requests.cnt;
    return CD_OK;
}

static cd_err put_batch(cd_kv_batch *out, const cd_wire_db_batch *b, cd_errinfo *why)
{
    const cd_wire_db_pair *puts = b->puts.v;
    const cd_wire_db_key *dels = b->deletes.v;
    for (u32 i = 0; i < b->puts.cnt; i++) {
        CD_TRY(cd_plugin_db_check_key(puts[i].key, why));
        cd_kv_batch_put(out, puts[i].key, puts[i].value);
    }
    for (u32 i = 0; i < b->deletes.cnt; i++) {
        CD_TRY(cd_plugin_db_check_key(dels[i].key, why));
        cd_kv_batch_del(out, dels[i].key);
    }
    return CD_OK;
}

static cd_err serve_apply(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_shared_apply m = {0};
    cd_kv_batch batch = {0};
    cd_err e = CD_OK;
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&m, shared_apply, mem, msg, why));
    const cd_wire_shared_change *in = m.requests.v;
    const cd_wire_db_batch *batches = m.batches.v;
    cd_vm_shared_change *changes = cd_arena_array(mem, cd_vm_shared_change, m.requests.cnt);
    for (u32 i = 0; i < m.requests.cnt; i++) {
        CD_TRY(change_of(&changes[i], mem, &in[i], why));
    }
    for (u32 i = 0; i < m.batches.cnt && e == CD_OK; i++) {
        e = put_batch(&batch, &batches[i], why);
    }
    e = e != CD_OK ? e : cd_plugin_db_apply(ctx, &batch, changes, m.requests.cnt, why);
    cd_kv_batch_fini(&batch);
    return e;
}

static const cd_plugin_method methods[] = {
    {"/sharedmemory.SharedMemory/Get", serve_get},
    {"/sharedmemory.SharedMemory/Indexed", serve_indexed},
    {"/sharedmemory.SharedMemory/Apply", serve_apply},
};

const cd_plugin_method *cd_plugin_shared_methods(usize *cnt)
{
    *cnt = CD_COUNT(methods);
    return methods;
}
