/* apps/cli/l1/l1_manager.h - the contract that manages an L1's validators: contracts/validators, and those of the
 * upstream with the same functions (ACP-99).
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_L1_MANAGER_H
#define CD_APPS_CLI_L1_MANAGER_H

#include "l1/l1_job.h"

/* Where a validation is in its life, as the contract says. */
typedef enum cd__l1_status {
    CD__L1_UNKNOWN,
    CD__L1_PENDING_ADDED,
    CD__L1_ACTIVE,
    CD__L1_PENDING_REMOVED,
    CD__L1_COMPLETED,
    CD__L1_INVALIDATED,
} cd__l1_status;

/* The manager of an L1. */
typedef struct cd__l1_manager {
    cd_hash32 net;
    cd_hash32 chain;
    cd_addr20 address;
    cd_addr20 warp; /* precompile by which it speaks */
    cd__evm evm;
    bool is_pos;         /* who stakes validates; else its owner names validators */
    cd_u256 weight_unit; /* of proof of stake: wei for a unit of weight */
    cd_addr20 owner;     /* of proof of authority */
} cd__l1_manager;

/* cd__l1_manager_open finds the manager of a net by the P-Chain and asks it what it is. Errors: CD_EINVAL when the
 * net is no L1, those of cd__evm_read. */
cd_err cd__l1_manager_open(cd__l1_manager *out, cd__l1_job *j, const cd_hash32 *net, cd_errinfo *why) CD_CHECK;

/* cd__l1_manager_ready: it knows its validators. */
cd_err cd__l1_manager_ready(cd__l1_manager *m, bool *out, cd_errinfo *why) CD_CHECK;

/* What the contract knows of a validation. */
typedef struct cd__l1_validation {
    cd_hash32 id;
    cd__l1_status status;
    u64 nonce;    /* of the last weight that it asked for */
    u64 received; /* of the last that the P-Chain has said is so */
    u64 weight;
} cd__l1_validation;

/* cd__l1_manager_find gives the validation of a node; its status is CD__L1_UNKNOWN when there is none. _get gives one
 * by its ID. */
cd_err cd__l1_manager_find(cd__l1_manager *m, cd__l1_validation *out, const cd_node_id *node, cd_errinfo *why) CD_CHECK;
cd_err cd__l1_manager_get(cd__l1_manager *m, cd__l1_validation *out, const cd_hash32 *id, cd_errinfo *why) CD_CHECK;

/* cd__l1_manager_payload gives the payload that asked the P-Chain to register a validation; empty: it came with the
 * conversion. */
cd_err cd__l1_manager_payload(cd__l1_manager *m, cd_bytes *out, const cd_hash32 *id, cd_errinfo *why) CD_CHECK;

/* A validator that is to be registered. */
typedef struct cd__l1_candidate {
    cd_node_id node;
    u8 key[48];
    const char *proof; /* proof of possession as the node tells it */
    u64 weight;        /* of proof of authority */
    cd_u256 stake;     /* of proof of stake, wei */
} cd__l1_candidate;

/* Calls that change it, each a transaction that is in a block in the end; the payer's first key signs. _initialize
 * takes the conversion in, _complete (a function of ACP-99 whose only argument is the message's index) an answer of
 * the P-Chain, both with the signed message. Errors: CD_EACCES with what the contract says. */
cd_err cd__l1_manager_initialize(cd__l1_manager *m, cd__l1_job *j, const cd_p_conversion_data *d, cd_bytes message,
                                 cd_errinfo *why) CD_CHECK;
cd_err cd__l1_manager_register(cd__l1_manager *m, cd__l1_job *j, const cd__l1_candidate *c, cd_errinfo *why) CD_CHECK;
cd_err cd__l1_manager_remove(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, cd_errinfo *why) CD_CHECK;
cd_err cd__l1_manager_weigh(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, u64 weight,
                            cd_errinfo *why) CD_CHECK;
cd_err cd__l1_manager_complete(cd__l1_manager *m, cd__l1_job *j, const char *function, cd_bytes message,
                               cd_errinfo *why) CD_CHECK;

#endif
