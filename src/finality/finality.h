/* finality/finality.h - makes accepted blocks final, together with the other validators.
 *
 *   accepted ─► BLS shares ─► certificate, type 0 ─► newest one ─► lattice rounds ─► type 2
 *                                                                      └ thrice in vain, or no key ─► ML-DSA ─► type 3
 *
 * Accepting comes first and is never delayed or undone; a certificate that is missing keeps nothing from going on,
 * and a final block makes those before it final. What peers say is checked before anything is done with it, bounded
 * for each of them, and kept for a few seconds where it comes too early. Secrets of a lattice round live in memory
 * alone: after a crash the next round is drawn anew. Certificates lie in the store, and are given to who asks.
 *
 * Time (monotonic ns) and randomness come from the caller. Signing and verifying happen inside the calls, so that the
 * thread that calls should be none that others wait for; rounds of lattice sessions may be computed elsewhere.
 * Threading: confined, but for cd_finality_serve and its like, and jobs.
 * [spec:finality#1] */
#ifndef CD_FINALITY_FINALITY_H
#define CD_FINALITY_FINALITY_H

#include "base/os/rng.h"
#include "finality/epochs.h"
#include "finality/messages.h"
#include "store/kv.h"
#include "vm/signer.h"

typedef struct cd_finality cd_finality;

/* A round of a lattice session that is to be computed, milliseconds of it. */
typedef struct cd__fin_session cd_finality_job;

/* The protocol's times, and what is kept. */
enum {
    CD_FINALITY_RESEND_MS = 2000,
    CD_FINALITY_GIVE_UP_MS = 60000,
    CD_FINALITY_ROUND_MS = 2000,
    CD_FINALITY_PACE_MS = 3000, /* least time between two lattice sessions of a chain */
    CD_FINALITY_TURN_MS = 150,  /* who is next in line waits so long before beginning in another's place */
    CD_FINALITY_ATTEMPTS = 3,
    CD_FINALITY_CHAINS_MAX = 64,
    CD_FINALITY_BLOCKS_MAX = 256,   /* of a chain, that are worked on; the lowest goes first */
    CD_FINALITY_FINALS_KEPT = 1200, /* final certificates of a chain; of older ones, one of each hour of block time */
    CD_FINALITY_BLS_KEPT = 100000,  /* heights for which certificates of type 0 are kept */
    CD_FINALITY_TURNS_KEPT = 4096,  /* epochs that are kept with their signatures */
};

/* What it does to the world. */
typedef struct cd_finality_out {
    void *ctx;
    void (*tell)(void *ctx, const cd_node_id *nodes, usize cnt, cd_bytes message); /* as gossip */
    void (*ask)(void *ctx, const cd_node_id *node, cd_bytes message); /* the answer goes to cd_finality_answered */
    /* certified: the certificate is in the store and true. height: of the block on its chain, which was told as
     * accepted at since_ns. */
    void (*certified)(void *ctx, u64 height, u64 since_ns, const cd_fin_cert *cert, cd_bytes bytes);
    /* work takes a job to another thread, which calls cd_finality_job_run; then cd_finality_worked is told. False: it
     * does not, and NULL: there is none; then it is run at once. */
    bool (*work)(void *ctx, cd_finality_job *job);
} cd_finality_out;

/* Who this node is; all of it borrowed as long as the object. */
typedef struct cd_finality_cfg {
    cd_finality_out out;
    cd_kv *kv;   /* a part of the store for it alone */
    cd_rng *rng; /* that nobody can guess */
    cd_node_id self;
    u32 network_id;
    const cd_vm_signer *signer; /* NULL: it signs nothing */
    const u8 *mldsa_key;        /* CD_MLDSA_PK and CD_MLDSA_SK bytes; NULL: none */
    const u8 *mldsa_secret;
    const cd_rt_key *group;   /* the dealt threshold key, NULL: none */
    const cd_rt_share *share; /* this node's part of it, NULL: none */
    cd_bytes group_nodes;     /* node IDs that it was dealt to, in order, CD_FIN_NODE_BYTES each */
    bool wants_threshold;     /* certificates of type 3 do not count here: none is made or kept. [spec:decisions#D26] */
} cd_finality_cfg;

/* cd_finality_new takes up what is in the store. cd_finality_free wipes what is secret; NULL is allowed. Errors: the
 * store's, CD_ECORRUPT. */
cd_err cd_finality_new(cd_finality **out, const cd_finality_cfg *cfg) CD_CHECK;
void cd_finality_free(cd_finality *f);

/* cd_finality_epochs borrows the epochs, to see which block of the P-Chain comes next (seen). cd_finality_pblock tells
 * that block; see cd_fin_epochs_block. Errors: as there, the store's. */
cd_fin_epochs *cd_finality_epochs(cd_finality *f);
cd_err cd_finality_pblock(cd_finality *f, u64 height, u64 time_s, const cd_vm_validator *validators,
                          usize cnt) CD_CHECK;

/* cd_finality_newest gives the newest epoch as signers know it: with the ML-DSA keys that were announced, and the
 * threshold key when it is that of the set. False: no block of the P-Chain was told yet. Borrowed until the next
 * call. */
bool cd_finality_newest(cd_finality *f, u64 *number, cd_fin_set *set);

/* cd_finality_keys gives a number that is another whenever ML-DSA keys have changed. */
u64 cd_finality_keys(const cd_finality *f);

/* cd_finality_accepted tells an accepted block; those of a chain with rising heights. is_new: it was accepted in turn,
 * not while catching up, so that this node signs it. Errors: CD_ELIMIT: too many chains; CD_ENOENT: its epoch is not
 * known. */
cd_err cd_finality_accepted(cd_finality *f, const cd_hash32 *chain, u64 height, const cd_fin_msg *msg, bool is_new,
                            u64 now_ns) CD_CHECK;

/* cd_finality_hear takes what a peer says; cd_finality_answered what it answered. cd_finality_connected: it is there.
 */
void cd_finality_hear(cd_finality *f, const cd_node_id *from, cd_bytes message, u64 now_ns);
void cd_finality_answered(cd_finality *f, const cd_node_id *from, const cd_hash32 *chain, cd_bytes cert, u64 now_ns);
void cd_finality_connected(cd_finality *f, const cd_node_id *node);

/* cd_finality_job_run computes a job; any thread, one for each job. cd_finality_worked takes it back, which every job
 * has to come to; f NULL: behind cd_finality_free. */
void cd_finality_job_run(cd_finality_job *job);
void cd_finality_worked(cd_finality *f, cd_finality_job *job, u64 now_ns);

/* cd_finality_tick does what is due and gives when to call again. */
u64 cd_finality_tick(cd_finality *f, u64 now_ns);

/* cd_finality_serve appends the certificate that a request wants, from the store. Any thread. Errors: CD_ENOENT, those
 * of the message and of the store. */
cd_err cd_finality_serve(cd_kv *kv, cd_buf *out, cd_bytes request) CD_CHECK;

/* cd_finality_cert replaces out by the best certificate of a block, found by ID or by height, cd_finality_last by that
 * of the newest final block, by_threshold: of the newest one of type 2, among those that are kept without gaps. height
 * may be NULL. Any thread. Errors: CD_ENOENT, the store's. */
cd_err cd_finality_cert(cd_kv *kv, cd_buf *out, u64 *height, const cd_hash32 *chain, const cd_hash32 *block) CD_CHECK;
cd_err cd_finality_cert_at(cd_kv *kv, cd_buf *out, const cd_hash32 *chain, u64 height) CD_CHECK;
cd_err cd_finality_last(cd_kv *kv, cd_buf *out, u64 *height, const cd_hash32 *chain, bool by_threshold) CD_CHECK;

/* cd_finality_changes appends a list of signed changes that leads from an epoch as far as there are signatures, epochs
 * passed over where that is possible (finality/cert/epoch.h); group is given with the change to the epoch that it is
 * of, NULL: none. Empty: no later epoch is signed. Any thread; a list of a year takes a second. Errors: CD_ENOENT: the
 * epoch is not known here; the store's. */
cd_err cd_finality_changes(cd_kv *kv, cd_buf *out, u64 from, const cd_rt_key *group) CD_CHECK;

/* What has happened since the start. */
typedef struct cd_finality_stats {
    u64 bls;      /* certificates of type 0 */
    u64 lattice;  /* of type 2 */
    u64 mldsa;    /* of type 3 */
    u64 sessions; /* lattice sessions that this node took part in */
    u64 failed;   /* of these */
    u64 refused;  /* messages with something wrong in them */
    u64 given_up; /* blocks without a certificate */
    u64 turns;    /* certificates of epochs by the set before */
} cd_finality_stats;
/* cd_finality_stats_get reads them. */
void cd_finality_stats_get(const cd_finality *f, cd_finality_stats *out);

/* How far a block is that is worked on: bits by index of its epoch's set. */
typedef struct cd_finality_row {
    cd_hash32 chain;
    cd_hash32 block;
    u64 height;
    u64 epoch;
    bool is_signed; /* two thirds have, by BLS */
    bool is_final;  /* it is, or one above it */
    u32 parties;    /* of a lattice session of it that goes on; 0: none does */
    u32 commits;    /* that have come */
    u32 answers;
    u8 shares[CD_FIN_VALIDATORS_MAX / 8]; /* whose BLS share came */
    u8 stamps[CD_FIN_VALIDATORS_MAX / 8]; /* whose ML-DSA signature came */
    u32 bits_n;                           /* bytes of both that are set */
} cd_finality_row;

/* cd_finality_rows gives the newest blocks, CD_FINALITY_ROWS of each chain at most, newest first; up to max. */
enum { CD_FINALITY_ROWS = 4 };
u32 cd_finality_rows(const cd_finality *f, cd_finality_row *out, u32 max);

/* cd_finality_group_fits says whether a group of those nodes is that of a set. */
bool cd_finality_group_fits(cd_bytes group_nodes, const cd_fin_set *set);

#endif
