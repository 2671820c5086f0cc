#include "node/peers/inbox.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "p2p/sdk.h"

/* One thing to tell. */
typedef struct item {
    cd_list in_row; /* or in the batch */
    enum { HELLO, GOODBYE, MESSAGE, FAILED } kind;
    cd_node_id node;
    u32 request;
    u64 expires_ns;
    cd_p2p_in *in; /* of a MESSAGE */
    u64 used_ns;   /* what the VM took for it */
    cd_p2p_version version;
    char client[CD_P2P_CLIENT_NAME_MAX + 1];
} item;

/* What waits of one peer; it ends with its last item. */
typedef struct row {
    cd_node_id node;
    cd_list items;
    cd_list turn;
    u32 unasked;
} row;

struct cd_inbox {
    cd_inbox_cfg cfg;
    cd_executor *executor;
    cd_vm *vm; /* the executor's, from before the first batch on */
    const cd_inbox_ear *ear;
    cd_hmap rows;
    cd_list turns; /* rows, the next one first */
    u32 unasked;
    u64 dropped;
    bool has_left;
    bool is_away; /* the batch is with the executor */
    cd_list batch;
    cd_rpc_job job;
    cd_loop_task back;
};

static bool is_unasked(const item *x)
{
    return x->kind == MESSAGE && cd_p2p_op_kind(x->in->msg.op) == CD_P2P_ASK;
}

static void item_free(item *x)
{
    if (x->in != NULL) {
        cd_p2p_in_done(x->in);
    }
    cd_free(x);
}

/* --- rows --- */

static row *row_find(const cd_inbox *b, const cd_node_id *node)
{
    row *const *at = cd_hmap_get(&b->rows, node);
    return at == NULL ? NULL : *at;
}

static row *row_of(cd_inbox *b, const cd_node_id *node)
{
    row *r = row_find(b, node);
    if (r == NULL) {
        r = cd_new(row);
        r->node = *node;
        cd_list_init(&r->items);
        cd_list_push_back(&b->turns, &r->turn);
        *(row **)cd_hmap_put(&b->rows, NULL, node) = r;
    }
    return r;
}

static void row_end_if_empty(cd_inbox *b, row *r)
{
    if (cd_list_is_empty(&r->items)) {
        (void)cd_hmap_del(&b->rows, &r->node);
        cd_list_del(&r->turn);
        cd_free(r);
    }
}

static void put(cd_inbox *b, item *x)
{
    row *r = row_of(b, &x->node);
    cd_list_push_back(&r->items, &x->in_row);
    if (is_unasked(x)) {
        r->unasked++;
        b->unasked++;
    }
}

/* Takes an item out of its row; the caller ends the row when it is empty. */
static void take(cd_inbox *b, row *r, item *x)
{
    cd_list_del(&x->in_row);
    if (is_unasked(x)) {
        r->unasked--;
        b->unasked--;
    }
}

/* The newest unasked message of a row goes. */
static void drop_newest(cd_inbox *b, row *r)
{
    for (cd_list *it = r->items.prev; it != &r->items; it = it->prev) {
        item *x = cd_list_of(it, item, in_row);
        if (is_unasked(x)) {
            take(b, r, x);
            item_free(x);
            b->dropped++;
            break;
        }
    }
    row_end_if_empty(b, r);
}

/* Room for one more of a node: its own, or that of whoever has more waiting than it would have. */
static bool make_room(cd_inbox *b, const cd_node_id *node)
{
    const row *own = row_find(b, node);
    u32 cnt = own == NULL ? 0 : own->unasked;
    if (cnt >= CD_INBOX_PEER_MAX) {
        return false;
    }
    if (b->unasked < CD_INBOX_ALL_MAX) {
        return true;
    }
    row *longest = NULL;
    cd_list_each(it, &b->turns)
    {
        row *r = cd_list_of(it, row, turn);
        longest = longest == NULL || r->unasked > longest->unasked ? r : longest;
    }
    if (longest == NULL || longest->unasked <= cnt + 1) {
        return false;
    }
    drop_newest(b, longest);
    return true;
}

/* --- on the executor --- */

static void tell_request(const cd_inbox *b, const item *x, const cd_p2p_chain_msg *m)
{
    const cd_vm_app_ops *app = b->vm->ops->app;
    if (cd_clock_mono_ns(b->cfg.clock) > x->expires_ns) {
        return; /* nobody waits for the answer any more */
    }
    if (app != NULL) {
        app->request(b->vm, &x->node, m->request_id, x->expires_ns, m->data);
    } else {
        const char *text = cd_p2p_app_text(CD_P2P_APP_UNREGISTERED);
        b->cfg.sender->error(b->cfg.sender, &x->node, m->request_id, CD_P2P_APP_UNREGISTERED, cd_bytes_str(text));
    }
}

/* True: it was for the ear. */
static bool tell_ear(const cd_inbox *b, const item *x, const cd_p2p_chain_msg *m)
{
    u64 handler;
    cd_bytes body;
    u32 op = x->in->msg.op;
    if (b->ear == NULL) {
        return false;
    }
    if (op == CD_P2P_APP_RESPONSE || op == CD_P2P_APP_ERROR) {
        return b->ear->answered(b->ear->ctx, &x->node, m->request_id,
                                op == CD_P2P_APP_RESPONSE ? m->data : (cd_bytes){0});
    }
    if (cd_p2p_app_split(&handler, &body, m->data) != CD_OK || handler != b->ear->handler) {
        return false;
    }
    if (op == CD_P2P_APP_REQUEST) {
        b->ear->asked(b->ear->ctx, &x->node, m->request_id, body);
    } else {
        b->ear->heard(b->ear->ctx, &x->node, body);
    }
    return true;
}

static void tell_message(const cd_inbox *b, const item *x)
{
    const cd_vm_app_ops *app = b->vm->ops->app;
    const cd_p2p_chain_msg *m = x->in->msg.body;
    if (tell_ear(b, x, m)) {
        return;
    }
    if (x->in->msg.op == CD_P2P_APP_REQUEST) {
        tell_request(b, x, m);
    } else if (app != NULL && x->in->msg.op == CD_P2P_APP_GOSSIP) {
        app->gossip(b->vm, &x->node, m->data);
    } else if (app != NULL && x->in->msg.op == CD_P2P_APP_RESPONSE) {
        app->response(b->vm, &x->node, m->request_id, m->data);
    } else if (app != NULL) {
        app->failed(b->vm, &x->node, m->request_id, m->error_code, m->data);
    }
}

static void tell_event(const cd_inbox *b, const item *x)
{
    const cd_vm_app_ops *app = b->vm->ops->app;
    const cd_vm_peer_version version = {.name = cd_bytes_str(x->client),
                                        .major = x->version.major,
                                        .minor = x->version.minor,
                                        .patch = x->version.patch};
    if (x->kind == HELLO && b->ear != NULL) {
        b->ear->met(b->ear->ctx, &x->node);
    }
    if (x->kind == FAILED && b->ear != NULL && b->ear->answered(b->ear->ctx, &x->node, x->request, (cd_bytes){0})) {
        return;
    }
    if (app == NULL) {
        return;
    }
    if (x->kind == HELLO) {
        app->connected(b->vm, &x->node, &version);
    } else if (x->kind == GOODBYE) {
        app->disconnected(b->vm, &x->node);
    } else {
        app->failed(b->vm, &x->node, x->request, CD_INBOX_TIMED_OUT, cd_bytes_str("timed out"));
    }
}

static void run_batch(cd_rpc_job *job)
{
    cd_inbox *b = cd_list_of(job, cd_inbox, job);
    cd_list_each(it, &b->batch)
    {
        item *x = cd_list_of(it, item, in_row);
        u64 start = cd_clock_mono_ns(b->cfg.clock);
        if (x->kind == MESSAGE) {
            tell_message(b, x);
        } else {
            tell_event(b, x);
        }
        x->used_ns = cd_clock_mono_ns(b->cfg.clock) - start;
    }
    cd_loop_post(b->cfg.loop, &b->back);
}

/* --- batches --- */

static void fill_batch(cd_inbox *b)
{
    for (u32 n = 0; n < CD_INBOX_BATCH && !cd_list_is_empty(&b->turns); n++) {
        row *r = cd_list_of(b->turns.next, row, turn);
        item *x = cd_list_of(r->items.next, item, in_row);
        take(b, r, x);
        cd_list_push_back(&b->batch, &x->in_row);
        cd_list_del(&r->turn);
        cd_list_push_back(&b->turns, &r->turn);
        row_end_if_empty(b, r);
    }
}

static void drop_all(cd_inbox *b)
{
    while (!cd_list_is_empty(&b->turns)) {
        row *r = cd_list_of(b->turns.next, row, turn);
        item *x = cd_list_of(r->items.next, item, in_row);
        take(b, r, x);
        item_free(x);
        row_end_if_empty(b, r);
    }
}

static void drop_batch(cd_inbox *b)
{
    cd_list_each_safe(it, &b->batch)
    {
        item_free(cd_list_of(it, item, in_row));
    }
    cd_list_init(&b->batch);
}

/* A batch that found no room with the executor stays as it is until the next tick. */
static void send_batch(cd_inbox *b)
{
    if (b->is_away || b->has_left) {
        return;
    }
    if (cd_list_is_empty(&b->batch)) {
        fill_batch(b);
    }
    if (cd_list_is_empty(&b->batch)) {
        return;
    }
    cd_err e = cd_executor_run_first(b->executor, &b->job);
    b->is_away = e == CD_OK;
    if (e == CD_ECLOSED) {
        drop_batch(b);
        drop_all(b);
    }
}

static void on_back(cd_loop_task *t)
{
    cd_inbox *b = (cd_inbox *)(void *)((u8 *)t - offsetof(cd_inbox, back));
    cd_list_each(it, &b->batch)
    {
        const item *x = cd_list_of(it, item, in_row);
        b->cfg.used(b->cfg.ctx, &x->node, x->used_ns);
    }
    drop_batch(b);
    b->is_away = false;
    send_batch(b);
}

/* --- what is to be told --- */

static item *item_new(u32 kind, const cd_node_id *node)
{
    item *x = cd_new(item);
    x->kind = kind;
    x->node = *node;
    return x;
}

static void tell(cd_inbox *b, item *x)
{
    if (b->has_left) {
        item_free(x);
        return;
    }
    put(b, x);
    send_batch(b);
}

void cd_inbox_connected(cd_inbox *b, const cd_p2p_peer_info *peer)
{
    item *x = item_new(HELLO, &peer->node);
    x->version = peer->version;
    memcpy(x->client, peer->client, sizeof x->client);
    tell(b, x);
}

/* Whoever has gone waits for no answer; and who was not told that it came is not told that it went. */
void cd_inbox_disconnected(cd_inbox *b, const cd_node_id *node)
{
    row *r = row_find(b, node);
    bool was_told = true;
    if (r != NULL) {
        cd_list_each_safe(it, &r->items)
        {
            item *x = cd_list_of(it, item, in_row);
            if (is_unasked(x) || x->kind == HELLO) {
                was_told = was_told && x->kind != HELLO;
                take(b, r, x);
                item_free(x);
            }
        }
        row_end_if_empty(b, r);
    }
    if (was_told) {
        tell(b, item_new(GOODBYE, node));
    }
}

void cd_inbox_message(cd_inbox *b, cd_p2p_in *in, u64 expires_ns)
{
    bool is_asked = cd_p2p_op_kind(in->msg.op) == CD_P2P_ANSWER;
    if (!is_asked && (b->has_left || !make_room(b, &in->from))) {
        b->dropped++;
        cd_p2p_in_done(in);
        return;
    }
    item *x = item_new(MESSAGE, &in->from);
    x->in = in;
    x->expires_ns = expires_ns;
    tell(b, x);
}

void cd_inbox_failed(cd_inbox *b, const cd_node_id *node, u32 request_id)
{
    item *x = item_new(FAILED, node);
    x->request = request_id;
    tell(b, x);
}

void cd_inbox_tick(cd_inbox *b)
{
    send_batch(b);
}

usize cd_inbox_cnt(const cd_inbox *b)
{
    return b->unasked;
}

u64 cd_inbox_dropped(const cd_inbox *b)
{
    return b->dropped;
}

/* --- life --- */

cd_inbox *cd_inbox_new(const cd_inbox_cfg *cfg)
{
    cd_inbox *b = cd_new(cd_inbox);
    b->cfg = *cfg;
    b->job.run = run_batch;
    b->back.fn = on_back;
    cd_list_init(&b->turns);
    cd_list_init(&b->batch);
    cd_hmap_init(&b->rows, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(row *));
    return b;
}

void cd_inbox_bind(cd_inbox *b, cd_executor *executor)
{
    b->executor = executor;
}

void cd_inbox_ear_set(cd_inbox *b, const cd_inbox_ear *ear)
{
    b->ear = ear;
}

void cd_inbox_vm(cd_inbox *b, cd_vm *vm)
{
    b->vm = vm;
}

void cd_inbox_leave(cd_inbox *b)
{
    b->has_left = true;
    drop_all(b);
    if (!b->is_away) {
        drop_batch(b);
    }
}

void cd_inbox_free(cd_inbox *b)
{
    if (b == NULL) {
        return;
    }
    drop_all(b);
    drop_batch(b);
    cd_hmap_fini(&b->rows);
    cd_free(b);
}
