/* apps/cli/l1/l1.h - L1s as a node of their network tells them: how they are, and what a step would make of them.
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_L1_H
#define CD_APPS_CLI_L1_H

#include "chains/platform/l1/diagnosis.h"
#include "commands.h"
#include "remote/remote.h"

/* cd__l1_read asks for the validators of an L1 with all that the node knows of them; they lie in mem, f->v is *members.
 * A node without platform.getL1Health tells weights and balances, no forecast and nobody's reach. Errors: those of
 * cd__remote_ask. */
cd_err cd__l1_read(cd_l1_facts *f, cd_l1_member **members, cd__remote *node, cd_arena *mem, const cd_hash32 *net,
                   cd_errinfo *why) CD_CHECK;

/* cd__l1_check refuses a step after which an L1 would stand still (cd_l1_step_check), with --force as the way on.
 * net NULL: that of the validator. Nothing is refused when the node cannot say. Errors: CD_EACCES. */
cd_err cd__l1_check(cd__remote *node, cd_arena *mem, const cd_hash32 *net, const cd_l1_step *step,
                    cd_errinfo *why) CD_CHECK;

/* cd__l1_check_message does so for a signed Warp message of a manager, which registers a validator with a balance (base
 * units) or sets a weight. Any other message is for the node to refuse. */
cd_err cd__l1_check_message(cd__remote *node, cd_arena *mem, cd_bytes message, u64 balance, cd_errinfo *why) CD_CHECK;

/* cd__l1_check_new does so for the validators that an L1 is to begin with. */
cd_err cd__l1_check_new(cd_arena *mem, const cd_l1_member *v, usize cnt, cd_errinfo *why) CD_CHECK;

/* cd__l1_diagnose_cmd is `l1 diagnose`; argv[0] is its last word. Gives the exit code. */
int cd__l1_diagnose_cmd(int argc, char **argv);

/* The other commands, in the same way: `l1 status`, `list`, `create`, `join`, `add-validator`, `remove-validator`,
 * `set-weight`, `top-up`. */
int cd__l1_status_cmd(int argc, char **argv);
int cd__l1_list_cmd(int argc, char **argv);
int cd__l1_create_cmd(int argc, char **argv);
int cd__l1_join_cmd(int argc, char **argv);
int cd__l1_add_cmd(int argc, char **argv);
int cd__l1_remove_cmd(int argc, char **argv);
int cd__l1_weigh_cmd(int argc, char **argv);
int cd__l1_top_up_cmd(int argc, char **argv);

#endif
