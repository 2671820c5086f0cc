/* apps/node/auth.h - the password of auth.*, when the API asks for tokens. Threading: the main thread.
 * [spec:node-api#9] */
#ifndef CD_APPS_NODE_AUTH_H
#define CD_APPS_NODE_AUTH_H

#include "node/node.h"
#include "options.h"

/* cd__auth_load reads the first line of --api-auth-password-file where --api-auth-required is given; false:
 * something is wrong, and was reported. cd__auth_forget wipes the password, once the node is open. */
bool cd__auth_load(cd_node_cfg *out, const cd_args *a, cd_arena *mem);
void cd__auth_forget(void);

#endif
