#include "chains/evmchain/pool.h"

#include "base/hex.h"
#include "base/hmap.h"
#include "base/mem.h"
#include "evm/transition.h"
#include "num/u256_text.h"

enum { TX_SIZE_MAX = 131072, INITCODE_MAX = 49152 };

/* Transactions of one sender, ascending by nonce. */
typedef struct sender {
    cd_addr20 addr;
    cd_pool_tx **txs;
    usize cnt;
    usize cap;
} sender;

struct cd_txpool {
    cd_txpool_cfg cfg;
    cd_txpool_head head;
    cd_state_source *src;
    cd_hmap by_hash;   /* hash -> cd_pool_tx * */
    cd_hmap by_sender; /* address -> sender * */
    u64 arrivals;
};

static void *load_ptr(const void *place)
{
    void *p = NULL;
    if (place != NULL) {
        memcpy(&p, place, sizeof p);
    }
    return p;
}

cd_txpool *cd_txpool_new(const cd_txpool_cfg *cfg)
{
    cd_txpool *p = cd_new(cd_txpool);
    p->cfg = *cfg;
    p->cfg.account_max = cfg->account_max == 0 ? 64 : cfg->account_max;
    p->cfg.total_max = cfg->total_max == 0 ? 6144 : cfg->total_max;
    p->cfg.price_bump = cfg->price_bump == 0 ? 10 : cfg->price_bump;
    p->cfg.tip_min = cfg->tip_min == 0 ? 1 : cfg->tip_min;
    cd_hmap_init(&p->by_hash, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(cd_pool_tx *));
    cd_hmap_init(&p->by_sender, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(sender *));
    return p;
}

/* Copies a decoded transaction (without blobs) and its bytes into one block of memory. */
static cd_pool_tx *tx_own(const cd_tx *tx, cd_bytes raw, u64 arrival)
{
    usize keys = 0;
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
    t->arrival = arrival;
    return t;
}

void cd_txpool_free(cd_txpool *p)
{
    if (p == NULL) {
        return;
    }
    void *val;
    for (usize it = 0; cd_hmap_next(&p->by_sender, &it, NULL, &val);) {
        sender *s = load_ptr(val);
        for (usize i = 0; i < s->cnt; i++) {
            cd_free(s->txs[i]);
        }
        cd_free(s->txs);
        cd_free(s);
    }
    cd_hmap_fini(&p->by_hash);
    cd_hmap_fini(&p->by_sender);
    cd_free(p);
}

void cd_txpool_set_head(cd_txpool *p, const cd_txpool_head *head, cd_state_source *src)
{
    p->head = *head;
    p->src = src;
}

usize cd_txpool_cnt(const cd_txpool *p)
{
    return cd_hmap_cnt(&p->by_hash);
}

const cd_pool_tx *cd_txpool_get(const cd_txpool *p, const cd_hash32 *hash)
{
    return load_ptr(cd_hmap_get(&p->by_hash, hash));
}

/* --- senders ------------------------------------------------------------------------------------ */

static sender *sender_get(const cd_txpool *p, const cd_addr20 *addr)
{
    return load_ptr(cd_hmap_get(&p->by_sender, addr));
}

/* Where nonce is or belongs in the list. */
static usize sender_place(const sender *s, u64 nonce)
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

static void sender_insert(sender *s, usize at, cd_pool_tx *t)
{
    if (s->cnt == s->cap) {
        s->cap = s->cap == 0 ? 4 : s->cap * 2;
        s->txs = cd_realloc(s->txs, s->cap * sizeof(cd_pool_tx *));
    }
    memmove(s->txs + at + 1, s->txs + at, (s->cnt - at) * sizeof(cd_pool_tx *));
    s->txs[at] = t;
    s->cnt++;
}

static void sender_remove(cd_txpool *p, sender *s, usize at)
{
    (void)cd_hmap_del(&p->by_hash, &s->txs[at]->tx.hash);
    cd_free(s->txs[at]);
    s->cnt--;
    memmove(s->txs + at, s->txs + at + 1, (s->cnt - at) * sizeof(cd_pool_tx *));
    if (s->cnt == 0) {
        (void)cd_hmap_del(&p->by_sender, &s->addr);
        cd_free(s->txs);
        cd_free(s);
    }
}

u64 cd_txpool_nonce(const cd_txpool *p, const cd_addr20 *addr, u64 start)
{
    const sender *s = sender_get(p, addr);
    if (s != NULL) {
        usize at = sender_place(s, start);
        while (at < s->cnt && s->txs[at]->tx.nonce == start) {
            at++;
            start++;
        }
    }
    return start;
}

void cd_txpool_drop(cd_txpool *p, const cd_hash32 *hash)
{
    const cd_pool_tx *t = cd_txpool_get(p, hash);
    if (t != NULL) {
        sender *s = sender_get(p, &t->tx.sender);
        sender_remove(p, s, sender_place(s, t->tx.nonce));
    }
}

/* --- admission ---------------------------------------------------------------------------------- */

/* gas * fee cap + value; false beyond 256 bits. */
static bool tx_cost(cd_u256 *out, const cd_tx *tx)
{
    cd_u256 fee;
    return cd_u256_checked_mul_u64(&fee, &tx->fee_cap, tx->gas_limit) &&
           cd_u256_checked_add(out, &fee, &tx->value);
}

static const char *addr_text(char out[43], const cd_addr20 *addr)
{
    out[0] = '0';
    out[1] = 'x';
    cd_hex_fmt(out + 2, cd_bytes_of(addr->b, 20));
    out[42] = '\0';
    return out;
}

/* What can be said without looking at the state. */
static cd_err check_form(const cd_txpool *p, const cd_tx *tx, usize size, cd_errinfo *why)
{
    char who[43];
    char have[CD_U256_TEXT_MAX];
    char want[CD_U256_TEXT_MAX];
    if (tx->type == CD_TX_BLOB) {
        return cd_fail(why, CD_EINVAL, "transaction type not supported");
    }
    if (size > TX_SIZE_MAX) {
        return cd_fail(why, CD_EINVAL, "oversized data: transaction size %zu, limit %d", size,
                       TX_SIZE_MAX);
    }
    if (p->head.fork >= CD_SHANGHAI && tx->is_create && tx->data.n > INITCODE_MAX) {
        return cd_fail(why, CD_EINVAL, "max initcode size exceeded: code size %zu, limit %d",
                       tx->data.n, INITCODE_MAX);
    }
    if (tx->gas_limit > p->head.gas_limit) {
        return cd_fail(why, CD_EINVAL,
                       "exceeds block gas limit: tx gas (%llu) > current max gas (%llu)",
                       (unsigned long long)tx->gas_limit, (unsigned long long)p->head.gas_limit);
    }
    if (cd_u256_lt(&tx->fee_cap, &tx->tip_cap)) {
        return cd_fail(why, CD_EINVAL, "max priority fee per gas higher than max fee per gas");
    }
    u64 intrinsic;
    if (!cd_tx_intrinsic_gas(&intrinsic, tx, p->head.fork) || tx->gas_limit < intrinsic) {
        return cd_fail(why, CD_EINVAL,
                       "intrinsic gas too low: address %s tx gas (%llu), minimum needed %llu",
                       addr_text(who, &tx->sender), (unsigned long long)tx->gas_limit,
                       (unsigned long long)intrinsic);
    }
    cd_u256 tip_min = cd_u256_from_u64(p->cfg.tip_min);
    if (cd_u256_lt(&tx->tip_cap, &tip_min)) {
        (void)cd_u256_fmt_dec(have, &tx->tip_cap);
        return cd_fail(why, CD_EINVAL,
                       "transaction underpriced: gas tip cap %s, minimum needed %llu", have,
                       (unsigned long long)p->cfg.tip_min);
    }
    if (cd_u256_lt(&tx->fee_cap, &p->head.min_fee_cap)) {
        (void)cd_u256_fmt_dec(have, &tx->fee_cap);
        (void)cd_u256_fmt_dec(want, &p->head.min_fee_cap);
        return cd_fail(
            why, CD_EINVAL,
            "transaction underpriced: address %s have gas fee cap (%s) < pool minimum fee "
            "cap (%s)",
            addr_text(who, &tx->sender), have, want);
    }
    return CD_OK;
}

/* Balance against the cost of tx and of everything else the sender has waiting (without replaced). */
static cd_err check_funds(const sender *s, const cd_tx *tx, const cd_account *acct,
                          const cd_pool_tx *replaced, cd_errinfo *why)
{
    cd_u256 cost;
    char have[CD_U256_TEXT_MAX];
    char want[CD_U256_TEXT_MAX];
    char over[CD_U256_TEXT_MAX];
    if (!tx_cost(&cost, tx)) {
        return cd_fail(why, CD_EINVAL, "max fee per gas higher than 2^256-1");
    }
    cd_u256 queued = cd_u256_zero();
    for (usize i = 0; s != NULL && i < s->cnt; i++) {
        cd_u256 one;
        if (s->txs[i] != replaced && tx_cost(&one, &s->txs[i]->tx) &&
            !cd_u256_checked_add(&queued, &queued, &one)) {
            queued = cd_u256_max();
        }
    }
    cd_u256 total;
    cd_u256 overshot;
    if (!cd_u256_checked_add(&total, &queued, &cost)) {
        total = cd_u256_max();
    }
    if (!cd_u256_lt(&acct->balance, &total)) {
        return CD_OK;
    }
    (void)cd_u256_fmt_dec(have, &acct->balance);
    if (cd_u256_lt(&acct->balance, &cost)) {
        cd_u256_sub(&overshot, &cost, &acct->balance);
        (void)cd_u256_fmt_dec(want, &cost);
        (void)cd_u256_fmt_dec(over, &overshot);
        return cd_fail(why, CD_EINVAL,
                       "insufficient funds for gas * price + value: balance %s, tx cost %s, "
                       "overshot %s",
                       have, want, over);
    }
    cd_u256_sub(&overshot, &total, &acct->balance);
    char queued_text[CD_U256_TEXT_MAX];
    (void)cd_u256_fmt_dec(queued_text, &queued);
    (void)cd_u256_fmt_dec(want, &cost);
    (void)cd_u256_fmt_dec(over, &overshot);
    return cd_fail(
        why, CD_EINVAL,
        "insufficient funds for gas * price + value: balance %s, queued cost %s, tx cost "
        "%s, overshot %s",
        have, queued_text, want, over);
}

/* A replacement must pay price_bump per cent more of both prices. */
static bool pays_bump(const cd_txpool *p, const cd_tx *old, const cd_tx *new)
{
    const cd_u256 *pairs[2][2] = {{&old->fee_cap, &new->fee_cap}, {&old->tip_cap, &new->tip_cap}};
    for (int i = 0; i < 2; i++) {
        cd_u256 least;
        cd_u256 hundred;
        if (!cd_u256_checked_mul_u64(&least, pairs[i][0], 100 + p->cfg.price_bump) ||
            !cd_u256_checked_mul_u64(&hundred, pairs[i][1], 100) || cd_u256_lt(&hundred, &least)) {
            return false;
        }
    }
    return true;
}

static cd_err admit(cd_txpool *p, const cd_tx *tx, cd_bytes raw, cd_errinfo *why)
{
    cd_account acct = {0};
    bool found;
    if (cd_hmap_get(&p->by_hash, &tx->hash) != NULL) {
        return cd_fail(why, CD_EEXIST, "already known");
    }
    CD_TRY(check_form(p, tx, raw.n, why));
    CD_TRY(p->src->account(p->src, &acct, &found, &tx->sender));
    if (tx->nonce < acct.nonce) {
        return cd_fail(why, CD_EINVAL, "nonce too low: next nonce %llu, tx nonce %llu",
                       (unsigned long long)acct.nonce, (unsigned long long)tx->nonce);
    }
    sender *s = sender_get(p, &tx->sender);
    usize at = s == NULL ? 0 : sender_place(s, tx->nonce);
    cd_pool_tx *replaced =
        s != NULL && at < s->cnt && s->txs[at]->tx.nonce == tx->nonce ? s->txs[at] : NULL;
    CD_TRY(check_funds(s, tx, &acct, replaced, why));
    if (replaced != NULL) {
        if (!pays_bump(p, &replaced->tx, tx)) {
            return cd_fail(why, CD_EINVAL, "replacement transaction underpriced");
        }
        (void)cd_hmap_del(&p->by_hash, &replaced->tx.hash);
        cd_free(replaced);
        s->txs[at] = tx_own(tx, raw, p->arrivals++);
        *(cd_pool_tx **)cd_hmap_put(&p->by_hash, NULL, &tx->hash) = s->txs[at];
        return CD_OK;
    }
    if (cd_hmap_cnt(&p->by_hash) >= p->cfg.total_max ||
        (s != NULL && s->cnt >= p->cfg.account_max)) {
        return cd_fail(why, CD_EFULL, "txpool is full");
    }
    if (s == NULL) {
        s = cd_new(sender);
        s->addr = tx->sender;
        *(sender **)cd_hmap_put(&p->by_sender, NULL, &tx->sender) = s;
    }
    cd_pool_tx *t = tx_own(tx, raw, p->arrivals++);
    sender_insert(s, at, t);
    *(cd_pool_tx **)cd_hmap_put(&p->by_hash, NULL, &tx->hash) = t;
    return CD_OK;
}

cd_err cd_txpool_add(cd_txpool *p, cd_hash32 *hash, cd_bytes raw, cd_errinfo *why)
{
    cd_arena arena = {0};
    cd_tx tx;
    cd_err e = cd_tx_dec(&tx, &arena, raw, why);
    if (e == CD_EUNSUPPORTED) {
        e = cd_fail(why, CD_EINVAL, "transaction type not supported");
    }
    if (e == CD_OK) {
        *hash = tx.hash;
        if (!tx.is_protected) {
            e = cd_fail(why, CD_EINVAL,
                        "only replay-protected (EIP-155) transactions allowed over RPC");
        } else if (tx.chain_id != p->head.chain_id || cd_tx_recover(&tx, true) != CD_OK) {
            e = cd_fail(why, CD_EINVAL, "invalid sender");
        } else {
            e = admit(p, &tx, raw, why);
        }
    }
    cd_arena_fini(&arena);
    return e;
}

/* --- after a block ------------------------------------------------------------------------------ */

/* Drops what the account's state rules out: used nonces, and what the balance cannot pay any more. */
static void settle_sender(cd_txpool *p, sender *s, const cd_account *acct)
{
    for (usize i = s->cnt; i > 0; i--) {
        cd_u256 cost;
        const cd_tx *tx = &s->txs[i - 1]->tx;
        bool is_payable = tx_cost(&cost, tx) && !cd_u256_lt(&acct->balance, &cost);
        if (tx->nonce < acct->nonce || !is_payable) {
            sender_remove(p, s, i - 1); /* frees s with its last transaction, which is i == 1 */
        }
    }
}

cd_err cd_txpool_settle(cd_txpool *p)
{
    usize cnt = cd_hmap_cnt(&p->by_sender);
    sender **all = cd_new_array(sender *, cnt);
    void *val;
    usize n = 0;
    for (usize it = 0; cd_hmap_next(&p->by_sender, &it, NULL, &val);) {
        all[n++] = load_ptr(val);
    }
    cd_err e = CD_OK;
    for (usize i = 0; i < n && e == CD_OK; i++) {
        cd_account acct = {0};
        bool found;
        e = p->src->account(p->src, &acct, &found, &all[i]->addr);
        if (e == CD_OK) {
            settle_sender(p, all[i], &acct);
        }
    }
    cd_free(all);
    return e;
}

/* --- picking ------------------------------------------------------------------------------------ */

/* A sender's next executable transaction and what it pays. */
typedef struct candidate {
    const sender *s;
    usize at;
    cd_u256 tip;
} candidate;

/* A binary heap, best candidate first. */
struct cd_txpool_pick {
    cd_u256 base_fee;
    candidate *heap;
    usize cnt;
    bool has_given; /* heap[0] was given out and is to be moved on or dropped */
};

static bool is_better(const candidate *a, const candidate *b)
{
    int c = cd_u256_cmp(&a->tip, &b->tip);
    return c != 0 ? c > 0 : a->s->txs[a->at]->arrival < b->s->txs[b->at]->arrival;
}

static void sift_down(cd_txpool_pick *k, usize i)
{
    for (;;) {
        usize best = i;
        for (usize child = 2 * i + 1; child <= 2 * i + 2 && child < k->cnt; child++) {
            if (is_better(&k->heap[child], &k->heap[best])) {
                best = child;
            }
        }
        if (best == i) {
            return;
        }
        candidate t = k->heap[i];
        k->heap[i] = k->heap[best];
        k->heap[best] = t;
        i = best;
    }
}

/* min(tip cap, fee cap - base fee); false when the fee cap is below the base fee. */
static bool set_tip(candidate *c, const cd_u256 *base_fee)
{
    const cd_tx *tx = &c->s->txs[c->at]->tx;
    if (!cd_u256_checked_sub(&c->tip, &tx->fee_cap, base_fee)) {
        return false;
    }
    if (cd_u256_lt(&tx->tip_cap, &c->tip)) {
        c->tip = tx->tip_cap;
    }
    return true;
}

cd_err cd_txpool_pick_new(cd_txpool_pick **out, cd_txpool *p, const cd_u256 *base_fee)
{
    cd_txpool_pick *k = cd_new(cd_txpool_pick);
    k->base_fee = *base_fee;
    k->heap = cd_new_array(candidate, cd_hmap_cnt(&p->by_sender));
    void *val;
    for (usize it = 0; cd_hmap_next(&p->by_sender, &it, NULL, &val);) {
        candidate c = {.s = load_ptr(val)};
        cd_account acct = {0};
        bool found;
        cd_err e = p->src->account(p->src, &acct, &found, &c.s->addr);
        if (e != CD_OK) {
            cd_txpool_pick_free(k);
            return e;
        }
        c.at = sender_place(c.s, acct.nonce);
        if (c.at < c.s->cnt && c.s->txs[c.at]->tx.nonce == acct.nonce && set_tip(&c, base_fee)) {
            k->heap[k->cnt++] = c;
        }
    }
    for (usize i = k->cnt / 2; i > 0; i--) {
        sift_down(k, i - 1);
    }
    *out = k;
    return CD_OK;
}

void cd_txpool_pick_free(cd_txpool_pick *k)
{
    if (k != NULL) {
        cd_free(k->heap);
        cd_free(k);
    }
}

void cd_txpool_pick_skip_sender(cd_txpool_pick *k)
{
    if (k->has_given) {
        k->heap[0] = k->heap[--k->cnt];
        sift_down(k, 0);
        k->has_given = false;
    }
}

const cd_pool_tx *cd_txpool_pick_next(cd_txpool_pick *k)
{
    if (k->has_given) {
        candidate *c = &k->heap[0];
        u64 nonce = c->s->txs[c->at]->tx.nonce;
        c->at++;
        bool goes_on = c->at < c->s->cnt && c->s->txs[c->at]->tx.nonce == nonce + 1 &&
                       set_tip(c, &k->base_fee);
        if (goes_on) {
            sift_down(k, 0);
            k->has_given = false;
        } else {
            cd_txpool_pick_skip_sender(k);
        }
    }
    if (k->cnt == 0) {
        return NULL;
    }
    k->has_given = true;
    return k->heap[0].s->txs[k->heap[0].at];
}
