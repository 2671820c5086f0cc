/* The X-Chain's dialogues with the original node: testdata/node-api/transcripts/net*-xvm.json and the X-Chain's part of
 * net*-flows.json, asked of our VM on the same genesis. Every answer must be the same to the byte, but for those of the
 * list below, which must differ. */
#include "vec.h"

#include "chains/utxo/store.h"
#include "chains/xvm/xvm.h"
#include "codec/encoding.h"
#include "types/xtx.h"
#include "vm/shared/memory.h"

/* What is answered otherwise, and why. */
static const struct {
    const char *name; /* the beginning of the row's name */
    const char *reason;
} differing[] = {
    {"avm.getAddressTxs", "removed upstream, kept by the product: no list is an empty list"},
    {"wallet.send", "removed upstream, kept by the product: there are no users"},
};

typedef struct sim_clock {
    cd_clock base;
    u64 now_s;
} sim_clock;

static u64 sim_now(const cd_clock *c)
{
    return ((const sim_clock *)(const void *)c)->now_s * CD_NS_PER_SEC;
}

static void ignore(cd_vm_host *h, cd_vm_event event)
{
    (void)h;
    (void)event;
}

/* One chain, with what the platform's chain left for it. */
typedef struct sim {
    cd_kv *store;
    cd_kv *kv;
    cd_kv *part;
    cd_vm_memory memory;
    cd_vm_memory platform;
    sim_clock clock;
    cd_vm_host host;
    cd_vm *vm;
} sim;

static void sim_open(sim *s, cd_bytes genesis, u32 network_id, const cd_hash32 *chain_id)
{
    static const cd_hash32 platform;
    *s = (sim){.store = cd_kv_mem_open(),
               .clock = {.base = {.mono_ns = sim_now, .wall_ns = sim_now}, .now_s = 1800000000},
               .host.notify = ignore};
    s->kv = cd_kv_prefix_open(s->store, cd_bytes_str("x"));
    s->part = cd_kv_prefix_open(s->store, cd_bytes_str("m"));
    cd_vm_memory_init(&s->memory, s->part, chain_id);
    cd_vm_memory_init(&s->platform, s->part, &platform);
    cd_vm_ctx ctx = {.kv = s->kv,
                     .host = &s->host,
                     .clock = &s->clock.base,
                     .shared = &s->memory.shared,
                     .genesis = genesis,
                     .network_id = network_id,
                     .chain_id = *chain_id,
                     .name = "X",
                     .is_stepped = true};
    cd_err e = cd_xvm_open(&s->vm, &ctx, NULL);
    CD_ASSERT(e == CD_OK);
    e = s->vm->ops->set_state(s->vm, CD_VM_NORMAL, NULL);
    CD_ASSERT(e == CD_OK);
}

static void sim_close(sim *s)
{
    s->vm->ops->close(s->vm);
    cd_kv_close(s->kv);
    cd_kv_close(s->part);
    cd_kv_close(s->store);
}

/* Has a block built and accepted, if anything waits. */
static void sim_step(sim *s)
{
    static const cd_vm_block_ctx no_ctx;
    cd_vm_block *b = NULL;
    cd_kv_batch batch = {0};
    if (s->vm->ops->build(s->vm, &b, &no_ctx, NULL) != CD_OK) {
        return;
    }
    cd_kv_batch_for(&batch, s->kv);
    cd_err e = s->vm->ops->verify(s->vm, b, &no_ctx, NULL);
    e = e != CD_OK ? e : s->vm->ops->accept(s->vm, b, &batch, NULL);
    cd_kv_batch_widen(&batch);
    e = e != CD_OK ? e : cd_kv_commit(s->store, &batch, CD_KV_SYNC, NULL);
    e = e != CD_OK ? e : s->vm->ops->accepted(s->vm, b, NULL);
    CD_ASSERT(e == CD_OK);
    s->vm->ops->release(s->vm, b);
    cd_kv_batch_fini(&batch);
}

/* What the platform's chain left, as the answer of getUTXOs shows it. */
static void sim_leave(vec *v, sim *s, const cd_hash32 *chain_id, cd_json answer)
{
    cd_json text = cd_json_at(cd_json_get(cd_json_get(answer, "result"), "utxos"), 0);
    cd_bytes hex = {0};
    cd_bytes bytes = {0};
    cd_utxo u = {.out = {.v = NULL}};
    cd_kv_batch batch = {0};
    cd_hash32 id;
    bool ok = cd_json_str(&hex, text, NULL) == CD_OK &&
              cd_encoding_dec(&bytes, &v->arena, CD_ENCODING_HEX, hex, NULL) == CD_OK &&
              cd_utxo_parse(&u, &cd_x_utxo_table, &v->arena, bytes, NULL) == CD_OK;
    vec_check(v, ok, "no UTXO of the platform's chain");
    if (!ok) {
        return;
    }
    cd_bytes trait = cd_bytes_of(cd_utxo_owners(&u.out)->addrs.v, 20);
    cd_utxo_id(&id, &u.tx_id, u.output_idx);
    cd_vm_shared_elem elem = {.key = cd_bytes_of(id.b, 32), .value = bytes, .traits = &trait, .trait_cnt = 1};
    cd_vm_shared_change change = {.peer = *chain_id, .puts = &elem, .put_cnt = 1};
    cd_err e = s->platform.shared.apply(&s->platform.shared, &batch, &change, 1);
    e = e != CD_OK ? e : cd_kv_commit(s->store, &batch, CD_KV_NOSYNC, NULL);
    CD_ASSERT(e == CD_OK);
    cd_kv_batch_fini(&batch);
}

/* --- one dialogue --- */

static const char *str_of(vec *v, cd_json j)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, j, NULL);
    return cd_arena_str(&v->arena, s);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static const cd_rpc_service *service_at(const sim *s, const char *path)
{
    usize cnt;
    const cd_vm_handler *h = s->vm->ops->handlers(s->vm, &cnt);
    for (usize i = 0; i < cnt; i++) {
        if (strcmp(path + strlen("/ext/bc/X"), h[i].route) == 0) {
            return h[i].service;
        }
    }
    return NULL;
}

static bool differs(const char *name)
{
    for (usize i = 0; i < CD_COUNT(differing); i++) {
        if (strncmp(name, differing[i].name, strlen(differing[i].name)) == 0) {
            return true;
        }
    }
    return false;
}

static void ask(vec *v, sim *s, const char *file, cd_json row)
{
    const char *name = str_of(v, cd_json_get(row, "name"));
    const char *want = str_of(v, cd_json_get(cd_json_get(row, "response"), "body"));
    const char *body = str_of(v, cd_json_get(cd_json_get(row, "request"), "body"));
    const cd_rpc_service *service = service_at(s, str_of(v, cd_json_get(cd_json_get(row, "request"), "path")));
    cd_buf got = {0};
    vec_check(v, service != NULL, "%s: %s: no such route", file, name);
    if (service == NULL) {
        return;
    }
    /* The recorder waited until a transaction was in a block; sometimes it was at once. */
    if (has(name, "final status") || (has(name, "status right after") && has(want, "Accepted"))) {
        sim_step(s);
    }
    cd_rpc_serve(service, &got, cd_bytes_str(body));
    bool same = strcmp(cd_buf_cstr(&got), want) == 0;
    vec_check(v, same != differs(name), "%s: %s: %s\n%s\nnot\n%s", file, name,
              same ? "is the same, and should not be" : "differs", cd_buf_cstr(&got), want);
    cd_buf_fini(&got);
}

static bool is_ours(vec *v, cd_json row)
{
    return strncmp(str_of(v, cd_json_get(cd_json_get(row, "request"), "path")), "/ext/bc/X", 9) == 0;
}

/* The time of the first block, and what was there for the import, are read ahead. */
static void prepare(vec *v, sim *s, const cd_hash32 *chain_id, cd_json rows)
{
    cd_json_it it = cd_json_iter(rows);
    while (cd_json_next(&it)) {
        const char *name = str_of(v, cd_json_get(it.val, "name"));
        bool is_block = has(name, "X block 1 json");
        bool is_left = has(name, "X getUTXOs sourceChain P");
        cd_json answer = {0};
        if ((!is_block && !is_left) ||
            cd_json_parse(&answer, &v->arena,
                          cd_bytes_str(str_of(v, cd_json_get(cd_json_get(it.val, "response"), "body"))), 0,
                          NULL) != CD_OK) {
            continue;
        }
        if (is_left) {
            sim_leave(v, s, chain_id, answer);
        } else {
            cd_json block = cd_json_get(cd_json_get(answer, "result"), "block");
            (void)!cd_json_u64(&s->clock.now_s, cd_json_get(block, "time"), NULL);
        }
    }
}

/* Finds the genesis of a network whose X-Chain has this ID. */
static bool genesis_of(vec *v, u32 network, cd_bytes *genesis, cd_hash32 *chain_id)
{
    cd_json all;
    if (!vec_json(v, &all, vec_path(v, "node-api/vectors/genesis.json"))) {
        return false;
    }
    cd_json_it it = cd_json_iter(all);
    while (cd_json_next(&it)) {
        u64 id = 0;
        (void)!cd_json_u64(&id, cd_json_get(cd_json_get(it.val, "config"), "networkID"), NULL);
        cd_json chain = cd_json_at(cd_json_get(it.val, "chains"), 0);
        if (id == network && cd_json_hex(genesis, &v->arena, cd_json_get(chain, "genesisDataHex"), NULL) == CD_OK &&
            cd_id_parse(chain_id, cd_bytes_str(str_of(v, cd_json_get(chain, "id"))), NULL) == CD_OK) {
            return true;
        }
    }
    vec_check(v, false, "no genesis of network %u", network);
    return false;
}

static void replay(vec *v, u32 network, const char *file)
{
    sim s;
    cd_json rows;
    cd_bytes genesis;
    cd_hash32 chain_id;
    unsigned cnt = 0;
    if (!genesis_of(v, network, &genesis, &chain_id) ||
        !vec_json(v, &rows, vec_path(v, cd_arena_fmt(&v->arena, "node-api/transcripts/%s.json", file)))) {
        return;
    }
    sim_open(&s, genesis, network, &chain_id);
    prepare(v, &s, &chain_id, rows);
    for (cd_json_it it = cd_json_iter(rows); cd_json_next(&it);) {
        if (is_ours(v, it.val)) {
            ask(v, &s, file, it.val);
            cnt++;
        }
    }
    vec_check(v, cnt >= 25, "%s: %u rows", file, cnt);
    sim_close(&s);
}

int main(void)
{
    vec v = {0};
    replay(&v, 12345, "net12345-xvm");
    replay(&v, 1337, "net1337-xvm");
    replay(&v, 12345, "net12345-flows");
    replay(&v, 1337, "net1337-flows");
    return vec_end(&v);
}
