/* services/adx/miner/control.h - the socket by which commands on this machine talk to the miner that runs.
 *
 *   candela-adx miner status ── "status\n" ──► DATA/miner.sock ──► loop ──► answer, one line of JSON
 *
 * Whoever may open the socket (its owner) may ask. One at a time; who does not ask at once is hung up on. Threading:
 * the loop answers, a thread of its own listens. [spec:adx#2] */
#ifndef CD_ADX_MINER_CONTROL_H
#define CD_ADX_MINER_CONTROL_H

#include "base/mem/buf.h"
#include "net/loop.h"

enum { CD_CONTROL_WORD_MAX = 32 };

typedef struct cd_control cd_control;

/* Called on the loop with what was asked; answered by cd_control_answer, then or later, once. */
typedef void cd_control_fn(void *ctx, const char *word);

/* cd_control_open listens at path, whose old socket is removed: the caller has the directory's lock. Errors: CD_EINVAL
 * (the path is too long for a socket), CD_EIO. cd_control_close ends it; NULL is allowed. */
cd_err cd_control_open(cd_control **out, cd_loop *loop, const char *path, cd_control_fn *fn, void *ctx,
                       cd_errinfo *why) CD_CHECK;
void cd_control_close(cd_control *c);

/* cd_control_answer sends what is in text to whoever asks. */
void cd_control_answer(cd_control *c, cd_bytes text);

/* cd_control_ask is the other side: asks the miner at path, waits for its answer. Errors: CD_ENOENT (no miner runs
 * there), CD_ETIMEOUT, CD_EIO. */
cd_err cd_control_ask(cd_buf *out, const char *path, const char *word, cd_errinfo *why) CD_CHECK;

#endif
