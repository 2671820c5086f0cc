/* relay/core.h - what a relay does next: a machine without sockets, files and clocks.
 *
 *   HEAD ─► SCAN ─► found … scanned ─┐            a route: a source and a destination, with a place and a queue
 *      ┌─────────────────────────────┘
 *      └► CHECK ─► SIGN ─► SEND (nonce) ─► NONCES … mined ─► CHECK ─► delivered
 *           │ has it        └ refused, unreachable: back-off ─► CHECK again; refused for ever ─► given up
 *           └► delivered
 *
 * Its owner takes actions (cd_relay_next), does them, and says how each ended; that is all it knows of the world. What
 * has happened to a message is always asked of the destination's contract and never remembered, so nothing is
 * delivered twice, and after a restart nothing but each route's place is needed: that of the first message that is
 * not settled. A destination that does not answer fills the queues of its own routes, which then are scanned no
 * further, and holds up no other. Threading: confined; times are the caller's, milliseconds of any clock that rises. */
#ifndef CD_RELAY_CORE_H
#define CD_RELAY_CORE_H

#include "base/mem/buf.h"

/* A place in a source's logs: log number `log` of a block, the first that was not looked at. */
typedef struct cd_relay_pos {
    u64 block;
    u64 log;
} cd_relay_pos;

/* Zero means the default. */
typedef struct cd_relay_limits {
    u32 source_max;      /* 1024 messages that wait, of all routes of a source */
    u32 all_max;         /* 4096 of all routes */
    u32 window;          /* 128 messages of a destination at work at a time */
    u32 scan_blocks;     /* 1000 in one question */
    u32 attempts_max;    /* 20 refusals until a message is given up */
    u32 head_ms;         /* 250 between questions about a source's height */
    u32 nonces_ms;       /* 75 between questions about an account's transactions, while some are open */
    u32 back_off_ms;     /* 500 after a first failure, doubled with each up to back_off_max_ms */
    u32 back_off_max_ms; /* 30000 */
    u32 lost_ms;         /* 3000: a transaction that the destination's pool still does not count is sent anew */
    u32 stall_ms;        /* 30000 without progress: open transactions are replaced, for more */
} cd_relay_limits;

/* A route, from one chain to another, both by number. */
typedef struct cd_relay_route {
    u32 source;
    u32 destination;
    bool is_closed;    /* nothing is read before cd_relay_begin */
    cd_relay_pos from; /* where to begin */
} cd_relay_route;

/* What a message is waiting for; core's business. */
typedef enum cd_relay_stage {
    CD_RELAY_QUEUED,
    CD_RELAY_CHECKING,
    CD_RELAY_SIGNABLE,
    CD_RELAY_SIGNING,
    CD_RELAY_SENDABLE,
    CD_RELAY_SENDING,
    CD_RELAY_OPEN, /* its transaction is with the destination */
    CD_RELAY_MINED,
    CD_RELAY_SETTLED,
} cd_relay_stage;

typedef struct cd_relay_msg cd_relay_msg;

/* A message. Its owner fills the first part for cd_relay_found, and signed when it was signed. */
struct cd_relay_msg {
    cd_relay_pos at;
    cd_hash32 id;      /* the messenger's */
    cd_hash32 warp_id; /* the hash of what is signed */
    u64 gas;           /* that its execution wants */
    cd_buf signed_msg; /* released by core */
    /* core's */
    u32 route;
    cd_relay_stage stage;
    u32 attempts; /* refusals so far */
    u32 failures; /* in a row, refusals or not: they make the back-off */
    u64 due_ms;
    u64 found_ms;
    u64 sent_ms;
    u64 nonce;
    bool has_nonce;
    cd_relay_msg *prev, *next;
};

/* What to do. */
typedef enum cd_relay_do {
    CD_RELAY_HEAD,   /* ask source for its height: cd_relay_head */
    CD_RELAY_SCAN,   /* read route's logs of blocks from.block … to, behind those before from: cd_relay_found, then
                         cd_relay_scanned */
    CD_RELAY_NONCES, /* ask how many transactions of its account destination has accepted and knows: cd_relay_nonces */
    CD_RELAY_CHECK,  /* ask the destination's contract for msg: cd_relay_checked */
    CD_RELAY_SIGN,   /* have msg signed, into signed_msg: cd_relay_signed */
    CD_RELAY_SEND,   /* send the transaction with nonce, its price raised bump times: cd_relay_sent */
    CD_RELAY_TELL,   /* msg is delivered, or given up: nothing to do, msg is gone with the next call */
} cd_relay_do;

/* One action; what belongs to it. */
typedef struct cd_relay_action {
    cd_relay_do what;
    u32 source, destination, route;
    cd_relay_pos from;
    u64 to;
    cd_relay_msg *msg;
    u64 nonce;
    u32 bump;
    bool was_delivered; /* TELL */
} cd_relay_action;

/* How an action ended. */
typedef enum cd_relay_end {
    CD_RELAY_DONE,
    CD_RELAY_UNREACHABLE, /* no answer, or one that says nothing about the message: tried for ever */
    CD_RELAY_REFUSED,     /* an answer against it: counts */
    CD_RELAY_TOO_LATE,    /* SEND: the nonce was used already */
} cd_relay_end;

typedef struct cd_relay_core cd_relay_core;

/* cd_relay_core_new makes a machine over routes (copied) between chains 0 … chain_cnt - 1. */
cd_relay_core *cd_relay_core_new(const cd_relay_limits *limits, usize chain_cnt, const cd_relay_route *routes,
                                 usize route_cnt);
void cd_relay_core_free(cd_relay_core *c); /* NULL is allowed */

/* cd_relay_begin opens a route that was closed, from a place. */
void cd_relay_begin(cd_relay_core *c, u32 route, cd_relay_pos from);

/* cd_relay_next gives one action; false: there is none before cd_relay_wake, or the end of one that runs. */
bool cd_relay_next(cd_relay_core *c, cd_relay_action *out, u64 now);
u64 cd_relay_wake(const cd_relay_core *c);

/* How actions ended. */
void cd_relay_head(cd_relay_core *c, u32 source, cd_relay_end end, u64 height, u64 now);
/* cd_relay_found takes a message of a route that is scanned, in the order of their places; what lies before the route's
 * place is ignored. Errors: CD_EFULL: no room; the scan ends there. */
cd_err cd_relay_found(cd_relay_core *c, u32 route, const cd_relay_msg *init, u64 now) CD_CHECK;
/* cd_relay_scanned: everything before `to` was looked at. */
void cd_relay_scanned(cd_relay_core *c, u32 route, cd_relay_end end, cd_relay_pos to, u64 now);
void cd_relay_nonces(cd_relay_core *c, u32 destination, cd_relay_end end, u64 accepted, u64 known, u64 now);
void cd_relay_checked(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, bool was_received, u64 now);
void cd_relay_signed(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, u64 now);
void cd_relay_sent(cd_relay_core *c, cd_relay_msg *m, cd_relay_end end, u64 now);

/* cd_relay_cursor gives the place from which a route must be read again after a crash. */
cd_relay_pos cd_relay_cursor(const cd_relay_core *c, u32 route);

/* What a chain is doing, for metrics and health: cd_relay_look_at. */
typedef struct cd_relay_look {
    usize waiting;         /* messages from this source that are not settled */
    usize at_work;         /* messages to this destination that are at work */
    u64 height;            /* of the source */
    u32 source_fails;      /* in a row */
    u32 destination_fails; /* in a row */
} cd_relay_look;
cd_relay_look cd_relay_look_at(const cd_relay_core *c, u32 chain);

#endif
