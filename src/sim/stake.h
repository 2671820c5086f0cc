/* sim/stake.h - who the simulated nodes are: certificates and signatures, and the validators at each height of a
 * simulated P-Chain.
 *
 * A certificate is a number of 32 bytes that stands for a node, its ID the hash of it as everywhere; a signature is a
 * hash of a secret of that node and the message, so that checking one costs as little as looking up the result of an
 * earlier check, and every run has the same bytes. Nobody in the world uses another node's secret.
 *
 * Each change of the validators is a new height of the P-Chain. A node may see the P-Chain late.
 * Threading: frozen while nodes run; changes come between. */
#ifndef CD_SIM_STAKE_H
#define CD_SIM_STAKE_H

#include "base/table/hmap.h"
#include "consensus/proposer/staking.h"
#include "vm/validators.h"

enum { CD_SIM_CERT_LEN = 32 };

/* The validators from one height on. */
typedef struct cd_sim_set {
    u64 since_us;
    cd_vm_validator *v; /* ascending by ID */
    u32 cnt;
    u64 total;
} cd_sim_set;

/* A node as a proposer. */
typedef struct cd_sim_signer {
    cd_staking staking; /* first */
    const struct cd_sim_stake *all;
    u8 cert[CD_SIM_CERT_LEN];
    cd_hash32 secret;
    cd_node_id id;
    u64 weight; /* weight at the moment */
    u32 unpaid; /* how many reasons there are that its weight belongs to nobody */
} cd_sim_signer;

/* The certificates, validators and signatures of all nodes. */
typedef struct cd_sim_stake {
    cd_sim_signer *nodes;
    u32 cnt;
    cd_hmap by_id;   /* cd_node_id -> u32 */
    cd_hmap by_cert; /* certificate -> u32 (number of the node) */
    cd_sim_set *sets;
    u32 set_cnt;
} cd_sim_stake;

/* cd_sim_stake_init makes cnt nodes of a seed, which validate with equal weights; fini releases them. */
void cd_sim_stake_init(cd_sim_stake *s, u64 seed, u32 cnt);
void cd_sim_stake_fini(cd_sim_stake *s);

/* cd_sim_stake_commit makes the present weights those of a new height. */
void cd_sim_stake_commit(cd_sim_stake *s, u64 now_us);

/* cd_sim_stake_find gives the number of a node; UINT32_MAX: there is none of that ID. */
u32 cd_sim_stake_find(const cd_sim_stake *s, const cd_node_id *id);

/* The P-Chain as one node sees it. */
typedef struct cd_sim_view {
    cd_vm_validators ops; /* first */
    const cd_sim_stake *stake;
    const u64 *now_us; /* the node's clock, in microseconds */
    u64 late_us;
} cd_sim_view;

/* cd_sim_view_init lets a node see the P-Chain without delay. */
void cd_sim_view_init(cd_sim_view *v, const cd_sim_stake *s, const u64 *now_us);

#endif
