#include "node/peers/sender.h"

#include "base/mem/mem.h"

#include <stdatomic.h>

/* A frame holds the message, and a little around it. */
enum { MESSAGE_MAX = CD_P2P_FRAME_MAX - 256 };

/* What the VM says. */
typedef struct speech {
    cd_loop_task task; /* first */
    cd_sender *sender;
    u32 op;
    u32 request;
    i32 code;
    bool is_lost; /* a request that found no room */
    cd_p2p_sample sample;
    cd_buf data;
    usize cnt;
    cd_node_id to[];
} speech;

struct cd_sender {
    cd_vm_sender pub; /* first */
    cd_sender_cfg cfg;
    cd_inbox *inbox;
    _Atomic usize bytes; /* that wait for the loop */
    bool has_left;
};

static cd_sender *self(const cd_vm_sender *s)
{
    return (cd_sender *)(usize)(const void *)s;
}

/* --- on the loop --- */

static void say(const cd_sender *s, speech *x)
{
    cd_p2p_chain_msg m = {.request_id = x->request, .data = cd_buf_bytes(&x->data), .error_code = x->code};
    if (x->is_lost) {
        cd_inbox_failed(s->inbox, &x->to[0], x->request);
    } else if (x->op == CD_P2P_APP_REQUEST) {
        cd_p2p_router_ask(s->cfg.router, &s->cfg.chain, &x->to[0], x->op, &m);
    } else if (x->op == CD_P2P_APP_GOSSIP) {
        x->sample.nodes = x->to;
        x->sample.nodes_cnt = x->cnt;
        (void)cd_p2p_router_gossip(s->cfg.router, &s->cfg.chain, &x->sample, x->op, &m);
    } else {
        cd_p2p_router_say(s->cfg.router, &s->cfg.chain, &x->to[0], x->op, &m);
    }
}

static void on_speech(cd_loop_task *t)
{
    speech *x = (speech *)(void *)t;
    cd_sender *s = x->sender;
    if (!s->has_left) {
        say(s, x);
        s->cfg.wake(s->cfg.ctx); /* for the failure, or what goes to this node itself */
    }
    atomic_fetch_sub(&s->bytes, x->data.n);
    cd_buf_fini(&x->data);
    cd_free(x);
}

/* --- on the executor --- */

static bool has_room(cd_sender *s, usize n)
{
    return n <= MESSAGE_MAX && atomic_load(&s->bytes) + n <= CD_SENDER_BYTES_MAX;
}

static speech *speech_new(cd_sender *s, u32 op, const cd_node_id *to, usize cnt, cd_bytes data)
{
    speech *x = cd_alloc(sizeof *x + cnt * sizeof *to);
    *x = (speech){.task.fn = on_speech};
    x->sender = s;
    x->op = op;
    x->cnt = cnt;
    if (cnt != 0) {
        memcpy(x->to, to, cnt * sizeof *to);
    }
    cd_buf_put(&x->data, data);
    atomic_fetch_add(&s->bytes, data.n);
    return x;
}

static void request(const cd_vm_sender *v, const cd_node_id *to, u32 request_id, cd_bytes msg)
{
    cd_sender *s = self(v);
    bool is_lost = !has_room(s, msg.n);
    speech *x = speech_new(s, CD_P2P_APP_REQUEST, to, 1, is_lost ? (cd_bytes){0} : msg);
    x->request = request_id;
    x->is_lost = is_lost;
    cd_loop_post(s->cfg.loop, &x->task);
}

static void answer(cd_sender *s, u32 op, const cd_node_id *to, u32 request_id, i32 code, cd_bytes msg)
{
    if (!has_room(s, msg.n)) {
        return; /* whoever asked is told by its own clock */
    }
    speech *x = speech_new(s, op, to, 1, msg);
    x->request = request_id;
    x->code = code;
    cd_loop_post(s->cfg.loop, &x->task);
}

static void response(const cd_vm_sender *v, const cd_node_id *to, u32 request_id, cd_bytes msg)
{
    answer(self(v), CD_P2P_APP_RESPONSE, to, request_id, 0, msg);
}

static void error(const cd_vm_sender *v, const cd_node_id *to, u32 request_id, i32 code, cd_bytes message)
{
    answer(self(v), CD_P2P_APP_ERROR, to, request_id, code, message);
}

static void gossip(const cd_vm_sender *v, const cd_vm_gossip_to *to, cd_bytes msg)
{
    cd_sender *s = self(v);
    if (!has_room(s, msg.n)) {
        return;
    }
    speech *x = speech_new(s, CD_P2P_APP_GOSSIP, to->nodes, to->node_cnt, msg);
    x->sample.validators = to->validators;
    x->sample.non_validators = to->non_validators;
    x->sample.peers = to->peers;
    cd_loop_post(s->cfg.loop, &x->task);
}

/* --- life --- */

cd_sender *cd_sender_new(const cd_sender_cfg *cfg)
{
    cd_sender *s = cd_new(cd_sender);
    s->pub = (cd_vm_sender){.request = request, .response = response, .error = error, .gossip = gossip};
    s->cfg = *cfg;
    const cd_inbox_cfg inbox = {
        .loop = cfg->loop,
        .clock = cfg->clock,
        .sender = &s->pub,
        .used = cfg->used,
        .ctx = cfg->ctx,
    };
    s->inbox = cd_inbox_new(&inbox);
    return s;
}

void cd_sender_free(cd_sender *s)
{
    if (s == NULL) {
        return;
    }
    cd_inbox_free(s->inbox);
    cd_free(s);
}

const cd_vm_sender *cd_sender_for_vm(const cd_sender *s)
{
    return &s->pub;
}

cd_inbox *cd_sender_inbox(cd_sender *s)
{
    return s->inbox;
}

void cd_sender_leave(cd_sender *s)
{
    s->has_left = true;
    cd_inbox_leave(s->inbox);
}
