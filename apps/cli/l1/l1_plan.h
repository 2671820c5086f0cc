/* apps/cli/l1/l1_plan.h - an L1 that is being made: what was decided, and how far it has come, in a file.
 *
 *   DIR/NAME.json      each transaction is noted, signed, before it is sent: who goes on after a crash sends the same
 * one
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_L1_PLAN_H
#define CD_APPS_CLI_L1_PLAN_H

#include "l1/l1_job.h"

enum { CD__L1_NODES_MAX = 256 };

/* Transactions of the P-Chain, in order. */
typedef enum cd__l1_step_no {
    CD__L1_NET,
    CD__L1_CHAIN,
    CD__L1_CONVERSION,
    CD__L1_STEPS,
} cd__l1_step_no;

/* One of them. */
typedef struct cd__l1_step_done {
    const char *tx; /* hexadecimal; "": not made yet */
    cd_hash32 id;
    bool is_accepted;
} cd__l1_step_done;

/* A validator that the L1 begins with. */
typedef struct cd__l1_first {
    const char *url;  /* of its node; "": it is known by its keys alone */
    const char *node; /* NodeID-… */
    const char *key;  /* BLS key and proof of possession, 0x… */
    const char *proof;
    u64 weight;
    const char *balance; /* in tokens of the P-Chain */
} cd__l1_first;

/* The L1; texts lie in the job's memory. */
typedef struct cd__l1_plan {
    const char *path; /* of the file */
    const char *name;
    u32 network_id;
    const char *genesis; /* of the chain, JSON */
    cd_addr20 manager;
    const char *network_dir; /* of a network on this machine whose nodes are made to run the chain; "": none */
    const char *track;       /* names of these nodes, with commas; "": all */
    cd__l1_first firsts[CD__L1_NODES_MAX];
    usize first_cnt;
    cd__l1_step_done steps[CD__L1_STEPS];
    bool is_initialized; /* the manager knows its validators */
} cd__l1_plan;

/* cd__l1_plan_path gives the file of an L1 in a folder. Errors: CD_EINVAL: not a good name. */
cd_err cd__l1_plan_path(const char **out, cd_arena *mem, const char *dir, const char *name, cd_errinfo *why) CD_CHECK;

/* cd__l1_plan_load reads a file. Errors: CD_ENOENT when there is none, those of its format. cd__l1_plan_save writes it,
 * durably. */
cd_err cd__l1_plan_load(cd__l1_plan *out, cd_arena *mem, const char *path, cd_errinfo *why) CD_CHECK;
cd_err cd__l1_plan_save(const cd__l1_plan *p, cd_errinfo *why) CD_CHECK;

/* cd__l1_net_read reads an L1's name, if there is such a file in dir, or the ID of a net; *plan (NULL is allowed): the
 * former's plan, or NULL. Errors: those of cd__l1_plan_load, of cd_id_parse; CD_EINVAL for an L1 without a net yet. */
cd_err cd__l1_net_read(cd_hash32 *out, cd__l1_plan **plan, cd_arena *mem, const char *dir, const char *word,
                       cd_errinfo *why) CD_CHECK;

/* cd__l1_plan_url gives the first node that can be asked; "": none can. */
const char *cd__l1_plan_url(const cd__l1_plan *p);

/* cd__l1_net reads what a command of the job is given so; the L1's chain is asked at a node of its plan then, unless
 * --l1-rpc names another. */
cd_err cd__l1_net(cd__l1_job *j, cd_hash32 *out, const char *word, cd_errinfo *why) CD_CHECK;

#endif
