/* notes.h - a whole VM: its blocks hold notes, texts that anybody may post. docs/write-a-vm.md goes through it. */
#ifndef NOTES_H
#define NOTES_H

#include "vm/vm.h"

/* notes_open is a cd_vm_factory. The genesis is the first note; a chain of the genesis "ticks" makes every block that
 * is asked for, with a note of its own, so that a test has something to decide. */
cd_err notes_open(cd_vm **out, const cd_vm_ctx *ctx, cd_errinfo *why) CD_CHECK;

/* notes_post lets a text wait for the next block. Errors: CD_EINVAL (what is no note), CD_EFULL. */
cd_err notes_post(cd_vm *vm, cd_bytes text) CD_CHECK;

#endif
