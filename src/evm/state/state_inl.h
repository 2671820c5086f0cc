/* evm/state/state_inl.h - the inside of cd_state that the interpreter inlines; only evm/state/state.h includes
 * it.
 *
 * Lookups go through a small direct-mapped cache of entry pointers, then a hash table with a key of
 * its own (attackers choose addresses and slots). The journal is a stack of 64-bit words: the
 * payload of a record, then a word with the entry's address and the kind of change in its low four
 * bits, so that it reads backwards:
 *
 *     … | old value (4 words) | slot + SLOT_VALUE | acct + ACCT_WARM | old refund | REFUND |◄ jtop
 */
#ifndef CD_EVM_STATE_INL_H
#define CD_EVM_STATE_INL_H

#include "base/mem/arena.h"

enum {
    CD__ACCT_CACHE = 128,
    CD__SLOT_CACHE = 256,
    CD__TSLOT_CACHE = 64,
    CD__JOURNAL_RECORD_MAX = 16, /* words that no record exceeds */
};

/* What a journal record undoes, and the record's payload. */
typedef enum cd__undo {
    CD__UNDO_ACCT_WARM,  /* none */
    CD__UNDO_SLOT_WARM,  /* none */
    CD__UNDO_SLOT_VALUE, /* old value */
    CD__UNDO_FLAGS,      /* old flags */
    CD__UNDO_BALANCE,    /* old balance, flags */
    CD__UNDO_NONCE,      /* old nonce, flags */
    CD__UNDO_CODE,       /* old hash, code, analysis, flags */
    CD__UNDO_CREATED,    /* old created_tx */
    CD__UNDO_TRANSIENT,  /* old value */
    CD__UNDO_LOG,        /* place in the log arena */
    CD__UNDO_REFUND,     /* old counter */
} cd__undo;

/* One transient slot; it exists in transaction tx only. */
typedef struct cd__tslot {
    cd_addr20 addr;
    u32 tx;
    cd_u256 key;
    cd_u256 value;
} cd__tslot;

/* Open addressing, linear probing, at most half full. An entry is taken when its stamp is the
 * table's; it starts its search at the top bits of its tag. */
typedef struct cd__table_entry {
    void *item;
    u32 tag;
    u32 stamp;
} cd__table_entry;

/* A hash table with open addressing. */
typedef struct cd__table {
    cd__table_entry *entries;
    u32 cnt;
    u32 stamp; /* counting it up empties the table */
    u32 bits;  /* log2 of the capacity */
} cd__table;

/* The inside of cd_state. The journal, the words from jbase to jtop with room up to jend, tells how to undo changes.
 * The caches, indexed by bits of address or key, answer most lookups without the tables. */
struct cd_state {
    u64 *jtop;
    u64 *jend;
    u64 *jbase;
    u32 tx; /* number of the current transaction, from 1 */
    cd_err err;
    u64 refund;
    cd_acct *acct_cache[CD__ACCT_CACHE]; /* no entry is NULL */
    cd_slot *slot_cache[CD__SLOT_CACHE];
    cd__tslot *tslot_cache[CD__TSLOT_CACHE];

    cd_state_source *src;
    u64 key[4]; /* key of the hash functions */
    cd__table accts;
    cd__table slots;
    cd__table tslots;
    cd_arena entries; /* accounts, slots, new code */
    cd_acct *all;     /* newest first */
    cd_acct **listed; /* accounts cd_state_end_tx looks at */
    usize listed_cnt;
    usize listed_cap;
    cd__tslot **tslot_items; /* transient entries, reused from transaction to transaction */
    usize tslot_cnt;
    usize tslot_cap;
    cd_log *logs;
    usize log_cnt;
    usize log_cap;
    cd_arena log_data;
    cd_acct no_acct; /* what empty cache lines point at */
    cd_slot no_slot;
    cd__tslot no_tslot;
};

/* Slow paths and parts, in state.c and transient.c. */
cd_acct *cd__state_acct_find(cd_state *st, const cd_addr20 *addr);
cd_slot *cd__state_slot_find(cd_state *st, cd_acct *a, const cd_u256 *key);
cd__tslot *cd__state_tslot_find(cd_state *st, const cd_addr20 *addr, const cd_u256 *key, bool make);
void cd__state_journal_grow(cd_state *st);
void cd__state_touch_first(cd_state *st, cd_acct *a, bool keep_on_revert);

/* cd__state_record appends a record of n + 1 words and gives its payload: n words for the caller to fill. */
CD_INLINE u64 *cd__state_record(cd_state *st, usize n, cd__undo kind, void *item)
{
    if (CD_UNLIKELY((usize)(st->jend - st->jtop) < CD__JOURNAL_RECORD_MAX)) {
        cd__state_journal_grow(st);
    }
    u64 *p = st->jtop;
    p[n] = (u64)(uintptr_t)item | (u64)kind;
    st->jtop = p + n + 1;
    return p;
}

CD_INLINE void cd__state_put_word(u64 *p, const cd_u256 *v)
{
    for (int i = 0; i < 4; i++) {
        p[i] = v->w[i];
    }
}

/* Reads an address in words of the same size as cd_u256_to_addr writes it, so that one written just now
 * is forwarded from the store buffer. */
CD_INLINE bool cd__addr_same(const cd_addr20 *a, const cd_addr20 *b)
{
    u64 d = (u64)(cd_le32(a->b) ^ cd_le32(b->b));
    d |= cd_le64(a->b + 4) ^ cd_le64(b->b + 4);
    d |= cd_le64(a->b + 12) ^ cd_le64(b->b + 12);
    return d == 0;
}

/* Bodies of functions that state.h documents. */
static inline cd_snapshot cd_state_snapshot(const cd_state *st)
{
    return (cd_snapshot)(st->jtop - st->jbase);
}

static inline cd_acct *cd_state_acct(cd_state *st, const cd_addr20 *addr)
{
    cd_acct *a = st->acct_cache[cd_be64(addr->b + 12) % CD__ACCT_CACHE];
    if (CD_LIKELY(cd__addr_same(&a->addr, addr) && a->hash != 0)) {
        return a;
    }
    return cd__state_acct_find(st, addr);
}

static inline bool cd_acct_is_empty(const cd_acct *a)
{
    return a->nonce == 0 && cd_u256_is_zero(&a->balance) && cd_hash32_eq(&a->code_hash, &CD_HASH_EMPTY_CODE);
}

static inline bool cd_state_is_new(const cd_state *st, const cd_acct *a)
{
    return a->created_tx == st->tx;
}

static inline bool cd_state_warm_acct(cd_state *st, cd_acct *a)
{
    if (CD_LIKELY(a->warm_tx == st->tx)) {
        return true;
    }
    (void)cd__state_record(st, 0, CD__UNDO_ACCT_WARM, a);
    a->warm_tx = st->tx;
    return false;
}

static inline void cd_state_touch(cd_state *st, cd_acct *a, bool keep_on_revert)
{
    u32 done = CD_ACCT_TOUCHED | CD_ACCT_EXISTS;
    if (CD_UNLIKELY((a->flags & done) != done || keep_on_revert)) {
        cd__state_touch_first(st, a, keep_on_revert);
    }
}

static inline cd_slot *cd_state_slot(cd_state *st, cd_acct *a, const cd_u256 *key)
{
    cd_slot *s = st->slot_cache[(key->w[0] + a->hash) % CD__SLOT_CACHE];
    if (CD_LIKELY(s->acct == a && cd_u256_eq(&s->key, key))) {
        return s;
    }
    return cd__state_slot_find(st, a, key);
}

static inline bool cd_state_warm_slot(cd_state *st, cd_slot *s)
{
    if (CD_LIKELY(s->warm_tx == st->tx)) {
        return true;
    }
    (void)cd__state_record(st, 0, CD__UNDO_SLOT_WARM, s);
    s->warm_tx = st->tx;
    return false;
}

static inline const cd_u256 *cd_state_slot_original(cd_state *st, cd_slot *s)
{
    return s->original_tx == st->tx ? &s->original : &s->value;
}

static inline void cd_state_set_slot(cd_state *st, cd_slot *s, const cd_u256 *value)
{
    u64 *p = cd__state_record(st, 4, CD__UNDO_SLOT_VALUE, s);
    cd__state_put_word(p, &s->value);
    if (s->original_tx != st->tx) {
        s->original_tx = st->tx;
        cd_u256_set(&s->original, &s->value);
    }
    cd_u256_set(&s->value, value);
}

CD_INLINE cd__tslot *cd__state_tslot(cd_state *st, const cd_addr20 *addr, const cd_u256 *key, bool make)
{
    cd__tslot *t = st->tslot_cache[(key->w[0] + addr->b[19]) % CD__TSLOT_CACHE];
    if (CD_LIKELY(t->tx == st->tx && cd__addr_same(&t->addr, addr) && cd_u256_eq(&t->key, key))) {
        return t;
    }
    return cd__state_tslot_find(st, addr, key, make);
}

static inline void cd_state_tload(cd_state *st, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *key)
{
    const cd__tslot *t = cd__state_tslot(st, addr, key, false);
    if (t == NULL) {
        cd_u256_set_u64(out, 0);
    } else {
        cd_u256_set(out, &t->value);
    }
}

static inline void cd_state_tstore(cd_state *st, const cd_addr20 *addr, const cd_u256 *key, const cd_u256 *value)
{
    cd__tslot *t = cd__state_tslot(st, addr, key, true);
    u64 *p = cd__state_record(st, 4, CD__UNDO_TRANSIENT, t);
    cd__state_put_word(p, &t->value);
    cd_u256_set(&t->value, value);
}

static inline void cd_state_refund(cd_state *st, i64 delta)
{
    if (delta != 0) {
        *cd__state_record(st, 1, CD__UNDO_REFUND, NULL) = st->refund;
        st->refund += (u64)delta;
    }
}

static inline u64 cd_state_refund_get(const cd_state *st)
{
    return st->refund;
}

#endif
