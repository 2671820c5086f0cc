/* evm/interp/calls_priv.h - what calls.c and create.c need of each other. Threading: confined. */
#ifndef CD_EVM_CALLS_PRIV_H
#define CD_EVM_CALLS_PRIV_H

#include "evm/evm_priv.h"
#include "evm/interp/cells.h"

/* cd__transfer moves value; the caller has checked the balance. */
void cd__transfer(cd_state *st, cd_acct *from, cd_acct *to, const cd_u256 *value);

/* cd__frame_push makes the next frame and puts it on top. */
void cd__frame_push(cd_evm *evm, cd__frame *parent, const cd_evm_msg *m, cd_acct *self, cd__code *code,
                    cd_snapshot snapshot);

/* cd__create_finish ends a creation: stores the code or turns f->status into a failure. */
void cd__create_finish(cd__frame *f);

/* cd__create_deliver hands the result of a creation to the frame that made it. */
void cd__create_deliver(cd__frame *parent, const cd_evm_result *res, const cd_addr20 *created);

#endif
