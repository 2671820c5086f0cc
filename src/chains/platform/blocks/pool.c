#include "chains/platform/blocks/pool.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/thread/thread.h"
#include "chains/platform/txs/words.h"

#include <stdio.h>
#include <string.h>

/* One that waits, with the list's other end and what it was counted under. */
typedef struct entry {
    cd_p_pooled pub; /* first */
    struct entry *prev;
    cd_arena arena;
    cd_hash32 *inputs;
    usize input_cnt;
    cd_addr20 source;
} entry;

typedef struct reason {
    cd_hash32 id;
    u64 until_ns; /* monotonic; 0: free */
    char words[sizeof((cd_errinfo *)0)->msg];
} reason;

struct cd_p_pool {
    const cd_clock *clock;
    cd_mutex lock; /* of changes, all of which come on one thread, against cd_p_pool_pending */
    entry *first;
    entry *last;
    cd_hmap by_id;     /* cd_hash32 -> entry * */
    cd_hmap consumed;  /* cd_hash32 of a UTXO -> entry * */
    cd_hmap by_source; /* cd_addr20 -> u32 */
    cd_hmap held;      /* cd_hash32 -> u32: blocks that it is in */
    usize bytes;
    reason reasons[CD_P_POOL_REASONS];
    usize next_reason;
};

cd_p_pool *cd_p_pool_new(const cd_clock *clock)
{
    cd_p_pool *p = cd_new(cd_p_pool);
    p->clock = clock;
    cd_hmap_init(&p->by_id, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(entry *));
    cd_hmap_init(&p->consumed, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(entry *));
    cd_hmap_init(&p->by_source, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(u32));
    cd_hmap_init(&p->held, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(u32));
    cd_mutex_init(&p->lock);
    return p;
}

static void entry_free(entry *e)
{
    cd_arena_fini(&e->arena);
    cd_free(e);
}

void cd_p_pool_free(cd_p_pool *p)
{
    if (p == NULL) {
        return;
    }
    for (entry *e = p->first; e != NULL;) {
        entry *next = (entry *)(void *)e->pub.next;
        entry_free(e);
        e = next;
    }
    cd_hmap_fini(&p->by_id);
    cd_hmap_fini(&p->consumed);
    cd_hmap_fini(&p->by_source);
    cd_hmap_fini(&p->held);
    cd_mutex_fini(&p->lock);
    cd_free(p);
}

/* --- in and out --- */

static entry *find(const cd_p_pool *p, const cd_hash32 *id)
{
    entry **at = cd_hmap_get(&p->by_id, id);
    return at == NULL ? NULL : *at;
}

const cd_p_pooled *cd_p_pool_find(const cd_p_pool *p, const cd_hash32 *id)
{
    entry *e = find(p, id);
    return e == NULL ? NULL : &e->pub;
}

const cd_p_pooled *cd_p_pool_first(const cd_p_pool *p)
{
    return p->first == NULL ? NULL : &p->first->pub;
}

usize cd_p_pool_cnt(const cd_p_pool *p)
{
    return cd_hmap_cnt(&p->by_id);
}

static reason *reason_of(cd_p_pool *p, const cd_hash32 *id)
{
    u64 now = cd_clock_mono_ns(p->clock);
    for (usize i = 0; i < CD_P_POOL_REASONS; i++) {
        reason *r = &p->reasons[i];
        if (r->until_ns > now && cd_hash32_eq(&r->id, id)) {
            return r;
        }
    }
    return NULL;
}

static cd_err room_for(const cd_p_pool *p, const cd_ptx *tx, const cd_addr20 *source, cd_errinfo *why)
{
    const u32 *of_source = cd_hmap_get(&p->by_source, source);
    const cd_text id = cd_text_id(&tx->id);
    if (find(p, &tx->id) != NULL) {
        return cd_fail(why, CD_EEXIST, "duplicate tx: %s", id.s);
    }
    if (tx->bytes.n > CD_P_POOL_TX_MAX) {
        return cd_fail(why, CD_ELIMIT, "tx too large: %s size (%zu) > max size (%d)", id.s, tx->bytes.n,
                       CD_P_POOL_TX_MAX);
    }
    if (tx->bytes.n > CD_P_POOL_BYTES_MAX - p->bytes) {
        return cd_fail(why, CD_EFULL, "mempool is full: %s size (%zu) > available space (%zu)", id.s, tx->bytes.n,
                       CD_P_POOL_BYTES_MAX - p->bytes);
    }
    if (of_source != NULL && *of_source >= CD_P_POOL_SOURCE_MAX) {
        return cd_fail(why, CD_EFULL, "mempool is full: %s is one more than %d of its owner", id.s,
                       CD_P_POOL_SOURCE_MAX);
    }
    return CD_OK;
}

static void link_in(cd_p_pool *p, entry *e, const cd_addr20 *source)
{
    cd_mutex_lock(&p->lock);
    e->source = *source;
    e->prev = p->last;
    if (p->last != NULL) {
        p->last->pub.next = &e->pub;
    } else {
        p->first = e;
    }
    p->last = e;
    *(entry **)cd_hmap_put(&p->by_id, NULL, &e->pub.tx.id) = e;
    for (usize i = 0; i < e->input_cnt; i++) {
        *(entry **)cd_hmap_put(&p->consumed, NULL, &e->inputs[i]) = e;
    }
    (*(u32 *)cd_hmap_put(&p->by_source, NULL, source))++;
    p->bytes += e->pub.tx.bytes.n;
    reason *r = reason_of(p, &e->pub.tx.id);
    if (r != NULL) {
        r->until_ns = 0;
    }
    cd_mutex_unlock(&p->lock);
}

cd_err cd_p_pool_add(cd_p_pool *p, const cd_ptx *tx, const cd_addr20 *source, cd_errinfo *why)
{
    CD_TRY(room_for(p, tx, source, why));
    entry *e = cd_new(entry);
    cd_bytes bytes = cd_arena_dup(&e->arena, tx->bytes);
    cd_err err = cd_ptx_parse(&e->pub.tx, &e->arena, bytes, 0, why);
    if (err == CD_OK) {
        cd_ptx_inputs(&e->inputs, &e->input_cnt, &e->arena, &e->pub.tx.tx);
    }
    for (usize i = 0; i < e->input_cnt && err == CD_OK; i++) {
        if (cd_hmap_get(&p->consumed, &e->inputs[i]) != NULL) {
            err = cd_fail(why, CD_EBUSY, "tx conflicts with other tx: %s", cd_text_id(&tx->id).s);
        }
    }
    if (err != CD_OK) {
        entry_free(e);
        return err;
    }
    link_in(p, e, source);
    return CD_OK;
}
static void take_out(cd_p_pool *p, entry *e)
{
    cd_mutex_lock(&p->lock);
    entry *next = (entry *)(void *)e->pub.next;
    if (e->prev != NULL) {
        e->prev->pub.next = e->pub.next;
    } else {
        p->first = next;
    }
    if (next != NULL) {
        next->prev = e->prev;
    } else {
        p->last = e->prev;
    }
    (void)cd_hmap_del(&p->by_id, &e->pub.tx.id);
    for (usize i = 0; i < e->input_cnt; i++) {
        (void)cd_hmap_del(&p->consumed, &e->inputs[i]);
    }
    u32 *of_source = cd_hmap_get(&p->by_source, &e->source);
    if (--*of_source == 0) {
        (void)cd_hmap_del(&p->by_source, &e->source);
    }
    p->bytes -= e->pub.tx.bytes.n;
    cd_mutex_unlock(&p->lock);
    entry_free(e);
}

void cd_p_pool_remove(cd_p_pool *p, const cd_hash32 *id)
{
    entry *e = find(p, id);
    if (e != NULL) {
        take_out(p, e);
    }
}

void cd_p_pool_decided(cd_p_pool *p, const cd_p_tx *tx, const cd_hash32 *id)
{
    cd_arena a = {0};
    cd_hash32 *inputs;
    usize cnt;
    cd_p_pool_remove(p, id);
    cd_ptx_inputs(&inputs, &cnt, &a, tx);
    for (usize i = 0; i < cnt; i++) {
        entry **at = cd_hmap_get(&p->consumed, &inputs[i]);
        if (at != NULL) {
            take_out(p, *at);
        }
    }
    cd_arena_fini(&a);
}

/* --- why not --- */

void cd_p_pool_drop(cd_p_pool *p, const cd_hash32 *id, const char *words)
{
    cd_mutex_lock(&p->lock);
    reason *r = reason_of(p, id);
    if (r == NULL) {
        r = &p->reasons[p->next_reason];
        p->next_reason = (p->next_reason + 1) % CD_P_POOL_REASONS;
    }
    r->id = *id;
    r->until_ns = cd_clock_mono_ns(p->clock) + CD_P_POOL_REASON_S * CD_NS_PER_SEC;
    (void)snprintf(r->words, sizeof r->words, "%s", words);
    cd_mutex_unlock(&p->lock);
    cd_p_pool_remove(p, id);
}

/* --- what became of it --- */

void cd_p_pool_hold(cd_p_pool *p, const cd_hash32 *id)
{
    cd_mutex_lock(&p->lock);
    (*(u32 *)cd_hmap_put(&p->held, NULL, id))++;
    cd_mutex_unlock(&p->lock);
}

void cd_p_pool_unhold(cd_p_pool *p, const cd_hash32 *id)
{
    cd_mutex_lock(&p->lock);
    u32 *cnt = cd_hmap_get(&p->held, id);
    CD_ASSERT(cnt != NULL);
    if (--*cnt == 0) {
        (void)cd_hmap_del(&p->held, id);
    }
    cd_mutex_unlock(&p->lock);
}

cd_p_status cd_p_pool_pending(cd_p_pool *p, cd_bytes *words, cd_arena *a, const cd_hash32 *id)
{
    cd_p_status status = CD_P_STATUS_UNKNOWN;
    cd_mutex_lock(&p->lock);
    const reason *r = reason_of(p, id);
    if (cd_hmap_get(&p->by_id, id) != NULL || cd_hmap_get(&p->held, id) != NULL) {
        status = CD_P_STATUS_PROCESSING;
    } else if (r != NULL) {
        status = CD_P_STATUS_DROPPED;
        *words = cd_arena_dup(a, cd_bytes_str(r->words));
    }
    cd_mutex_unlock(&p->lock);
    return status;
}
