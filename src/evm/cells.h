/* evm/cells.h - tier 1: byte code translated into cells. */
#ifndef CD_EVM_CELLS_H
#define CD_EVM_CELLS_H
#include "evm/evm_priv.h"
struct cd__cells;
void cd__cells_free(struct cd__cells *cells);
cd_fork cd__cells_fork(const struct cd__cells *cells);
const void *cd__cells_start(const struct cd__cells *cells);
void cd__cells_build(cd_evm *evm, cd__code *code);
#endif
