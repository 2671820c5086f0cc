#include "node/finality.h"

#include "base/mem/mem.h"
#include "base/thread/pool.h"
#include "base/thread/thread.h"
#include "finality/cert/epoch.h"
#include "finality/messages.h"
#include "p2p/sdk.h"

#include <stdatomic.h>

static const char prefix[] = "Y"; /* of the part of the store */

/* Requests have even numbers; the P-Chain's own are odd. */
enum { ROWS_MAX = 64, RETRY_MS = 50, IDLE_MS = 1000, QUESTIONS = 64 };

/* Something for the thread. */
typedef struct item {
    enum { BLOCK, MESSAGE, ANSWER, MET } kind;
    cd_hash32 chain; /* of a BLOCK, or the one that an ANSWER is about */
    u64 height;
    cd_fin_msg msg;
    u64 since_ns; /* of a BLOCK: when it was accepted */
    cd_node_id node;
    cd_buf message;
} item;

/* A question that is open: to whom, about which chain. */
typedef struct question {
    u32 request;
    cd_node_id node;
    cd_hash32 chain;
} question;

/* The highest block of a chain that two thirds have signed. */
typedef struct by_bls {
    cd_hash32 chain;
    cd_node_final block;
} by_bls;

/* A block of the P-Chain. */
typedef struct pblock {
    u64 height;
    u64 time_s;
} pblock;

/* A round of a session that the worker computes. */
typedef struct job {
    struct cd_node_finality *f;
    cd_finality_job *what;
} job;

/* Who is told of a chain's final blocks. */
typedef struct listener {
    cd_hash32 chain;
    cd_node_finality_told *hear; /* NULL: nobody */
    void *ctx;
    bool is_owed; /* it could not take the last one */
} listener;

struct cd_node_finality {
    cd_node_finality_cfg cfg;
    cd_inbox_ear ear;
    u8 mldsa_pk[CD_MLDSA_PK];
    cd_secret mldsa_sk;
    cd_buf group_nodes;
    cd_kv *part;
    cd_rng rng;
    cd_finality *fin; /* the thread's */
    u64 first;        /* P-Chain's height that the epochs want first; read before the thread starts */
    cd_thread thread;
    bool is_running;
    cd_pool *worker; /* one thread for rounds of lattice sessions, so that shares do not wait for them */
    cd_mutex lock;   /* protects what follows */
    cd_cond wake;
    bool is_ending;
    item *items; /* a ring */
    usize head;
    usize cnt;
    usize bytes;
    cd_finality_job *done[CD_FINALITY_CHAINS_MAX]; /* that the worker has computed */
    u32 done_cnt;
    u32 job_cnt; /* that it has, or that are done */
    cd_buf pblocks;
    cd_mutex speak_lock; /* protects sender, which is not there any more when it was taken away */
    const cd_vm_sender *sender;
    cd_mutex hear_lock; /* protects the next two, and is held while somebody is told */
    listener listeners[CD_FIN_CHAINS_MAX];
    u32 listener_cnt;
    _Atomic u64 dropped;
    cd_hist *bls_time; /* NULL: no metrics */
    cd_hist *final_time;
    /* Under lock again: what the thread has found. */
    cd_finality_stats counts;
    by_bls signed_blocks[CD_FIN_CHAINS_MAX];
    u32 signed_cnt;
    question questions[QUESTIONS];
    u32 next_request;
    cd_fin_chain chains[CD_FIN_CHAINS_MAX];
    u32 chain_cnt;
    cd_buf checkpoint;
    u64 checkpoint_of;     /* of which epoch, */
    u64 checkpoint_keys;   /* with which keys, */
    u32 checkpoint_chains; /* and how many chains */
    cd_fin_set seated;     /* the newest set, whose keys are borrowed by nobody here: nodes and weights count */
    cd_buf seats;          /* its cd_fin_validator */
    u64 seated_epoch;
    cd_finality_row *rows; /* ROWS_MAX */
    u32 row_cnt;
    cd_mutex changes_lock; /* protects the list that was asked for last: from which epoch, after how many changes */
    cd_buf changes;
    u64 changes_from;
    u64 changes_turns;
};

/* --- speaking; on the thread --- */

static void say(cd_node_finality *f, const cd_vm_gossip_to *to, cd_bytes message)
{
    cd_buf out = {0};
    cd_p2p_app_put(&out, CD_FIN_HANDLER, message);
    cd_mutex_lock(&f->speak_lock);
    if (f->sender != NULL) {
        f->sender->gossip(f->sender, to, cd_buf_bytes(&out));
    }
    cd_mutex_unlock(&f->speak_lock);
    cd_buf_fini(&out);
}

static void on_tell(void *ctx, const cd_node_id *nodes, usize cnt, cd_bytes message)
{
    say(ctx, &(cd_vm_gossip_to){.nodes = nodes, .node_cnt = cnt}, message);
}

static void on_ask(void *ctx, const cd_node_id *node, cd_bytes message)
{
    cd_node_finality *f = ctx;
    cd_fin_says says;
    cd_buf out = {0};
    if (cd_fin_says_read(&says, message) != CD_OK) {
        return;
    }
    cd_mutex_lock(&f->lock);
    u32 request = f->next_request;
    f->questions[request / 2 % QUESTIONS] = (question){.request = request, .node = *node, .chain = says.chain};
    f->next_request += 2;
    cd_mutex_unlock(&f->lock);
    cd_p2p_app_put(&out, CD_FIN_HANDLER, message);
    cd_mutex_lock(&f->speak_lock);
    if (f->sender != NULL) {
        f->sender->request(f->sender, node, request, cd_buf_bytes(&out));
    }
    cd_mutex_unlock(&f->speak_lock);
    cd_buf_fini(&out);
}

static void note_signed(cd_node_finality *f, const cd_hash32 *chain, const cd_node_final *block)
{
    u32 i = 0;
    cd_mutex_lock(&f->lock);
    while (i < f->signed_cnt && !cd_hash32_eq(&f->signed_blocks[i].chain, chain)) {
        i++;
    }
    if (i == f->signed_cnt && i < CD_FIN_CHAINS_MAX) {
        f->signed_blocks[f->signed_cnt++] = (by_bls){.chain = *chain};
    }
    if (i < f->signed_cnt && block->height >= f->signed_blocks[i].block.height) {
        f->signed_blocks[i].block = *block;
    }
    cd_mutex_unlock(&f->lock);
}

/* The certificate as the chain's VM is told. */
static void put_told(cd_buf *out, const cd_fin_cert *cert, cd_bytes bytes)
{
    cd_buf body = {0};
    const cd_fin_says says = {.kind = CD_FIN_SAYS_CERT, .chain = cert->chain, .msg = cert->msg, .bytes = bytes};
    cd_fin_says_put(&body, &says);
    cd_p2p_app_put(out, CD_FIN_HANDLER, cd_buf_bytes(&body));
    cd_buf_fini(&body);
}

/* One of type 3 may be there from before --finality-require-threshold. */
static bool is_told(const cd_node_finality *f, cd_fin_type type)
{
    return type == CD_FIN_BOTH || (cd_fin_is_final(type) && !f->cfg.wants_threshold);
}

static void tell_chain(cd_node_finality *f, const cd_fin_cert *cert, cd_bytes bytes)
{
    cd_buf message = {0};
    cd_mutex_lock(&f->hear_lock);
    for (u32 i = 0; i < f->listener_cnt; i++) {
        listener *l = &f->listeners[i];
        if (l->hear != NULL && cd_hash32_eq(&l->chain, &cert->chain)) {
            put_told(&message, cert, bytes);
            l->is_owed = !l->hear(l->ctx, cd_buf_bytes(&message));
        }
    }
    cd_mutex_unlock(&f->hear_lock);
    cd_buf_fini(&message);
}

/* Tells those again who could not take it; true: nobody waits any more. */
static bool tell_owed(cd_node_finality *f)
{
    bool is_done = true;
    cd_mutex_lock(&f->hear_lock);
    for (u32 i = 0; i < f->listener_cnt; i++) {
        listener *l = &f->listeners[i];
        cd_buf message = {0};
        if (l->is_owed && l->hear != NULL && cd_node_finality_last(f, &message, &l->chain) == CD_OK) {
            l->is_owed = !l->hear(l->ctx, cd_buf_bytes(&message));
            is_done = is_done && !l->is_owed;
        }
        cd_buf_fini(&message);
    }
    cd_mutex_unlock(&f->hear_lock);
    return is_done;
}

/* How long after accepting; blocks that were fetched are not told of. */
static void note_time(cd_node_finality *f, cd_fin_type type, u64 since_ns)
{
    cd_hist *h = type == CD_FIN_BLS ? f->bls_time : cd_fin_is_final(type) ? f->final_time : NULL;
    if (h != NULL) {
        cd_hist_add(h, (cd_clock_mono_ns(f->cfg.clock) - since_ns) / 1000);
    }
}

static void on_certified(void *ctx, u64 height, u64 since_ns, const cd_fin_cert *cert, cd_bytes bytes)
{
    cd_node_finality *f = ctx;
    const cd_node_final block = {.is_there = true, .block = cert->msg.block, .height = height, .type = cert->type};
    cd_buf id = {0};
    note_signed(f, &cert->chain, &block);
    note_time(f, cert->type, since_ns);
    if (is_told(f, cert->type)) {
        tell_chain(f, cert, bytes);
    }
    cd_id_put(&id, &cert->msg.block);
    cd_log_debug(f->cfg.log, cd_fin_is_final(cert->type) ? "a block is final" : "a block is signed by two thirds",
                 CD_F("block", cd_buf_bytes(&id)), CD_F("height", height), CD_F("type", (u64)cert->type));
    cd_buf_fini(&id);
}

/* --- the worker --- */

static void run_job(void *arg)
{
    job *j = arg;
    cd_node_finality *f = j->f;
    cd_finality_job_run(j->what);
    cd_mutex_lock(&f->lock);
    f->done[f->done_cnt++] = j->what;
    cd_cond_wake_one(&f->wake);
    cd_mutex_unlock(&f->lock);
    cd_free(j);
}

static bool on_work(void *ctx, cd_finality_job *what)
{
    cd_node_finality *f = ctx;
    cd_mutex_lock(&f->lock);
    bool has_room = f->job_cnt < CD_FINALITY_CHAINS_MAX;
    f->job_cnt += has_room;
    cd_mutex_unlock(&f->lock);
    if (!has_room) {
        return false;
    }
    job *j = cd_new(job);
    *j = (job){.f = f, .what = what};
    if (cd_pool_submit(f->worker, run_job, j) != CD_OK) {
        cd_free(j);
        cd_mutex_lock(&f->lock);
        f->job_cnt--;
        cd_mutex_unlock(&f->lock);
        return false;
    }
    return true;
}

/* Takes back what was computed; on the thread, or when there is none any more. */
static void take_done(cd_node_finality *f)
{
    cd_finality_job *done[CD_FINALITY_CHAINS_MAX];
    cd_mutex_lock(&f->lock);
    u32 cnt = f->done_cnt;
    memcpy(done, f->done, cnt * sizeof(cd_finality_job *));
    f->done_cnt = 0;
    f->job_cnt -= cnt;
    cd_mutex_unlock(&f->lock);
    for (u32 i = 0; i < cnt; i++) {
        cd_finality_worked(f->fin, done[i], cd_clock_mono_ns(f->cfg.clock));
    }
}

/* --- the thread --- */

static void handle(cd_node_finality *f, item *x)
{
    u64 now = cd_clock_mono_ns(f->cfg.clock);
    if (x->kind == BLOCK) {
        (void)!cd_finality_accepted(f->fin, &x->chain, x->height, &x->msg, true,
                                    x->since_ns); /* its descendants will do */
    } else if (x->kind == MET) {
        cd_finality_connected(f->fin, &x->node);
    } else if (x->kind == ANSWER) {
        cd_finality_answered(f->fin, &x->node, &x->chain, cd_buf_bytes(&x->message), now);
    } else {
        cd_finality_hear(f->fin, &x->node, cd_buf_bytes(&x->message), now);
    }
    cd_buf_fini(&x->message);
}

static cd_err take_pblock(cd_node_finality *f, const pblock *b)
{
    const cd_vm_validator *v = NULL;
    usize cnt = 0;
    cd_arena a = {0};
    static const cd_hash32 primary;
    cd_err e = cd_fin_epochs_wants(cd_finality_epochs(f->fin), b->time_s)
                   ? f->cfg.validators->at(f->cfg.validators, &v, &cnt, &a, &primary, b->height)
                   : CD_OK;
    e = e == CD_OK ? cd_finality_pblock(f->fin, b->height, b->time_s, v, cnt) : e;
    cd_arena_fini(&a);
    return e;
}

/* Takes the P-Chain's blocks that wait; one that the P-Chain does not speak of yet is tried again soon. */
static bool take_pblocks(cd_node_finality *f)
{
    cd_buf waiting = {0};
    usize done = 0;
    cd_err e = CD_OK;
    cd_mutex_lock(&f->lock);
    cd_buf_put(&waiting, cd_buf_bytes(&f->pblocks));
    cd_mutex_unlock(&f->lock);
    for (; e == CD_OK && done < waiting.n; done += e == CD_OK ? sizeof(pblock) : 0) {
        pblock b;
        memcpy(&b, waiting.p + done, sizeof b);
        e = take_pblock(f, &b);
    }
    cd_buf_fini(&waiting);
    cd_mutex_lock(&f->lock);
    if (done != 0) {
        memmove(f->pblocks.p, f->pblocks.p + done, f->pblocks.n - done);
        f->pblocks.n -= done;
    }
    cd_mutex_unlock(&f->lock);
    return e == CD_OK;
}

/* Sleeps until there is something to do; false: the end. */
static bool wait(cd_node_finality *f, item *out, bool *has_item, u64 next_ns, bool is_behind)
{
    u64 now = cd_clock_mono_ns(f->cfg.clock);
    u64 ms = next_ns <= now ? 0 : cd_min_u64((next_ns - now) / 1000000 + 1, IDLE_MS);
    ms = is_behind ? cd_min_u64(ms, RETRY_MS) : ms;
    cd_mutex_lock(&f->lock);
    if (f->cnt == 0 && f->done_cnt == 0 && !f->is_ending && ms != 0 && (f->pblocks.n == 0 || is_behind)) {
        (void)cd_cond_wait_ms(&f->wake, &f->lock, ms);
    }
    bool goes_on = !f->is_ending;
    *has_item = goes_on && f->cnt != 0;
    if (*has_item) {
        *out = f->items[f->head];
        f->head = (f->head + 1) % CD_NODE_FINALITY_ITEMS;
        f->cnt--;
        f->bytes -= out->message.n;
    }
    cd_finality_stats_get(f->fin, &f->counts);
    f->row_cnt = cd_finality_rows(f->fin, f->rows, ROWS_MAX);
    cd_mutex_unlock(&f->lock);
    return goes_on;
}

/* Makes the checkpoint anew when it would be another. */
static void renew_checkpoint(cd_node_finality *f)
{
    cd_fin_set set;
    u64 number;
    cd_buf out = {0};
    u64 keys = cd_finality_keys(f->fin);
    if (!cd_finality_newest(f->fin, &number, &set)) {
        return;
    }
    cd_mutex_lock(&f->lock);
    if (f->checkpoint.n == 0 || f->checkpoint_of != number || f->checkpoint_keys != keys ||
        f->checkpoint_chains != f->chain_cnt) {
        cd_fin_epoch epoch = {.network = f->cfg.network_id, .number = number, .set = set};
        if (epoch.set.group != NULL) {
            cd_rt_key_id(&epoch.group_id, epoch.set.group);
        }
        cd_fin_checkpoint_put(&out, &epoch, f->chains, f->chain_cnt);
        cd_buf_clear(&f->checkpoint);
        cd_buf_put(&f->checkpoint, cd_buf_bytes(&out));
        cd_buf_clear(&f->seats);
        cd_buf_put(&f->seats, cd_bytes_of(set.validators, set.cnt * sizeof *set.validators));
        f->seated = set;
        f->seated_epoch = number;
        f->checkpoint_of = number;
        f->checkpoint_keys = keys;
        f->checkpoint_chains = f->chain_cnt;
    }
    cd_mutex_unlock(&f->lock);
    cd_buf_fini(&out);
}

static void run(void *arg)
{
    cd_node_finality *f = arg;
    item x;
    bool has_item;
    bool is_behind = false;
    u64 next = 0;
    while (wait(f, &x, &has_item, next, is_behind)) {
        is_behind = !take_pblocks(f);
        take_done(f);
        if (has_item) {
            handle(f, &x);
        }
        next = cd_finality_tick(f->fin, cd_clock_mono_ns(f->cfg.clock));
        is_behind = !tell_owed(f) || is_behind;
        renew_checkpoint(f);
    }
}

/* --- from others' threads --- */

static void put(cd_node_finality *f, item *x)
{
    cd_mutex_lock(&f->lock);
    bool has_room =
        !f->is_ending && f->cnt < CD_NODE_FINALITY_ITEMS && f->bytes + x->message.n <= CD_NODE_FINALITY_BYTES;
    if (has_room) {
        f->items[(f->head + f->cnt) % CD_NODE_FINALITY_ITEMS] = *x;
        f->cnt++;
        f->bytes += x->message.n;
        cd_cond_wake_one(&f->wake);
    }
    cd_mutex_unlock(&f->lock);
    if (!has_room) {
        atomic_fetch_add(&f->dropped, 1);
        cd_buf_fini(&x->message);
    }
}

void cd_node_finality_block(cd_node_finality *f, const cd_hash32 *chain, u64 height, const cd_fin_msg *msg)
{
    item x = {
        .kind = BLOCK, .chain = *chain, .height = height, .msg = *msg, .since_ns = cd_clock_mono_ns(f->cfg.clock)};
    put(f, &x);
}

static void on_heard(void *ctx, const cd_node_id *from, cd_bytes body)
{
    item x = {.kind = MESSAGE, .node = *from};
    if (body.n <= CD_FIN_MESSAGE_MAX) {
        cd_buf_put(&x.message, body);
        put(ctx, &x);
    }
}

static void on_asked(void *ctx, const cd_node_id *from, u32 request, cd_bytes body)
{
    cd_node_finality *f = ctx;
    cd_buf cert = {0};
    cd_err e = cd_finality_serve(f->part, &cert, body);
    cd_mutex_lock(&f->speak_lock);
    if (f->sender != NULL && e == CD_OK) {
        f->sender->response(f->sender, from, request, cd_buf_bytes(&cert));
    } else if (f->sender != NULL) {
        f->sender->error(f->sender, from, request, CD_P2P_APP_UNEXPECTED, cd_bytes_str(cd_err_str(e)));
    }
    cd_mutex_unlock(&f->speak_lock);
    cd_buf_fini(&cert);
}

/* True: the question was of this node's finality, whatever came of it. */
static bool on_answered(void *ctx, const cd_node_id *from, u32 request, cd_bytes body)
{
    cd_node_finality *f = ctx;
    if (request % 2 != 0) {
        return false;
    }
    item x = {.kind = ANSWER, .node = *from};
    cd_mutex_lock(&f->lock);
    question *q = &f->questions[request / 2 % QUESTIONS];
    bool is_wanted = q->request == request && memcmp(q->node.b, from->b, sizeof from->b) == 0 && body.n != 0 &&
                     body.n <= CD_FIN_CERT_MAX;
    x.chain = q->chain;
    q->request = is_wanted ? 1 : q->request;
    cd_mutex_unlock(&f->lock);
    if (is_wanted) {
        cd_buf_put(&x.message, body);
        put(f, &x);
    }
    return true;
}

static void on_met(void *ctx, const cd_node_id *node)
{
    item x = {.kind = MET, .node = *node};
    put(ctx, &x);
}

void cd_node_finality_pblock(cd_node_finality *f, u64 height, u64 time_s)
{
    const pblock b = {.height = height, .time_s = time_s};
    cd_mutex_lock(&f->lock);
    bool has_room = f->pblocks.n / sizeof b < CD_NODE_FINALITY_PBLOCKS;
    if (has_room) {
        cd_buf_put(&f->pblocks, cd_bytes_of(&b, sizeof b));
        cd_cond_wake_one(&f->wake);
    }
    cd_mutex_unlock(&f->lock);
    if (!has_room) {
        cd_log_error(f->cfg.log, "epochs of finality are far behind: they are found at the next start");
    }
}

cd_err cd_node_finality_open(cd_node_finality *f, cd_vm *vm, cd_errinfo *why)
{
    cd_hash32 id;
    u64 last;
    cd_vm_block *b = NULL;
    vm->ops->last_accepted(vm, &id, &last);
    for (u64 height = f->first; height <= last; height++) {
        cd_err e = vm->ops->id_at_height(vm, &id, height);
        e = e == CD_OK ? vm->ops->get(vm, &b, &id) : e;
        if (e != CD_OK) {
            return cd_fail(why, e, "block %llu of the P-Chain cannot be read: %s", (unsigned long long)height,
                           cd_err_str(e));
        }
        cd_node_finality_pblock(f, height, b->time);
        vm->ops->release(vm, b);
    }
    f->first = last + 1;
    return CD_OK;
}

void cd_node_finality_speak(cd_node_finality *f, const cd_vm_sender *sender)
{
    cd_mutex_lock(&f->speak_lock);
    f->sender = sender;
    cd_mutex_unlock(&f->speak_lock);
}

const cd_inbox_ear *cd_node_finality_ear(const cd_node_finality *f)
{
    return &f->ear;
}

void cd_node_finality_hear(cd_node_finality *f, const cd_hash32 *chain, cd_node_finality_told *hear, void *ctx)
{
    u32 i = 0;
    cd_mutex_lock(&f->hear_lock);
    while (i < f->listener_cnt && !cd_hash32_eq(&f->listeners[i].chain, chain)) {
        i++;
    }
    if (i < CD_FIN_CHAINS_MAX) {
        f->listener_cnt = (u32)cd_max_u64(f->listener_cnt, i + 1);
        f->listeners[i] = (listener){.chain = *chain, .hear = hear, .ctx = ctx};
    }
    cd_mutex_unlock(&f->hear_lock);
}

/* The newest certificate that is told of, in bytes, and what it says. */
static cd_err last_told(const cd_node_finality *f, cd_buf *bytes, cd_fin_cert *cert, u64 *height,
                        const cd_hash32 *chain)
{
    CD_TRY(cd_finality_last(f->part, bytes, height, chain, f->cfg.wants_threshold));
    return cd_fin_cert_parse(cert, cd_buf_bytes(bytes)) == CD_FLAW_NONE ? CD_OK : CD_ECORRUPT;
}

cd_err cd_node_finality_last(cd_node_finality *f, cd_buf *message, const cd_hash32 *chain)
{
    cd_buf bytes = {0};
    cd_fin_cert cert;
    cd_err e = last_told(f, &bytes, &cert, NULL, chain);
    if (e == CD_OK) {
        put_told(message, &cert, cd_buf_bytes(&bytes));
    }
    cd_buf_fini(&bytes);
    return e;
}

/* --- what is known --- */

void cd_node_finality_get(cd_node_finality *f, cd_node_final *signed_block, cd_node_final *final,
                          const cd_hash32 *chain)
{
    cd_buf bytes = {0};
    cd_fin_cert cert;
    *signed_block = (cd_node_final){.is_there = false};
    *final = (cd_node_final){.is_there = false};
    cd_mutex_lock(&f->lock);
    for (u32 i = 0; i < f->signed_cnt; i++) {
        *signed_block = cd_hash32_eq(&f->signed_blocks[i].chain, chain) ? f->signed_blocks[i].block : *signed_block;
    }
    cd_mutex_unlock(&f->lock);
    u64 height;
    if (last_told(f, &bytes, &cert, &height, chain) == CD_OK) {
        *final = (cd_node_final){.is_there = true, .block = cert.msg.block, .height = height, .type = cert.type};
    }
    if (final->is_there && (!signed_block->is_there || signed_block->height < final->height)) {
        *signed_block = *final;
    }
    cd_buf_fini(&bytes);
}

void cd_node_finality_chain(cd_node_finality *f, const char *name, const cd_hash32 *id)
{
    usize n = strlen(name);
    cd_mutex_lock(&f->lock);
    bool is_known = n > CD_FIN_CHAIN_NAME_MAX || f->chain_cnt == CD_FIN_CHAINS_MAX;
    for (u32 i = 0; i < f->chain_cnt && !is_known; i++) {
        is_known = strcmp(f->chains[i].name, name) == 0;
    }
    if (!is_known) {
        cd_fin_chain *c = &f->chains[f->chain_cnt++];
        memcpy(c->name, name, n + 1);
        c->id = *id;
    }
    cd_mutex_unlock(&f->lock);
}

cd_err cd_node_finality_checkpoint(cd_node_finality *f, cd_buf *out)
{
    cd_mutex_lock(&f->lock);
    cd_buf_put(out, cd_buf_bytes(&f->checkpoint));
    bool is_there = f->checkpoint.n != 0;
    cd_mutex_unlock(&f->lock);
    return is_there ? CD_OK : CD_ENOENT;
}

cd_err cd_node_finality_changes(cd_node_finality *f, cd_buf *out, u64 epoch)
{
    cd_mutex_lock(&f->lock);
    bool is_there = f->checkpoint.n != 0;
    bool is_newest = f->checkpoint_of == epoch;
    u64 turns = f->counts.turns;
    cd_mutex_unlock(&f->lock);
    if (!is_there) {
        return CD_ENOENT;
    }
    if (is_newest) {
        cd_fin_changes_begin(out);
        return CD_OK;
    }
    cd_mutex_lock(&f->changes_lock);
    cd_err e = CD_OK;
    if (f->changes.n == 0 || f->changes_from != epoch || f->changes_turns != turns) {
        cd_buf_clear(&f->changes);
        e = cd_finality_changes(f->part, &f->changes, epoch, f->cfg.group == NULL ? NULL : &f->cfg.group->key);
        f->changes_from = epoch;
        f->changes_turns = turns;
    }
    if (e == CD_OK) {
        cd_buf_put(out, cd_buf_bytes(&f->changes));
    } else {
        cd_buf_clear(&f->changes);
    }
    cd_mutex_unlock(&f->changes_lock);
    return e == CD_ENOENT ? CD_EMISSING : e;
}

cd_err cd_node_finality_cert(const cd_node_finality *f, cd_buf *out, const cd_hash32 *chain, const cd_hash32 *block)
{
    return cd_finality_cert(f->part, out, NULL, chain, block);
}

cd_err cd_node_finality_cert_at(const cd_node_finality *f, cd_buf *out, const cd_hash32 *chain, u64 height)
{
    return cd_finality_cert_at(f->part, out, chain, height);
}

void cd_node_finality_look(cd_node_finality *f, cd_node_finality_now *out, const cd_hash32 *chain)
{
    cd_buf cert = {0};
    memset(out, 0, sizeof *out);
    cd_mutex_lock(&f->lock);
    const cd_fin_validator *seats = (const cd_fin_validator *)(const void *)f->seats.p;
    out->cnt = (u32)(f->seats.n / sizeof *seats);
    out->epoch = f->seated_epoch;
    out->from = f->seated.from;
    out->total = f->seated.total;
    out->has_group = f->seated.group != NULL;
    out->nodes = cd_alloc(out->cnt * sizeof *out->nodes);
    out->weights = cd_alloc(out->cnt * sizeof *out->weights);
    for (u32 i = 0; i < out->cnt; i++) {
        out->nodes[i] = seats[i].node;
        out->weights[i] = seats[i].weight;
        out->keyed += seats[i].mldsa != NULL;
    }
    for (u32 i = 0; i < f->row_cnt && out->row_cnt < CD_FINALITY_ROWS; i++) {
        if (cd_hash32_eq(&f->rows[i].chain, chain)) {
            out->rows[out->row_cnt++] = f->rows[i];
        }
    }
    cd_mutex_unlock(&f->lock);
    out->is_set_signed = cd_finality_cert_at(f->part, &cert, &cd_fin_epoch_chain, out->epoch) == CD_OK && cert.n > 2 &&
                         cert.p[2] == CD_FIN_MLDSA;
    cd_buf_fini(&cert);
}

void cd_node_finality_now_fini(cd_node_finality_now *n)
{
    cd_free(n->nodes);
    cd_free(n->weights);
    *n = (cd_node_finality_now){.cnt = 0};
}

u64 cd_node_finality_mark(cd_node_finality *f, const cd_hash32 *chain)
{
    u64 mark = 1;
    cd_mutex_lock(&f->lock);
    for (u32 i = 0; i < f->row_cnt; i++) {
        const cd_finality_row *r = &f->rows[i];
        if (!cd_hash32_eq(&r->chain, chain)) {
            continue;
        }
        mark = mark * 31 + r->height * 8 + (r->is_signed ? 4 : 0) + (r->is_final ? 2 : 0);
        mark = mark * 31 + ((u64)r->parties << 16) + ((u64)r->commits << 8) + r->answers;
        for (u32 k = 0; k < r->bits_n; k++) {
            mark = (mark * 31 + r->shares[k]) * 31 + r->stamps[k];
        }
    }
    cd_mutex_unlock(&f->lock);
    return mark == 0 ? 1 : mark;
}

/* --- metrics --- */

static double counted(cd_node_finality *f, usize offset)
{
    u64 v;
    cd_mutex_lock(&f->lock);
    memcpy(&v, (const u8 *)&f->counts + offset, sizeof v);
    cd_mutex_unlock(&f->lock);
    return (double)v;
}

#define COUNTER(member_)                                                                                               \
    static double count_##member_(void *ctx)                                                                           \
    {                                                                                                                  \
        return counted(ctx, offsetof(cd_finality_stats, member_));                                                     \
    }
COUNTER(bls)
COUNTER(lattice)
COUNTER(mldsa)
COUNTER(sessions)
COUNTER(failed)
COUNTER(refused)
COUNTER(given_up)
COUNTER(turns)
#undef COUNTER

static double count_dropped(void *ctx)
{
    return (double)atomic_load(&((cd_node_finality *)ctx)->dropped);
}

static void open_metrics(cd_node_finality *f)
{
    static const struct {
        const char *name;
        const char *help;
        double (*fn)(void *ctx);
    } rows[] = {
        {"finality_signed_blocks", "blocks that two thirds have signed by BLS", count_bls},
        {"finality_final_blocks_threshold", "blocks that are final by BLS and a threshold signature", count_lattice},
        {"finality_final_blocks_mldsa", "blocks that are final by BLS and ML-DSA", count_mldsa},
        {"finality_sessions", "threshold sessions that this node took part in", count_sessions},
        {"finality_failed_sessions", "of these, those that came to nothing", count_failed},
        {"finality_refused", "messages with something wrong in them", count_refused},
        {"finality_given_up_blocks", "blocks that too few have signed in time", count_given_up},
        {"finality_set_changes", "changes of the set that the set before has signed", count_turns},
        {"finality_dropped", "blocks and words that found no room", count_dropped},
    };
    static const u64 bounds[] = {1000,   2000,   3000,    4000,    5000,    7500,   10000,  15000,
                                 20000,  30000,  50000,   75000,   100000,  150000, 200000, 300000,
                                 500000, 750000, 1000000, 1500000, 2000000, 5000000};
    if (f->cfg.metrics != NULL) {
        f->bls_time =
            cd_metrics_hist(f->cfg.metrics, "finality_bls_seconds", "from accepting a block to its BLS certificate",
                            NULL, 0, bounds, CD_COUNT(bounds), 1e6);
        f->final_time =
            cd_metrics_hist(f->cfg.metrics, "finality_final_seconds", "from accepting a block to its final certificate",
                            NULL, 0, bounds, CD_COUNT(bounds), 1e6);
    }
    for (usize i = 0; f->cfg.metrics != NULL && i < CD_COUNT(rows); i++) {
        cd_metrics_gauge_fn(f->cfg.metrics, rows[i].name, rows[i].help, NULL, 0, rows[i].fn, f);
    }
}

/* --- life --- */

static void make_key(cd_node_finality *f)
{
    if (f->cfg.mldsa_seed != NULL) {
        cd_secret_init(&f->mldsa_sk, CD_MLDSA_SK);
        cd_mldsa_keygen(f->mldsa_pk, f->mldsa_sk.p, f->cfg.mldsa_seed);
    }
}

static cd_finality_cfg cfg_of(cd_node_finality *f)
{
    const cd_fin_group *group = f->cfg.group;
    for (u32 i = 0; group != NULL && i < group->cnt; i++) {
        cd_buf_put(&f->group_nodes, cd_bytes_of(group->nodes[i].b, CD_FIN_NODE_BYTES));
    }
    return (cd_finality_cfg){
        .kv = f->part,
        .rng = &f->rng,
        .self = f->cfg.self,
        .network_id = f->cfg.network_id,
        .signer = f->cfg.signer,
        .mldsa_key = f->mldsa_sk.p == NULL ? NULL : f->mldsa_pk,
        .mldsa_secret = f->mldsa_sk.p,
        .group = group == NULL ? NULL : &group->key,
        .share = f->cfg.share,
        .group_nodes = cd_buf_bytes(&f->group_nodes),
        .wants_threshold = f->cfg.wants_threshold,
        .out = {.ctx = f, .tell = on_tell, .ask = on_ask, .certified = on_certified, .work = on_work},
    };
}

cd_err cd_node_finality_new(cd_node_finality **out, const cd_node_finality_cfg *cfg, cd_errinfo *why)
{
    cd_node_finality *f = cd_new(cd_node_finality);
    f->cfg = *cfg;
    f->part = cd_kv_prefix_open(cfg->store, cd_bytes_str(prefix));
    f->rng = cd_rng_os();
    f->next_request = 2;
    f->ear = (cd_inbox_ear){.handler = CD_FIN_HANDLER,
                            .heard = on_heard,
                            .asked = on_asked,
                            .answered = on_answered,
                            .met = on_met,
                            .ctx = f};
    f->rows = cd_alloc(ROWS_MAX * sizeof *f->rows);
    f->items = cd_alloc(CD_NODE_FINALITY_ITEMS * sizeof *f->items);
    cd_mutex_init(&f->lock);
    cd_mutex_init(&f->speak_lock);
    cd_mutex_init(&f->hear_lock);
    cd_mutex_init(&f->changes_lock);
    cd_cond_init(&f->wake);
    make_key(f);
    const cd_finality_cfg fin = cfg_of(f);
    cd_err e = cd_finality_new(&f->fin, &fin);
    if (e != CD_OK) {
        (void)cd_fail(why, e, "certificates of finality cannot be read: %s", cd_err_str(e));
    } else {
        f->first = cd_finality_epochs(f->fin)->seen;
        open_metrics(f);
        e = cd_pool_new(&f->worker, 1, CD_FINALITY_CHAINS_MAX, "lattice", why);
    }
    if (e == CD_OK) {
        e = cd_thread_start(&f->thread, "finality", run, f, why);
    }
    f->is_running = e == CD_OK;
    if (e != CD_OK) {
        cd_node_finality_free(f);
        return e;
    }
    *out = f;
    return CD_OK;
}

void cd_node_finality_stop(cd_node_finality *f)
{
    if (f == NULL || !f->is_running) {
        return;
    }
    cd_mutex_lock(&f->lock);
    f->is_ending = true;
    cd_cond_wake_one(&f->wake);
    cd_mutex_unlock(&f->lock);
    cd_thread_join(&f->thread);
    f->is_running = false;
}

void cd_node_finality_free(cd_node_finality *f)
{
    if (f == NULL) {
        return;
    }
    cd_node_finality_stop(f);
    for (; f->cnt != 0; f->cnt--) {
        cd_buf_fini(&f->items[f->head].message);
        f->head = (f->head + 1) % CD_NODE_FINALITY_ITEMS;
    }
    cd_free(f->items);
    cd_free(f->rows);
    cd_buf_fini(&f->seats);
    cd_buf_fini(&f->pblocks);
    cd_buf_fini(&f->checkpoint);
    cd_pool_free(f->worker);
    cd_finality_free(f->fin);
    f->fin = NULL;
    take_done(f);
    cd_kv_close(f->part);
    cd_buf_fini(&f->group_nodes);
    cd_secret_fini(&f->mldsa_sk);
    cd_cond_fini(&f->wake);
    cd_mutex_fini(&f->lock);
    cd_mutex_fini(&f->speak_lock);
    cd_mutex_fini(&f->hear_lock);
    cd_mutex_fini(&f->changes_lock);
    cd_buf_fini(&f->changes);
    cd_free(f);
}
