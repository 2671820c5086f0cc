/* evm/cells.h - tier 1: byte code translated into cells. */
#ifndef CD_EVM_CELLS_H
#define CD_EVM_CELLS_H
struct cd__cells;
void cd__cells_free(struct cd__cells *cells);
#endif
