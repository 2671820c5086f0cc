/* evm/state/state.h - the journaled state of one block in the making.
 *
 *   source (committed) ──loads──► account and slot entries ──changes──► journal (undo records)
 *
 * Entries are loaded once and stay at a fixed address until cd_state_reset; "warm" and "original
 * value" live in the entry, stamped with the number of the transaction they belong to, so that a
 * new transaction clears them all by counting up. A snapshot is a journal position; revert plays
 * records backwards. The paths that every SLOAD, SSTORE and CALL takes are inline, in state_inl.h.
 * Rules of the forks (gas, touch, EIP-161) are applied by the callers; this file only keeps facts.
 * Threading: confined. */
#ifndef CD_EVM_STATE_H
#define CD_EVM_STATE_H

#include "evm/host.h"
#include "types/log.h"

typedef struct cd_state cd_state;

/* One account. Fields are read directly by the interpreter and changed only through the
 * functions. */
typedef struct cd_acct {
    cd_addr20 addr;
    u32 flags;      /* CD_ACCT_… */
    u32 warm_tx;    /* the account is warm when this is the number of the current transaction */
    u32 created_tx; /* number of the transaction whose CREATE made the account (EIP-6780) */
    u64 nonce;
    struct cd_slot *slots; /* private: every loaded slot, linked by next */
    u64 hash;              /* private: hash of addr under the state's key */
    cd_u256 balance;
    cd_hash32 code_hash;
    cd_bytes code;          /* valid when CD_ACCT_CODE_LOADED */
    cd_hash32 storage_root; /* as in the source; tells only whether the account has storage there (EIP-7610) */
    struct cd_acct *next;   /* private: links all entries */
    u64 committed_nonce;    /* as in the source, for comparison by cd_state_changes */
    cd_u256 committed_balance;
    cd_hash32 committed_code_hash;
} cd_acct;

enum {
    CD_ACCT_EXISTS = 1 << 0,    /* the account is in the state, even if empty */
    CD_ACCT_TOUCHED = 1 << 1,   /* touched in the current transaction, at whose end EIP-161 removes it if empty */
    CD_ACCT_DESTROYED = 1 << 2, /* by SELFDESTRUCT in the current transaction */
    CD_ACCT_IN_SOURCE = 1 << 3, /* existed when it was loaded */
    CD_ACCT_CODE_LOADED = 1 << 4,
    CD_ACCT_CODE_DIRTY = 1 << 5, /* new code: part of the change set */
    CD_ACCT_WIPED = 1 << 6,      /* the account has lost the storage that the source has */
    CD_ACCT_LISTED = 1 << 7,     /* private: cd_state_end_tx will look at it */
    CD_ACCT_KEEP_TOUCH = 1 << 8, /* private: the touch survives reverts */
};

/* One storage slot. */
typedef struct cd_slot {
    cd_acct *acct;
    u32 warm_tx;
    u32 original_tx;
    cd_u256 key;
    cd_u256 value;        /* current value */
    cd_u256 original;     /* value at the start of transaction original_tx; stale in a later one, which
                             has started with `value` */
    cd_u256 committed;    /* as in the source, for comparison by cd_state_changes */
    struct cd_slot *next; /* private: links the slots of an account */
} cd_slot;

/* cd_state_new makes an empty state over src (borrowed, must outlive it); free with
 * cd_state_free. */
cd_state *cd_state_new(cd_state_source *src);
void cd_state_free(cd_state *st);

/* cd_state_reset forgets everything (entries, journal, logs) and keeps the memory; src may
 * change. */
void cd_state_reset(cd_state *st, cd_state_source *src);

/* cd_state_error gives the first error the source returned, or CD_OK. Loads after an error give
 * empty values. */
cd_err cd_state_error(const cd_state *st);

/* --- transactions --- */

/* cd_state_begin_tx starts a transaction: nothing is warm, slots have no original value, transient
 * storage is empty, the refund is 0, and the marks touched, created and destroyed are gone. Logs of
 * earlier transactions stay (cd_state_logs) until cd_state_clear_logs. */
void cd_state_begin_tx(cd_state *st);

/* cd_state_end_tx ends a transaction: destroyed accounts disappear with their storage, and, if drop_empty
 * (EIP-161), touched empty ones too. The journal is dropped: no earlier change can be reverted any
 * more. */
void cd_state_end_tx(cd_state *st, bool drop_empty);

/* A snapshot is a position in the journal; reverting also undoes warmth, refund, logs, transient
 * storage. */
typedef u32 cd_snapshot;
static inline cd_snapshot cd_state_snapshot(const cd_state *st);
void cd_state_revert(cd_state *st, cd_snapshot to);

/* --- accounts --- */

/* cd_state_acct gives the entry of addr, loading it if needed; never NULL. Does not warm or touch.
 * The pointer stays valid until reset or free. */
static inline cd_acct *cd_state_acct(cd_state *st, const cd_addr20 *addr);

/* cd_acct_is_empty tells whether a has nonce 0, balance 0 and no code (EIP-161). */
static inline bool cd_acct_is_empty(const cd_acct *a);

/* cd_state_is_new tells whether the current transaction has created a (EIP-6780). */
static inline bool cd_state_is_new(const cd_state *st, const cd_acct *a);

/* cd_state_warm_acct makes a warm (journaled) and tells whether it was warm before. */
static inline bool cd_state_warm_acct(cd_state *st, cd_acct *a);

/* cd_state_touch marks a as touched (journaled) and makes it exist. keep_on_revert: the touch survives
 * a revert, as by rule that of the RIPEMD-160 precompile does. */
static inline void cd_state_touch(cd_state *st, cd_acct *a, bool keep_on_revert);

/* Changes of an account; all are journaled and touch it. The caller of cd_state_sub_balance has checked
 * that the balance suffices. */
void cd_state_add_balance(cd_state *st, cd_acct *a, const cd_u256 *wei);
void cd_state_sub_balance(cd_state *st, cd_acct *a, const cd_u256 *wei);
void cd_state_set_balance(cd_state *st, cd_acct *a, const cd_u256 *wei);
void cd_state_set_nonce(cd_state *st, cd_acct *a, u64 nonce);

/* cd_state_set_code stores a copy of code under its hash. */
void cd_state_set_code(cd_state *st, cd_acct *a, cd_bytes code);

/* cd_state_code gives the code, loading it if needed; empty when there is none. Borrowed. */
cd_bytes cd_state_code(cd_state *st, cd_acct *a);

/* cd_state_create marks a as created in this transaction and sets its nonce (journaled). Its balance
 * stays; it has no code and no storage, as cd_state_collides has shown. */
void cd_state_create(cd_state *st, cd_acct *a, u64 nonce);

/* cd_state_collides tells whether no contract can be created at a, because it has a nonce, code or
 * storage (EIP-684, EIP-7610). Storage written in this block counts. */
bool cd_state_collides(cd_state *st, cd_acct *a);

/* cd_state_destroy marks a for deletion at the end of the transaction; the caller moves the balance. */
void cd_state_destroy(cd_state *st, cd_acct *a);

/* --- storage --- */

/* cd_state_slot gives the entry of (a, key), loading it if needed; never NULL, fixed address until
 * reset. */
static inline cd_slot *cd_state_slot(cd_state *st, cd_acct *a, const cd_u256 *key);

/* cd_state_warm_slot makes s warm (journaled) and tells whether it was warm before. */
static inline bool cd_state_warm_slot(cd_state *st, cd_slot *s);

/* cd_state_slot_original gives the value at the start of the current transaction. */
static inline const cd_u256 *cd_state_slot_original(cd_state *st, cd_slot *s);

/* cd_state_set_slot changes the value of s (journaled). */
static inline void cd_state_set_slot(cd_state *st, cd_slot *s, const cd_u256 *value);

/* Transient storage (EIP-1153): zero when never written in this transaction; tstore is
 * journaled. */
static inline void cd_state_tload(cd_state *st, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *key);
static inline void cd_state_tstore(cd_state *st, const cd_addr20 *addr, const cd_u256 *key, const cd_u256 *value);

/* --- logs and refunds --- */

/* cd_state_log appends a log (data is copied; journaled). */
void cd_state_log(cd_state *st, const cd_log *log);

/* cd_state_logs borrows all logs since the last cd_state_clear_logs. */
const cd_log *cd_state_logs(const cd_state *st, usize *cnt);
void cd_state_clear_logs(cd_state *st);

/* cd_state_refund adds delta to the transaction's refund counter (journaled); cd_state_refund_get reads it. */
static inline void cd_state_refund(cd_state *st, i64 delta);
static inline u64 cd_state_refund_get(const cd_state *st);

/* --- change set --- */

/* cd_state_changes visits what differs from the source, accounts in ascending address order and
 * each account's slots in ascending key order: what the owner writes to tables and tries when the
 * block is accepted. A visitor's error stops the walk and is returned. */
typedef struct cd_state_visitor {
    void *ctx;
    /* acct: exists is false for a deleted account; wiped: its storage in the source must be dropped first. */
    cd_err (*acct)(void *ctx, const cd_acct *a, bool exists, bool wiped);
    /* slot: comes after its account; s->value zero = delete, s->committed is what the source has (zero when wiped). */
    cd_err (*slot)(void *ctx, const cd_acct *a, const cd_slot *s);
} cd_state_visitor;
cd_err cd_state_changes(cd_state *st, const cd_state_visitor *v) CD_CHECK;

/* cd_state_source_of gives the source that the state reads from; the EVM asks it for block hashes. */
cd_state_source *cd_state_source_of(const cd_state *st);

#include "evm/state/state_inl.h"

#endif
