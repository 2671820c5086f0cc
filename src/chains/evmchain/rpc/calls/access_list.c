/* eth_createAccessList: what a transaction touches, found by running it with the list of the run before until
 * nothing is added. [EIP-2930] */
#include "base/hex.h"
#include "base/mem/mem.h"
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/rpc/calls/args.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "chains/evmchain/rpc/methods.h"
#include "evm/interp/opcode.h"

#include <stdlib.h>

/* One entry: an address, or a slot of one. */
typedef struct touch {
    cd_addr20 addr;
    bool is_slot;
    cd_hash32 key;
} touch;

typedef struct collector {
    cd_tracer hooks; /* first */
    const cd_precompile_table *precompiles;
    const cd_addr20 *from;
    cd_addr20 to;
    touch *v;
    usize cnt;
    usize cap;
} collector;

static int compare(const void *x, const void *y)
{
    const touch *a = x;
    const touch *b = y;
    int order = memcmp(a->addr.b, b->addr.b, sizeof a->addr.b);
    if (order == 0) {
        order = (int)a->is_slot - (int)b->is_slot;
    }
    return order != 0 ? order : memcmp(a->key.b, b->key.b, sizeof a->key.b);
}

static void add(collector *c, const touch *t)
{
    if (c->cnt != 0 && compare(&c->v[c->cnt - 1], t) == 0) {
        return; /* loops touch the same entry again and again */
    }
    if (c->cnt == c->cap) {
        c->cap = c->cap == 0 ? 64 : 2 * c->cap;
        c->v = cd_realloc(c->v, c->cap * sizeof *c->v);
    }
    c->v[c->cnt++] = *t;
}

/* Some addresses are warm without being named. */
static bool is_warm(const collector *c, const cd_addr20 *addr)
{
    return cd_addr20_eq(addr, c->from) || cd_addr20_eq(addr, &c->to) ||
           cd_precompile_find(c->precompiles, addr) != NULL;
}

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    collector *c = (collector *)t;
    usize at = 1; /* place of the operand, counted from the top of the stack */
    switch (s->op) {
    case CD_OP_SLOAD:
    case CD_OP_SSTORE:
        if (s->stack_cnt >= 1) {
            touch slot = {.addr = s->self, .is_slot = true};
            cd_u256_store_be(slot.key.b, &s->stack[s->stack_cnt - 1]);
            add(c, &slot);
        }
        return;
    case CD_OP_CALL:
    case CD_OP_CALLCODE:
    case CD_OP_DELEGATECALL:
    case CD_OP_STATICCALL:
        at = s->stack_cnt >= 5 ? 2 : SIZE_MAX;
        break;
    case CD_OP_BALANCE:
    case CD_OP_EXTCODESIZE:
    case CD_OP_EXTCODECOPY:
    case CD_OP_EXTCODEHASH:
    case CD_OP_SELFDESTRUCT:
        break;
    default:
        return;
    }
    if (at <= s->stack_cnt) {
        u8 word[32];
        touch account = {0};
        cd_u256_store_be(word, &s->stack[s->stack_cnt - at]);
        memcpy(account.addr.b, word + 12, sizeof account.addr.b);
        if (!is_warm(c, &account.addr)) {
            add(c, &account);
        }
    }
}

/* Sorts the entries and removes doubles. */
static void sort_once(collector *c)
{
    usize kept = 0;
    if (c->cnt > 1) {
        qsort(c->v, c->cnt, sizeof *c->v, compare);
    }
    for (usize i = 0; i < c->cnt; i++) {
        if (kept == 0 || compare(&c->v[kept - 1], &c->v[i]) != 0) {
            c->v[kept++] = c->v[i];
        }
    }
    c->cnt = kept;
}

/* Adds what the given list says already. */
static void keep(collector *c, const cd_tx *tx)
{
    for (usize i = 0; i < tx->access_cnt; i++) {
        const cd_access_tuple *t = &tx->access[i];
        if (!is_warm(c, &t->addr)) {
            add(c, &(touch){.addr = t->addr});
        }
        for (usize j = 0; j < t->key_cnt; j++) {
            add(c, &(touch){.addr = t->addr, .is_slot = true, .key = t->keys[j]});
        }
    }
}

/* The sorted entries as an access list in the arena. */
static void to_list(const collector *c, cd_tx *tx, cd_arena *a)
{
    cd_access_tuple *list = cd_arena_array(a, cd_access_tuple, c->cnt);
    cd_hash32 *keys = cd_arena_array(a, cd_hash32, c->cnt);
    usize cnt = 0;
    for (usize i = 0; i < c->cnt; i++) {
        if (cnt == 0 || !cd_addr20_eq(&list[cnt - 1].addr, &c->v[i].addr)) {
            list[cnt++] = (cd_access_tuple){.addr = c->v[i].addr, .keys = keys};
        }
        if (c->v[i].is_slot) {
            *keys++ = c->v[i].key;
            list[cnt - 1].key_cnt++;
        }
    }
    tx->access = list;
    tx->access_cnt = cnt;
}

/* Runs until a run finds no more than its list says. */
static cd_err converge(cd_trial *t, cd_tx_result *res, cd_tx *tx)
{
    cd_rpc_call *call = t->call;
    cd_err e = CD_OK;
    bool grows = true;
    collector c = {
        .hooks = {.step = on_step},
        .from = &tx->sender,
        .to = tx->to,
        .precompiles = t->precompiles,
    };
    if (tx->is_create) {
        cd_evm_create_addr(&c.to, &tx->sender, tx->nonce);
    }
    keep(&c, tx);
    sort_once(&c);
    to_list(&c, tx, call->arena);
    while (e == CD_OK && grows) {
        cd_tx_invalid bad;
        usize before = c.cnt;
        cd_evm_set_tracer(t->evm, &c.hooks);
        e = cd_rpc_is_late(call) ? cd_rpc_fail_late(call) : cd_trial_run(t, res, &bad, tx);
        cd_evm_set_tracer(t->evm, NULL);
        if (e == CD_OK && bad != CD_TX_VALID) {
            char hex[65] = {0};
            cd_hash32 hash;
            cd_tx_hash(&hash, tx);
            cd_hex_fmt(hex, cd_bytes_of(hash.b, 32));
            e = cd_rpc_fail(call, CD_RPC_SERVER, "failed to apply transaction: 0x%s err: %s", hex,
                            cd_trial_words(t, bad, tx));
        }
        sort_once(&c);
        grows = c.cnt != before;
        if (grows) {
            to_list(&c, tx, call->arena);
        }
    }
    cd_free(c.v);
    return e;
}

cd_err cd__eth_create_access_list(cd_rpc_call *call)
{
    cd__tx_args args;
    cd_tx_result res;
    cd_trial *t;
    cd_json_w *w = call->out;
    CD_TRY(cd__api_tx_args(call, &args, 0));
    CD_TRY(cd_trial_open(&t, call, &(cd_trial_args){.block = 1, .state = 2, .env = SIZE_MAX}));
    cd_tx *tx = &args.tx;
    tx->gas_limit = cd__api_gas(call, &args);
    tx->type = tx->type == CD_TX_LEGACY ? CD_TX_ACCESS_LIST : tx->type;
    cd_err e = cd_trial_reset(t);
    if (e == CD_OK && !args.has_nonce) {
        tx->nonce = cd_state_acct(t->st, &tx->sender)->nonce;
    }
    e = e == CD_OK ? converge(t, &res, tx) : e;
    if (e == CD_OK) {
        cd_json_w_obj(w);
        cd_json_w_key(w, "accessList");
        cd_api_access_list(w, tx);
        if (res.status != CD_EVM_OK) {
            cd_json_w_key(w, "error");
            cd_json_w_cstr(w,
                           res.status == CD_EVM_REVERT ? "execution reverted" : cd_trial_failure_of(call, &res).words);
        }
        cd_json_w_key(w, "gasUsed");
        cd_json_w_qty(w, res.gas_used);
        cd_json_w_obj_end(w);
    }
    cd_trial_close(t);
    return e;
}
