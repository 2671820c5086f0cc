/* finality/epochs.h - who signs: sets of validators by epochs of the P-Chain's time.
 *
 *   P-Chain block: height, time, validators ──► a new epoch, or the old one goes on ──► set of a height
 *
 * Boundaries come from accepted blocks alone, never from a clock, so that every node finds the same ones. Signers are
 * the validators with BLS keys, in the order of their node IDs. The newest CD_FIN_EPOCHS_KEPT are known.
 * Threading: confined. [spec:finality#1] */
#ifndef CD_FINALITY_EPOCHS_H
#define CD_FINALITY_EPOCHS_H

#include "finality/cert/verify.h"
#include "vm/validators.h"

/* How many epochs are kept, and the least seconds of block time between the beginnings of two. */
enum { CD_FIN_EPOCHS_KEPT = 6, CD_FIN_EPOCH_S = 600 };

/* One epoch; set.validators are its own. */
typedef struct cd_fin_span {
    u64 number;  /* from 0 */
    u64 begun_s; /* time of its first block, Unix seconds */
    cd_fin_set set;
    cd_fin_validator *validators;
} cd_fin_span;

/* The newest epochs, oldest first. {0} knows none. */
typedef struct cd_fin_epochs {
    cd_fin_span rows[CD_FIN_EPOCHS_KEPT];
    u32 cnt;
    u64 seen; /* blocks below this height were told */
} cd_fin_epochs;

/* cd_fin_epochs_fini releases them; the object is {0} again. */
void cd_fin_epochs_fini(cd_fin_epochs *e);

/* cd_fin_epochs_wants says whether a block of that time may begin an epoch, so that its validators matter. */
bool cd_fin_epochs_wants(const cd_fin_epochs *e, u64 time_s);

/* cd_fin_epochs_block is told the accepted blocks of the P-Chain, one height after the other, with the validators of
 * the primary network at that height in rising order of node IDs; *is_new: an epoch begins here. Who has no key or no
 * weight is passed over; a set of nobody begins no epoch. validators may be NULL where the time is not wanted.
 * Errors: CD_EINVAL (a height out of turn, nodes out of order), CD_ELIMIT (too many validators), CD_EPOINT and like
 * for a bad key; then nothing has changed. */
cd_err cd_fin_epochs_block(cd_fin_epochs *e, bool *is_new, u64 height, u64 time_s, const cd_vm_validator *validators,
                           usize cnt) CD_CHECK;

/* cd_fin_epochs_of gives the epoch that a block with this P-Chain height belongs to; NULL: it is not known (any more).
 * Borrowed until the next block. cd_fin_epochs_numbered finds one by its number. */
cd_fin_span *cd_fin_epochs_of(cd_fin_epochs *e, u64 height);
cd_fin_span *cd_fin_epochs_numbered(cd_fin_epochs *e, u64 number);

/* cd_fin_set_find gives the index of a node in a set, or set->cnt. */
u32 cd_fin_set_find(const cd_fin_set *set, const cd_node_id *node);

/* cd_fin_epochs_put appends all of it, for storage; cd_fin_epochs_read makes *out of that. Errors: CD_EFORMAT,
 * CD_ESHORT, CD_ETRAIL, those of keys. */
void cd_fin_epochs_put(cd_buf *out, const cd_fin_epochs *e);
cd_err cd_fin_epochs_read(cd_fin_epochs *out, cd_bytes bytes) CD_CHECK;

#endif
