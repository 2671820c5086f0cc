#include "chains/evmchain/core/pool/pool.h"

#include "base/mem/mem.h"
#include "chains/evmchain/core/pool/pool_priv.h"

#include <stdlib.h>

/* What a transaction of 32 KiB takes of the pool's room; a larger one takes more. */
enum { SLOT_SIZE = CD__POOL_TX_MAX / CD__POOL_SLOTS_MAX, EXPIRY_INTERVAL_S = 60 };

static void *load_ptr(const void *place)
{
    void *p = NULL;
    if (place != NULL) {
        memcpy(&p, place, sizeof p);
    }
    return p;
}

static u64 or_default(u64 v, u64 otherwise)
{
    return v == 0 ? otherwise : v;
}

cd_txpool *cd_txpool_new(const cd_txpool_cfg *cfg)
{
    cd_txpool *p = cd_new(cd_txpool);
    p->cfg = *cfg;
    p->cfg.account_slots = or_default(cfg->account_slots, 16);
    p->cfg.global_slots = or_default(cfg->global_slots, 5120);
    p->cfg.account_queue = or_default(cfg->account_queue, 64);
    p->cfg.global_queue = or_default(cfg->global_queue, 1024);
    p->cfg.lifetime_s = or_default(cfg->lifetime_s, 600);
    p->cfg.price_bump = or_default(cfg->price_bump, 10);
    p->cfg.tip_min = cfg->takes_no_tip ? 0 : or_default(cfg->tip_min, 1);
    if (cfg->clock == NULL) {
        p->cfg.clock = cd_clock_real();
    }
    if (cfg->journal != NULL) {
        cd_kv_batch_for(&p->journal, cfg->journal);
    }
    cd_hmap_init(&p->by_hash, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(cd_pool_tx *));
    cd_hmap_init(&p->by_sender, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(cd__pool_sender *));
    cd_list_init(&p->by_beat);
    return p;
}

u64 cd__pool_now(const cd_txpool *p)
{
    return cd_clock_wall_s(p->cfg.clock);
}

/* --- transactions --- */

/* Copies a transaction and its bytes into one block of memory. */
static cd_pool_tx *tx_own(const cd_tx *tx)
{
    usize keys = 0;
    cd_bytes raw = tx->raw;
    for (usize i = 0; i < tx->access_cnt; i++) {
        keys += tx->access[i].key_cnt;
    }
    usize tuples_n = tx->access_cnt * sizeof(cd_access_tuple);
    u8 *mem = cd_alloc(sizeof(cd_pool_tx) + tuples_n + keys * sizeof(cd_hash32) + raw.n);
    cd_pool_tx *t = (cd_pool_tx *)(void *)mem;
    cd_access_tuple *tuples = (cd_access_tuple *)(void *)(mem + sizeof *t);
    cd_hash32 *key = (cd_hash32 *)(mem + sizeof *t + tuples_n);
    for (usize i = 0; i < tx->access_cnt; i++) {
        tuples[i] = tx->access[i];
        tuples[i].keys = key;
        for (usize j = 0; j < tuples[i].key_cnt; j++) {
            *key++ = tx->access[i].keys[j];
        }
    }
    u8 *bytes = (u8 *)key;
    memcpy(bytes, raw.p, raw.n);
    t->tx = *tx;
    t->tx.access = tuples;
    t->tx.raw = cd_bytes_of(bytes, raw.n);
    t->tx.unsigned_fields.p = bytes + (tx->unsigned_fields.p - raw.p);
    if (tx->data.n != 0) {
        t->tx.data.p = bytes + (tx->data.p - raw.p);
    }
    t->refs = 1;
    return t;
}

static void tx_unref(cd_pool_tx *t)
{
    if (--t->refs == 0) {
        cd_free(t);
    }
}

static u64 tx_slots(const cd_tx *tx)
{
    return (tx->raw.n + SLOT_SIZE - 1) / SLOT_SIZE;
}

bool cd__pool_cost(cd_u256 *out, const cd_tx *tx)
{
    cd_u256 fee;
    return cd_u256_checked_mul_u64(&fee, &tx->fee_cap, tx->gas_limit) && cd_u256_checked_add(out, &fee, &tx->value);
}

bool cd__pool_tip(cd_u256 *out, const cd_tx *tx, const cd_u256 *base_fee)
{
    if (!cd_u256_checked_sub(out, &tx->fee_cap, base_fee)) {
        return false;
    }
    if (cd_u256_lt(&tx->tip_cap, out)) {
        *out = tx->tip_cap;
    }
    return true;
}

bool cd__pool_is_ready(const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx)
{
    cd_u256 cost;
    return tx->gas_limit <= p->head.gas_limit && cd__pool_cost(&cost, tx) && !cd_u256_lt(&s->balance, &cost);
}

/* --- senders --- */

cd__pool_sender *cd__pool_sender_get(const cd_txpool *p, const cd_addr20 *addr)
{
    return load_ptr(cd_hmap_get(&p->by_sender, addr));
}

/* The sender of a waiting transaction. */
static cd__pool_sender *sender_of(const cd_txpool *p, const cd_pool_tx *t)
{
    cd__pool_sender *s = cd__pool_sender_get(p, &t->tx.sender);
    CD_ASSERT(s != NULL);
    return s;
}

usize cd__pool_place(const cd__pool_sender *s, u64 nonce)
{
    usize lo = 0;
    usize hi = s->cnt;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        if (s->txs[mid]->tx.nonce < nonce) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Reads the account; of a sender without one everything is zero. */
static cd_err sender_read(const cd_txpool *p, cd__pool_sender *s)
{
    cd_account acct = {0};
    bool found;
    CD_TRY(p->src->account(p->src, &acct, &found, &s->addr));
    s->nonce = acct.nonce;
    s->balance = acct.balance;
    return CD_OK;
}

static void sender_beat(cd_txpool *p, cd__pool_sender *s)
{
    s->beat = cd__pool_now(p);
    cd_list_del(&s->by_beat);
    cd_list_push_back(&p->by_beat, &s->by_beat);
}

static cd__pool_sender *sender_add(cd_txpool *p, const cd__pool_sender *from)
{
    cd__pool_sender *s = cd_new(cd__pool_sender);
    *s = *from;
    cd_list_push_back(&p->by_beat, &s->by_beat);
    *(cd__pool_sender **)cd_hmap_put(&p->by_sender, NULL, &s->addr) = s;
    return s;
}

static void count_in(cd_txpool *p, const cd__pool_sender *s, cd_pool_tx *t)
{
    *(cd_pool_tx **)cd_hmap_put(&p->by_hash, NULL, &t->tx.hash) = t;
    p->slots += tx_slots(&t->tx);
    if (!s->is_spared) {
        cd__pool_price_put(p, t);
    }
}

static void count_out(cd_txpool *p, const cd__pool_sender *s, cd_pool_tx *t)
{
    (void)cd_hmap_del(&p->by_hash, &t->tx.hash);
    p->slots -= tx_slots(&t->tx);
    if (!s->is_spared) {
        cd__pool_price_del(p, t);
    }
    cd__pool_journal_del(p, t);
    tx_unref(t);
}

static void sender_insert(cd_txpool *p, cd__pool_sender *s, usize at, cd_pool_tx *t)
{
    if (s->cnt == s->cap) {
        s->cap = s->cap == 0 ? 4 : s->cap * 2;
        s->txs = cd_realloc(s->txs, s->cap * sizeof *s->txs);
    }
    memmove(s->txs + at + 1, s->txs + at, (s->cnt - at) * sizeof *s->txs);
    s->txs[at] = t;
    s->cnt++;
    count_in(p, s, t);
}

/* Removes one; the caller lets sender_update follow. */
static void sender_remove(cd_txpool *p, cd__pool_sender *s, usize at)
{
    cd_pool_tx *t = s->txs[at];
    s->cnt--;
    memmove(s->txs + at, s->txs + at + 1, (s->cnt - at) * sizeof *s->txs);
    count_out(p, s, t);
}

static bool is_fat(const cd_txpool *p, const cd__pool_sender *s)
{
    return !s->is_spared && s->pending > p->cfg.account_slots;
}

/* Finds out anew which transactions are pending, after anything about s has changed, and keeps the queue short; s ends
 * with its last one. */
static void sender_update(cd_txpool *p, cd__pool_sender *s)
{
    usize before = s->pending;
    p->pending -= before;
    p->fat -= is_fat(p, s) ? 1 : 0;
    s->pending = 0;
    while (s->pending < s->cnt && s->txs[s->pending]->tx.nonce == s->nonce + s->pending &&
           cd__pool_is_ready(p, s, &s->txs[s->pending]->tx)) {
        cd_pool_tx *t = s->txs[s->pending++];
        if (!t->is_announced) {
            t->is_announced = true;
            if (p->cfg.events.pending != NULL) {
                p->cfg.events.pending(p->cfg.events.ctx, t);
            }
        }
    }
    while (!s->is_spared && s->cnt - s->pending > p->cfg.account_queue) {
        sender_remove(p, s, s->cnt - 1);
    }
    p->pending += s->pending;
    p->fat += is_fat(p, s) ? 1 : 0;
    if (s->pending > before) {
        sender_beat(p, s);
    }
    if (s->cnt == 0) {
        (void)cd_hmap_del(&p->by_sender, &s->addr);
        cd_list_del(&s->by_beat);
        cd_free(s->txs);
        cd_free(s);
    }
}

/* Removes everything of s from a place on. */
static usize sender_cut(cd_txpool *p, cd__pool_sender *s, usize from)
{
    usize gone = s->cnt - from;
    while (s->cnt > from) {
        sender_remove(p, s, s->cnt - 1);
    }
    sender_update(p, s);
    return gone;
}

/* From its first local transaction on a sender is spared, where the configuration says so. */
static void sender_spare(cd_txpool *p, cd__pool_sender *s)
{
    for (usize i = 0; i < s->cnt; i++) {
        cd__pool_price_del(p, s->txs[i]);
    }
    p->fat -= is_fat(p, s) ? 1 : 0;
    s->is_spared = true;
}

/* --- room --- */

static usize queued(const cd_txpool *p)
{
    return cd_hmap_cnt(&p->by_hash) - p->pending;
}

/* What wants room: tx, in the place of old (NULL: of none). is_next: it would be pending. */
typedef struct wish {
    const cd_tx *tx;
    const cd_pool_tx *old;
    bool is_next;
    bool is_spared;
} wish;

/* Chooses cheaper ones until the slots that w adds fit, the heap's top first. They are out of the heap then, chained
 * by next_victim, each with a reference: their number is bounded by nothing but the pool. */
static cd_err choose_victims(cd_txpool *p, cd_pool_tx **victims, const wish *w, cd_errinfo *why)
{
    u64 cap = p->cfg.global_slots + p->cfg.global_queue;
    u64 slots = p->slots + tx_slots(w->tx) - (w->old == NULL ? 0 : tx_slots(&w->old->tx));
    while (slots > cap) {
        if (p->price_cnt == 0) {
            return cd_fail(why, CD_EFULL, "txpool is full");
        }
        cd_pool_tx *t = p->prices[0];
        CD_ASSERT(t != NULL);
        bool is_old = t == w->old; /* goes anyway, and what it gives back is counted already */
        const cd__pool_sender *s = sender_of(p, t);
        if (!is_old && !w->is_spared && cd__pool_price_cmp(p, &t->tx, w->tx) >= 0) {
            return cd_fail(why, CD_EINVAL, "transaction underpriced");
        }
        if (!is_old && !w->is_next && !w->is_spared && cd__pool_place(s, t->tx.nonce) < s->pending) {
            return cd_fail(why, CD_EINVAL, "future transaction tries to replace pending");
        }
        cd__pool_price_del(p, t);
        t->refs++;
        t->next_victim = *victims;
        *victims = t;
        slots -= is_old ? 0 : tx_slots(&t->tx);
    }
    return CD_OK;
}

/* Frees slots at the cost of cheaper ones, or changes nothing. */
static cd_err make_room(cd_txpool *p, const wish *w, cd_errinfo *why)
{
    cd_pool_tx *victims = NULL;
    cd_err e = choose_victims(p, &victims, w, why);
    for (cd_pool_tx *t = victims; t != NULL; t = t->next_victim) {
        cd__pool_price_put(p, t);
    }
    while (victims != NULL) {
        cd_pool_tx *t = victims;
        victims = t->next_victim;
        /* A victim may have gone with an earlier one of its sender, cut from the queue. */
        if (e == CD_OK && t != w->old && cd_txpool_get(p, &t->tx.hash) == t) {
            cd__pool_sender *s = sender_of(p, t);
            sender_remove(p, s, cd__pool_place(s, t->tx.nonce));
            sender_update(p, s);
        }
        tx_unref(t);
    }
    return e;
}

/* Takes from the senders with most pending ones, down to what each is guaranteed. */
static void truncate_pending(cd_txpool *p)
{
    while (p->pending > p->cfg.global_slots && p->fat != 0) {
        cd__pool_sender *most = NULL;
        void *val;
        for (usize it = 0; cd_hmap_next(&p->by_sender, &it, NULL, &val);) {
            cd__pool_sender *s = *(cd__pool_sender **)val;
            if (is_fat(p, s) && (most == NULL || s->pending > most->pending)) {
                most = s;
            }
        }
        CD_ASSERT(most != NULL);
        sender_remove(p, most, most->pending - 1);
        sender_update(p, most);
    }
}

/* Takes from the queues of the senders that have been silent longest. */
static void truncate_queue(cd_txpool *p)
{
    cd_list_each_safe(it, &p->by_beat)
    {
        if (queued(p) <= p->cfg.global_queue) {
            return;
        }
        cd__pool_sender *s = cd_list_of(it, cd__pool_sender, by_beat);
        usize over = queued(p) - p->cfg.global_queue;
        if (!s->is_spared && s->cnt > s->pending) {
            (void)sender_cut(p, s, cd_max_u64(s->pending, s->cnt > over ? s->cnt - over : 0));
        }
    }
}

static void keep_limits(cd_txpool *p)
{
    truncate_pending(p);
    truncate_queue(p);
}

/* Drops what waits behind a gap of a sender that has been silent for the lifetime. */
static void expire(cd_txpool *p)
{
    u64 now = cd__pool_now(p);
    if (now < p->next_expiry) {
        return;
    }
    p->next_expiry = now + EXPIRY_INTERVAL_S;
    cd_list_each_safe(it, &p->by_beat)
    {
        cd__pool_sender *s = cd_list_of(it, cd__pool_sender, by_beat);
        if (s->beat + p->cfg.lifetime_s > now) {
            return;
        }
        if (!s->is_spared && s->cnt > s->pending) {
            (void)sender_cut(p, s, s->pending);
        }
    }
}

/* --- in --- */

/* The sender of tx, or one in *scratch that has nothing waiting; its account is read anew. */
static cd_err find_sender(cd_txpool *p, cd__pool_sender **out, cd__pool_sender *scratch, const cd_addr20 *addr)
{
    cd__pool_sender *s = cd__pool_sender_get(p, addr);
    if (s == NULL) {
        *scratch = (cd__pool_sender){.addr = *addr};
        s = scratch;
        CD_TRY(sender_read(p, s));
    }
    *out = s;
    return CD_OK;
}

static cd_err check(const cd_txpool *p, const cd__pool_sender *s, const cd_tx *tx, const cd_pool_tx *old,
                    bool is_spared, cd_errinfo *why)
{
    CD_TRY(cd__pool_check_fees(p, tx, is_spared, why));
    return cd__pool_check_sender(p, s, tx, old, why);
}

cd_err cd__pool_admit(cd_txpool *p, const cd_tx *tx, cd__pool_origin origin, bool is_impersonated, cd_errinfo *why)
{
    cd__pool_sender scratch;
    cd__pool_sender *s;
    bool is_local = origin != CD__POOL_PEER;
    CD_TRY(find_sender(p, &s, &scratch, &tx->sender));
    bool is_spared = s->is_spared || (is_local && p->cfg.spares_local);
    usize at = cd__pool_place(s, tx->nonce);
    cd_pool_tx *old = at < s->cnt && s->txs[at]->tx.nonce == tx->nonce ? s->txs[at] : NULL;
    /* What waited before the end waits on where nothing else would have made it go. */
    bool has_waited = origin == CD__POOL_JOURNAL && p->cfg.keeps_stuck;
    CD_TRY(has_waited ? cd__pool_check_nonce(s, tx, why) : check(p, s, tx, old, is_spared, why));
    scratch = (cd__pool_sender){.addr = tx->sender, .nonce = s->nonce, .balance = s->balance};
    wish w = {.tx = tx, .old = old, .is_next = tx->nonce <= s->nonce + s->pending, .is_spared = is_spared};
    CD_TRY(make_room(p, &w, why));
    cd_pool_tx *t = tx_own(tx);
    t->arrival = p->arrivals++;
    t->time = cd__pool_now(p);
    t->is_local = is_local;
    t->is_impersonated = is_impersonated;
    if (origin == CD__POOL_RPC) {
        cd_err e = cd__pool_journal_put(p, t, why);
        if (e != CD_OK) {
            tx_unref(t);
            return e;
        }
    }
    s = cd__pool_sender_get(p, &tx->sender); /* making room may have ended it */
    if (s == NULL) {
        s = sender_add(p, &scratch);
    }
    if (is_spared && !s->is_spared) {
        sender_spare(p, s);
    }
    at = cd__pool_place(s, tx->nonce);
    if (at < s->cnt && s->txs[at]->tx.nonce == tx->nonce) {
        old = s->txs[at];
        s->txs[at] = t;
        count_out(p, s, old);
        count_in(p, s, t);
    } else {
        sender_insert(p, s, at, t);
    }
    sender_beat(p, s);
    sender_update(p, s);
    keep_limits(p);
    return cd_txpool_get(p, &tx->hash) != NULL ? CD_OK : cd_fail(why, CD_EFULL, "txpool is full");
}

/* Decodes and checks what needs no state. */
static cd_err receive(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd__pool_origin origin, cd_errinfo *why)
{
    cd_arena arena = {0};
    cd_tx tx;
    cd_err e = cd_tx_dec(&tx, &arena, raw, why);
    if (e == CD_EUNSUPPORTED) {
        e = cd_fail(why, CD_EINVAL, "transaction type not supported");
    }
    if (e == CD_OK) {
        *hash = tx.hash;
        e = origin == CD__POOL_RPC ? cd__pool_check_rpc(p, &tx, why) : CD_OK;
    }
    if (e == CD_OK && cd_hmap_get(&p->by_hash, &tx.hash) != NULL) {
        e = cd_fail(why, CD_EEXIST, "already known");
    }
    if (e == CD_OK) {
        e = cd__pool_check_form(p, &tx, why);
    }
    if (e == CD_OK && ((tx.is_protected && tx.chain_id != p->head.chain_id) || cd_tx_recover(&tx, true) != CD_OK)) {
        e = cd_fail(why, CD_EINVAL, "invalid sender");
    }
    if (e == CD_OK) {
        e = cd__pool_admit(p, &tx, origin, false, why);
    }
    cd_arena_fini(&arena);
    return e;
}

cd_err cd_txpool_add(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd_errinfo *why)
{
    return receive(p, hash, raw, CD__POOL_RPC, why);
}

cd_err cd_txpool_add_remote(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd_errinfo *why)
{
    return receive(p, hash, raw, CD__POOL_PEER, why);
}

cd_err cd_txpool_add_as(cd_txpool *p, cd_hash32 *hash, const cd_tx *tx, cd_errinfo *why)
{
    cd_arena arena = {0};
    cd_buf raw = {0};
    cd_tx pseudo = *tx;
    cd_tx own;
    pseudo.raw = (cd_bytes){0};
    pseudo.unsigned_fields = (cd_bytes){0};
    pseudo.y_parity = 0;
    pseudo.r = cd_u256_from_addr(&tx->sender);
    pseudo.s = pseudo.r;
    cd_tx_enc(&raw, &pseudo);
    cd_err e = cd_tx_dec(&own, &arena, cd_buf_bytes(&raw), why);
    if (e == CD_OK) {
        *hash = own.hash;
        own.sender = tx->sender;
        own.has_sender = true;
        e = cd__pool_check_rpc(p, &own, why);
    }
    if (e == CD_OK && cd_hmap_get(&p->by_hash, &own.hash) != NULL) {
        e = cd_fail(why, CD_EEXIST, "already known");
    }
    if (e == CD_OK) {
        e = cd__pool_check_form(p, &own, why);
    }
    if (e == CD_OK) {
        e = cd__pool_admit(p, &own, CD__POOL_RPC, true, why);
    }
    cd_buf_fini(&raw);
    cd_arena_fini(&arena);
    return e;
}

/* --- out --- */

bool cd_txpool_drop(cd_txpool *p, const cd_hash32 *hash)
{
    const cd_pool_tx *t = cd_txpool_get(p, hash);
    if (t == NULL) {
        return false;
    }
    cd__pool_sender *s = sender_of(p, t);
    sender_remove(p, s, cd__pool_place(s, t->tx.nonce));
    sender_update(p, s);
    truncate_queue(p);
    return true;
}

usize cd_txpool_drop_sender(cd_txpool *p, const cd_addr20 *addr)
{
    cd__pool_sender *s = cd__pool_sender_get(p, addr);
    return s == NULL ? 0 : sender_cut(p, s, 0);
}

void cd_txpool_clear(cd_txpool *p)
{
    cd_list_each_safe(it, &p->by_beat)
    {
        (void)sender_cut(p, cd_list_of(it, cd__pool_sender, by_beat), 0);
    }
}

void cd_txpool_free(cd_txpool *p)
{
    if (p == NULL) {
        return;
    }
    (void)!cd__pool_journal_flush(p); /* what stays behind is refused when it is read again */
    p->cfg.journal = NULL;            /* and what waits is to be found again */
    cd_txpool_clear(p);
    cd_hmap_fini(&p->by_hash);
    cd_hmap_fini(&p->by_sender);
    cd_kv_batch_fini(&p->journal);
    cd_free(p->prices);
    cd_free(p);
}

/* --- copies --- */

struct cd_txpool_copy {
    cd_pool_tx **txs; /* in order of arrival */
    usize cnt;
};

static int by_arrival(const void *x, const void *y)
{
    const cd_pool_tx *a = *(cd_pool_tx *const *)x;
    const cd_pool_tx *b = *(cd_pool_tx *const *)y;
    return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

cd_txpool_copy *cd_txpool_copy_new(cd_txpool *p)
{
    cd_txpool_copy *c = cd_new(cd_txpool_copy);
    c->txs = cd_new_array(cd_pool_tx *, cd_hmap_cnt(&p->by_hash));
    void *val;
    for (usize it = 0; cd_hmap_next(&p->by_hash, &it, NULL, &val);) {
        cd_pool_tx *t = *(cd_pool_tx **)val;
        t->refs++;
        c->txs[c->cnt++] = t;
    }
    if (c->cnt > 1) {
        qsort(c->txs, c->cnt, sizeof *c->txs, by_arrival);
    }
    return c;
}

void cd_txpool_copy_free(cd_txpool_copy *c)
{
    if (c == NULL) {
        return;
    }
    for (usize i = 0; i < c->cnt; i++) {
        tx_unref(c->txs[i]);
    }
    cd_free(c->txs);
    cd_free(c);
}

/* Puts a transaction that waited before back without asking again. */
static cd_err put_back(cd_txpool *p, cd_pool_tx *t)
{
    cd__pool_sender scratch;
    cd__pool_sender *s;
    CD_TRY(find_sender(p, &s, &scratch, &t->tx.sender));
    usize at = cd__pool_place(s, t->tx.nonce);
    bool is_taken = at < s->cnt && s->txs[at]->tx.nonce == t->tx.nonce;
    if (t->tx.nonce < s->nonce || is_taken) {
        return CD_OK;
    }
    if (t->is_local) {
        CD_TRY(cd__pool_journal_put(p, t, NULL));
    }
    if (s == &scratch) {
        s = sender_add(p, &scratch);
        s->is_spared = t->is_local && p->cfg.spares_local;
    }
    t->refs++;
    sender_insert(p, s, at, t);
    sender_beat(p, s);
    sender_update(p, s);
    return CD_OK;
}

cd_err cd_txpool_restore(cd_txpool *p, const cd_txpool_copy *c)
{
    cd_txpool_clear(p);
    for (usize i = 0; i < c->cnt; i++) {
        CD_TRY(put_back(p, c->txs[i]));
    }
    return cd__pool_journal_flush(p);
}

/* --- following the chain --- */

void cd_txpool_set_head(cd_txpool *p, const cd_txpool_head *head, cd_state_source *src)
{
    p->head = *head;
    p->src = src;
    cd__pool_price_sort(p);
}

/* Drops what the state of the head rules out for good. */
static void drop_stale(cd_txpool *p, cd__pool_sender *s)
{
    for (usize i = s->cnt; i > 0; i--) {
        const cd_tx *tx = &s->txs[i - 1]->tx;
        if (tx->nonce < s->nonce || (!p->cfg.keeps_stuck && !cd__pool_is_ready(p, s, tx))) {
            sender_remove(p, s, i - 1);
        }
    }
    sender_update(p, s);
}

cd_err cd_txpool_recheck(cd_txpool *p)
{
    cd_list_each_safe(it, &p->by_beat)
    {
        cd__pool_sender *s = cd_list_of(it, cd__pool_sender, by_beat);
        CD_TRY(sender_read(p, s));
        drop_stale(p, s);
    }
    expire(p);
    keep_limits(p);
    return cd__pool_journal_flush(p);
}

/* --- looking --- */

usize cd_txpool_cnt(const cd_txpool *p)
{
    return cd_hmap_cnt(&p->by_hash);
}

usize cd_txpool_pending_cnt(const cd_txpool *p)
{
    return p->pending;
}

const cd_pool_tx *cd_txpool_get(const cd_txpool *p, const cd_hash32 *hash)
{
    return load_ptr(cd_hmap_get(&p->by_hash, hash));
}

u64 cd_txpool_nonce(const cd_txpool *p, const cd_addr20 *addr, u64 start)
{
    const cd__pool_sender *s = cd__pool_sender_get(p, addr);
    return s == NULL ? start : s->nonce + s->pending;
}

static cd_txpool_account account_of(const cd__pool_sender *s)
{
    return (cd_txpool_account){
        .addr = s->addr,
        .txs = s->txs,
        .cnt = s->cnt,
        .pending_cnt = s->pending,
    };
}

bool cd_txpool_account_of(const cd_txpool *p, cd_txpool_account *out, const cd_addr20 *addr)
{
    const cd__pool_sender *s = cd__pool_sender_get(p, addr);
    if (s != NULL) {
        *out = account_of(s);
    }
    return s != NULL;
}

static int by_addr(const void *x, const void *y)
{
    return memcmp(((const cd_txpool_account *)x)->addr.b, ((const cd_txpool_account *)y)->addr.b, 20);
}

cd_txpool_account *cd_txpool_accounts(const cd_txpool *p, usize *cnt, cd_arena *a)
{
    cd_txpool_account *all = cd_arena_array(a, cd_txpool_account, cd_hmap_cnt(&p->by_sender));
    usize n = 0;
    cd_list_each(it, &p->by_beat)
    {
        all[n++] = account_of(cd_list_of(it, cd__pool_sender, by_beat));
    }
    if (n > 1) {
        qsort(all, n, sizeof *all, by_addr);
    }
    *cnt = n;
    return all;
}
