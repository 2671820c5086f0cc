/* apps/node/identity.h - who the node is, as the flags say. Threading: the main thread. */
#ifndef CD_APPS_NODE_IDENTITY_H
#define CD_APPS_NODE_IDENTITY_H

#include "base/args/args.h"
#include "base/mem/arena.h"
#include "p2p/identity.h"
#include "types/network.h"

/* cd__identity_open reads certificate and keys, or makes them and, if is_kept, stores them. false: something is wrong,
 * and was reported. The caller closes the identity. */
bool cd__identity_open(cd_p2p_identity *out, const cd_args *a, cd_arena *mem, bool is_kept);

/* cd__identity_may_serve: false, and reported, when the keys are public and the network does not take such keys. */
bool cd__identity_may_serve(const cd_p2p_identity *self, const cd_network *net);

/* cd__identity_header gives the header line that names the node in every HTTP answer. */
const char *cd__identity_header(const cd_p2p_identity *self, cd_arena *mem);

/* cd__staking_host gives the host at which peers would reach the node: "203.0.113.7", "[2001:db8::7]". */
const char *cd__staking_host(const cd_args *a, cd_arena *mem);

#endif
