/* prestateTracer: the accounts and slots a transaction needs, as they were before it; in diff mode what it changed,
 * before and after.
 *
 *   accts  in the order they were met, found by address          slots  likewise, found by (account, key)
 *
 * What counts as needed is go-ethereum's list: sender, recipient, coinbase, and what instructions name, whether or not
 * they then fail or are reverted. */
#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "chains/evmchain/tracers/kinds_priv.h"
#include "crypto/hash/keccak.h"
#include "evm/delegation.h"
#include "evm/interp/opcode.h"
#include "types/hashes.h"
#include "types/tx_codec.h"

#include <stdlib.h>

/* One account as it was when it was met, which is before it was changed. */
typedef struct pre_acct {
    cd_addr20 addr;
    u64 nonce;
    cd_u256 balance;
    cd_hash32 code_hash;
    cd_bytes code; /* borrowed from the state */
    bool is_empty;
    bool is_destroyed; /* SELFDESTRUCT ran, whatever came of it */
    bool is_hidden;    /* found to be unchanged */
} pre_acct;

typedef struct pre_slot {
    u32 acct;
    cd_u256 key;
    cd_u256 value;
    bool is_hidden;
} pre_slot;

/* Key of the map of slots; no padding. */
typedef struct slot_key {
    u64 acct;
    cd_u256 key;
} slot_key;

typedef struct prestate {
    cd_txtracer t;
    bool diff;
    bool no_code;
    bool no_storage;
    bool with_empty;
    pre_acct *accts;
    u32 acct_cnt;
    u32 acct_cap;
    pre_slot *slots;
    u32 slot_cnt;
    u32 slot_cap;
    cd_hmap by_addr;
    cd_hmap by_key;
    cd_buf post; /* JSON members of "post" */
} prestate;

/* --- meeting --- */

static bool has_code(const pre_acct *a)
{
    return !cd_hash32_eq(&a->code_hash, &CD_HASH_EMPTY_CODE);
}

static void load(const prestate *p, pre_acct *a)
{
    cd_state *st = p->t.tx->st;
    cd_acct *now = cd_state_acct(st, &a->addr);
    a->balance = now->balance;
    a->nonce = now->nonce;
    a->code_hash = now->code_hash;
    a->code = p->no_code ? (cd_bytes){0} : cd_state_code(st, now);
    a->is_empty = a->nonce == 0 && cd_u256_is_zero(&a->balance) && !has_code(a);
}

/* Its index, or 0 when there is no room any more (the trace then has stopped). */
static u32 meet(prestate *p, const cd_addr20 *addr)
{
    u32 *idx = cd_hmap_get(&p->by_addr, addr);
    if (idx != NULL) {
        return *idx;
    }
    if (!cd_tracer_take(&p->t, 2 * sizeof(pre_acct))) {
        return 0;
    }
    if (p->acct_cnt == p->acct_cap) {
        p->acct_cap = p->acct_cap == 0 ? 16 : 2 * p->acct_cap;
        p->accts = cd_realloc(p->accts, p->acct_cap * sizeof *p->accts);
    }
    pre_acct *a = &p->accts[p->acct_cnt];
    *a = (pre_acct){.addr = *addr};
    load(p, a);
    *(u32 *)cd_hmap_put(&p->by_addr, NULL, addr) = p->acct_cnt;
    return p->acct_cnt++;
}

static void meet_word(prestate *p, const cd_u256 *word)
{
    cd_addr20 addr = cd_u256_to_addr(word);
    (void)meet(p, &addr);
}

/* The account that is called, and whose code it runs (EIP-7702). */
static void meet_callee(prestate *p, const cd_addr20 *addr)
{
    cd_state *st = p->t.tx->st;
    cd_addr20 other;
    (void)meet(p, addr);
    if (p->t.tx->fork >= CD_PRAGUE && cd_delegation_dec(&other, cd_state_code(st, cd_state_acct(st, addr)))) {
        (void)meet(p, &other);
    }
}

static void meet_slot(prestate *p, const cd_addr20 *addr, const cd_u256 *key)
{
    if (p->no_storage) {
        return;
    }
    slot_key k = {.acct = meet(p, addr), .key = *key};
    if (p->t.hooks.stop || cd_hmap_get(&p->by_key, &k) != NULL || !cd_tracer_take(&p->t, 2 * sizeof(pre_slot))) {
        return;
    }
    (void)cd_hmap_put(&p->by_key, NULL, &k);
    if (p->slot_cnt == p->slot_cap) {
        p->slot_cap = p->slot_cap == 0 ? 16 : 2 * p->slot_cap;
        p->slots = cd_realloc(p->slots, p->slot_cap * sizeof *p->slots);
    }
    cd_state *st = p->t.tx->st;
    p->slots[p->slot_cnt++] =
        (pre_slot){.acct = (u32)k.acct, .key = *key, .value = cd_state_slot(st, cd_state_acct(st, addr), key)->value};
}

/* The address that CREATE2 is about to use; false when its code lies too far beyond the memory. */
static bool create2_addr(cd_addr20 *out, const cd_trace_step *s, const cd_u256 *top)
{
    enum { PAD_MAX = 1 << 20 };
    static const u8 zeros[256];
    u64 off = cd_u256_to_u64_sat(&top[-1]);
    u64 len = cd_u256_to_u64_sat(&top[-2]);
    u64 end;
    if (!cd_add_u64(&end, off, len) || (end > s->memory.n && end - s->memory.n > PAD_MAX)) {
        return false;
    }
    cd_keccak k;
    cd_hash32 hash;
    cd_keccak_init(&k);
    u64 there = off < s->memory.n ? cd_min_u64(len, s->memory.n - off) : 0;
    if (there != 0) {
        cd_keccak_update(&k, cd_bytes_sub(s->memory, off, there));
    }
    for (u64 left = len - there; left != 0;) {
        u64 n = cd_min_u64(left, sizeof zeros);
        cd_keccak_update(&k, cd_bytes_of(zeros, n));
        left -= n;
    }
    cd_keccak_final(&k, &hash);
    cd_hash32 salt = cd_u256_to_hash(&top[-3]);
    cd_evm_create2_addr(out, &s->self, &salt, &hash);
    return true;
}

static void on_step(cd_tracer *t, const cd_trace_step *s)
{
    prestate *p = (prestate *)(void *)t;
    if (s->error != 0 || t->stop) {
        return;
    }
    const cd_u256 *top = s->stack + s->stack_cnt - 1; /* operands are there: nothing is in error */
    cd_addr20 addr;
    switch (s->op) {
    case CD_OP_SLOAD:
    case CD_OP_SSTORE:
        meet_slot(p, &s->self, top);
        break;
    case CD_OP_BALANCE:
    case CD_OP_EXTCODESIZE:
    case CD_OP_EXTCODECOPY:
    case CD_OP_EXTCODEHASH:
        meet_word(p, top);
        break;
    case CD_OP_SELFDESTRUCT:
        meet_word(p, top);
        p->accts[meet(p, &s->self)].is_destroyed = true;
        break;
    case CD_OP_CALL:
    case CD_OP_CALLCODE:
    case CD_OP_DELEGATECALL:
    case CD_OP_STATICCALL:
        addr = cd_u256_to_addr(top - 1);
        meet_callee(p, &addr);
        break;
    case CD_OP_CREATE:
        cd_evm_create_addr(&addr, &s->self, cd_state_acct(s->state, &s->self)->nonce);
        (void)meet(p, &addr);
        break;
    case CD_OP_CREATE2:
        if (create2_addr(&addr, s, top)) {
            (void)meet(p, &addr);
        }
        break;
    }
}

/* --- life --- */

static cd_err make(cd_txtracer **out, cd_json cfg, cd_errinfo *why)
{
    prestate o = {.t = {.hooks = {.step = on_step}, .kind = &cd__tracer_prestate}};
    CD_TRY(cd__trace_flag(&o.diff, cfg, "diffMode", why));
    CD_TRY(cd__trace_flag(&o.no_code, cfg, "disableCode", why));
    CD_TRY(cd__trace_flag(&o.no_storage, cfg, "disableStorage", why));
    CD_TRY(cd__trace_flag(&o.with_empty, cfg, "includeEmpty", why));
    if (o.diff && o.with_empty) {
        return cd_fail(why, CD_EINVAL, "cannot use diffMode with includeEmpty");
    }
    prestate *p = cd_new(prestate);
    *p = o;
    cd_hmap_init(&p->by_addr, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(u32));
    cd_hmap_init(&p->by_key, CD_HASH_KEYED, sizeof(slot_key), 0);
    *out = &p->t;
    return CD_OK;
}

static void begin(cd_txtracer *t)
{
    prestate *p = (prestate *)(void *)t;
    const cd_tx *tx = t->tx->tx;
    if (tx->is_create) {
        cd_addr20 created;
        cd_evm_create_addr(&created, &tx->sender, cd_state_acct(t->tx->st, &tx->sender)->nonce);
        (void)meet(p, &created);
    } else {
        meet_callee(p, &tx->to);
    }
    (void)meet(p, &tx->sender);
    (void)meet(p, &t->tx->coinbase);
    for (usize i = 0; i < tx->auth_cnt; i++) {
        cd_addr20 signer;
        if (cd_authorization_recover(&signer, &tx->auths[i]) == CD_OK) {
            (void)meet(p, &signer);
        }
    }
}

static void release(cd_txtracer *t)
{
    prestate *p = (prestate *)(void *)t;
    cd_hmap_fini(&p->by_addr);
    cd_hmap_fini(&p->by_key);
    cd_buf_fini(&p->post);
    cd_free(p->accts);
    cd_free(p->slots);
    cd_free(p);
}

/* --- writing --- */

static void put_key(cd_json_w *w, const u8 *b, usize n)
{
    char key[67] = "0x";
    cd_hex_fmt(key + 2, cd_bytes_of(b, n));
    key[2 + 2 * n] = '\0';
    cd_json_w_key(w, key);
}

static void put_slot(cd_json_w *w, const cd_u256 *key, const cd_u256 *value)
{
    u8 word[32];
    cd_u256_store_be(word, key);
    put_key(w, word, 32);
    cd_u256_store_be(word, value);
    cd_json_w_hex(w, cd_bytes_of(word, 32));
}

/* "storage" is written with its first slot. */
static void open_storage(cd_json_w *w, bool *is_open)
{
    if (!*is_open) {
        cd_json_w_key(w, "storage");
        cd_json_w_obj(w);
        *is_open = true;
    }
}

/* The slots of an account from *at on, in "pre". */
static void put_pre_slots(const prestate *p, cd_json_w *w, u32 acct, u32 *at)
{
    bool is_open = false;
    for (; *at < p->slot_cnt && p->slots[*at].acct == acct; (*at)++) {
        const pre_slot *s = &p->slots[*at];
        if (!s->is_hidden) {
            open_storage(w, &is_open);
            put_slot(w, &s->key, &s->value);
        }
    }
    if (is_open) {
        cd_json_w_obj_end(w);
    }
}

static void put_pre(const prestate *p, cd_json_w *w)
{
    u32 at = 0;
    cd_json_w_obj(w);
    for (u32 i = 0; i < p->acct_cnt; i++) {
        const pre_acct *a = &p->accts[i];
        if (a->is_hidden || (a->is_empty && !p->with_empty)) {
            for (; at < p->slot_cnt && p->slots[at].acct == i; at++) {
            }
            continue;
        }
        put_key(w, a->addr.b, 20);
        cd_json_w_obj(w);
        cd_json_put_qty_u256(w, "balance", &a->balance);
        if (a->code.n != 0) {
            cd_json_put_hex(w, "code", a->code);
        }
        if (has_code(a)) {
            cd_json_put_hex(w, "codeHash", cd_bytes_of(a->code_hash.b, 32));
        }
        if (a->nonce != 0) {
            cd_json_put_u64(w, "nonce", a->nonce);
        }
        put_pre_slots(p, w, i, &at);
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
}

/* The slots of an account that changed; hides the others in "pre", and those that held nothing. */
static void put_post_slots(prestate *p, cd_json_w *w, u32 acct, u32 *at, bool *changed)
{
    cd_state *st = p->t.tx->st;
    bool is_open = false;
    for (; *at < p->slot_cnt && p->slots[*at].acct == acct; (*at)++) {
        pre_slot *s = &p->slots[*at];
        cd_acct *a = cd_state_acct(st, &p->accts[acct].addr);
        const cd_u256 *now = &cd_state_slot(st, a, &s->key)->value;
        bool same = cd_u256_eq(now, &s->value);
        s->is_hidden = same || cd_u256_is_zero(&s->value);
        *changed = *changed || !same;
        if (!same && !cd_u256_is_zero(now)) {
            open_storage(w, &is_open);
            put_slot(w, &s->key, now);
        }
    }
    if (is_open) {
        cd_json_w_obj_end(w);
    }
}

/* An account in "post"; false when it did not change. */
static bool put_post_acct(prestate *p, cd_json_w *w, u32 idx, u32 *at)
{
    const pre_acct *a = &p->accts[idx];
    pre_acct now = {.addr = a->addr};
    bool changed = false;
    load(p, &now);
    put_key(w, a->addr.b, 20);
    cd_json_w_obj(w);
    if (!cd_u256_eq(&now.balance, &a->balance)) {
        cd_json_put_qty_u256(w, "balance", &now.balance);
        changed = true;
    }
    if (!cd_hash32_eq(&now.code_hash, &a->code_hash)) {
        if (!p->no_code) {
            cd_json_put_hex(w, "code", now.code);
        }
        cd_json_put_hex(w, "codeHash", cd_bytes_of(now.code_hash.b, 32));
        changed = true;
    }
    if (now.nonce != a->nonce) {
        cd_json_put_u64(w, "nonce", now.nonce);
        changed = true;
    }
    put_post_slots(p, w, idx, at, &changed);
    cd_json_w_obj_end(w);
    return changed;
}

/* An account that is gone has no "post", and all of it is "pre". */
static bool is_gone(const prestate *p, const pre_acct *a)
{
    return a->is_destroyed && (cd_state_acct(p->t.tx->st, &a->addr)->flags & CD_ACCT_EXISTS) == 0;
}

/* Works out "post" while the state is there, and hides what did not change from "pre". */
static void put_post(prestate *p, cd_json_w *w)
{
    u32 at = 0;
    cd_json_w_obj(w);
    for (u32 i = 0; i < p->acct_cnt; i++) {
        usize start = w->out->n;
        bool comma = w->comma;
        if (is_gone(p, &p->accts[i])) {
            for (; at < p->slot_cnt && p->slots[at].acct == i; at++) {
            }
        } else if (!put_post_acct(p, w, i, &at)) {
            p->accts[i].is_hidden = true;
            w->out->n = start;
            w->comma = comma;
        }
    }
    cd_json_w_obj_end(w);
}

static int cmp_accts(const void *x, const void *y)
{
    const pre_acct *a = x;
    const pre_acct *b = y;
    return memcmp(a->addr.b, b->addr.b, sizeof a->addr.b);
}

static int cmp_slots(const void *x, const void *y)
{
    const pre_slot *a = x;
    const pre_slot *b = y;
    return a->acct != b->acct ? (a->acct < b->acct ? -1 : 1) : cd_u256_cmp(&a->key, &b->key);
}

/* Puts accounts in the order of addresses and slots in that of accounts and keys. */
static void sort_all(prestate *p)
{
    qsort(p->accts, p->acct_cnt, sizeof *p->accts, cmp_accts);
    u32 *place = cd_new_array(u32, p->acct_cnt);
    for (u32 i = 0; i < p->acct_cnt; i++) {
        place[*(u32 *)cd_hmap_get(&p->by_addr, &p->accts[i].addr)] = i;
    }
    for (u32 i = 0; i < p->slot_cnt; i++) {
        p->slots[i].acct = place[p->slots[i].acct];
    }
    if (p->slot_cnt != 0) {
        qsort(p->slots, p->slot_cnt, sizeof *p->slots, cmp_slots);
    }
    cd_free(place);
}

static void end(cd_txtracer *t, const cd_tx_result *res)
{
    prestate *p = (prestate *)(void *)t;
    (void)res;
    sort_all(p);
    if (p->diff) {
        cd_json_w w = {.out = &p->post};
        put_post(p, &w);
    }
}

static void result(cd_txtracer *t, cd_json_w *w)
{
    const prestate *p = (prestate *)(void *)t;
    if (!p->diff) {
        put_pre(p, w);
        return;
    }
    cd_json_w_obj(w);
    cd_json_w_key(w, "post");
    cd_json_w_raw(w, cd_buf_bytes(&p->post));
    cd_json_w_key(w, "pre");
    put_pre(p, w);
    cd_json_w_obj_end(w);
}

const cd_tracer_kind cd__tracer_prestate = {
    .name = "prestateTracer",
    .make = make,
    .begin = begin,
    .end = end,
    .result = result,
    .free = release,
};
