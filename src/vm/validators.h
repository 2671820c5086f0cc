/* vm/validators.h - who validates which network at which height of the P-Chain. The P-Chain implements it, for every
 * other chain, for consensus and for Warp messages.
 *
 * Threading: shared; what comes out lies in the caller's arena. [spec:architecture#5] */
#ifndef CD_VM_VALIDATORS_H
#define CD_VM_VALIDATORS_H

#include "base/mem/arena.h"
#include "codec/ids.h"

/* A validator of the chain's net; weight as a share of the sum over all. */
typedef struct cd_vm_validator {
    cd_node_id node_id;
    u64 weight;
    bool has_key;
    u8 key[96]; /* BLS public key, uncompressed */
} cd_vm_validator;

typedef struct cd_vm_validators cd_vm_validators;
struct cd_vm_validators {
    /* current is the height of the last accepted block of the P-Chain, minimum the lowest that a new block should
     * refer to. */
    cd_err (*current)(const cd_vm_validators *v, u64 *height);
    cd_err (*minimum)(const cd_vm_validators *v, u64 *height);
    /* subnet_of finds the network that a chain belongs to. Errors: CD_ENOENT. */
    cd_err (*subnet_of)(const cd_vm_validators *v, cd_hash32 *subnet, const cd_hash32 *chain);
    /* at gives the validators at a height, ascending by node id. Errors: CD_ERANGE for a height that is not accepted
     * yet, CD_EMISSING for one that is no longer kept, the store's. */
    cd_err (*at)(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height);
    /* uptime gives, for a validator of the primary network, the seconds since it began (span) and for how many of them
     * this node could reach it (up). span 0: it has just begun. NULL: nobody counts. Errors: CD_ENOENT when it
     * validates nothing. */
    cd_err (*uptime)(const cd_vm_validators *v, u64 *up_s, u64 *span_s, const cd_node_id *node);
};

#endif
