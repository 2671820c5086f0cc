/* finality/cert/epoch.h - an epoch as it is signed and handed on: its ID, checkpoints, and changes from one to
 * another.
 *
 *   checkpoint (trusted) ── change, signed by its set ──► epoch ── change ──► epoch      (read by finality/cert/book.h)
 *
 * The ID of an epoch is signed as if it were a block of a chain of its own. This writes; nothing is checked here.
 * Threading: pure. [spec:finality#5] */
#ifndef CD_FINALITY_EPOCH_H
#define CD_FINALITY_EPOCH_H

#include "finality/cert/verify.h"

/* The most chains that a checkpoint names, and the longest name. */
enum { CD_FIN_CHAINS_MAX = 64, CD_FIN_CHAIN_NAME_MAX = 32 };

/* An epoch of a network: its number, who signs, and the SHA-256 of the threshold key (zero: none was dealt). set.group
 * may be NULL though there is one. */
typedef struct cd_fin_epoch {
    u32 network;
    u64 number;
    cd_hash32 group_id;
    cd_fin_set set;
} cd_fin_epoch;

/* A name of a chain, which ends with a zero byte, and what it stands for. */
typedef struct cd_fin_chain {
    char name[CD_FIN_CHAIN_NAME_MAX + 1];
    cd_hash32 id;
} cd_fin_chain;

/* The chain that epochs are signed on: "candela/finality/set" and zeros. */
extern const cd_hash32 cd_fin_epoch_chain;

/* cd_fin_epoch_id gives the hash of all that an epoch is. cd_fin_epoch_msg gives what is signed of it: its ID, its
 * first P-Chain height, and the time of that block. */
void cd_fin_epoch_id(cd_hash32 *out, const cd_fin_epoch *e);
void cd_fin_epoch_msg(cd_fin_msg *out, const cd_fin_epoch *e, u64 time_ns);

/* cd_fin_checkpoint_put appends a checkpoint of an epoch, with its threshold key when set.group is there. */
void cd_fin_checkpoint_put(cd_buf *out, const cd_fin_epoch *e, const cd_fin_chain *chains, u32 chain_cnt);

/* cd_fin_changes_begin appends what stands in front of a list of changes. cd_fin_change_put appends one: what next
 * differs in from base, next's threshold key when with_group, and the certificate of next's ID that base's set
 * signed. */
void cd_fin_changes_begin(cd_buf *out);
void cd_fin_change_put(cd_buf *out, const cd_fin_epoch *base, const cd_fin_epoch *next, bool with_group, cd_bytes cert);

#endif
