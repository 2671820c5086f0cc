#include "node/finality.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "finality/cert/epoch.h"
#include "finality/messages.h"
#include "p2p/sdk.h"

#include <stdatomic.h>

static const char epochs_prefix[] = "YE";
static const char certs_prefix[] = "YC";

enum { RETRY_MS = 50, IDLE_MS = 1000 };

/* Something for the thread. */
typedef struct item {
    enum { BLOCK, MESSAGE, MET } kind;
    cd_fin_block block;
    cd_node_id node;
    cd_buf message;
} item;

/* A block of the P-Chain. */
typedef struct pblock {
    u64 height;
    u64 time_s;
} pblock;

struct cd_node_finality {
    cd_node_finality_cfg cfg;
    cd_inbox_ear ear;
    u8 mldsa_pk[CD_MLDSA_PK];
    cd_secret mldsa_sk;
    cd_fin_epochs *epochs; /* these two are the thread's */
    cd_fin *fin;
    cd_fin_store *store;
    u64 first; /* P-Chain's height that the epochs want first; read before the thread starts */
    cd_thread thread;
    bool is_running;
    cd_mutex lock; /* protects what follows */
    cd_cond wake;
    bool is_ending;
    item *items; /* a ring */
    usize head;
    usize cnt;
    usize bytes;
    cd_buf pblocks;
    cd_mutex speak_lock; /* protects sender, which is not there any more when it was taken away */
    const cd_vm_sender *sender;
    _Atomic u64 dropped;
    /* Under lock again: what the thread has found. */
    cd_fin_counts counts;
    cd_fin_chain chains[CD_FIN_CHAINS_MAX];
    u32 chain_cnt;
    cd_buf checkpoint;
    u64 checkpoint_of;     /* of which epoch, */
    usize checkpoint_keys; /* with how many keys, */
    u32 checkpoint_chains; /* and how many chains */
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

static void on_gossip(void *ctx, cd_bytes message)
{
    say(ctx, &(cd_vm_gossip_to){.validators = CD_FIN_VALIDATORS_MAX}, message);
}

static void on_tell(void *ctx, const cd_node_id *node, cd_bytes message)
{
    say(ctx, &(cd_vm_gossip_to){.nodes = node, .node_cnt = 1}, message);
}

static void on_certified(void *ctx, const cd_fin_news *news)
{
    const cd_node_finality *f = ctx;
    cd_buf id = {0};
    cd_id_put(&id, &news->mark.block);
    cd_log_debug(f->cfg.log, cd_fin_is_final(news->mark.type) ? "a block is final" : "a block is signed by two thirds",
                 CD_F("block", cd_buf_bytes(&id)), CD_F("height", news->mark.height),
                 CD_F("type", (u64)news->mark.type));
    cd_buf_fini(&id);
}

/* --- the thread --- */

static void handle(cd_node_finality *f, item *x)
{
    u64 now = cd_clock_mono_ns(f->cfg.clock);
    if (x->kind == BLOCK) {
        cd_fin_accepted(f->fin, &x->block, now);
    } else if (x->kind == MET) {
        cd_fin_connected(f->fin, &x->node);
    } else {
        (void)cd_fin_hear(f->fin, &x->node, cd_buf_bytes(&x->message), now);
    }
    cd_buf_fini(&x->message);
}

/* Takes the P-Chain's blocks that wait; one that the P-Chain does not speak of yet is tried again soon. */
static bool take_pblocks(cd_node_finality *f)
{
    cd_buf waiting = {0};
    usize done = 0;
    cd_errinfo why = {0};
    cd_err e = CD_OK;
    cd_mutex_lock(&f->lock);
    cd_buf_put(&waiting, cd_buf_bytes(&f->pblocks));
    cd_mutex_unlock(&f->lock);
    for (; e == CD_OK && done < waiting.n; done += e == CD_OK ? sizeof(pblock) : 0) {
        pblock b;
        memcpy(&b, waiting.p + done, sizeof b);
        e = cd_fin_epochs_block(f->epochs, b.height, b.time_s, &why);
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
    if (f->cnt == 0 && !f->is_ending && ms != 0 && (f->pblocks.n == 0 || is_behind)) {
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
    cd_fin_counts_get(f->fin, &f->counts);
    cd_mutex_unlock(&f->lock);
    return goes_on;
}

/* Makes the checkpoint anew when it would be another. */
static void renew_checkpoint(cd_node_finality *f)
{
    cd_fin_era era;
    cd_buf out = {0};
    usize keys = cd_fin_epochs_keys(f->epochs);
    if (cd_fin_epochs_at(f->epochs, &era, UINT64_MAX) != CD_OK) {
        return;
    }
    cd_mutex_lock(&f->lock);
    if (f->checkpoint.n == 0 || f->checkpoint_of != era.number || f->checkpoint_keys != keys ||
        f->checkpoint_chains != f->chain_cnt) {
        const cd_fin_epoch epoch = {.network = f->cfg.network_id, .number = era.number, .set = *era.set};
        cd_fin_checkpoint_put(&out, &epoch, f->chains, f->chain_cnt);
        cd_buf_clear(&f->checkpoint);
        cd_buf_put(&f->checkpoint, cd_buf_bytes(&out));
        f->checkpoint_of = era.number;
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
        if (has_item) {
            handle(f, &x);
        }
        next = cd_fin_wake(f->fin, cd_clock_mono_ns(f->cfg.clock));
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

void cd_node_finality_block(cd_node_finality *f, const cd_fin_block *b)
{
    item x = {.kind = BLOCK, .block = *b};
    put(f, &x);
}

static void on_heard(void *ctx, const cd_node_id *from, cd_bytes body)
{
    item x = {.kind = MESSAGE, .node = *from};
    if (body.n <= CD_FIN_CERT_MAX + 128) {
        cd_buf_put(&x.message, body);
        put(ctx, &x);
    }
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

/* --- what is known --- */

void cd_node_finality_get(const cd_node_finality *f, cd_node_finality_state *out, const cd_hash32 *chain)
{
    *out = (cd_node_finality_state){0};
    out->has_bls = cd_fin_store_last(f->store, &out->bls, chain, true) == CD_OK;
    out->has_final = cd_fin_store_last(f->store, &out->final, chain, false) == CD_OK;
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
    cd_mutex_unlock(&f->lock);
    if (is_there && is_newest) {
        cd_fin_changes_begin(out);
    }
    return !is_there ? CD_ENOENT : is_newest ? CD_OK : CD_EMISSING;
}

cd_err cd_node_finality_cert(const cd_node_finality *f, cd_buf *out, const cd_hash32 *chain, const cd_hash32 *block)
{
    return cd_fin_store_get(f->store, out, chain, block);
}

cd_err cd_node_finality_cert_at(const cd_node_finality *f, cd_buf *out, const cd_hash32 *chain, u64 height)
{
    cd_fin_mark mark;
    CD_TRY(cd_fin_store_at(f->store, &mark, chain, height));
    return cd_fin_store_get(f->store, out, chain, &mark.block);
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
        return counted(ctx, offsetof(cd_fin_counts, member_));                                                         \
    }
COUNTER(shares)
COUNTER(refused)
COUNTER(by_bls)
COUNTER(final)
COUNTER(given_up)
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
        {"finality_shares", "signatures of others that counted", count_shares},
        {"finality_refused", "words of others that must not have been said", count_refused},
        {"finality_signed_blocks", "blocks that two thirds have signed by BLS", count_by_bls},
        {"finality_final_blocks", "blocks that are final", count_final},
        {"finality_given_up_blocks", "blocks that too few have signed in time", count_given_up},
        {"finality_dropped", "blocks and words that found no room", count_dropped},
    };
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

cd_err cd_node_finality_new(cd_node_finality **out, const cd_node_finality_cfg *cfg, cd_errinfo *why)
{
    cd_fin_epochs *epochs = NULL;
    CD_TRY(cd_fin_epochs_open(&epochs, cfg->store, cd_bytes_str(epochs_prefix), cfg->validators, why));
    cd_node_finality *f = cd_new(cd_node_finality);
    f->cfg = *cfg;
    f->epochs = epochs;
    f->first = cd_fin_epochs_next(epochs);
    f->ear = (cd_inbox_ear){.handler = CD_FIN_HANDLER, .heard = on_heard, .met = on_met, .ctx = f};
    f->store = cd_fin_store_new(cfg->store, cd_bytes_str(certs_prefix));
    f->items = cd_alloc(CD_NODE_FINALITY_ITEMS * sizeof *f->items);
    cd_mutex_init(&f->lock);
    cd_mutex_init(&f->speak_lock);
    cd_cond_init(&f->wake);
    make_key(f);
    const cd_fin_cfg fin = {
        .epochs = epochs,
        .store = f->store,
        .self = cfg->self,
        .signer = cfg->signer,
        .mldsa_sk = f->mldsa_sk.p,
        .mldsa_pk = f->mldsa_sk.p == NULL ? NULL : f->mldsa_pk,
        .log = cfg->log,
        .out = {.ctx = f, .gossip = on_gossip, .tell = on_tell, .certified = on_certified},
    };
    f->fin = cd_fin_new(&fin);
    open_metrics(f);
    cd_err e = cd_thread_start(&f->thread, "finality", run, f, why);
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
    cd_buf_fini(&f->pblocks);
    cd_buf_fini(&f->checkpoint);
    cd_fin_free(f->fin);
    cd_fin_epochs_free(f->epochs);
    cd_fin_store_free(f->store);
    cd_secret_fini(&f->mldsa_sk);
    cd_cond_fini(&f->wake);
    cd_mutex_fini(&f->lock);
    cd_mutex_fini(&f->speak_lock);
    cd_free(f);
}
