/* lab/rig_priv.h - the worker of the suites that run test files: what one thread keeps from case to case.
 *
 * Threading: confined. */
#ifndef CD_LAB_RIG_PRIV_H
#define CD_LAB_RIG_PRIV_H

#include "codec/json.h"
#include "evm/evm.h"
#include "lab/suite.h"
#include "store/trie.h"

typedef struct cd__rig {
    const void *cfg; /* configuration of the suite; borrowed */
    bool json;       /* how verdicts are written */
    cd_arena file;   /* memory of the document and of what its cases share */
    cd_arena unit;   /* memory of one case */
    cd_trie_build *build;
    cd_evm *evm;
    cd_state *state;
} cd__rig;

/* cd__rig_new makes a worker with an engine, a state without a source, and a builder for roots. _free is the
 * suite's worker_free; NULL is allowed. */
cd__rig *cd__rig_new(const void *cfg, cd_evm_tier tier, bool json) __attribute__((returns_nonnull));
void cd__rig_free(void *rig);

/* cd__rig_open parses a file of named cases into r->file; when text is no such file, it counts and reports that as
 * one failed case and gives false. */
bool cd__rig_open(cd__rig *r, cd_json *out, cd_bytes text, cd_tally *tally, cd_buf *lines, const char *path);

/* cd__rig_fail counts and reports a case that could not be started. */
void cd__rig_fail(const cd__rig *r, cd_tally *tally, cd_buf *lines, const char *path, cd_bytes name,
                  const cd_errinfo *why);

#endif
