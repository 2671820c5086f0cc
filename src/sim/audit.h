/* sim/audit.h - between an engine and its VM: hands every call on, and looks whether the contract of vm/vm.h is kept by
 * whoever calls.
 *
 *   engine ──► audit ──► wrapper ──► chain
 *                └─ what is undecided, what was accepted, what is preferred
 *
 * Threading: as vm/vm.h says. */
#ifndef CD_SIM_AUDIT_H
#define CD_SIM_AUDIT_H

#include "vm/vm.h"

enum { CD_SIM_UNDECIDED_MAX = 4096 };

/* An undecided block. */
typedef struct cd_sim_undecided {
    cd_hash32 id;
    u64 height;
} cd_sim_undecided;

/* Functions that are told of blocks; a member may be NULL. */
typedef struct cd_sim_witness {
    void (*built)(void *ctx, const cd_vm_block *b);
    void (*verified)(void *ctx, const cd_vm_block *b);
    void (*accepted)(void *ctx, const cd_vm_block *b);
    void (*rejected)(void *ctx, const cd_vm_block *b);
    void (*refused)(void *ctx, const cd_vm_block *b, const char *why);
    void *ctx;
} cd_sim_witness;

/* The VM between engine and wrapper. broken is the first sentence of the contract that was not kept. */
typedef struct cd_sim_audit {
    cd_vm vm; /* first */
    cd_vm_ops ops;
    cd_vm *below;
    cd_sim_witness witness;
    cd_sim_undecided *undecided;
    u32 undecided_cnt;
    u32 undecided_cap;
    cd_hash32 last;
    u64 last_height;
    cd_hash32 preferred;
    u64 changes; /* number of calls that have changed anything */
    const char *broken;
} cd_sim_audit;

/* cd_sim_audit_open lays a over a VM, which is closed together with a. */
void cd_sim_audit_open(cd_sim_audit *a, cd_vm *below, const cd_sim_witness *witness);

/* cd_sim_audit_check tells what does not hold between two calls of the engine; NULL: everything holds. */
const char *cd_sim_audit_check(const cd_sim_audit *a);

#endif
