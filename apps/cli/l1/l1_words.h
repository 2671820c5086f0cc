/* apps/cli/l1/l1_words.h - what the words of a command name: an L1, one of its validators.
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_L1_WORDS_H
#define CD_APPS_CLI_L1_WORDS_H

#include "chains/platform/l1/diagnosis.h"
#include "l1/l1_manager.h"

/* cd__l1_words_net reads the first word. Errors: CD_EINVAL with usage, when there are fewer than wanted. */
cd_err cd__l1_words_net(cd__l1_job *j, cd_hash32 *out, const char *const *words, usize cnt, usize wanted,
                        const char *usage, cd_errinfo *why) CD_CHECK;

/* cd__l1_words_manager opens the manager of an L1. Errors: those of cd__l1_manager_open; CD_EINVAL when it does not
 * know its first validators yet. */
cd_err cd__l1_words_manager(cd__l1_job *j, cd__l1_manager *m, const cd_hash32 *net, cd_errinfo *why) CD_CHECK;

/* cd__l1_words_find reads a validator's node or validation; *out: its validation. Errors: CD_EINVAL for other words,
 * CD_ENOENT when no such node is among the members of f. */
cd_err cd__l1_words_find(cd_hash32 *out, const cd_l1_facts *f, const char *word, cd_errinfo *why) CD_CHECK;

#endif
