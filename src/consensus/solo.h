/* consensus/solo.h - the engine of a network of one node: what the VM wants to build is built, verified and accepted at
 * once. Nothing is ever undecided between two calls.
 *
 * A block with options (a proposal) is followed by the one that the VM prefers before anything else is built.
 *
 *   notify ──► due ── step ──► build ──► verify ──► set_preference ──► commit door
 *   produce ─────────────────────┘
 *
 * Threading: confined to the chain's executor. */
#ifndef CD_CONSENSUS_SOLO_H
#define CD_CONSENSUS_SOLO_H

#include "base/log/log.h"
#include "consensus/engine.h"

/* What a single node's engine works with. */
typedef struct cd_solo_cfg {
    cd_commit_door door;
    cd_logger *log;   /* told of blocks that could not be made; NULL allowed */
    const char *name; /* the chain's name, for the log */
} cd_solo_cfg;

/* cd_solo_new makes an engine that waits for start. cd_solo_free: only after stop; NULL is allowed. */
cd_engine *cd_solo_new(const cd_solo_cfg *cfg) __attribute__((returns_nonnull));
void cd_solo_free(cd_engine *e);

#endif
