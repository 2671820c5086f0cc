/* services/adx/miner/played.h - what a miner has delivered, by the token in the address it was asked by, until the
 * exchange has acknowledged it.
 *
 * Bounded: with too many tokens the one that was asked by longest ago is forgotten; whoever invents tokens so costs a
 * miner what it was owed for the oldest. Threading: confined. [spec:adx#8] */
#ifndef CD_ADX_MINER_PLAYED_H
#define CD_ADX_MINER_PLAYED_H

#include "services/adx/miner/wire.h"

enum { CD_PLAYED_MAX = 20000, CD_PLAYED_TOKEN_MAX = 160, CD_PLAYED_KEEP_S = 7200 };

typedef struct cd_played cd_played;

/* cd_played_new has nothing. cd_played_free: NULL is allowed. */
cd_played *cd_played_new(void);
void cd_played_free(cd_played *p);

/* cd_played_add counts bytes that were sent for a token; what cannot be one is ignored. */
void cd_played_add(cd_played *p, cd_bytes token, u64 bytes, u64 now_s);

/* cd_played_put writes the elements of a report, at most CD_WIRE_REPORT_MAX of those that changed since they were
 * acknowledged, and gives their number. seq: of the message they go in. */
usize cd_played_put(cd_played *p, cd_json_w *w, u64 seq);

/* cd_played_ack: the exchange has written down what the message seq said. cd_played_lost: none of what is under way
 * will be acknowledged any more; it is told again. */
void cd_played_ack(cd_played *p, u64 seq);
void cd_played_lost(cd_played *p);

/* cd_played_forget drops what nobody has asked by for CD_PLAYED_KEEP_S. */
void cd_played_forget(cd_played *p, u64 now_s);

/* cd_played_waiting counts tokens whose bytes are not acknowledged yet. */
usize cd_played_waiting(const cd_played *p);

#endif
