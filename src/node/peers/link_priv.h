/* node/peers/link_priv.h - between the parts of a link.
 *
 *   link.c        life; what the router tells, and its way to the executor
 *   link_hear.c   what a message says to the engine, on the executor
 *   link_say.c    what the engine says, on its way to the loop
 *
 * Threading: as link.h, but for what says otherwise. */
#ifndef CD_NODE_LINK_PRIV_H
#define CD_NODE_LINK_PRIV_H

#include "base/table/hmap.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "consensus/bootstrap/serve.h"
#include "node/peers/link.h"
#include "node/peers/record.h"

#include <stdatomic.h>

enum { LINK_ID_LEN = sizeof(cd_hash32) };

struct cd_link {
    cd_snow_net net; /* these three: what the engines speak through */
    cd_bootstrap_net asks;
    cd_serve_net serves;
    cd_link_cfg cfg;
    cd_engine *engine;
    cd_engine *bootstrap; /* NULL: the chain does not catch up */
    cd_executor *executor;
    cd_sender *sender; /* of the VM */
    cd_record *record; /* NULL: nothing is recorded */
    cd_loop_task join_task;
    cd_rpc_job tick_job;
    _Atomic usize put_bytes; /* of blocks that wait for the loop */
    atomic_bool is_ticking;  /* tick_job is queued or running */
    bool is_joined;
    bool has_left;
    cd_list held;  /* news that found no room */
    cd_hmap nodes; /* of connected ones: cd_node_id -> link_node */
    u64 told_ns;   /* when the log was told last that the chain is behind */
    cd_mutex lock; /* protects the rest */
    cd_bootstrap_progress progress;
};

/* --- link_hear.c --- */

/* cd__link_is_well_formed tells whether a message is one that an engine understands. */
bool cd__link_is_well_formed(u32 op, const cd_p2p_chain_msg *m);

/* cd__link_hear tells the engine a message, cd__link_unanswered that a question was not answered; on the executor. */
void cd__link_hear(cd_link *l, const cd_node_id *from, u32 op, const cd_p2p_chain_msg *m);
void cd__link_unanswered(cd_link *l, const cd_node_id *from, u32 request, u32 response);

/* --- link_say.c --- */

/* cd__link_say_init sets what engines speak through. */
void cd__link_say_init(cd_link *l);

#endif
