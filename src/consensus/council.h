/* consensus/council.h - the engine of a network whose validators are all in this process, on one thread: each has a VM
 * and a snowman engine of its own, what they say to each other goes through a queue.
 *
 *   produce ──► first: build, show ──► queue ──► others: parse, verify, vote ──► queue ──► … until all have accepted
 *   rewind  ──► all engines let go of their blocks ──► job ──► all begin anew
 *
 * Only the first validator makes blocks; its VM alone is the executor's. Between two calls nothing is undecided and all
 * hold the same. What the first has to catch up with at its start it decides alone; the others begin as copies of what
 * it holds then, so nothing of theirs has to outlive the process. Threading: confined to the chain's executor. */
#ifndef CD_CONSENSUS_COUNCIL_H
#define CD_CONSENSUS_COUNCIL_H

#include "base/log/log.h"
#include "base/os/rng.h"
#include "codec/ids.h"
#include "consensus/engine.h"

enum { CD_COUNCIL_MAX = 20 };

/* What it is made of; borrowed as long as it is there. */
typedef struct cd_council_cfg {
    u32 cnt; /* validators, 2 to CD_COUNCIL_MAX */
    cd_node_id self;
    cd_commit_door door; /* of the first */
    /* open makes the VM of validator idx (1 and up) from what the first holds now, and its door. close is told when
     * that VM is closed, or was not opened. */
    cd_err (*open)(void *ctx, u32 idx, cd_vm **out, cd_commit_door *door, cd_errinfo *why);
    void (*close)(void *ctx, u32 idx);
    void *ctx;
    cd_rng *rng;
    cd_logger *log;   /* NULL allowed */
    const char *name; /* the chain's name, for the log */
} cd_council_cfg;

/* cd_council_new makes an engine that waits for start. Errors: CD_EINVAL for a number out of range. cd_council_free:
 * only after stop; NULL is allowed. */
cd_err cd_council_new(cd_engine **out, const cd_council_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_council_free(cd_engine *e);

/* cd_council_node_id gives the name of validator idx; that of the first is self. */
void cd_council_node_id(cd_node_id *out, const cd_node_id *self, u32 idx);

#endif
