/* finality/cert/book.h - what somebody who trusts a checkpoint knows: the set of validators, followed from one epoch
 * to the next by changes that each set signed for the one behind it, and certificates checked against it.
 *
 *   checkpoint ──► book ◄── changes (from anybody)
 *                   │
 *   certificate ────┴──► good, or what is wrong
 *
 * A change may pass over epochs: then two thirds of the set that is known have signed the later one. A change that is
 * refused leaves the book as it was. All memory is the caller's, given once; see finality/cert/verify.h for what lies
 * below. A book is as good as its checkpoint: it must come from somewhere trusted, and not be older than validators
 * keep their keys safe. Threading: confined. [spec:finality#5] */
#ifndef CD_FINALITY_BOOK_H
#define CD_FINALITY_BOOK_H

#include "base/rd.h"
#include "finality/cert/epoch.h"

/* What is known, and where it is kept. The first part is for reading. */
typedef struct cd_fin_book {
    cd_fin_epoch epoch;
    cd_hash32 id;  /* of the epoch */
    cd_hash32 sum; /* SHA-256 of the checkpoint, by which people compare it; it is also what it ends with */
    u32 chain_cnt;
    cd_fin_chain chains[CD_FIN_CHAINS_MAX];
    u32 changes;           /* that were followed */
    bool is_quantum_final; /* every one of them was signed by more than BLS; true when there was none */

    u32 cap; /* validators that there is room for */
    u32 free_cnt;
    cd_fin_validator *now;   /* the epoch's set */
    cd_fin_validator *next;  /* where the next one is put together */
    u8 (*keys)[CD_MLDSA_PK]; /* in slots, in no order */
    u16 *free_slots;         /* numbers of slots that nobody uses, free_cnt of them */
    cd_rt_key group;
    cd_fin_room room;
} cd_fin_book;

/* cd_fin_book_bytes gives the bytes that a book for cap validators takes; cap is at most CD_FIN_VALIDATORS_MAX.
 * cd_fin_book_init makes an empty book of memory of that many bytes, aligned to 16, of any content; it lies at its
 * front and lives as long. */
usize cd_fin_book_bytes(u32 cap);
cd_fin_book *cd_fin_book_init(void *memory, u32 cap);

/* cd_fin_checkpoint_cnt gives the number of validators that a checkpoint claims to have, to choose room by: 0 when it
 * is no checkpoint, at most CD_FIN_VALIDATORS_MAX. */
u32 cd_fin_checkpoint_cnt(cd_bytes checkpoint);

/* cd_fin_book_open starts from a checkpoint, of which nothing is borrowed. Gives CHECKPOINT, CHECKPOINT_SUM,
 * CHECKPOINT_SET or ROOM of flaws.def; then the book is empty. */
cd_fin_flaw cd_fin_book_open(cd_fin_book *b, cd_bytes checkpoint) CD_CHECK;

/* A change as it stands in its list: for which epoch it is, number and first height of the one it leads to, and the
 * certificate. Nothing of it is checked yet. */
typedef struct cd_fin_change {
    u64 base;
    u64 number;
    u64 from;
    cd_bytes rest; /* the threshold key's ID, and what is new */
    cd_bytes cert;
} cd_fin_change;

/* cd_fin_changes_open puts list before the first change; false: this is no list. cd_fin_change_next takes the next one;
 * false: none is left, or list->err says that it is cut short. */
bool cd_fin_changes_open(cd_rd *list, cd_bytes changes) CD_CHECK;
bool cd_fin_change_next(cd_fin_change *out, cd_rd *list) CD_CHECK;

/* cd_fin_book_follow reads a list of changes and follows those that lead to an epoch beginning at or below the
 * P-Chain height; those that the book is beyond are passed over. Gives what is wrong with the first that is refused:
 * what can be wrong with its certificate, CHANGES, CHANGE_BASE, CHANGE_SET, CHANGE_GROUP or ROOM; the book then
 * stands before it. */
cd_fin_flaw cd_fin_book_follow(cd_fin_book *b, cd_bytes changes, u64 height) CD_CHECK;

/* cd_fin_book_verify says what is wrong with a certificate of a chain; see cd_fin_verify. *out borrows from bytes. */
cd_fin_flaw cd_fin_book_verify(cd_fin_book *b, cd_fin_cert *out, cd_bytes bytes, const cd_hash32 *chain) CD_CHECK;

/* cd_fin_book_chain finds a chain by its name, or NULL. */
const cd_hash32 *cd_fin_book_chain(const cd_fin_book *b, cd_bytes name);

#endif
