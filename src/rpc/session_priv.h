/* rpc/session_priv.h - subscriptions as requests and sessions see them. */
#ifndef CD_RPC_SESSION_PRIV_H
#define CD_RPC_SESSION_PRIV_H

#include "base/table/list.h"
#include "rpc/jsonrpc_priv.h"
#include "rpc/session.h"

enum { CD__RPC_ID_MAX = 35, CD__RPC_HEAD_MAX = 160 };

/* One subscription of one session. */
typedef struct cd__rpc_sub {
    cd_list of_session;
    cd_list of_topic;
    cd_rpc_session *session;
    const cd_rpc_kind *kind;
    cd_rpc_topic *topic;
    char id[CD__RPC_ID_MAX];     /* "0x…" */
    char head[CD__RPC_HEAD_MAX]; /* the text of every notification up to its result */
    usize head_n;
    usize waiting;  /* notifications of it in the session's queue, or held back */
    bool is_over;   /* unsubscribed: entries of it in the queue are not sent, and the last of them frees it */
    bool is_active; /* the client was sent the id; until then notifications wait */
    cd_rpc_note **held;
    usize held_cnt;
} cd__rpc_sub;

/* cd__rpc_sub_tell gives one notification to the session of sub. */
void cd__rpc_sub_tell(cd__rpc_sub *sub, cd_rpc_note *note);

/* cd__rpc_topic_join lets sub listen to t, whose reference it takes; _leave is its counterpart. */
void cd__rpc_topic_join(cd_rpc_topic *t, cd__rpc_sub *sub);
void cd__rpc_topic_leave(cd__rpc_sub *sub);

/* cd__rpc_topic_done: n notifications have left the queue of a listener. */
void cd__rpc_topic_done(cd_rpc_topic *t, usize n);

/* cd__rpc_note_text and _cursor borrow what a note holds: the result and what closes the message behind it. */
cd_ws_payload *cd__rpc_note_text(cd_rpc_note *n);
const char *cd__rpc_note_cursor(const cd_rpc_note *n);
usize cd__rpc_note_size(const cd_rpc_note *n);

#endif
