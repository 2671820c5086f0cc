/* node/chain/validators.h - who validates, for all chains of a node: the P-Chain says it, once it is open.
 *
 *   VM of another chain ──► seat ──► P-Chain; until then CD_EAGAIN
 *
 * Threading: shared; set and cleared by the chain that says it, while no other chain runs that may ask. */
#ifndef CD_NODE_VALIDATORS_H
#define CD_NODE_VALIDATORS_H

#include "vm/validators.h"

#include <stdatomic.h>

/* The seat. */
typedef struct cd_node_validators {
    cd_vm_validators for_vms; /* first */
    _Atomic(const cd_vm_validators *) who;
} cd_node_validators;

/* cd_node_validators_init: nobody says it yet. */
void cd_node_validators_init(cd_node_validators *v);

/* cd_node_validators_set names who says it from now on; NULL: nobody. */
void cd_node_validators_set(cd_node_validators *v, const cd_vm_validators *who);

#endif
