#include "base/mem/mem.h"
#include "chains/evmchain/core/chain_priv.h"
#include "chains/evmchain/core/view_priv.h"
#include "evm/evm.h"

/* --- accepted blocks --- */

cd__accepted *cd__accepted_new(const cd_accepted *pub, cd_arena *arena)
{
    cd__accepted *a = cd_new(cd__accepted);
    a->pub = *pub;
    a->arena = *arena;
    *arena = (cd_arena){0};
    atomic_init(&a->refs, 1);
    return a;
}

cd__accepted *cd__accepted_ref(cd__accepted *a)
{
    (void)atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void cd__accepted_unref(cd__accepted *a)
{
    if (a != NULL && atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1) {
        cd_arena_fini(&a->arena);
        cd_free(a);
    }
}

/* --- the executor's side --- */

void cd__views_init(cd__views *vs)
{
    *vs = (cd__views){0};
    cd_mutex_init(&vs->lock);
    vs->known = cd_known_new();
}

static void forget_recent(cd__accepted **recent)
{
    for (usize i = 0; i < CD__VIEW_RECENT; i++) {
        cd__accepted_unref(recent[i]);
        recent[i] = NULL;
    }
}

void cd__views_fini(cd__views *vs)
{
    cd_view_unref(vs->newest);
    CD_ASSERT(vs->live == 0);
    forget_recent(vs->recent);
    cd_known_free(vs->known);
    cd_mutex_fini(&vs->lock);
}

/* Takes a block out of memory. */
static void forget(cd__views *vs, u64 number)
{
    cd__accepted **at = &vs->recent[number % CD__VIEW_RECENT];
    vs->bytes -= (*at)->pub.rlp.n;
    cd__accepted_unref(*at);
    *at = NULL;
}

static void remember(cd__views *vs, cd__accepted *a)
{
    vs->head = a->pub.block.header.number;
    vs->recent[vs->head % CD__VIEW_RECENT] = a;
    vs->bytes += a->pub.rlp.n;
}

void cd__views_push(cd__views *vs, cd__accepted *a)
{
    CD_ASSERT(a->pub.block.header.number == vs->head + 1);
    if (vs->head + 1 - vs->first == CD__VIEW_RECENT) {
        forget(vs, vs->first++);
    }
    remember(vs, a);
    while (vs->bytes > CD__VIEW_BYTES && vs->first < vs->head) {
        forget(vs, vs->first++);
    }
}

bool cd__views_cut(cd__views *vs, u64 height)
{
    if (height < vs->first || height > vs->head) {
        return false;
    }
    for (; vs->head > height; vs->head--) {
        forget(vs, vs->head);
    }
    return true;
}

void cd__views_restart(cd__views *vs, cd__accepted *a)
{
    forget_recent(vs->recent);
    vs->bytes = 0;
    remember(vs, a);
    vs->first = vs->head;
}

const cd__accepted *cd__views_head(const cd__views *vs)
{
    return vs->recent[vs->head % CD__VIEW_RECENT];
}

cd_err cd__views_publish(cd__views *vs, cd_kv *kv, const cd_chain_rules *rules, const cd_hash32 *genesis)
{
    cd_kv *frozen = NULL;
    CD_TRY(cd_kv_snapshot(&frozen, kv));
    u64 oldest;
    cd_err e = cd_world_oldest(frozen, &oldest);
    if (e != CD_OK) {
        cd_kv_close(frozen);
        return e;
    }
    cd_kv *quick = NULL;
    if (cd_kv_in_memory(&quick, frozen) != CD_OK) {
        quick = NULL;
    }
    cd_view *v = cd_new(cd_view);
    *v = (cd_view){
        .of = vs,
        .kv = frozen,
        .quick = quick,
        .rules = rules,
        .genesis = *genesis,
        .epoch = vs->epoch,
        .oldest_state = oldest,
        .floor = vs->floor,
        .first = vs->first,
        .head = vs->head,
    };
    atomic_init(&v->refs, 1);
    for (u64 n = v->first; n <= v->head; n++) {
        v->recent[n % CD__VIEW_RECENT] = cd__accepted_ref(vs->recent[n % CD__VIEW_RECENT]);
    }
    cd_mutex_lock(&vs->lock);
    cd_view *old = vs->newest;
    vs->newest = v;
    vs->live++;
    v->number = ++vs->published;
    cd_mutex_unlock(&vs->lock);
    cd_view_unref(old);
    return CD_OK;
}

cd_view *cd__views_newest(cd__views *vs)
{
    cd_mutex_lock(&vs->lock);
    cd_view *v = vs->newest;
    (void)atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    cd_mutex_unlock(&vs->lock);
    return v;
}

/* --- a view --- */

cd_view *cd_view_ref(cd_view *v)
{
    (void)atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void cd_view_unref(cd_view *v)
{
    if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    cd__views *of = v->of;
    forget_recent(v->recent);
    cd_kv_close(v->quick);
    cd_kv_close(v->kv);
    cd_free(v);
    cd_mutex_lock(&of->lock);
    of->live--;
    cd_mutex_unlock(&of->lock);
}

const cd_chain_rules *cd_view_rules(const cd_view *v)
{
    return v->rules;
}

const cd_hash32 *cd_view_genesis(const cd_view *v)
{
    return &v->genesis;
}

const cd_accepted *cd_view_head(const cd_view *v)
{
    return &v->recent[v->head % CD__VIEW_RECENT]->pub;
}

u64 cd_view_epoch(const cd_view *v)
{
    return v->epoch;
}

u64 cd_view_oldest_state(const cd_view *v)
{
    return v->oldest_state;
}

u64 cd_view_floor(const cd_view *v)
{
    return v->floor;
}

u64 cd_view_first(const cd_view *v)
{
    return v->first;
}

cd_kv *cd_view_kv(cd_view *v)
{
    return v->kv;
}

const cd_accepted *cd_view_recent(const cd_view *v, u64 number)
{
    return number >= v->first && number <= v->head ? &v->recent[number % CD__VIEW_RECENT]->pub : NULL;
}

const cd_accepted *cd_view_recent_by_hash(const cd_view *v, const cd_hash32 *hash)
{
    for (u64 n = v->head + 1; n > v->first; n--) {
        const cd_accepted *acc = cd_view_recent(v, n - 1);
        if (acc != NULL && cd_hash32_eq(&acc->block.hash, hash)) {
            return acc;
        }
    }
    return NULL;
}

static void take_hash(void *ctx, u64 number, const cd_hash32 *hash)
{
    (void)number;
    *(cd_hash32 *)ctx = *hash;
}

cd_err cd_view_hash(cd_view *v, cd_hash32 *out, u64 number)
{
    const cd_accepted *acc = cd_view_recent(v, number);
    if (acc != NULL) {
        *out = acc->block.hash;
        return CD_OK;
    }
    return number > v->head ? CD_ENOENT
                            : cd_accepted_hashes(v->kv, v->rules->layout, number, number + 1, take_hash, out);
}

cd_err cd_view_block(cd_view *v, const cd_accepted **out, cd_arena *a, u64 number)
{
    const cd_accepted *acc = cd_view_recent(v, number);
    if (acc != NULL) {
        *out = acc;
        return CD_OK;
    }
    if (number > v->head) {
        return CD_ENOENT;
    }
    cd_accepted *loaded = cd_arena_new(a, cd_accepted);
    CD_TRY(cd_accepted_load_at(loaded, a, v->kv, v->rules->layout, number));
    *out = loaded;
    return CD_OK;
}

/* Blocks of a run on their way into a list. */
typedef struct filler {
    const cd_accepted **out;
    cd_arena *a;
    cd_header_layout layout;
    u64 from;
} filler;

static void fill(void *ctx, const cd_run_header *at)
{
    const filler *f = ctx;
    if (at->h.number >= f->from) {
        cd_accepted *b = cd_arena_new(f->a, cd_accepted);
        cd_accepted_of_run(b, f->a, f->layout, at);
        f->out[at->h.number - f->from] = b;
    }
}

bool cd_view_run(cd_view *v, u64 *first, u64 number)
{
    cd_run run;
    bool is_run = v->rules->is_dev && number < v->first && cd_run_find(v->kv, &run, number) == CD_OK;
    if (is_run) {
        *first = run.first;
    }
    return is_run;
}

cd_err cd_view_blocks(cd_view *v, const cd_accepted **out, cd_arena *a, u64 from, usize cnt)
{
    for (u64 n = from; n - from < cnt;) {
        cd_run run;
        cd_run_header at;
        filler f = {.out = out + (n - from), .a = a, .layout = v->rules->layout, .from = n};
        bool may_be_run = v->rules->is_dev && n < v->first;
        cd_err e = may_be_run ? cd_run_find(v->kv, &run, n) : CD_ENOENT;
        if (e == CD_ENOENT) {
            CD_TRY(cd_view_block(v, &out[n - from], a, n));
            n++;
            continue;
        }
        CD_TRY(e);
        u64 mark_end = n + (CD_RUN_MARK - 1 - (n - run.first) % CD_RUN_MARK);
        u64 last = cd_min_u64(cd_min_u64(run.last, mark_end), cd_min_u64(from + cnt, v->first) - 1);
        CD_TRY(cd_run_at(v->kv, &at, &run, v->rules->layout, last, fill, &f));
        n = last + 1;
    }
    return CD_OK;
}

/* The height of an accepted block that is not in memory. */
static cd_err find_number(cd_view *v, u64 *number, cd_arena *a, const cd_hash32 *hash)
{
    cd_header h;
    cd_err e = cd_chaindb_header(v->kv, &h, a, v->rules->layout, hash);
    if (e == CD_ENOENT) {
        return cd_run_find_hash(v->kv, number, v->rules->layout, hash);
    }
    if (e == CD_OK) {
        *number = h.number;
    }
    return e;
}

cd_err cd_view_block_by_hash(cd_view *v, const cd_accepted **out, cd_arena *a, const cd_hash32 *hash)
{
    u64 number;
    const cd_accepted *acc = cd_view_recent_by_hash(v, hash);
    if (acc != NULL) {
        *out = acc;
        return CD_OK;
    }
    CD_TRY(find_number(v, &number, a, hash));
    CD_TRY(cd_view_block(v, &acc, a, number));
    if (!cd_hash32_eq(&acc->block.hash, hash)) {
        return CD_ENOENT; /* written ahead of acceptance, which never came */
    }
    *out = acc;
    return CD_OK;
}

cd_err cd_view_tx(cd_view *v, const cd_accepted **out, usize *idx, cd_arena *a, const cd_hash32 *hash)
{
    u64 number;
    u32 at;
    const cd_accepted *acc;
    CD_TRY(cd_chaindb_tx(v->kv, &number, &at, hash));
    CD_TRY(cd_view_block(v, &acc, a, number));
    if (at >= acc->block.tx_cnt || !cd_hash32_eq(&acc->block.txs[at].hash, hash)) {
        return CD_ENOENT; /* of another block of that height, which was never accepted */
    }
    *out = acc;
    *idx = at;
    return CD_OK;
}

cd_err cd_view_header(cd_view *v, cd_header *out, cd_arena *a, u64 number)
{
    cd_hash32 hash;
    const cd_accepted *acc = cd_view_recent(v, number);
    cd_err e = acc == NULL ? cd_chaindb_hash(v->kv, &hash, number) : CD_ENOENT;
    if (e == CD_OK) {
        return cd_chaindb_header(v->kv, out, a, v->rules->layout, &hash);
    }
    if (e != CD_ENOENT) {
        return e;
    }
    CD_TRY(cd_view_block(v, &acc, a, number)); /* in memory, or in a run: no body either way */
    *out = acc->block.header;
    return CD_OK;
}

cd_err cd_view_child(cd_view *v, cd_child_rules *out, cd_arena *a, u64 number)
{
    cd_header h;
    cd_view_source s;
    CD_TRY(cd_view_header(v, &h, a, number));
    CD_TRY(cd_view_source_init(&s, v, number));
    cd_err e = cd_child_rules_read(out, v->rules, &s.world.src, h.time);
    cd_view_source_fini(&s);
    return e;
}

/* --- the chain's --- */

cd_view *cd_view_newest(cd_chain *c)
{
    return cd__views_newest(&c->views);
}
