#include "chains/xvm/pool.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/list.h"

enum { DROPPED = 64, REASON_MAX = 240, INPUT_COST = 96, ENTRY_COST = 256 };

/* A transaction with the outputs that it takes. */
typedef struct entry {
    cd_list node;
    cd_hash32 id;
    cd_bytes bytes;
    cd_hash32 *inputs;
    usize input_cnt;
    usize cost; /* bytes in all */
    cd_node_id peer;
    bool is_peer;
} entry;

typedef struct dropped {
    cd_hash32 id;
    char reason[REASON_MAX];
} dropped;

struct cd_xvm_pool {
    cd_list order;
    cd_hmap by_id;    /* cd_hash32 -> entry * */
    cd_hmap by_input; /* cd_hash32 -> entry * */
    cd_hmap by_peer;  /* cd_node_id -> usize: bytes waiting */
    usize bytes;
    dropped gone[DROPPED];
    usize gone_cnt; /* ever */
};

cd_xvm_pool *cd_xvm_pool_new(void)
{
    cd_xvm_pool *p = cd_new(cd_xvm_pool);
    cd_list_init(&p->order);
    cd_hmap_init(&p->by_id, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(entry *));
    cd_hmap_init(&p->by_input, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(entry *));
    cd_hmap_init(&p->by_peer, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(usize));
    return p;
}

static void entry_free(entry *x)
{
    cd_free(x->inputs);
    cd_free((void *)(uintptr_t)x->bytes.p);
    cd_free(x);
}

void cd_xvm_pool_free(cd_xvm_pool *p)
{
    if (p == NULL) {
        return;
    }
    cd_list_each_safe(it, &p->order)
    {
        entry_free(cd_list_of(it, entry, node));
    }
    cd_hmap_fini(&p->by_id);
    cd_hmap_fini(&p->by_input);
    cd_hmap_fini(&p->by_peer);
    cd_free(p);
}

static entry *find(const cd_hmap *m, const cd_hash32 *key)
{
    entry *const *at = cd_hmap_get(m, key);
    return at == NULL ? NULL : *at;
}

/* --- taking in --- */

/* All outputs that a transaction takes, here and from another chain; the caller frees. */
static cd_hash32 *inputs_of(usize *cnt, const cd_xvm_tx *t)
{
    cd_arena a = {0};
    cd_hash32 peer;
    cd_hash32 *here = NULL;
    cd_hash32 *there = NULL;
    usize there_cnt = 0;
    usize here_cnt = cd_xvm_tx_spends(&here, &a, t);
    (void)cd_xvm_tx_imports(&peer, &there, &there_cnt, &a, t);
    cd_hash32 *v = cd_new_array(cd_hash32, here_cnt + there_cnt);
    memcpy(v, here, here_cnt * sizeof *v);
    if (there_cnt > 0) {
        memcpy(v + here_cnt, there, there_cnt * sizeof *v);
    }
    *cnt = here_cnt + there_cnt;
    cd_arena_fini(&a);
    return v;
}

static usize waiting_of(const cd_xvm_pool *p, const cd_node_id *peer)
{
    const usize *n = peer == NULL ? NULL : cd_hmap_get(&p->by_peer, peer);
    return n == NULL ? 0 : *n;
}

static cd_err check_room(const cd_xvm_pool *p, const entry *x, const char *id, const cd_node_id *peer, cd_errinfo *why)
{
    usize left = CD_XVM_POOL_BYTES_MAX - p->bytes;
    usize used = waiting_of(p, peer);
    if (peer != NULL && CD_XVM_POOL_PEER_MAX - used < left) {
        left = CD_XVM_POOL_PEER_MAX - used;
    }
    if (x->bytes.n > CD_XVM_POOL_TX_MAX) {
        return cd_fail(why, CD_ELIMIT, "tx too large: %s size (%zu) > max size (%d)", id, x->bytes.n,
                       CD_XVM_POOL_TX_MAX);
    }
    if (x->cost > left) {
        return cd_fail(why, CD_EFULL, "mempool is full: %s size (%zu) > available space (%zu)", id, x->cost, left);
    }
    for (usize i = 0; i < x->input_cnt; i++) {
        if (find(&p->by_input, &x->inputs[i]) != NULL) {
            return cd_fail(why, CD_EBUSY, "tx conflicts with other tx: %s", id);
        }
    }
    return CD_OK;
}

static void link_in(cd_xvm_pool *p, entry *x)
{
    x->bytes.p = memcpy(cd_alloc(x->bytes.n), x->bytes.p, x->bytes.n);
    *(entry **)cd_hmap_put(&p->by_id, NULL, &x->id) = x;
    for (usize i = 0; i < x->input_cnt; i++) {
        *(entry **)cd_hmap_put(&p->by_input, NULL, &x->inputs[i]) = x;
    }
    if (x->is_peer) {
        *(usize *)cd_hmap_put(&p->by_peer, NULL, &x->peer) += x->cost;
    }
    p->bytes += x->cost;
    cd_list_push_back(&p->order, &x->node);
}

cd_err cd_xvm_pool_add(cd_xvm_pool *p, const cd_xvm_tx *t, const cd_node_id *peer, cd_errinfo *why)
{
    cd_buf id = {0};
    cd_id_put(&id, &t->id);
    entry *x = cd_new(entry);
    *x = (entry){.id = t->id, .bytes = t->bytes, .is_peer = peer != NULL};
    if (peer != NULL) {
        x->peer = *peer;
    }
    x->inputs = inputs_of(&x->input_cnt, t);
    x->cost = x->bytes.n + x->input_cnt * INPUT_COST + ENTRY_COST;
    cd_err e = cd_xvm_pool_has(p, &t->id) ? cd_fail(why, CD_EEXIST, "duplicate tx: %s", cd_buf_cstr(&id))
                                          : check_room(p, x, cd_buf_cstr(&id), peer, why);
    if (e == CD_OK) {
        link_in(p, x);
    } else {
        cd_free(x->inputs);
        cd_free(x);
    }
    cd_buf_fini(&id);
    return e;
}

/* --- what is there --- */

bool cd_xvm_pool_has(const cd_xvm_pool *p, const cd_hash32 *id)
{
    return find(&p->by_id, id) != NULL;
}

usize cd_xvm_pool_cnt(const cd_xvm_pool *p)
{
    return cd_hmap_cnt(&p->by_id);
}

usize cd_xvm_pool_bytes(const cd_xvm_pool *p)
{
    return p->bytes;
}

bool cd_xvm_pool_get(const cd_xvm_pool *p, cd_bytes *bytes, const cd_hash32 *id)
{
    const entry *x = find(&p->by_id, id);
    if (x != NULL) {
        *bytes = x->bytes;
    }
    return x != NULL;
}

bool cd_xvm_pool_each(const cd_xvm_pool *p, const cd_hash32 **id, cd_bytes *bytes)
{
    const cd_list *at = *id == NULL ? &p->order : &find(&p->by_id, *id)->node;
    if (at->next == &p->order) {
        return false;
    }
    const entry *x = cd_list_of(at->next, entry, node);
    *id = &x->id;
    *bytes = x->bytes;
    return true;
}

/* --- taking out --- */

static void take_out(cd_xvm_pool *p, entry *x)
{
    cd_list_del(&x->node);
    (void)cd_hmap_del(&p->by_id, &x->id);
    for (usize i = 0; i < x->input_cnt; i++) {
        (void)cd_hmap_del(&p->by_input, &x->inputs[i]);
    }
    if (x->is_peer) {
        usize *n = cd_hmap_get(&p->by_peer, &x->peer);
        *n -= x->cost;
        if (*n == 0) {
            (void)cd_hmap_del(&p->by_peer, &x->peer);
        }
    }
    p->bytes -= x->cost;
    entry_free(x);
}

void cd_xvm_pool_remove(cd_xvm_pool *p, const cd_hash32 *id)
{
    entry *x = find(&p->by_id, id);
    if (x != NULL) {
        take_out(p, x);
    }
}

void cd_xvm_pool_decided(cd_xvm_pool *p, const cd_xvm_tx *t)
{
    usize cnt;
    cd_hash32 *inputs = inputs_of(&cnt, t);
    cd_xvm_pool_remove(p, &t->id);
    for (usize i = 0; i < cnt; i++) {
        entry *x = find(&p->by_input, &inputs[i]);
        if (x != NULL) {
            take_out(p, x);
        }
    }
    cd_free(inputs);
}

void cd_xvm_pool_drop(cd_xvm_pool *p, const cd_hash32 *id, const char *reason)
{
    dropped *d = &p->gone[p->gone_cnt++ % DROPPED];
    usize n = strnlen(reason, REASON_MAX - 1);
    d->id = *id;
    memcpy(d->reason, reason, n);
    d->reason[n] = 0;
    cd_xvm_pool_remove(p, id);
}

const char *cd_xvm_pool_reason(const cd_xvm_pool *p, const cd_hash32 *id)
{
    usize kept = p->gone_cnt < DROPPED ? p->gone_cnt : DROPPED;
    for (usize i = 0; i < kept; i++) { /* the newest first */
        const dropped *d = &p->gone[(p->gone_cnt - 1 - i) % DROPPED];
        if (cd_hash32_eq(&d->id, id)) {
            return d->reason;
        }
    }
    return NULL;
}
