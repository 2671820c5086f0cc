/* sim/disk.h - a simulated node's store: the store in memory, with a disk below it that can fail.
 *
 * What was committed is there when the node starts again; what was not is not. A commit can fail with nothing written,
 * for lack of space or otherwise, or be written while the process dies before it hears so. Threading: confined. */
#ifndef CD_SIM_DISK_H
#define CD_SIM_DISK_H

#include "store/kv.h"

/* What happens to the next commit. */
typedef enum cd_sim_fault {
    CD_SIM_DISK_IS_GOOD,
    CD_SIM_DISK_FAILS, /* CD_EIO, nothing is written */
    CD_SIM_DISK_FULL,  /* CD_ENOSPC and nothing is written, until the owner makes the disk good again */
    CD_SIM_DISK_DIES,  /* CD_EIO, and all is written */
} cd_sim_fault;

/* The store: kv is what VMs and engines get. */
typedef struct cd_sim_disk {
    cd_kv kv; /* first */
    cd_kv *mem;
    cd_sim_fault fault;
    bool has_failed; /* true since a commit failed; the owner sets it to false */
    u64 commits;
} cd_sim_disk;

/* cd_sim_disk_init makes an empty disk, cd_sim_disk_fini frees it. */
void cd_sim_disk_init(cd_sim_disk *d);
void cd_sim_disk_fini(cd_sim_disk *d);

#endif
