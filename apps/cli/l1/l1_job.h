/* apps/cli/l1/l1_job.h - what every command has that changes an L1: nodes, keys, transactions of the P-Chain in the
 * words of `tx run`, messages signed by validators, and the progress that the user is told of.
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_L1_JOB_H
#define CD_APPS_CLI_L1_JOB_H

#include "remote/evm.h"
#include "tx/making.h"
#include "types/pwarp.h"

/* Options of these commands, behind those of a payer. */
// clang-format off
#define CD__L1_OPTIONS(X)                                                                                              \
    X(L1_RPC, .name = "rpc", .type = CD_ARG_STR, .dflt = "http://127.0.0.1:9650", .meta = "URL", .group = "Nodes",     \
      .help = "the node that is asked: best one that runs the L1's chain")                                             \
    X(L1_CHAIN_RPC, .name = "l1-rpc", .type = CD_ARG_STR, .meta = "URL",                                               \
      .help = "one that runs the L1's chain, when --rpc does not")                                                     \
    X(L1_STATE, .name = "state-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/l1", .meta = "DIR",                  \
      .help = "where NAME.json says of L1s that were made here what they are")                                         \
    X(L1_FORCE, .name = "force", .type = CD_ARG_BOOL, .help = "also a step after which the L1 would stand still")      \
    X(L1_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors and progress too")
// clang-format on

enum { CD__L1_BEFORE = PAYER_CNT - 1, CD__L1_OPTIONS(CD_ARG_ID) L1_CNT };

/* A command at work; a zeroed one may be closed. */
typedef struct cd__l1_job {
    const cd_args *args;
    cd_json_w *w;
    cd_arena *mem;
    cd__world world;   /* of the P-Chain */
    cd__remote *chain; /* a node that runs the L1's chain; it may be that of world */
    cd__payer payer;
} cd__l1_job;

/* cd__l1_open asks the nodes and opens the keys. Errors: those of cd__world_open, of cd__payer_keys. */
cd_err cd__l1_open(cd__l1_job *j, const cd_args *a, cd_arena *mem, cd_json_w *w, cd_errinfo *why) CD_CHECK;
void cd__l1_close(cd__l1_job *j);

/* cd__l1_chain_at has another node asked for the L1's chain. */
cd_err cd__l1_chain_at(cd__l1_job *j, const char *url, cd_errinfo *why) CD_CHECK;

/* cd__l1_tell tells the user, on standard error, what is being done; what: a sentence. */
void cd__l1_tell(const cd__l1_job *j, const char *what, ...) CD_PRINTF(2, 3);

/* cd__l1_ask asks the P-Chain; params is JSON. Errors: those of cd__remote_ask. */
cd_err cd__l1_ask(cd__l1_job *j, cd_json *out, const char *method, const char *params, cd_errinfo *why) CD_CHECK;

/* cd__l1_id_text gives CB58 in the job's memory. */
const char *cd__l1_id_text(const cd__l1_job *j, const cd_hash32 *id);

/* cd__l1_draft builds and signs a transaction of the P-Chain as `tx run KIND words…` would; cd__l1_do issues it, too,
 * and waits for its decision. Errors: those of cd__make, of cd__issue. */
cd_err cd__l1_draft(cd__l1_job *j, cd_wallet_draft *out, const char *kind, const char *const *words, usize cnt,
                    cd_errinfo *why) CD_CHECK;
cd_err cd__l1_do(cd__l1_job *j, const char *kind, const char *const *words, usize cnt, cd_errinfo *why) CD_CHECK;

/* cd__l1_sign_call has the validators of net sign an addressed call of a chain, from source (empty: the chain itself):
 * what is not signed by enough at once is asked for again, for a minute. `chain` is the chain's name or ID, chain_id
 * its ID. Errors: CD_EACCES with the last refusal. */
cd_err cd__l1_sign_call(cd__l1_job *j, cd_bytes *out, const char *chain, const cd_hash32 *chain_id, cd_bytes source,
                        cd_bytes payload, cd_bytes justification, const cd_hash32 *net, cd_errinfo *why) CD_CHECK;

/* cd__l1_say_p does so for a payload of the P-Chain. */
cd_err cd__l1_say_p(cd__l1_job *j, cd_bytes *out, const cd_p_payload *payload, cd_bytes justification,
                    const cd_hash32 *net, cd_errinfo *why) CD_CHECK;

/* cd__l1_settled waits until new blocks refer to the P-Chain as it is now (half a minute after a change): before that
 * they judge messages by the validators of before. Errors: CD_ETIMEOUT after two minutes. */
cd_err cd__l1_settled(cd__l1_job *j, cd_errinfo *why) CD_CHECK;

/* cd__l1_ask_keys asks a node for its ID, BLS key and proof of possession, as text. Errors: those of cd__remote_ask. */
cd_err cd__l1_ask_keys(cd__l1_job *j, const char *url, const char **node, const char **key, const char **proof,
                       cd_errinfo *why) CD_CHECK;

/* A command: reads its own options, does its work. */
typedef cd_err cd__l1_fn(cd__l1_job *j, const char *const *words, usize cnt, cd_errinfo *why);

/* cd__l1_run opens a job, does the work, and closes it; the command's result is an object that fn fills. */
cd_err cd__l1_run(const cd_args *a, cd_arena *mem, cd_json_w *w, cd__l1_fn *fn, cd_errinfo *why) CD_CHECK;

#endif
