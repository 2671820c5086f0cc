#include "evm/state/state_priv.h"

#include "base/mem/mem.h"
#include "base/os/rng.h"
#include "crypto/hash/keccak.h"

enum { ACCT_BITS = 8, SLOT_BITS = 10, TSLOT_BITS = 6, JOURNAL_MIN = 1024 };

/* The flags that changes set and a revert takes back; the others describe the entry, not the
 * state. */
enum {
    FLAGS_JOURNALED = CD_ACCT_EXISTS | CD_ACCT_TOUCHED | CD_ACCT_DESTROYED | CD_ACCT_CODE_DIRTY,
};

/* --- life --- */

static void caches_clear(cd_state *st)
{
    for (usize i = 0; i < CD__ACCT_CACHE; i++) {
        st->acct_cache[i] = &st->no_acct;
    }
    for (usize i = 0; i < CD__SLOT_CACHE; i++) {
        st->slot_cache[i] = &st->no_slot;
    }
    for (usize i = 0; i < CD__TSLOT_CACHE; i++) {
        st->tslot_cache[i] = &st->no_tslot;
    }
}

cd_state *cd_state_new(cd_state_source *src)
{
    cd_state *st = cd_new(cd_state);
    st->src = src;
    st->tx = 1;
    st->jbase = cd_new_array(u64, JOURNAL_MIN);
    st->jtop = st->jbase;
    st->jend = st->jbase + JOURNAL_MIN;
    cd_rng rng = cd_rng_os(); /* the key decides how long hostile addresses take, never a result */
    cd_rng_fill(&rng, st->key, sizeof st->key);
    cd__table_init(&st->accts, ACCT_BITS);
    cd__table_init(&st->slots, SLOT_BITS);
    cd__table_init(&st->tslots, TSLOT_BITS);
    caches_clear(st);
    return st;
}

void cd_state_free(cd_state *st)
{
    if (st == NULL) {
        return;
    }
    cd__table_fini(&st->accts);
    cd__table_fini(&st->slots);
    cd__table_fini(&st->tslots);
    cd_arena_fini(&st->entries);
    cd_arena_fini(&st->log_data);
    cd_free(st->jbase);
    cd_free(st->listed);
    cd_free(st->tslot_items);
    cd_free(st->logs);
    cd_free(st);
}

void cd_state_reset(cd_state *st, cd_state_source *src)
{
    st->src = src;
    st->err = CD_OK;
    st->tx = 1;
    st->refund = 0;
    st->jtop = st->jbase;
    st->all = NULL;
    st->listed_cnt = 0;
    st->tslot_cnt = 0;
    cd__table_clear(&st->accts);
    cd__table_clear(&st->slots);
    cd__table_clear(&st->tslots);
    cd_arena_reset(&st->entries);
    cd_state_clear_logs(st);
    caches_clear(st);
}

cd_err cd_state_error(const cd_state *st)
{
    return st->err;
}

cd_state_source *cd_state_source_of(const cd_state *st)
{
    return st->src;
}

static void fail(cd_state *st, cd_err err)
{
    if (st->err == CD_OK) {
        st->err = err;
    }
}

/* --- journal --- */

void cd__state_journal_grow(cd_state *st)
{
    usize used = (usize)(st->jtop - st->jbase);
    usize cap = (usize)(st->jend - st->jbase) * 2;
    CD_ASSERT(cap <= UINT32_MAX);
    st->jbase = cd_realloc(st->jbase, cap * sizeof(u64));
    st->jtop = st->jbase + used;
    st->jend = st->jbase + cap;
}

static cd_u256 word(const u64 *p)
{
    return (cd_u256){.w = {p[0], p[1], p[2], p[3]}};
}

static void restore_flags(cd_acct *a, u64 old)
{
    a->flags = (a->flags & ~(u32)FLAGS_JOURNALED) | ((u32)old & FLAGS_JOURNALED);
}

/* undo takes back the change of one record; p points behind its payload. Gives the start of the payload. */
static u64 *undo(cd_state *st, cd__undo kind, void *item, u64 *p)
{
    cd_acct *a = item;
    cd_slot *s = item;
    switch (kind) {
    case CD__UNDO_ACCT_WARM:
        a->warm_tx = 0;
        break;
    case CD__UNDO_SLOT_WARM:
        s->warm_tx = 0;
        break;
    case CD__UNDO_SLOT_VALUE:
        p -= 4;
        s->value = word(p);
        break;
    case CD__UNDO_FLAGS:
        p -= 1;
        restore_flags(a, p[0]);
        break;
    case CD__UNDO_BALANCE:
        p -= 5;
        a->balance = word(p);
        restore_flags(a, p[4]);
        break;
    case CD__UNDO_NONCE:
        p -= 2;
        a->nonce = p[0];
        restore_flags(a, p[1]);
        break;
    case CD__UNDO_CODE:
        p -= 7;
        memcpy(&a->code_hash, p, sizeof a->code_hash);
        memcpy(&a->code, p + 4, sizeof a->code);
        restore_flags(a, p[6]);
        a->flags = (a->flags & ~(u32)CD_ACCT_CODE_LOADED) | ((u32)p[6] & CD_ACCT_CODE_LOADED);
        break;
    case CD__UNDO_CREATED:
        p -= 1;
        a->created_tx = (u32)p[0];
        break;
    case CD__UNDO_TRANSIENT:
        p -= 4;
        ((cd__tslot *)item)->value = word(p);
        break;
    case CD__UNDO_LOG: {
        p -= 2;
        cd_arena_mark mark;
        memcpy(&mark, p, sizeof mark);
        cd_arena_rewind(&st->log_data, mark);
        st->log_cnt--;
        break;
    }
    case CD__UNDO_REFUND:
        p -= 1;
        st->refund = p[0];
        break;
    }
    return p;
}

void cd_state_revert(cd_state *st, cd_snapshot to)
{
    u64 *stop = st->jbase + to;
    u64 *p = st->jtop;
    CD_ASSERT(stop <= p);
    while (p != stop) {
        u64 tag = *--p;
        p = undo(st, (cd__undo)(tag & 15), (void *)(uintptr_t)(tag & ~(u64)15), p);
    }
    st->jtop = p;
}

/* --- transactions --- */

/* unlist removes the transaction's marks from its accounts and drops its journal. */
static void unlist(cd_state *st)
{
    for (usize i = 0; i < st->listed_cnt; i++) {
        st->listed[i]->flags &= ~(u32)(CD_ACCT_TOUCHED | CD_ACCT_DESTROYED | CD_ACCT_LISTED | CD_ACCT_KEEP_TOUCH);
    }
    st->listed_cnt = 0;
    st->jtop = st->jbase;
}

void cd_state_begin_tx(cd_state *st)
{
    CD_ASSERT(st->tx != UINT32_MAX);
    unlist(st);
    st->tx++;
    st->refund = 0;
    cd__table_clear(&st->tslots);
}

/* wipe deletes the account with its storage, also the slots that only the source has. */
static void wipe(cd_acct *a)
{
    a->flags &= ~(u32)(CD_ACCT_EXISTS | CD_ACCT_CODE_DIRTY | CD_ACCT_CODE_LOADED);
    a->flags |= (a->flags & CD_ACCT_IN_SOURCE) != 0 ? CD_ACCT_WIPED : 0;
    a->nonce = 0;
    cd_u256_set_u64(&a->balance, 0);
    a->code_hash = CD_HASH_EMPTY_CODE;
    a->code = (cd_bytes){0};
    for (cd_slot *s = a->slots; s != NULL; s = s->next) {
        cd_u256_set_u64(&s->value, 0);
        cd_u256_set_u64(&s->committed, 0);
    }
}

void cd_state_end_tx(cd_state *st, bool drop_empty)
{
    for (usize i = 0; i < st->listed_cnt; i++) {
        cd_acct *a = st->listed[i];
        bool touched = (a->flags & (CD_ACCT_TOUCHED | CD_ACCT_KEEP_TOUCH)) != 0;
        if ((a->flags & CD_ACCT_DESTROYED) != 0 ||
            (drop_empty && touched && (a->flags & CD_ACCT_EXISTS) != 0 && cd_acct_is_empty(a))) {
            wipe(a);
        }
    }
    unlist(st);
}

/* --- accounts --- */

static void load_acct(cd_state *st, cd_acct *a)
{
    cd_account from = {0};
    bool found = false;
    a->code_hash = CD_HASH_EMPTY_CODE;
    a->storage_root = CD_HASH_EMPTY_TRIE;
    if (st->err == CD_OK) {
        cd_err err = st->src->account(st->src, &from, &found, &a->addr);
        if (err != CD_OK) {
            fail(st, err);
            found = false;
        }
    }
    if (found) {
        a->flags = CD_ACCT_EXISTS | CD_ACCT_IN_SOURCE;
        a->nonce = from.nonce;
        a->balance = from.balance;
        a->code_hash = from.code_hash;
        a->storage_root = from.storage_root;
    }
    a->committed_nonce = a->nonce;
    a->committed_balance = a->balance;
    a->committed_code_hash = a->code_hash;
}

cd_acct *cd__state_acct_find(cd_state *st, const cd_addr20 *addr)
{
    u64 hash = cd__hash_addr(st->key, addr) | 1; /* 0 is the mark of an empty cache line */
    u32 tag = (u32)(hash >> 32);
    u32 at = cd__table_home(&st->accts, tag);
    cd_acct *a;
    while ((a = cd__table_next(&st->accts, &at, tag)) != NULL) {
        if (cd__addr_same(&a->addr, addr)) {
            break;
        }
    }
    if (a == NULL) {
        a = cd_arena_new(&st->entries, cd_acct);
        a->addr = *addr;
        a->hash = hash;
        load_acct(st, a);
        a->next = st->all;
        st->all = a;
        cd__table_add(&st->accts, tag, a);
    }
    st->acct_cache[cd_be64(addr->b + 12) % CD__ACCT_CACHE] = a;
    return a;
}

/* list remembers a for cd_state_end_tx. */
static void list(cd_state *st, cd_acct *a)
{
    if ((a->flags & CD_ACCT_LISTED) != 0) {
        return;
    }
    a->flags |= CD_ACCT_LISTED;
    if (st->listed_cnt == st->listed_cap) {
        st->listed_cap = st->listed_cap == 0 ? 64 : st->listed_cap * 2;
        st->listed = cd_realloc(st->listed, st->listed_cap * sizeof(cd_acct *));
    }
    st->listed[st->listed_cnt++] = a;
}

/* change sets the flags of an account that is about to change; the caller has recorded the old flags. */
static void change(cd_state *st, cd_acct *a, u32 also)
{
    list(st, a);
    a->flags |= CD_ACCT_EXISTS | CD_ACCT_TOUCHED | also;
}

void cd__state_touch_first(cd_state *st, cd_acct *a, bool keep_on_revert)
{
    *cd__state_record(st, 1, CD__UNDO_FLAGS, a) = a->flags;
    change(st, a, keep_on_revert ? CD_ACCT_KEEP_TOUCH : 0);
}

void cd_state_set_balance(cd_state *st, cd_acct *a, const cd_u256 *wei)
{
    u64 *p = cd__state_record(st, 5, CD__UNDO_BALANCE, a);
    cd__state_put_word(p, &a->balance);
    p[4] = a->flags;
    change(st, a, 0);
    cd_u256_set(&a->balance, wei);
}

void cd_state_add_balance(cd_state *st, cd_acct *a, const cd_u256 *wei)
{
    if (cd_u256_is_zero(wei)) {
        cd_state_touch(st, a, false);
        return;
    }
    cd_u256 sum;
    cd_u256_add(&sum, &a->balance, wei);
    cd_state_set_balance(st, a, &sum);
}

void cd_state_sub_balance(cd_state *st, cd_acct *a, const cd_u256 *wei)
{
    if (cd_u256_is_zero(wei)) {
        cd_state_touch(st, a, false);
        return;
    }
    cd_u256 rest;
    cd_u256_sub(&rest, &a->balance, wei);
    cd_state_set_balance(st, a, &rest);
}

void cd_state_set_nonce(cd_state *st, cd_acct *a, u64 nonce)
{
    u64 *p = cd__state_record(st, 2, CD__UNDO_NONCE, a);
    p[0] = a->nonce;
    p[1] = a->flags;
    change(st, a, 0);
    a->nonce = nonce;
}

/* put_code replaces the code of a and its hash. */
static void put_code(cd_state *st, cd_acct *a, cd_bytes code, const cd_hash32 *hash, u32 dirty)
{
    u64 *p = cd__state_record(st, 7, CD__UNDO_CODE, a);
    memcpy(p, &a->code_hash, sizeof a->code_hash);
    memcpy(p + 4, &a->code, sizeof a->code);
    p[6] = a->flags;
    change(st, a, CD_ACCT_CODE_LOADED | dirty);
    a->code_hash = *hash;
    a->code = code;
}

void cd_state_set_code(cd_state *st, cd_acct *a, cd_bytes code)
{
    cd_hash32 hash;
    cd_keccak256(&hash, code);
    put_code(st, a, cd_arena_dup(&st->entries, code), &hash, CD_ACCT_CODE_DIRTY);
}

cd_bytes cd_state_code(cd_state *st, cd_acct *a)
{
    if (CD_UNLIKELY((a->flags & CD_ACCT_CODE_LOADED) == 0)) {
        cd_bytes code = {0};
        if (!cd_hash32_eq(&a->code_hash, &CD_HASH_EMPTY_CODE) && st->err == CD_OK) {
            cd_err err = st->src->code(st->src, &code, &a->code_hash);
            if (err != CD_OK) {
                fail(st, err);
                code = (cd_bytes){0};
            }
        }
        a->code = code;
        a->flags |= CD_ACCT_CODE_LOADED;
    }
    return a->code;
}

void cd_state_create(cd_state *st, cd_acct *a, u64 nonce)
{
    *cd__state_record(st, 1, CD__UNDO_CREATED, a) = a->created_tx;
    a->created_tx = st->tx;
    cd_state_set_nonce(st, a, nonce);
}

bool cd_state_collides(cd_state *st, cd_acct *a)
{
    (void)st;
    if (a->nonce != 0 || !cd_hash32_eq(&a->code_hash, &CD_HASH_EMPTY_CODE)) {
        return true;
    }
    if ((a->flags & CD_ACCT_WIPED) == 0 && !cd_hash32_eq(&a->storage_root, &CD_HASH_EMPTY_TRIE)) {
        return true;
    }
    for (const cd_slot *s = a->slots; s != NULL; s = s->next) {
        if (!cd_u256_is_zero(&s->value)) {
            return true;
        }
    }
    return false;
}

void cd_state_destroy(cd_state *st, cd_acct *a)
{
    *cd__state_record(st, 1, CD__UNDO_FLAGS, a) = a->flags;
    change(st, a, CD_ACCT_DESTROYED);
}

/* --- storage --- */

static void load_slot(cd_state *st, cd_slot *s)
{
    const cd_acct *a = s->acct;
    bool stored = (a->flags & (CD_ACCT_IN_SOURCE | CD_ACCT_WIPED)) == CD_ACCT_IN_SOURCE;
    if (!stored || st->err != CD_OK) {
        return;
    }
    cd_err err = st->src->storage(st->src, &s->value, &a->addr, &s->key);
    if (err != CD_OK) {
        fail(st, err);
        s->value = cd_u256_zero();
    }
    s->committed = s->value;
}

cd_slot *cd__state_slot_find(cd_state *st, cd_acct *a, const cd_u256 *key)
{
    u32 tag = (u32)(cd__hash_word(st->key, key, a->hash) >> 32);
    u32 at = cd__table_home(&st->slots, tag);
    cd_slot *s;
    while ((s = cd__table_next(&st->slots, &at, tag)) != NULL) {
        if (s->acct == a && cd_u256_eq(&s->key, key)) {
            break;
        }
    }
    if (s == NULL) {
        s = cd_arena_new(&st->entries, cd_slot);
        s->acct = a;
        s->key = *key;
        load_slot(st, s);
        s->next = a->slots;
        a->slots = s;
        cd__table_add(&st->slots, tag, s);
    }
    st->slot_cache[(key->w[0] + a->hash) % CD__SLOT_CACHE] = s;
    return s;
}

/* --- logs --- */

void cd_state_log(cd_state *st, const cd_log *log)
{
    cd_arena_mark mark = cd_arena_mark_get(&st->log_data);
    u64 *p = cd__state_record(st, 2, CD__UNDO_LOG, NULL);
    _Static_assert(sizeof mark == 2 * sizeof(u64), "a mark fills the payload");
    memcpy(p, &mark, sizeof mark);
    if (st->log_cnt == st->log_cap) {
        st->log_cap = st->log_cap == 0 ? 64 : st->log_cap * 2;
        st->logs = cd_realloc(st->logs, st->log_cap * sizeof(cd_log));
    }
    cd_log *to = &st->logs[st->log_cnt++];
    to->addr = log->addr;
    to->topic_cnt = log->topic_cnt;
    memcpy(to->topics, log->topics, log->topic_cnt * sizeof(cd_hash32));
    to->data = cd_arena_dup(&st->log_data, log->data);
}

const cd_log *cd_state_logs(const cd_state *st, usize *cnt)
{
    *cnt = st->log_cnt;
    return st->logs;
}

void cd_state_clear_logs(cd_state *st)
{
    st->log_cnt = 0;
    cd_arena_reset(&st->log_data);
}
