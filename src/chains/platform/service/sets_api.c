#include "chains/platform/service/service_priv.h"
#include "chains/platform/state/nets.h"
#include "crypto/bls/bls.h"

#include <stdlib.h>

/* A set at a height. Errors: the call's. */
static cd_err set_at(cd_rpc_call *call, const cd_vm_validator **v, usize *cnt, const cd_hash32 *net, u64 height)
{
    const cd_platform_service *s = cd__service_of(call);
    const cd_vm_validators *sets = s->cfg.validators;
    cd_err e = sets->at(sets, v, cnt, call->arena, net, height);
    if (e == CD_ERANGE) {
        u64 current = 0;
        (void)!sets->current(sets, &current);
        return cd__fail(call,
                        "failed to get validator set at %llu: failed to fetch validator set at unfinalized height with "
                        "%sID = %s: current P-chain height (%llu) < requested P-Chain height (%llu)",
                        (unsigned long long)height, s->cfg.network->family->Net, cd__id_text(call, net),
                        (unsigned long long)current, (unsigned long long)height);
    }
    return e == CD_OK
               ? CD_OK
               : cd__fail(call, "failed to get validator set at %llu: %s", (unsigned long long)height, cd__words(e));
}

/* The height that was asked for: a number, or that which new blocks refer to. */
static cd_err height_of(cd_rpc_call *call, u64 *out, u64 asked)
{
    const cd_vm_validators *sets = cd__service_of(call)->cfg.validators;
    *out = asked;
    cd_err e = asked == CD_RPC_HEIGHT_PROPOSED ? sets->minimum(sets, out) : CD_OK;
    return e == CD_OK ? CD_OK : cd__fail(call, "%s", cd__words(e));
}

static cd_err set_now(cd_rpc_call *call, const cd_vm_validator **v, usize *cnt, const cd_hash32 *net)
{
    cd_pstate s;
    u64 height;
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_num_get(&s, &height, CD_PSTATE_LAST_HEIGHT);
    e = e != CD_OK ? e : cd_pstate_set_at(&s, v, cnt, call->arena, net, height);
    return e == CD_OK ? CD_OK : cd__fail(call, "%s", cd__words(e));
}

/* --- one set --- */

typedef struct named {
    const cd_vm_validator *v;
    char text[64];
} named;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const named *)a)->text, ((const named *)b)->text);
}

static void put_key(cd_json_w *w, const cd_vm_validator *v)
{
    u8 key[48];
    if (!v->has_key) {
        cd_json_put_null(w, "publicKey");
        return;
    }
    cd_bls_pk_compress(key, v->key);
    cd_json_put_hex(w, "publicKey", cd_bytes_of(key, sizeof key));
}

cd_err cd__platform_validators_at(cd_rpc_call *call)
{
    const cd__platform_validators_at_args *args = call->args;
    const cd_vm_validator *v;
    usize cnt;
    u64 height;
    CD_TRY(height_of(call, &height, args->height));
    CD_TRY(set_at(call, &v, &cnt, &args->net_id, height));
    named *sorted = cd_arena_array(call->arena, named, cnt);
    cd_buf text = {0};
    for (usize i = 0; i < cnt; i++) {
        cd_buf_clear(&text);
        cd_node_id_put(&text, &v[i].node_id);
        CD_ASSERT(text.n < sizeof sorted[i].text);
        memcpy(sorted[i].text, text.p, text.n);
        sorted[i].v = &v[i];
    }
    cd_buf_fini(&text);
    if (cnt != 0) {
        qsort(sorted, cnt, sizeof *sorted, by_text);
    }
    cd_json_w_obj(call->out);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_key(call->out, sorted[i].text);
        cd_json_w_obj(call->out);
        put_key(call->out, sorted[i].v);
        cd_json_put_dec(call->out, "weight", sorted[i].v->weight);
        cd_json_w_obj_end(call->out);
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* --- all sets --- */

static int by_key(const void *a, const void *b)
{
    const cd_vm_validator *x = a;
    const cd_vm_validator *y = b;
    int c = memcmp(x->key, y->key, sizeof x->key);
    return c != 0 ? c : memcmp(x->node_id.b, y->node_id.b, 20);
}

/* Validators of one key, from the first on; gives how many they are. */
static usize put_signer(cd_json_w *w, const cd_vm_validator *v, usize cnt)
{
    u64 weight = 0;
    usize n = 0;
    while (n < cnt && memcmp(v[n].key, v[0].key, sizeof v[0].key) == 0) {
        weight += v[n++].weight;
    }
    cd_json_w_obj(w);
    put_key(w, &v[0]);
    cd_json_put_dec(w, "weight", weight);
    cd_json_w_key(w, "nodeIDs");
    cd_json_w_arr(w);
    for (usize i = 0; i < n; i++) {
        cd_json_w_node_id(w, &v[i].node_id);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    return n;
}

/* Those who can sign, by their keys; all count in the weight. */
static cd_err put_set(cd_rpc_call *call, const cd_hash32 *net, u64 height)
{
    cd_json_w *w = call->out;
    const cd_vm_validator *v;
    usize cnt;
    CD_TRY(set_at(call, &v, &cnt, net, height));
    cd_vm_validator *signers = cd_arena_array(call->arena, cd_vm_validator, cnt);
    u64 total = 0;
    usize n = 0;
    for (usize i = 0; i < cnt; i++) {
        total += v[i].weight; /* each net's weight fits */
        if (v[i].has_key) {
            signers[n++] = v[i];
        }
    }
    if (cnt == 0) {
        return CD_OK;
    }
    if (n != 0) {
        qsort(signers, n, sizeof *signers, by_key);
    }
    cd_json_w_id_key(w, net);
    cd_json_w_obj(w);
    cd_json_w_key(w, "validators");
    cd_json_w_arr(w);
    for (usize i = 0; i < n;) {
        i += put_signer(w, &signers[i], n - i);
    }
    cd_json_w_arr_end(w);
    cd_json_put_dec(w, "totalWeight", total);
    cd_json_w_obj_end(w);
    return CD_OK;
}

cd_err cd__platform_all_validators_at(cd_rpc_call *call)
{
    const cd__platform_all_validators_at_args *args = call->args;
    static const cd_hash32 primary;
    cd_pstate s;
    cd_hash32 *nets;
    usize cnt;
    bool more;
    u64 height;
    CD_TRY(height_of(call, &height, args->height));
    CD_TRY(cd__state_of(&s, call));
    cd_err e = cd_pstate_nets(&s, &nets, &cnt, &more, call->arena, CD__NETS_MAX);
    if (e != CD_OK) {
        return cd__fail(call, "%s", cd__words(e));
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "validatorSets");
    cd_json_w_obj(call->out);
    e = put_set(call, &primary, height);
    for (usize i = 0; e == CD_OK && i < cnt; i++) {
        cd_arena_mark mark = cd_arena_mark_get(call->arena);
        e = cd_rpc_is_late(call) ? cd_rpc_fail_late(call) : put_set(call, &nets[i], height);
        if (e == CD_OK) {
            cd_arena_rewind(call->arena, mark);
        }
    }
    cd_json_w_obj_end(call->out);
    cd_json_w_obj_end(call->out);
    return e;
}

/* --- weights --- */

cd_err cd__platform_total_stake(cd_rpc_call *call)
{
    const cd__platform_total_stake_args *args = call->args;
    const cd_vm_validator *v;
    usize cnt;
    u64 total = 0;
    CD_TRY(set_now(call, &v, &cnt, &args->net_id));
    for (usize i = 0; i < cnt; i++) {
        if (!cd_add_u64(&total, total, v[i].weight)) {
            return cd__fail(call, "couldn't get total weight: overflow");
        }
    }
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "stake", total);
    cd_json_put_dec(call->out, "weight", total);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

/* The one whose weight holds the at-th unit; sums[i] is the weight up to the end of the i-th. */
static usize holder_of(const u64 *sums, usize cnt, u64 at)
{
    usize lo = 0;
    usize hi = cnt - 1;
    while (lo < hi) {
        usize mid = (lo + hi) / 2;
        if (at < sums[mid]) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

static int by_idx(const void *a, const void *b)
{
    usize x = *(const usize *)a;
    usize y = *(const usize *)b;
    return (x > y) - (x < y);
}

cd_err cd__platform_sample(cd_rpc_call *call)
{
    const cd__platform_sample_args *args = call->args;
    cd_platform_service *s = call->ctx;
    const cd_vm_validator *v;
    usize cnt;
    u64 total = 0;
    CD_TRY(set_now(call, &v, &cnt, &args->net_id));
    u64 *sums = cd_arena_array(call->arena, u64, cnt);
    for (usize i = 0; i < cnt; i++) {
        total += v[i].weight;
        sums[i] = total;
    }
    if (total < args->size) {
        return cd__fail(call, "sampling %s errored with insufficient weight", cd__id_text(call, &args->net_id));
    }
    usize *drawn = cd_arena_array(call->arena, usize, args->size);
    cd_mutex_lock(&s->lock);
    for (usize i = 0; i < args->size; i++) {
        drawn[i] = holder_of(sums, cnt, cd_rng_below(&s->rng, total));
    }
    cd_mutex_unlock(&s->lock);
    if (args->size != 0) {
        qsort(drawn, args->size, sizeof *drawn, by_idx);
    }
    cd_json_w_obj(call->out);
    cd_json_w_key(call->out, "validators");
    cd_json_w_arr(call->out);
    for (usize i = 0; i < args->size; i++) {
        cd_json_w_node_id(call->out, &v[drawn[i]].node_id);
    }
    cd_json_w_arr_end(call->out);
    cd_json_w_obj_end(call->out);
    return CD_OK;
}
