/* finality/cert/verify.h - whether a certificate is true, beside the set of validators of its epoch.
 *
 *   set (known to the caller) + certificate (from anybody) ──► good, or what is wrong
 *
 * Weights are added up from the set, never taken from the certificate. Verifying takes no memory but the caller's room
 * and 64 KiB of the stack, reads and writes nothing else, and keeps nothing; only the ML-DSA code under it takes 1 KiB
 * of the heap per signature while it runs.
 * Programs of others start from finality/cert/book.h, which makes sets out of checkpoints.
 * Threading: pure; the set is frozen, the room confined. [spec:finality#2] */
#ifndef CD_FINALITY_VERIFY_H
#define CD_FINALITY_VERIFY_H

#include "finality/cert/cert.h"

/* A validator of an epoch. */
typedef struct cd_fin_validator {
    cd_node_id node;
    u64 weight;
    cd_bls_pk bls;
    const u8 *mldsa; /* CD_MLDSA_PK bytes, borrowed; NULL when it has announced none */
} cd_fin_validator;

/* Who may sign in an epoch: validators in rising order of node IDs; an index is a place in it. */
typedef struct cd_fin_set {
    u64 from;  /* P-Chain height at which the epoch begins (H_e) */
    u64 until; /* and that at which the next one begins; UINT64_MAX while it is not known */
    u64 total; /* weight of all */
    u32 cnt;   /* up to CD_FIN_VALIDATORS_MAX */
    const cd_fin_validator *validators;
    const cd_rt_key *group; /* the threshold key; NULL when none was dealt */
} cd_fin_set;

/* cd_fin_set_is_good says whether the set is as described: 1 to CD_FIN_VALIDATORS_MAX validators, in order, none
 * without weight, and total their sum. */
bool cd_fin_set_is_good(const cd_fin_set *set);

/* cd_fin_quorum says whether 3 * weight >= 2 * total. cd_fin_threshold gives the parties that a threshold signature of
 * n validators takes: two thirds, rounded down, and one more; at least 2. */
bool cd_fin_quorum(u64 weight, u64 total);
u32 cd_fin_threshold(u32 n);

/* Where a threshold signature is taken apart: 32 KiB, the caller's, of any content. */
typedef struct cd_fin_room {
    cd_rt_sig sig;
} cd_fin_room;

/* cd_fin_verify says what is wrong with a certificate for a block of that chain, or CD_FLAW_NONE: then all that it
 * claims holds, and cd_fin_is_final(cert->type) says whether that makes the block final. Cheap questions come first.
 * */
cd_fin_flaw cd_fin_verify(const cd_fin_cert *cert, const cd_fin_set *set, const cd_hash32 *chain,
                          cd_fin_room *room) CD_CHECK;

/* cd_fin_verify_bytes takes apart and verifies; *out borrows from the bytes. */
cd_fin_flaw cd_fin_verify_bytes(cd_fin_cert *out, cd_bytes bytes, const cd_fin_set *set, const cd_hash32 *chain,
                                cd_fin_room *room) CD_CHECK;

#endif
