#include "node/ipc.h"

#include "base/mem/mem.h"
#include "base/mem/shared.h"
#include "base/table/list.h"
#include "base/thread/thread.h"

#include <stdio.h>

enum {
    LEN_SIZE = 8,
    BATCH_FRAMES = 32,
    BATCH_BYTES = 256 << 10, /* of more than one frame */
};

typedef struct chain chain;

/* A connection. It lives until its socket is closed, the chain may be gone before. */
typedef struct reader {
    cd_list in_chain;
    chain *of; /* NULL: it is cut off */
    cd_tcp *tcp;
    u64 next; /* number of the frame that it gets next */
    bool is_waiting;
    cd_shared *held[BATCH_FRAMES]; /* frames that are being written */
    usize held_cnt;
} reader;

/* A chain that is published. Frames are counted from 0; those of first … first + cnt are kept, in a ring. */
struct chain {
    cd_ipc *ipc;
    cd_hash32 id;
    cd_listener *sockets[2];
    cd_list readers;
    usize reader_cnt;
    bool is_full_told;
    cd_shared *frames[CD_IPC_FRAMES_MAX];
    u64 first;
    usize cnt;
    usize bytes;
};

/* What executors ask about a chain, under the lock. */
typedef struct gate {
    cd_hash32 id;
    bool is_open;    /* it is published and has readers */
    bool is_flooded; /* frames were left out: its readers are to be cut off */
} gate;

typedef struct item {
    struct item *next;
    cd_hash32 chain;
    cd_shared *frame;
} item;

struct cd_ipc {
    cd_ipc_cfg cfg;
    chain *chains[CD_IPC_CHAINS_MAX]; /* NULL: free */
    cd_mutex lock;                    /* protects what follows */
    gate gates[CD_IPC_CHAINS_MAX];    /* of chains of the same index */
    item *head;
    item **tail;
    usize queued; /* bytes */
    bool is_posted;
    cd_loop_task task;
};

/* --- readers --- */

static void release(reader *r)
{
    for (usize i = 0; i < r->held_cnt; i++) {
        cd_shared_unref(r->held[i]);
    }
    r->held_cnt = 0;
}

static void set_gate(cd_ipc *ipc, const chain *c)
{
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        if (ipc->chains[i] == c) {
            cd_mutex_lock(&ipc->lock);
            ipc->gates[i].id = c->id;
            ipc->gates[i].is_open = c->reader_cnt != 0;
            cd_mutex_unlock(&ipc->lock);
        }
    }
}

/* What is being written is released when the socket is closed. */
static void cut(reader *r)
{
    chain *c = r->of;
    if (c == NULL) {
        return;
    }
    r->of = NULL;
    cd_list_del(&r->in_chain);
    c->reader_cnt--;
    c->is_full_told = false;
    set_gate(c->ipc, c);
    cd_tcp_close(r->tcp);
}

static void cut_slow(reader *r)
{
    cd_log_warn(r->of->ipc->cfg.log, "a reader of accepted blocks is too slow, its connection is ended");
    cut(r);
}

static void drop_oldest(chain *c)
{
    cd_shared *f = c->frames[c->first % CD_IPC_FRAMES_MAX];
    c->bytes -= cd_shared_bytes(f).n;
    c->first++;
    c->cnt--;
    cd_shared_unref(f);
}

/* Forgets what all readers have. */
static void trim(chain *c)
{
    u64 least = c->first + c->cnt;
    cd_list_each(it, &c->readers)
    {
        least = cd_min_u64(least, cd_list_of(it, reader, in_chain)->next);
    }
    while (c->cnt != 0 && c->first < least) {
        drop_oldest(c);
    }
}

/* Takes the next frames of a reader, not too many, so that what a slow one holds is small. */
static usize take_batch(reader *r, cd_bytes *parts)
{
    const chain *c = r->of;
    usize bytes = 0;
    while (r->next < c->first + c->cnt && r->held_cnt < BATCH_FRAMES) {
        cd_shared *f = c->frames[r->next % CD_IPC_FRAMES_MAX];
        cd_bytes b = cd_shared_bytes(f);
        if (r->held_cnt != 0 && bytes + b.n > BATCH_BYTES) {
            break;
        }
        bytes += b.n;
        parts[r->held_cnt] = b;
        r->held[r->held_cnt++] = cd_shared_ref(f);
        r->next++;
    }
    return r->held_cnt;
}

static void pump(reader *r)
{
    while (r->of != NULL && !r->is_waiting) {
        cd_bytes parts[BATCH_FRAMES];
        usize cnt = take_batch(r, parts);
        if (cnt == 0) {
            return;
        }
        cd_err e = cd_tcp_write(r->tcp, parts, cnt);
        if (e == CD_EAGAIN) {
            r->is_waiting = true;
        } else if (e == CD_OK) {
            release(r);
        } else {
            cut(r);
        }
    }
}

static void on_data(void *ctx, cd_bytes data)
{
    (void)data;
    cut(ctx); /* there is nothing to say */
}

static void on_end(void *ctx, cd_err err)
{
    (void)err;
    cut(ctx);
}

static void on_written(void *ctx, cd_err err)
{
    reader *r = ctx;
    chain *c = r->of;
    if (err != CD_OK || c == NULL) {
        cut(r);
        return;
    }
    r->is_waiting = false;
    release(r);
    pump(r);
    trim(c);
}

static void on_closed(void *ctx)
{
    reader *r = ctx;
    release(r);
    cd_free(r);
}

static void on_reader(void *ctx, cd_tcp *tcp)
{
    static const cd_tcp_events events = {.data = on_data, .end = on_end, .written = on_written, .closed = on_closed};
    chain *c = ctx;
    if (c->reader_cnt == CD_IPC_READERS_MAX) {
        cd_tcp_close(tcp);
        if (!c->is_full_told) {
            cd_log_warn(c->ipc->cfg.log, "a reader of accepted blocks is refused: there are as many as there may be",
                        CD_F("readers", (u64)CD_IPC_READERS_MAX));
            c->is_full_told = true;
        }
        return;
    }
    reader *r = cd_new(reader);
    r->of = c;
    r->tcp = tcp;
    r->next = c->first + c->cnt;
    cd_list_push_back(&c->readers, &r->in_chain);
    c->reader_cnt++;
    set_gate(c->ipc, c);
    cd_tcp_start(tcp, &events, r);
}

static void cut_all(chain *c)
{
    cd_list_each_safe(it, &c->readers)
    {
        cut(cd_list_of(it, reader, in_chain));
    }
    trim(c);
}

/* --- from executors to the loop --- */

/* Takes the frame. Who is too far behind for it is cut off. */
static void add_frame(chain *c, cd_shared *f)
{
    usize n = cd_shared_bytes(f).n;
    while (c->cnt != 0 && (c->cnt == CD_IPC_FRAMES_MAX || c->bytes + n > CD_IPC_KEPT_MAX)) {
        drop_oldest(c);
    }
    cd_list_each_safe(it, &c->readers)
    {
        reader *r = cd_list_of(it, reader, in_chain);
        if (r->next < c->first) {
            cut_slow(r);
        }
    }
    c->frames[(c->first + c->cnt) % CD_IPC_FRAMES_MAX] = f;
    c->cnt++;
    c->bytes += n;
    cd_list_each_safe(it, &c->readers)
    {
        pump(cd_list_of(it, reader, in_chain));
    }
    trim(c);
}

static chain *find(const cd_ipc *ipc, const cd_hash32 *id)
{
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        if (ipc->chains[i] != NULL && cd_hash32_eq(&ipc->chains[i]->id, id)) {
            return ipc->chains[i];
        }
    }
    return NULL;
}

static void on_task(cd_loop_task *t)
{
    cd_ipc *ipc = (cd_ipc *)(void *)((u8 *)t - offsetof(cd_ipc, task));
    bool is_flooded[CD_IPC_CHAINS_MAX];
    cd_mutex_lock(&ipc->lock);
    item *head = ipc->head;
    ipc->head = NULL;
    ipc->tail = &ipc->head;
    ipc->queued = 0;
    ipc->is_posted = false;
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        is_flooded[i] = ipc->gates[i].is_flooded;
        ipc->gates[i].is_flooded = false;
    }
    cd_mutex_unlock(&ipc->lock);
    while (head != NULL) {
        item *it = head;
        head = it->next;
        chain *c = find(ipc, &it->chain);
        if (c != NULL) {
            add_frame(c, it->frame);
        } else {
            cd_shared_unref(it->frame);
        }
        cd_free(it);
    }
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        if (is_flooded[i] && ipc->chains[i] != NULL) {
            cd_log_warn(ipc->cfg.log,
                        "blocks are accepted faster than readers can be told, their connections are ended");
            cut_all(ipc->chains[i]);
        }
    }
}

/* Is somebody to be told of n bytes? Takes them into account. */
static bool admit(cd_ipc *ipc, const cd_hash32 *id, usize n)
{
    bool is_open = false;
    cd_mutex_lock(&ipc->lock);
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        gate *g = &ipc->gates[i];
        if (g->is_open && cd_hash32_eq(&g->id, id)) {
            g->is_flooded |= ipc->queued != 0 && ipc->queued + n > CD_IPC_QUEUE_MAX;
            is_open = !g->is_flooded;
        }
    }
    ipc->queued += is_open ? n : 0;
    cd_mutex_unlock(&ipc->lock);
    return is_open;
}

void cd_ipc_accepted(cd_ipc *ipc, const cd_hash32 *id, cd_bytes container)
{
    if (!admit(ipc, id, container.n + LEN_SIZE)) {
        return;
    }
    cd_buf b = {0};
    cd_put_be64(cd_buf_extend(&b, LEN_SIZE), container.n);
    cd_buf_put(&b, container);
    item *it = cd_new(item);
    it->chain = *id;
    it->frame = cd_shared_take(&b);
    cd_mutex_lock(&ipc->lock);
    *ipc->tail = it;
    ipc->tail = &it->next;
    bool is_first = !ipc->is_posted;
    ipc->is_posted = true;
    cd_mutex_unlock(&ipc->lock);
    if (is_first) {
        cd_loop_post(ipc->cfg.loop, &ipc->task);
    }
}

/* --- chains --- */

cd_err cd_ipc_paths_of(const cd_ipc *ipc, cd_ipc_paths *out, const cd_hash32 *id, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    const char *name = cd_buf_cstr(&text);
    unsigned net = ipc->cfg.network_id;
    int a = snprintf(out->consensus, sizeof out->consensus, "%s/%u-%s-consensus", ipc->cfg.dir, net, name);
    int b = snprintf(out->decisions, sizeof out->decisions, "%s/%u-%s-decisions", ipc->cfg.dir, net, name);
    cd_buf_fini(&text);
    if (a >= CD_IPC_PATH_MAX || b >= CD_IPC_PATH_MAX) {
        return cd_fail(why, CD_ELIMIT, "%.40s...: a path of a socket has %d characters at most; give a shorter one",
                       ipc->cfg.dir, CD_IPC_PATH_MAX - 1);
    }
    return CD_OK;
}

static void close_chain(cd_ipc *ipc, usize i)
{
    chain *c = ipc->chains[i];
    cut_all(c);
    cd_listener_close(c->sockets[0]);
    cd_listener_close(c->sockets[1]);
    ipc->chains[i] = NULL;
    cd_mutex_lock(&ipc->lock);
    ipc->gates[i] = (gate){.is_open = false};
    cd_mutex_unlock(&ipc->lock);
    cd_free(c);
}

cd_err cd_ipc_publish(cd_ipc *ipc, const cd_hash32 *id, cd_errinfo *why)
{
    usize i = 0;
    cd_ipc_paths paths;
    CD_TRY(cd_ipc_paths_of(ipc, &paths, id, why));
    if (find(ipc, id) != NULL) {
        return CD_OK;
    }
    while (i < CD_IPC_CHAINS_MAX && ipc->chains[i] != NULL) {
        i++;
    }
    if (i == CD_IPC_CHAINS_MAX) {
        return cd_fail(why, CD_ELIMIT, "%d chains are published already, more may not be", CD_IPC_CHAINS_MAX);
    }
    chain *c = cd_new(chain);
    c->ipc = ipc;
    c->id = *id;
    cd_list_init(&c->readers);
    ipc->chains[i] = c;
    cd_err e = cd_listener_open_path(&c->sockets[0], ipc->cfg.loop, paths.consensus, on_reader, c, why);
    if (e == CD_OK) {
        e = cd_listener_open_path(&c->sockets[1], ipc->cfg.loop, paths.decisions, on_reader, c, why);
    }
    if (e != CD_OK) {
        close_chain(ipc, i);
    }
    return e;
}

void cd_ipc_unpublish(cd_ipc *ipc, const cd_hash32 *id)
{
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        if (ipc->chains[i] != NULL && cd_hash32_eq(&ipc->chains[i]->id, id)) {
            close_chain(ipc, i);
        }
    }
}

usize cd_ipc_list(const cd_ipc *ipc, cd_hash32 out[CD_IPC_CHAINS_MAX])
{
    usize n = 0;
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        if (ipc->chains[i] != NULL) {
            out[n++] = ipc->chains[i]->id;
        }
    }
    return n;
}

cd_ipc *cd_ipc_new(const cd_ipc_cfg *cfg)
{
    cd_ipc *ipc = cd_new(cd_ipc);
    ipc->cfg = *cfg;
    ipc->tail = &ipc->head;
    ipc->task.fn = on_task;
    cd_mutex_init(&ipc->lock);
    return ipc;
}

void cd_ipc_free(cd_ipc *ipc)
{
    if (ipc == NULL) {
        return;
    }
    CD_ASSERT(!ipc->is_posted);
    for (usize i = 0; i < CD_IPC_CHAINS_MAX; i++) {
        if (ipc->chains[i] != NULL) {
            close_chain(ipc, i);
        }
    }
    cd_mutex_fini(&ipc->lock);
    cd_free(ipc);
}
