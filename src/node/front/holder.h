/* node/front/holder.h - which process has what we want: a TCP port to listen on, a locked file. Reads /proc, so it sees
 * what this user may see. Threading: shared. */
#ifndef CD_NODE_HOLDER_H
#define CD_NODE_HOLDER_H

#include "base/base.h"

/* The process that holds a lock. */
typedef struct cd_holder {
    u64 pid;
    char name[64]; /* of the program, printable */
} cd_holder;

/* cd_holder_of_port finds who listens on a port, cd_holder_of_lock who has path locked; false when nobody is seen. */
bool cd_holder_of_port(cd_holder *out, u16 port);
bool cd_holder_of_lock(cd_holder *out, const char *path);

#endif
