/* chains/evmchain/sync/client_priv.h - between the parts of the client.
 *
 *   client.c   life, phases, time
 *   peers.c    whom to ask
 *   work.c     what is left to do, from the store and into it; questions and their answers
 *
 * Records beside the state that is gathered (core/adopt.h); what is not there is at its beginning:
 *
 *   'b'              next block: hash 32 ‖ height u64 ‖ left u16
 *   'm' ‖ part u8    accounts of a sixteenth of the keys: next key 32 ‖ 1: all are there
 *   'q' ‖ account    storage to fetch: root 32 ‖ next slot 32
 *   'k' ‖ hash       code to fetch: 1
 *   'x'              leafs beside the state (side.h): next key 40 ‖ 1: all are there
 *
 * Threading: confined. */
#ifndef CD_CHAINS_EVMCHAIN_SYNC_CLIENT_PRIV_H
#define CD_CHAINS_EVMCHAIN_SYNC_CLIENT_PRIV_H

#include "base/table/hmap.h"
#include "chains/evmchain/core/adopt.h"
#include "chains/evmchain/sync/client.h"

typedef enum cd__task_kind {
    CD__TASK_NONE,
    CD__TASK_BLOCKS,
    CD__TASK_CODE,
    CD__TASK_STORAGE,
    CD__TASK_ACCOUNTS,
    CD__TASK_SIDE,
} cd__task_kind;

/* A piece of work that is one question at a time. */
typedef struct cd__task {
    cd__task_kind kind;
    bool is_asked;
    cd_node_id from; /* this and request: who was asked */
    u32 request;
    u32 part;                  /* accounts: which sixteenth */
    cd_hash32 account;         /* storage: whose */
    cd_hash32 root;            /* accounts, storage */
    u8 next[CD_SYNC_SIDE_KEY]; /* likewise, and beside the state: the first key that is not here */
    u8 last[32];               /* accounts: the last key of the part */
    cd_hash32 hash;            /* blocks: this, height and left */
    u64 height;
    u32 left;
    cd_hash32 hashes[CD_SYNC_CODE_MAX]; /* code: cnt of them */
    u32 cnt;
} cd__task;

/* The work in hand: what comes first is asked for first, so that what waits in the store stays short. */
enum {
    CD__PARTS = 16,
    CD__AT_BLOCKS = 0,
    CD__AT_CODE = 1,
    CD__AT_STORAGE = 3,
    CD__AT_ACCOUNTS = 19,
    CD__AT_SIDE = CD__AT_ACCOUNTS + CD__PARTS,
    CD__TASKS,
};

/* A peer, or one that was and has lied. */
typedef struct cd__peer {
    bool is_there;
    bool has_lied;
    u32 open;     /* questions */
    u32 refusals; /* in a row */
    u64 rest_ns;  /* not asked before this time */
    double items; /* of an answer, on the average */
} cd__peer;

struct cd_sync_client {
    cd_sync_client_cfg cfg;
    cd_adopt *adopt;
    cd_kv *part; /* where the state is gathered */
    cd_adopt_target target;
    bool is_active;
    bool is_applying;     /* the chain stands there; what its blocks did elsewhere is brought about */
    bool is_side_built;   /* the trie beside the state stands */
    bool is_loaded;       /* the work in hand was read from the store */
    cd_adopt_phase phase; /* at the last look */
    cd_hmap peers;        /* cd_node_id -> cd__peer */
    cd__task tasks[CD__TASKS];
    bool has_codes;    /* some may wait in the store, beside those in hand */
    bool has_queue;    /* likewise storage */
    cd_hash32 code_at; /* where the store is read on */
    cd_hash32 queue_at;
    u32 open;
    u32 request;
    u64 good_ns;  /* monotonic: of the last answer that helped, or the begin */
    u32 bad_cnt;  /* questions since that did not */
    u64 begun_ns; /* this and begun_part: for the time that is left */
    double begun_part;
    cd_kv_batch batch;
    cd_sync_stats stats;
};

/* The VM's other questions have small numbers. The original takes odd ones for those of its SDK. */
enum { CD__FIRST_REQUEST = 0x40000000 };

CD_INLINE u64 cd__sync_now(const cd_sync_client *c)
{
    return cd_clock_mono_ns(c->cfg.clock);
}

/* --- peers.c --- */

/* cd__peer_pick gives somebody to ask now, or NULL. cd__peer_of finds one. */
const cd_node_id *cd__peer_pick(cd_sync_client *c, cd__peer **at);
cd__peer *cd__peer_of(cd_sync_client *c, const cd_node_id *id);

/* What came of a question: so many items, nothing, a lie (what was wrong goes to the log). */
void cd__peer_gave(cd_sync_client *c, const cd_node_id *id, usize items);
void cd__peer_refused(cd_sync_client *c, const cd_node_id *id);
void cd__peer_lied(cd_sync_client *c, const cd_node_id *id, const char *what);

/* cd__peers_left counts those that may be asked, now or later. */
u32 cd__peers_left(const cd_sync_client *c);

/* --- work.c --- */

/* cd__work_load takes the work in hand from the store, cd__work_fill what was put there since. Errors: the store's. */
cd_err cd__work_load(cd_sync_client *c) CD_CHECK;
cd_err cd__work_fill(cd_sync_client *c) CD_CHECK;

/* cd__work_is_done: nothing is left, in hand or in the store. cd__work_part tells how much of the accounts is there, 0
 * to 1. */
bool cd__work_is_done(const cd_sync_client *c);
double cd__work_part(const cd_sync_client *c);

/* cd__work_ask asks peers for what is in hand and not asked for. */
void cd__work_ask(cd_sync_client *c);

/* cd__work_take stores an answer. Errors: CD_EPROOF and those of check.h when it is a lie; CD_ECORRUPT when the state
 * itself is none of this chain; the store's (CD_EIO and like). *is_lie tells them apart. */
cd_err cd__work_take(cd_sync_client *c, cd__task *t, cd_bytes msg, usize *items, bool *is_lie,
                     cd_errinfo *why) CD_CHECK;

#endif
