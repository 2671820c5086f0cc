/* finality/epochs.h - who signs which block: epochs of the primary network, found from its P-Chain's blocks alone.
 *
 *   accepted P-Chain blocks in order: height, time ──► epochs ──► set of validators for a height
 *   announcements ──► ML-DSA keys ─────────────────────┘
 *
 * An epoch begins with the first block that is CD_FIN_EPOCH_S after the start of the one before and whose set differs
 * from that one's; so every node finds the same. The last CD_FIN_EPOCHS_KEPT have sets. What is kept in the store can
 * be found again from the blocks. Threading: confined. [spec:finality#1] [spec:finality#5] */
#ifndef CD_FINALITY_EPOCHS_H
#define CD_FINALITY_EPOCHS_H

#include "finality/cert/verify.h"
#include "store/kv.h"
#include "vm/validators.h"

enum { CD_FIN_EPOCH_S = 600, CD_FIN_EPOCHS_KEPT = 6 };

typedef struct cd_fin_epochs cd_fin_epochs;

/* cd_fin_epochs_open goes on from what is under prefix in a whole store; store and validators are borrowed.
 * cd_fin_epochs_free: NULL is allowed. Errors: CD_ECORRUPT, the store's. */
cd_err cd_fin_epochs_open(cd_fin_epochs **out, cd_kv *store, cd_bytes prefix, const cd_vm_validators *validators,
                          cd_errinfo *why) CD_CHECK;
void cd_fin_epochs_free(cd_fin_epochs *e);

/* cd_fin_epochs_next gives the height of the P-Chain block that comes next, 0 for the first. cd_fin_epochs_block takes
 * it; one that was taken is passed over, one beyond is CD_ERANGE. Errors: those of cd_vm_validators.at, the store's. */
u64 cd_fin_epochs_next(const cd_fin_epochs *e);
cd_err cd_fin_epochs_block(cd_fin_epochs *e, u64 height, u64 time_s, cd_errinfo *why) CD_CHECK;

/* An epoch: its number, when it began (seconds since 1970), its set (set->from is its height). */
typedef struct cd_fin_era {
    u64 number;
    u64 start_s;
    const cd_fin_set *set;
} cd_fin_era;

/* cd_fin_epochs_at gives the epoch of a height of the P-Chain; what it points to lasts until the next block or
 * announcement. Errors: CD_ENOENT (no block was taken yet), CD_EMISSING (too old), CD_EINVAL (nobody signs in it),
 * those of cd_vm_validators.at. */
cd_err cd_fin_epochs_at(cd_fin_epochs *e, cd_fin_era *out, u64 height) CD_CHECK;

/* cd_fin_epochs_announce keeps a node's ML-DSA key, whose announcement the caller has checked; of two keys the one with
 * the lesser SHA-256. True when it was not known. Errors: none; a store that cannot be written forgets at restart. */
bool cd_fin_epochs_announce(cd_fin_epochs *e, const cd_node_id *node, const u8 key[CD_MLDSA_PK]);

/* cd_fin_epochs_keys counts the keys that are known. */
usize cd_fin_epochs_keys(const cd_fin_epochs *e);

#endif
