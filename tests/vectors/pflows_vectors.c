/* Recorded flows on the P-Chain, through our VM from the same genesis: transactions that the original accepted are
 * accepted under the same IDs, those that it refused are refused in the same words, and what is asked afterwards is
 * answered alike. pflows_differ.def lists what is not, and why. */
#include "tests/vectors/vec.h"

#include "chains/platform/platform_vm.h"
#include "chains/utxo/utxo.h"
#include "vm/shared/memory.h"

/* A node of one chain. */
typedef struct rig {
    vec *v;
    cd_clock_virtual clock;
    cd_kv *store;
    cd_kv *kv;   /* the chain's part */
    cd_kv *part; /* of shared memory */
    cd_vm_memory memory;
    cd_vm *vm;
    cd_pgenesis genesis;
    bool has_waiting; /* an issued transaction is not in a block yet */
} rig;

static void rig_open(rig *r, cd_bytes genesis, u32 network_id, u64 now)
{
    static const cd_hash32 p_chain;
    cd_errinfo why = {0};
    r->store = cd_kv_mem_open();
    r->kv = cd_kv_prefix_open(r->store, cd_bytes_str("P"));
    r->part = cd_kv_prefix_open(r->store, cd_bytes_str("S"));
    cd_clock_virtual_init(&r->clock, now * CD_NS_PER_SEC);
    cd_vm_memory_init(&r->memory, r->part, &p_chain);
    const cd_vm_ctx ctx = {.kv = r->kv,
                           .clock = &r->clock.clock,
                           .genesis = genesis,
                           .config = cd_bytes_str("{\"network-profile\":\"upstream\",\"decimals\":9}"),
                           .network_id = network_id,
                           .shared = &r->memory.shared,
                           .name = "P"};
    cd_err e = cd_platform_vm_open(&r->vm, &ctx, &why);
    e = e != CD_OK ? e : r->vm->ops->set_state(r->vm, CD_VM_NORMAL, &why);
    e = e != CD_OK ? e : cd_pgenesis_read(&r->genesis, &r->v->arena, genesis, &why);
    vec_check(r->v, e == CD_OK, "genesis: %s", why.msg);
}

static void rig_close(rig *r)
{
    r->vm->ops->close(r->vm);
    cd_kv_close(r->kv);
    cd_kv_close(r->part);
    cd_kv_close(r->store);
}

static void take(rig *r, cd_vm_block *b)
{
    const cd_vm_block_ctx none = {0};
    cd_errinfo why = {0};
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, r->kv);
    cd_err e = r->vm->ops->verify(r->vm, b, &none, &why);
    e = e != CD_OK ? e : r->vm->ops->accept(r->vm, b, &batch, &why);
    cd_kv_batch_widen(&batch);
    e = e != CD_OK ? e : cd_kv_commit(r->store, &batch, CD_KV_NOSYNC, NULL);
    e = e != CD_OK ? e : r->vm->ops->accepted(r->vm, b, &why);
    vec_check(r->v, e == CD_OK, "block %llu: %s", (unsigned long long)b->height, why.msg);
    cd_kv_batch_fini(&batch);
}

/* All blocks that there is a reason for. */
static void run(rig *r)
{
    const cd_vm_block_ctx none = {0};
    cd_vm_block *b = NULL;
    while (r->vm->ops->build(r->vm, &b, &none, NULL) == CD_OK) {
        cd_vm_block *options[2];
        take(r, b);
        if (r->vm->ops->options(r->vm, options, b, NULL) == CD_OK) {
            take(r, options[0]);
            r->vm->ops->release(r->vm, options[0]);
            r->vm->ops->release(r->vm, options[1]);
        }
        r->vm->ops->release(r->vm, b);
    }
    r->has_waiting = false;
}

/* --- replay --- */

static const char *reason_of(const char *file, const char *name)
{
    static const char *const rows[][3] = {
#define X(file_, name_, reason_) {(file_), (name_), (reason_)},
#include "pflows_differ.def"
#undef X
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (strcmp(rows[i][0], file) == 0 && strstr(name, rows[i][1]) != NULL) {
            return rows[i][2];
        }
    }
    return NULL;
}

/* Refusals name things as product networks do. */
static cd_bytes in_our_words(vec *v, cd_bytes text)
{
    static const char *const words[][2] = {{"subnet", "net"}, {"Subnet", "Net"}};
    cd_buf out = {0};
    if (strstr(cd_arena_str(&v->arena, text), "\"error\"") == NULL) {
        return text;
    }
    for (usize i = 0; i < text.n; i++) {
        usize used = 0;
        for (usize j = 0; j < CD_COUNT(words) && used == 0; j++) {
            usize n = strlen(words[j][0]);
            if (text.n - i >= n && memcmp(text.p + i, words[j][0], n) == 0) {
                cd_buf_str(&out, words[j][1]);
                used = n;
            }
        }
        if (used == 0) {
            cd_buf_u8(&out, text.p[i]);
        } else {
            i += used - 1;
        }
    }
    cd_bytes kept = cd_arena_dup(&v->arena, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return kept;
}

static cd_bytes trimmed(cd_bytes b)
{
    while (b.n != 0 && b.p[b.n - 1] == '\n') {
        b.n--;
    }
    return b;
}

static bool text_has(vec *v, cd_bytes text, const char *word)
{
    return strstr(cd_arena_str(&v->arena, text), word) != NULL;
}

/* Leaves a UTXO for P in the memory that another chain shares with it. */
static void leave(rig *r, const char *vm, cd_bytes bytes)
{
    static const cd_hash32 p_chain;
    cd_utxo u;
    cd_hash32 key;
    cd_vm_memory theirs;
    cd_kv_batch batch = {0};
    bool ok = cd_utxo_parse(&u, &cd_p_utxo_table, &r->v->arena, bytes, NULL) == CD_OK;
    vec_check(r->v, ok, "a UTXO of another chain");
    if (!ok) {
        return;
    }
    cd_utxo_id(&key, &u.tx_id, u.output_idx);
    const cd_bytes trait = cd_bytes_of(cd_utxo_owners(&u.out)->addrs.v, sizeof(cd_addr20));
    const cd_vm_shared_elem put = {
        .key = cd_bytes_of(key.b, sizeof key.b), .value = bytes, .traits = &trait, .trait_cnt = 1};
    const cd_vm_shared_change change = {.peer = p_chain, .puts = &put, .put_cnt = 1};
    cd_vm_memory_init(&theirs, r->part, &cd_pgenesis_find(&r->genesis, vm)->id);
    cd_err e = theirs.shared.apply(&theirs.shared, &batch, &change, 1);
    e = e != CD_OK ? e : cd_kv_commit(r->store, &batch, CD_KV_NOSYNC, NULL);
    vec_check(r->v, e == CD_OK, "shared memory");
    cd_kv_batch_fini(&batch);
}

/* What the C-Chain had exported to P when it was asked for. */
static void leave_all(rig *r, cd_bytes answer)
{
    cd_json reply;
    if (cd_json_parse(&reply, &r->v->arena, answer, 0, NULL) != CD_OK) {
        return;
    }
    cd_json_it it = cd_json_iter(cd_json_get(cd_json_get(reply, "result"), "utxos"));
    while (cd_json_next(&it)) {
        cd_bytes bytes = {0};
        if (cd_json_hex(&bytes, &r->v->arena, it.val, NULL) == CD_OK) {
            leave(r, "evm", cd_bytes_sub(bytes, 0, bytes.n - 4)); /* without the checksum */
        }
    }
}

static void exchange(rig *r, const char *file, cd_json row, usize *cnt)
{
    vec *v = r->v;
    cd_bytes name = {0};
    cd_bytes request = {0};
    cd_bytes answer = {0};
    cd_buf got = {0};
    (void)!cd_json_str(&name, cd_json_get(row, "name"), NULL);
    (void)!cd_json_str(&request, cd_json_get(cd_json_get(row, "request"), "body"), NULL);
    (void)!cd_json_str(&answer, cd_json_get(cd_json_get(row, "response"), "body"), NULL);
    const char *shown = cd_arena_str(&v->arena, name);
    if (!text_has(v, request, "\"platform.")) {
        return;
    }
    usize handlers;
    const cd_vm_handler *h = r->vm->ops->handlers(r->vm, &handlers);
    bool is_issue = text_has(v, request, "platform.issueTx");
    if (r->has_waiting && strstr(shown, "status right after") == NULL) {
        run(r);
    }
    if (text_has(v, request, "\"sourceChain\":\"C\"")) {
        leave_all(r, answer);
    }
    /* A second a block, as it was recorded; what is refused takes no time. */
    if (is_issue && text_has(v, answer, "\"result\"")) {
        cd_clock_virtual_advance(&r->clock, CD_NS_PER_SEC);
    }
    cd_rpc_serve(h->service, &got, request);
    r->has_waiting = r->has_waiting || is_issue;
    const char *reason = reason_of(file, shown);
    bool is_same = cd_bytes_eq(trimmed(cd_buf_bytes(&got)), trimmed(in_our_words(v, answer)));
    vec_check(v, is_same == (reason == NULL), "%s: %s\n  %.600s\n  %.*s", file, shown, cd_buf_cstr(&got),
              (int)(answer.n < 600 ? answer.n : 600), (const char *)answer.p);
    cd_buf_fini(&got);
    (*cnt)++;
}

static void replay(rig *r, const char *file, usize want)
{
    cd_json all;
    usize cnt = 0;
    const char *path = cd_arena_fmt(&r->v->arena, "node-api/transcripts/%s.json", file);
    if (!vec_json(r->v, &all, vec_path(r->v, path))) {
        return;
    }
    cd_json_it it = cd_json_iter(all);
    while (cd_json_next(&it)) {
        exchange(r, file, it.val, &cnt);
    }
    vec_check(r->v, cnt == want, "%s: %zu exchanges", file, cnt);
}

/* --- networks --- */

static cd_bytes genesis_of(vec *v, const char *file, usize idx)
{
    cd_json all;
    cd_bytes bytes = {0};
    const char *path = cd_arena_fmt(&v->arena, "node-api/vectors/%s.json", file);
    if (vec_json(v, &all, vec_path(v, path))) {
        cd_err e = cd_json_hex(&bytes, &v->arena, cd_json_get(cd_json_at(all, idx), "genesisHex"), NULL);
        vec_check(v, e == CD_OK, "%s has a genesis", file);
    }
    return bytes;
}

/* The network whose genesis is built in; the flows were recorded first, staking and L1s behind them. */
static void local(vec *v)
{
    const u64 now = 1795265949;
    rig r = {.v = v};
    cd_pgenesis built;
    cd_pgenesis_config c;
    cd_network net = cd_network_of(12345);
    cd_pgenesis_config_builtin(&c, &v->arena, &net, now, (cd_bytes){0});
    cd_err e = cd_pgenesis_build(&built, &v->arena, &c, &net, NULL);
    vec_check(v, e == CD_OK, "network 12345");
    rig_open(&r, built.bytes, 12345, now);
    replay(&r, "net12345-flows", 34);
    cd_clock_virtual_set_wall(&r.clock, 1795266022ull * CD_NS_PER_SEC);
    replay(&r, "net12345-staking-l1", 68);
    rig_close(&r);
}

int main(void)
{
    vec v = {0};
    cd_bytes genesis = genesis_of(&v, "genesis", 1);
    if (genesis.n != 0) {
        rig r = {.v = &v};
        rig_open(&r, genesis, 1337, 1795265900);
        run(&r);
        replay(&r, "net1337-reward-lifecycle", 43);
        replay(&r, "net1337-flows", 34);
        rig_close(&r);
    }
    genesis = genesis_of(&v, "genesis-single-staker", 0);
    if (genesis.n != 0) {
        rig r = {.v = &v};
        rig_open(&r, genesis, 1337, 1795266840);
        replay(&r, "net1337s-l1-warp", 29);
        rig_close(&r);
    }
    if (genesis.n != 0) {
        local(&v);
    }
    return vec_end(&v);
}
