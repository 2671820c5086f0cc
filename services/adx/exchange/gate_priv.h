/* services/adx/exchange/gate_priv.h - how the parts of the gate fit together.
 *
 *   gate        connections and their messages      gate_books   what the ledger is told, and its answers
 *   gate_work   assignment, audits, proof tasks
 *
 * Threading: confined to the loop. */
#ifndef CD_ADX_EXCHANGE_GATE_PRIV_H
#define CD_ADX_EXCHANGE_GATE_PRIV_H

#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "base/thread/mbox.h"
#include "net/http/client.h"
#include "net/ws/ws.h"
#include "services/adx/exchange/gate.h"
#include "services/adx/miner/wire.h"

enum {
    CD__GATE_PEERS_MAX = 10000,
    CD__GATE_ADDR_MAX = 64, /* connections of one address */
    CD__GATE_MINERS_MAX = 100000,
    CD__GATE_OBJECTS_MAX = 4096,
    CD__GATE_HOLDERS = 3,
    CD__GATE_OUTCOMES = 16,
    CD__GATE_HELLO_S = 10, /* to register */
    CD__GATE_SILENT_S = 35,
    CD__GATE_SUSPEND_S = 3600,
    CD__GATE_STRIKES = 3,
    CD__GATE_PROOFS_MAX = 1000, /* paid in a day */
};

/* What a miner has of an object that it was assigned. */
typedef enum cd__holding { CD__CLAIMED_NOT, CD__CLAIMED, CD__AUDITED, CD__FAILED } cd__holding;

typedef struct cd__peer cd__peer;

/* Something to keep, and who was assigned it. */
typedef struct cd__object {
    cd_adx_object what;
    char *url;
    cd__peer *holders[CD__GATE_HOLDERS];
} cd__object;

/* A proof task that a miner has. */
typedef struct cd__task {
    u64 id; /* 0: none */
    bool is_true;
    u64 due_s;
} cd__task;

struct cd__peer {
    cd_list link;
    cd_gate *gate;
    cd_ws *ws;
    char addr[CD_TCP_PEER_MAX];
    bool is_local, is_registered, is_closing;
    u32 refs; /* its connection, commands of the clerk, audits */
    u8 key[32];
    u64 seq_in;
    cd_wire_out out;
    cd_miner_row row;
    char tunnel[16], tunnel_state[16];
    char url[CD_WIRE_URL_MAX + 1];
    u64 opened_s, last_s;
    u64 credit_ms;          /* of messages: when it is in the future by too much, there were too many */
    u64 up_from_s, up_to_s; /* not in the ledger yet */
    bool is_flushing;
    u64 cache_size, cache_used, objects, hits, misses;
    cd_hmap holdings; /* digest to u8: a cd__holding */
    u64 assigned_hash;
    u32 assigned;
    u32 strikes, proof_misses;
    bool is_auditing, knows_assignment;
    u64 audit_after_s;
    cd__task task;
    u64 outcomes_seen; /* a bit for each of the kept ones */
    u64 task_after_s;
};

/* An outcome for miners to check. */
typedef struct cd__doc {
    u64 no; /* 0: none */
    u32 asked;
    cd_buf json;
} cd__doc;

struct cd_gate {
    cd_gate_cfg cfg;
    u8 public_key[32];
    cd_rng rng;
    cd_ws_hub *hub;
    cd_http_client *near, *far; /* audits: of miners on this machine, and of all others */
    cd_timer *timer;
    cd_list peers;
    usize peers_cnt;
    cd_hmap by_id;     /* id (16 bytes) to cd__peer * */
    cd_hmap suspended; /* id to u64: until when */
    cd__object *objects;
    usize objects_cnt;
    cd_hmap by_digest; /* to u32 */
    bool is_assignment_old;
    u32 audits;
    u64 turn;
    cd_mbox *outcomes; /* char *: JSON */
    cd__doc docs[CD__GATE_OUTCOMES];
    u64 docs_cnt, tasks_cnt;
    u64 proofs_day, proofs_paid;
    u32 commands; /* of the clerk, on their way */
    u64 closed_s, forgot_s, flushed_s;
    bool is_closing_periods, is_ended;
    void (*done)(void *ctx);
    void *done_ctx;
    struct {
        cd_gauge *connected, *active;
        cd_counter *messages, *refused, *audits_ok, *audits_failed, *proofs_ok, *proofs_wrong, *deliveries;
    } m;
};

/* cd__gate_now_s: wall time. */
u64 cd__gate_now_s(const cd_gate *g);

/* cd__peer_ref and _unref: the last one frees it. */
void cd__peer_ref(cd__peer *p);
void cd__peer_unref(cd__peer *p);
/* cd__peer_send signs and sends what was begun with cd_wire_begin(&p->out, w, …) into a buffer of its own, and frees
 * that. */
void cd__peer_send(cd__peer *p, cd_json_w *w);
/* cd__peer_refuse tells why and closes the connection. */
void cd__peer_refuse(cd__peer *p, const char *why);
/* cd__peer_strike notes a lie; with too many it is left alone for a while. */
void cd__peer_strike(cd__peer *p, const char *what);
/* cd__gate_is_suspended: it lied too often of late. */
bool cd__gate_is_suspended(cd_gate *g, const char *id);

/* --- gate_books --- */

void cd__gate_register(cd__peer *p);
/* cd__gate_flush writes what is up of all peers, cd__gate_close_periods credits what was earned. */
void cd__gate_flush(cd_gate *g);
void cd__gate_close_periods(cd_gate *g);
void cd__gate_report(cd__peer *p, cd_json list);
void cd__gate_proof_paid(cd__peer *p);

/* --- gate_work --- */

void cd__gate_beat_have(cd__peer *p, cd_json have);
void cd__gate_assign(cd_gate *g);
void cd__gate_leave(cd__peer *p); /* it is nobody's holder any more */
void cd__gate_audit(cd_gate *g);
void cd__gate_tasks(cd_gate *g);
void cd__gate_answer(cd__peer *p, const cd_wire_in *in);
void cd__gate_drop_objects(cd_gate *g);

#endif
