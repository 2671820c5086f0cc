#include "plugin/guest/shared_priv.h"

#include "base/mem/mem.h"

static cd_bytes hash_bytes(const cd_hash32 *h)
{
    return cd_bytes_of(h->b, sizeof h->b);
}

static cd__guest_shared *self(const cd_vm_shared *s)
{
    return (cd__guest_shared *)(uintptr_t)s;
}

/* Calls a method and waits; the answer lies in the arena. */
static cd_err ask(const cd_vm_shared *s, cd_bytes *answer, cd_arena *a, const char *path, cd_buf *msg, cd_errinfo *why)
{
    cd_buf reply = {0};
    cd_err err = cd_grpc_call_wait(self(s)->client, &reply, path, msg, 0, NULL, why);
    if (err == CD_OK) {
        *answer = cd_arena_dup(a, cd_buf_bytes(&reply));
    }
    cd_buf_fini(&reply);
    return err;
}

static cd_err get(const cd_vm_shared *s, cd_bytes *out, cd_arena *a, const cd_hash32 *peer, cd_bytes key)
{
    const cd_wire_shared_get req = {.peer_chain_id = hash_bytes(peer), .keys = cd_wire_list(&key, 1)};
    cd_wire_shared_values values = {0};
    cd_buf msg = {0};
    cd_bytes answer;
    cd_errinfo why = {0};
    CD_WIRE_PUT(&msg, shared_get, &req);
    cd_err err = ask(s, &answer, a, "/sharedmemory.SharedMemory/Get", &msg, &why);
    if (err == CD_EIO && strstr(why.msg, "not found") != NULL) {
        return CD_ENOENT; /* an error of Go travels without a code: only its text tells */
    }
    CD_TRY(err);
    CD_TRY(CD_WIRE_PARSE(&values, shared_values, a, answer, NULL));
    if (values.values.cnt != 1) {
        return CD_EFORMAT;
    }
    *out = ((const cd_bytes *)values.values.v)[0];
    return CD_OK;
}

static cd_err indexed(const cd_vm_shared *s, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *peer,
                      const cd_bytes *traits, usize trait_cnt, cd_vm_shared_cursor *at, usize max)
{
    const cd_wire_shared_indexed req = {
        .peer_chain_id = hash_bytes(peer),
        .traits = cd_wire_list(traits, trait_cnt),
        .start_trait = at->trait,
        .start_key = at->key,
        .limit = (i32)cd_min_u64(max, INT32_MAX),
    };
    cd_wire_shared_found found = {0};
    cd_buf msg = {0};
    cd_bytes answer;
    CD_WIRE_PUT(&msg, shared_indexed, &req);
    CD_TRY(ask(s, &answer, a, "/sharedmemory.SharedMemory/Indexed", &msg, NULL));
    CD_TRY(CD_WIRE_PARSE(&found, shared_found, a, answer, NULL));
    if (found.values.cnt > max) {
        return CD_EFORMAT;
    }
    *out = found.values.v;
    *cnt = found.values.cnt;
    *at = (cd_vm_shared_cursor){.trait = found.last_trait, .key = found.last_key};
    return CD_OK;
}

/* Does a change put a key twice? Refused here, since the node would see it only when the block is accepted. */
static bool has_double(const cd_vm_shared_change *c)
{
    for (usize i = 0; i < c->put_cnt; i++) {
        for (usize k = 0; k < i; k++) {
            if (cd_bytes_eq(c->puts[i].key, c->puts[k].key)) {
                return true;
            }
        }
    }
    return false;
}

static cd_wire_shared_change change_of(cd_arena *a, const cd_vm_shared_change *c)
{
    cd_wire_shared_elem *elems = cd_arena_array(a, cd_wire_shared_elem, c->put_cnt);
    for (usize i = 0; i < c->put_cnt; i++) {
        elems[i] = (cd_wire_shared_elem){
            .key = c->puts[i].key,
            .value = c->puts[i].value,
            .traits = cd_wire_list(c->puts[i].traits, c->puts[i].trait_cnt),
        };
    }
    return (cd_wire_shared_change){
        .remove_requests = cd_wire_list(c->removes, c->remove_cnt),
        .put_requests = cd_wire_list(elems, c->put_cnt),
        .peer_chain_id = hash_bytes(&c->peer),
    };
}

static cd_err apply(const cd_vm_shared *s, cd_kv_batch *batch, const cd_vm_shared_change *changes, usize cnt)
{
    cd__guest_shared *g = self(s);
    cd_arena mem = {0};
    for (usize i = 0; i < cnt; i++) {
        if (has_double(&changes[i])) {
            return CD_EEXIST;
        }
    }
    cd_kv_batch_widen(batch);
    cd_wire_shared_change *rows = cd_arena_array(&mem, cd_wire_shared_change, cnt);
    for (usize i = 0; i < cnt; i++) {
        rows[i] = change_of(&mem, &changes[i]);
    }
    const cd_wire_shared_apply req = {.requests = cd_wire_list(rows, cnt)};
    cd_buf_clear(&g->pending);
    CD_WIRE_PUT(&g->pending, shared_apply, &req);
    cd_arena_fini(&mem);
    return CD_OK;
}

void cd__guest_shared_init(cd__guest_shared *s, cd_grpc_client *client)
{
    *s = (cd__guest_shared){
        .shared = {.get = get, .indexed = indexed, .apply = apply},
        .client = client,
    };
}

void cd__guest_shared_fini(cd__guest_shared *s)
{
    cd_buf_fini(&s->pending);
}

cd_err cd__guest_shared_send(cd__guest_shared *s, cd_bytes changes, const cd_wire_db_batch *batch, cd_errinfo *why)
{
    const cd_wire_shared_apply tail = {.batches = cd_wire_list(batch, 1)};
    cd_buf msg = {0};
    cd_buf reply = {0};
    cd_buf_put(&msg, changes); /* fields of one message may come in any order, and piece by piece */
    CD_WIRE_PUT(&msg, shared_apply, &tail);
    cd_err err = cd_grpc_call_wait(s->client, &reply, "/sharedmemory.SharedMemory/Apply", &msg, 0, NULL, why);
    cd_buf_fini(&msg);
    cd_buf_fini(&reply);
    return err;
}
