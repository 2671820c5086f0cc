#include "services/webhook/core/chain/match.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "services/webhook/core/chain/abi_event.h"
#include "services/webhook/core/chain/index.h"

#include <stdlib.h>

#define MASK(type) (1u << (type))

/* The lists of a webhook that are indexed. A ref is its slot, the list and the place in it. */
typedef enum list {
    L_ADDRESSES,
    L_FROM,
    L_TO,
    L_CONTRACTS,
    L_TOPIC0,
    L_TXS = L_TOPIC0 + 4,
    L_CNT,
} list;

enum {
    PLACE_BITS = 17,
    LIST_BITS = 4,
    SLOTS_MAX = 1 << (CD__WH_REF_BITS - PLACE_BITS - LIST_BITS),
    LEAD = 16, /* look-ups for which memory is asked ahead */
};

/* Which part of an item was found in which list of a webhook. */
typedef enum role {
    R_ADDR_FROM, /* the sender in addresses */
    R_ADDR_TO,
    R_ADDR_CONTRACT,
    R_FROM, /* the sender in from */
    R_TO,
    R_CONTRACT, /* the contract in contracts */
    R_TOPIC,
    R_TX,
    R_CNT,
} role;

#define NOWHERE UINT32_MAX

typedef struct watch {
    i64 key;
    usize size; /* bytes of the lists and the id, which lie behind the struct */
    char *id;
    u32 types;
    bool has_lists;
    bool has_two_of_tx; /* C: activity and another type speak of the same transaction or log */
    cd_wh_direction direction;
    u64 from_block;
    struct {
        u8 *p;
        u32 n, size;
    } lists[L_CNT];
    cd_wh_words token_ids; /* sorted, as are topics and hashes */
    const u32 *selectors;
    usize selectors_cnt;
    cd_bytes abi; /* compiled descriptions of events */
    cd_u256 min_value;
    u64 stamp;     /* number of the last item of which a part was found in one of its lists */
    u32 at[R_CNT]; /* for each role the place in the list where that part was found; NOWHERE: it was not */
} watch;

/* A webhook without lists, which has to be looked at for every item. They are sorted by the least value that they ask
 * for: most items have small values, for which the search ends early. */
typedef struct anyone {
    u64 least; /* rank of min_value */
    u32 slot;
} anyone;

struct cd_wh_match {
    cd__wh_index index;
    watch **watches; /* by slot; [0] is not used */
    u32 watches_cnt, watches_cap;
    u32 *free_slots;
    u32 free_cnt, free_cap;
    cd_hmap slots;               /* key -> slot */
    cd_buf any[CD_WH_TYPES_CNT]; /* anyone, by least and slot */
    u32 types_cnt[CD_WH_TYPES_CNT];
    u32 listed[L_CNT]; /* number of entries of each kind of list in the index */
    u64 stamp;
    cd_buf items, hashes, touched, hits; /* scratch of the block that is being matched */
};

/* --- webhooks --- */

static const u32 nft_types = MASK(CD_WH_A_ERC721) | MASK(CD_WH_A_ERC1155) | MASK(CD_WH_B_NFT) | MASK(CD_WH_C_NFT);
static const u32 block_types = MASK(CD_WH_A_BLOCK) | MASK(CD_WH_C_BLOCK);

static u64 ref_of(u32 slot, list l, usize place)
{
    return (u64)slot << (PLACE_BITS + LIST_BITS) | (u64)l << PLACE_BITS | place;
}
static u32 ref_slot(u64 ref)
{
    return (u32)(ref >> (PLACE_BITS + LIST_BITS));
}
static list ref_list(u64 ref)
{
    return (list)(ref >> PLACE_BITS & ((1u << LIST_BITS) - 1));
}
static u32 ref_place(u64 ref)
{
    return (u32)(ref & ((1u << PLACE_BITS) - 1));
}

static cd_bytes key_of(const void *ctx, u64 ref)
{
    const cd_wh_match *m = ctx;
    const watch *w = m->watches[ref_slot(ref)];
    list l = ref_list(ref);
    return cd_bytes_of(w->lists[l].p + (usize)ref_place(ref) * w->lists[l].size, w->lists[l].size);
}

cd_wh_match *cd_wh_match_new(void)
{
    cd_wh_match *m = cd_new(cd_wh_match);
    cd__wh_index_init(&m->index, key_of, m);
    cd_hmap_init(&m->slots, CD_HASH_KEYED, sizeof(i64), sizeof(u32));
    m->watches_cnt = 1;
    return m;
}

void cd_wh_match_free(cd_wh_match *m)
{
    if (m == NULL) {
        return;
    }
    for (u32 i = 1; i < m->watches_cnt; i++) {
        cd_free(m->watches[i]);
    }
    for (usize i = 0; i < CD_WH_TYPES_CNT; i++) {
        cd_buf_fini(&m->any[i]);
    }
    cd_buf_fini(&m->items);
    cd_buf_fini(&m->hashes);
    cd_buf_fini(&m->touched);
    cd_buf_fini(&m->hits);
    cd_hmap_fini(&m->slots);
    cd__wh_index_fini(&m->index);
    cd_free(m->watches);
    cd_free(m->free_slots);
    cd_free(m);
}

static int word_cmp(const void *a, const void *b)
{
    return memcmp(a, b, 32);
}

static int addr_cmp(const void *a, const void *b)
{
    return memcmp(a, b, 20);
}

static bool word_in(const void *words, usize n, const u8 word[32])
{
    return n != 0 && bsearch(word, words, n, 32, word_cmp) != NULL;
}

/* Copies n elements to *at and moves it on. */
static void *copy(u8 **at, const void *from, usize n, usize size)
{
    void *to = *at;
    if (n != 0) {
        memcpy(to, from, n * size);
    }
    *at += n * size;
    return to;
}

static void list_set(watch *w, u8 **at, list l, const void *p, usize n, u32 size)
{
    CD_ASSERT(n <= CD_WH_ADDRESSES_MAX);
    w->lists[l].p = copy(at, p, n, size);
    w->lists[l].n = (u32)n;
    w->lists[l].size = size;
}

static bool has(const watch *w, list l)
{
    return w->lists[l].n != 0;
}

/* Which lists lead to a webhook. Of several conditions the one that is likely to hold most rarely: parties, then
 * transactions, contracts, which many share, and the last topics, arguments of an event, before its signature. The rest
 * is looked at then. */
static bool is_indexed(const watch *w, list l)
{
    if (!has(w, l) || (l != L_ADDRESSES && has(w, L_ADDRESSES))) {
        return false;
    }
    if (l <= L_TO) {
        return true;
    }
    if (has(w, L_FROM) || has(w, L_TO) || (l != L_TXS && has(w, L_TXS))) {
        return false;
    }
    if (l == L_TXS || l == L_CONTRACTS) {
        return true;
    }
    for (list later = l + 1; later < L_TXS; later++) {
        if (has(w, later)) {
            return false;
        }
    }
    return !has(w, L_CONTRACTS);
}

/* Lists that are searched are sorted; those that lead here keep their order, because an event's sub is a place in
 * them. */
static void lists_sort(watch *w)
{
    for (list l = L_ADDRESSES; l < L_CNT; l++) {
        bool is_word = w->lists[l].size == 32;
        if (w->lists[l].n != 0 && (is_word || !is_indexed(w, l))) {
            qsort(w->lists[l].p, w->lists[l].n, w->lists[l].size, is_word ? word_cmp : addr_cmp);
        }
    }
}

/* A webhook and all its lists in one piece of memory. */
static watch *watch_new(const cd_wh_hook *hook)
{
    const cd_wh_filter *f = &hook->filter;
    usize id_n = strlen(hook->id) + 1;
    usize addrs = f->addresses.n + f->from.n + f->to.n + f->contracts.n;
    usize words = f->tx_hashes.n + f->token_ids.n;
    for (usize i = 0; i < 4; i++) {
        words += f->topics[i].n;
    }
    cd_buf abi = {0};
    cd_wh_abi_settings(&abi, hook->settings);
    usize size = 20 * addrs + 32 * words + sizeof(u32) * f->selectors_cnt + id_n + abi.n;
    watch *w = cd_alloc(sizeof *w + size);
    u8 *at = (u8 *)(w + 1);
    w->key = hook->key;
    w->size = size;
    w->types = hook->types;
    w->direction = f->direction;
    w->from_block = hook->from_block;
    w->min_value = f->min_value;
    w->selectors = copy(&at, f->selectors, f->selectors_cnt, sizeof(u32));
    w->selectors_cnt = f->selectors_cnt;
    list_set(w, &at, L_ADDRESSES, f->addresses.p, f->addresses.n, 20);
    list_set(w, &at, L_FROM, f->from.p, f->from.n, 20);
    list_set(w, &at, L_TO, f->to.p, f->to.n, 20);
    list_set(w, &at, L_CONTRACTS, f->contracts.p, f->contracts.n, 20);
    for (u32 i = 0; i < 4; i++) {
        list_set(w, &at, (list)(L_TOPIC0 + i), f->topics[i].p, f->topics[i].n, 32);
    }
    list_set(w, &at, L_TXS, f->tx_hashes.p, f->tx_hashes.n, 32);
    lists_sort(w);
    cd_hash32 *ids = copy(&at, f->token_ids.p, f->token_ids.n, 32);
    if (f->token_ids.n != 0) {
        qsort(ids, f->token_ids.n, 32, word_cmp);
    }
    w->token_ids = (cd_wh_words){.p = ids, .n = f->token_ids.n};
    w->id = copy(&at, hook->id, id_n, 1);
    w->abi = cd_bytes_of(copy(&at, abi.p, abi.n, 1), abi.n);
    cd_buf_fini(&abi);
    w->has_two_of_tx = (w->types & MASK(CD_WH_C_ADDRESS)) != 0 && (w->types & ~MASK(CD_WH_C_ADDRESS)) != 0;
    return w;
}

static const u32 *slots_of(const cd_buf *b, usize *cnt)
{
    *cnt = b->n / sizeof(u32);
    return (const u32 *)(const void *)b->p;
}

/* Rises with v, though it may be the same for values that are close. */
static u64 rank_of(const cd_u256 *v)
{
    enum { DIGITS = 55 };
    u32 bits = cd_u256_bits(v);
    cd_u256 top;
    if (bits <= DIGITS) {
        return v->w[0];
    }
    cd_u256_shr(&top, v, bits - DIGITS);
    return (u64)bits << DIGITS | (top.w[0] & (((u64)1 << DIGITS) - 1));
}

static const anyone *anyones_of(const cd_buf *b, usize *cnt)
{
    *cnt = b->n / sizeof(anyone);
    return (const anyone *)(const void *)b->p;
}

/* Where one is or belongs. */
static usize any_place(const cd_buf *any, const anyone *one)
{
    usize hi;
    const anyone *all = anyones_of(any, &hi);
    usize lo = 0;
    while (lo < hi) {
        usize mid = lo + (hi - lo) / 2;
        bool is_before = all[mid].least < one->least || (all[mid].least == one->least && all[mid].slot < one->slot);
        *(is_before ? &lo : &hi) = is_before ? mid + 1 : mid;
    }
    return lo;
}

static void any_set(cd_wh_match *m, const watch *w, u32 slot, bool is_there)
{
    const anyone one = {.least = rank_of(&w->min_value), .slot = slot};
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        cd_buf *any = &m->any[t];
        if ((w->types & MASK(t)) == 0) {
            continue;
        }
        m->types_cnt[t] += is_there ? 1 : UINT32_MAX;
        if (w->has_lists && (MASK(t) & block_types) == 0) {
            continue;
        }
        usize at = any_place(any, &one) * sizeof one;
        if (is_there) {
            cd_buf_put(any, cd_bytes_of(&one, sizeof one)); /* room for it */
            memmove(any->p + at + sizeof one, any->p + at, any->n - sizeof one - at);
            memcpy(any->p + at, &one, sizeof one);
        } else {
            memmove(any->p + at, any->p + at + sizeof one, any->n - sizeof one - at);
            any->n -= sizeof one;
        }
    }
}

static void watch_index(cd_wh_match *m, watch *w, u32 slot)
{
    for (list l = L_ADDRESSES; l < L_CNT; l++) {
        if (is_indexed(w, l)) {
            w->has_lists = true;
            m->listed[l] += w->lists[l].n;
            for (usize i = 0; i < w->lists[l].n; i++) {
                cd__wh_index_put(&m->index, ref_of(slot, l, i));
            }
        }
    }
    any_set(m, w, slot, true);
}

static void watch_unindex(cd_wh_match *m, const watch *w, u32 slot)
{
    for (list l = L_ADDRESSES; l < L_CNT; l++) {
        if (is_indexed(w, l)) {
            m->listed[l] -= w->lists[l].n;
            for (usize i = 0; i < w->lists[l].n; i++) {
                cd__wh_index_del(&m->index, ref_of(slot, l, i));
            }
        }
    }
    any_set(m, w, slot, false);
}

static u32 slot_take(cd_wh_match *m)
{
    if (m->free_cnt != 0) {
        return m->free_slots[--m->free_cnt];
    }
    if (m->watches_cnt >= m->watches_cap) {
        m->watches_cap = m->watches_cap == 0 ? 16 : 2 * m->watches_cap;
        m->watches = cd_realloc(m->watches, m->watches_cap * sizeof *m->watches);
        m->watches[0] = NULL;
    }
    CD_ASSERT(m->watches_cnt < SLOTS_MAX);
    return m->watches_cnt++;
}

static u32 slot_get(const cd_wh_match *m, i64 key)
{
    const u32 *found = cd_hmap_get(&m->slots, &key);
    return found == NULL ? 0 : *found;
}

/* They match the same: what follows the structs is all lists and the id, in one order. */
static bool is_same(const watch *a, const watch *b)
{
    for (list l = L_ADDRESSES; l < L_CNT; l++) {
        if (a->lists[l].n != b->lists[l].n) {
            return false;
        }
    }
    return a->types == b->types && a->direction == b->direction && a->token_ids.n == b->token_ids.n &&
           a->abi.n == b->abi.n && a->selectors_cnt == b->selectors_cnt && cd_u256_eq(&a->min_value, &b->min_value) &&
           a->size == b->size && memcmp(a + 1, b + 1, a->size) == 0;
}

bool cd_wh_match_put(cd_wh_match *m, const cd_wh_hook *hook)
{
    watch *w = watch_new(hook);
    u32 slot = slot_get(m, hook->key);
    if (slot != 0 && is_same(m->watches[slot], w)) {
        m->watches[slot]->from_block = w->from_block;
        cd_free(w);
        return false;
    }
    (void)cd_wh_match_del(m, hook->key);
    slot = slot_take(m);
    m->watches[slot] = w;
    *(u32 *)cd_hmap_put(&m->slots, NULL, &hook->key) = slot;
    watch_index(m, w, slot);
    return true;
}

bool cd_wh_match_has(const cd_wh_match *m, u64 *from_block, i64 key)
{
    u32 slot = slot_get(m, key);
    if (slot != 0) {
        *from_block = m->watches[slot]->from_block;
    }
    return slot != 0;
}

bool cd_wh_match_del(cd_wh_match *m, i64 key)
{
    u32 slot = slot_get(m, key);
    if (slot == 0) {
        return false;
    }
    watch_unindex(m, m->watches[slot], slot);
    cd_free(m->watches[slot]);
    m->watches[slot] = NULL;
    (void)cd_hmap_del(&m->slots, &key);
    if (m->free_cnt == m->free_cap) {
        m->free_cap = m->free_cap == 0 ? 16 : 2 * m->free_cap;
        m->free_slots = cd_realloc(m->free_slots, m->free_cap * sizeof *m->free_slots);
    }
    m->free_slots[m->free_cnt++] = slot;
    return true;
}

u32 cd_wh_match_types(const cd_wh_match *m)
{
    u32 mask = 0;
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        mask |= m->types_cnt[t] != 0 ? MASK(t) : 0;
    }
    return mask;
}

usize cd_wh_match_count(const cd_wh_match *m)
{
    return cd_hmap_cnt(&m->slots);
}

/* --- a block --- */

/* Something that can be an event: a transaction, a log or an internal transfer. */
typedef struct item {
    cd_wh_kind kind;
    u32 types; /* that can speak of it */
    const cd_wh_tx *tx;
    const cd_wh_log *log;
    const cd_wh_inner *inner;
    const cd_addr20 *from, *to; /* NULL: nobody */
    const cd_addr20 *contract;  /* the one that emits the log, or is called */
} item;

static void item_add(cd_wh_match *m, const item *it)
{
    cd_buf_put(&m->items, cd_bytes_of(it, sizeof *it));
}

static void items_of_tx(cd_wh_match *m, const cd_wh_tx *tx, bool is_pending)
{
    item it = {
        .kind = is_pending ? CD_WH_KIND_PENDING : CD_WH_KIND_TX,
        .tx = tx,
        .from = &tx->from,
        .to = tx->has_to ? &tx->to : NULL,
        .contract = tx->has_to ? &tx->to : NULL,
        .types = is_pending ? MASK(CD_WH_C_PENDING)
                            : MASK(CD_WH_B_ADDRESS) | MASK(CD_WH_B_MINED) | MASK(CD_WH_C_ADDRESS) |
                                  MASK(CD_WH_C_MINED) | (cd_u256_is_zero(&tx->moved) ? 0 : MASK(CD_WH_A_TRANSFER)),
    };
    item_add(m, &it);
    for (usize i = 0; i < tx->logs_cnt; i++) {
        static const u32 types[] = {
            [CD_WH_MOVE_NONE] = 0,
            [CD_WH_MOVE_ERC20] = MASK(CD_WH_A_ERC20) | MASK(CD_WH_B_ADDRESS) | MASK(CD_WH_B_TOKEN) |
                                 MASK(CD_WH_C_ADDRESS) | MASK(CD_WH_C_TOKEN),
            [CD_WH_MOVE_ERC721] = MASK(CD_WH_A_ERC721) | MASK(CD_WH_B_NFT) | MASK(CD_WH_C_NFT),
            [CD_WH_MOVE_ERC1155] = MASK(CD_WH_A_ERC1155) | MASK(CD_WH_B_NFT) | MASK(CD_WH_C_NFT),
        };
        const cd_wh_log *log = &tx->logs[i];
        bool moves = log->move != CD_WH_MOVE_NONE;
        it = (item){
            .kind = CD_WH_KIND_LOG,
            .tx = tx,
            .log = log,
            .from = moves ? &log->from : NULL,
            .to = moves ? &log->to : NULL,
            .contract = &log->contract,
            .types = types[log->move] | MASK(CD_WH_A_CONTRACT) | MASK(CD_WH_B_LOG),
        };
        item_add(m, &it);
    }
    for (usize i = 0; i < tx->inners_cnt; i++) {
        it = (item){
            .kind = CD_WH_KIND_INNER,
            .tx = tx,
            .inner = &tx->inners[i],
            .from = &tx->inners[i].from,
            .to = &tx->inners[i].to,
            .types = MASK(CD_WH_C_INTERNAL),
        };
        item_add(m, &it);
    }
}

/* What is looked up for an item. */
typedef struct look {
    enum { LOOK_FROM, LOOK_TO, LOOK_CONTRACT, LOOK_TOPIC, LOOK_TX } what;
    u32 topic;
    const void *key;
    usize size;
} look;

enum { LOOKS_MAX = 8 };

static usize looks_of(look out[LOOKS_MAX], const cd_wh_match *m, const item *it)
{
    usize n = 0;
    if (it->from != NULL) {
        out[n++] = (look){.what = LOOK_FROM, .key = it->from, .size = 20};
    }
    if (it->to != NULL) {
        out[n++] = (look){.what = LOOK_TO, .key = it->to, .size = 20};
    }
    if (it->contract != NULL && it->contract != it->to) {
        out[n++] = (look){.what = LOOK_CONTRACT, .key = it->contract, .size = 20};
    }
    for (u32 i = 0; it->log != NULL && i < it->log->topics_cnt; i++) {
        if (m->listed[L_TOPIC0 + i] != 0) {
            out[n++] = (look){.what = LOOK_TOPIC, .topic = i, .key = &it->log->topics[i], .size = 32};
        }
    }
    if (m->listed[L_TXS] != 0) {
        out[n++] = (look){.what = LOOK_TX, .key = &it->tx->hash, .size = 32};
    }
    return n;
}

static void touch(cd_wh_match *m, u64 ref, role r)
{
    u32 slot = ref_slot(ref);
    watch *w = m->watches[slot];
    if (w->stamp != m->stamp) {
        w->stamp = m->stamp;
        memset(w->at, 0xff, sizeof w->at);
        cd_buf_put(&m->touched, cd_bytes_of(&slot, sizeof slot));
    }
    if (ref_place(ref) < w->at[r]) {
        w->at[r] = ref_place(ref);
    }
}

/* Notes what a ref means for the item: the list says whose part the key plays there. */
static void ref_touch(cd_wh_match *m, const item *it, const look *k, u64 ref)
{
    list l = ref_list(ref);
    switch (k->what) {
    case LOOK_FROM:
        if (l == L_ADDRESSES || l == L_FROM) {
            touch(m, ref, l == L_FROM ? R_FROM : R_ADDR_FROM);
        }
        return;
    case LOOK_TO:
        if (l == L_ADDRESSES || l == L_TO) {
            touch(m, ref, l == L_TO ? R_TO : R_ADDR_TO);
        } else if (l == L_CONTRACTS && it->contract == it->to) {
            touch(m, ref, R_CONTRACT);
        }
        return;
    case LOOK_CONTRACT:
        if (l == L_ADDRESSES || l == L_CONTRACTS) {
            touch(m, ref, l == L_CONTRACTS ? R_CONTRACT : R_ADDR_CONTRACT);
        }
        return;
    case LOOK_TOPIC:
        if (l == (list)(L_TOPIC0 + k->topic)) {
            touch(m, ref, R_TOPIC);
        }
        return;
    case LOOK_TX:
        if (l == L_TXS) {
            touch(m, ref, R_TX);
        }
        return;
    }
}

/* Addresses mean the parties, for A also the token, and for plain logs who emits them. */
static bool addresses_pass(const watch *w, cd_wh_type type)
{
    bool is_party = w->at[R_ADDR_FROM] != NOWHERE || w->at[R_ADDR_TO] != NOWHERE;
    bool is_contract = w->at[R_ADDR_CONTRACT] != NOWHERE;
    switch (type) {
    case CD_WH_A_CONTRACT:
    case CD_WH_B_LOG:
        return is_contract;
    case CD_WH_A_ERC20:
    case CD_WH_A_ERC721:
    case CD_WH_A_ERC1155:
        return is_party || is_contract;
    case CD_WH_A_TRANSFER:
    case CD_WH_B_ADDRESS:
    case CD_WH_B_TOKEN:
    case CD_WH_B_NFT:
    case CD_WH_B_MINED:
    case CD_WH_C_ADDRESS:
    case CD_WH_C_MINED:
    case CD_WH_C_NFT:
    case CD_WH_C_TOKEN:
    case CD_WH_C_INTERNAL:
    case CD_WH_C_PENDING:
        return is_party;
    case CD_WH_A_BLOCK:
    case CD_WH_C_BLOCK:
    case CD_WH_TYPES_CNT:
        return true;
    }
    return false;
}

static bool topics_pass(const watch *w, const cd_wh_log *log)
{
    for (u32 i = 0; i < 4; i++) {
        u32 n = w->lists[L_TOPIC0 + i].n;
        if (n != 0 &&
            (log == NULL || i >= log->topics_cnt || !word_in(w->lists[L_TOPIC0 + i].p, n, log->topics[i].b))) {
            return false;
        }
    }
    return true;
}

static bool selector_pass(const watch *w, const cd_wh_tx *tx)
{
    for (usize i = 0; i < w->selectors_cnt; i++) {
        if (tx->has_selector && tx->selector == w->selectors[i]) {
            return true;
        }
    }
    return w->selectors_cnt == 0;
}

/* The address is in the list: as the index has told, or by a search. */
static bool party_passes(const watch *w, list l, role r, const cd_addr20 *a)
{
    if (w->lists[l].n == 0) {
        return true;
    }
    if (is_indexed(w, l)) {
        return w->at[r] != NOWHERE;
    }
    return a != NULL && bsearch(a, w->lists[l].p, w->lists[l].n, 20, addr_cmp) != NULL;
}

/* What holds for an item as a whole. */
static bool item_passes(const watch *w, const item *it, cd_wh_type type)
{
    return (w->lists[L_ADDRESSES].n == 0 || addresses_pass(w, type)) && party_passes(w, L_FROM, R_FROM, it->from) &&
           party_passes(w, L_TO, R_TO, it->to) && party_passes(w, L_CONTRACTS, R_CONTRACT, it->contract) &&
           topics_pass(w, it->log) && selector_pass(w, it->tx) &&
           (w->lists[L_TXS].n == 0 || word_in(w->lists[L_TXS].p, w->lists[L_TXS].n, it->tx->hash.b));
}

/* What holds for one part of it. */
static bool part_passes(const watch *w, const item *it, cd_wh_type type, const cd_wh_part *part)
{
    const cd_u256 *value = part != NULL ? &part->value : it->inner != NULL ? &it->inner->value : &it->tx->moved;
    if (w->token_ids.n != 0) {
        if (part == NULL || (MASK(type) & nft_types) == 0) {
            return false;
        }
        cd_hash32 id = cd_u256_to_hash(&part->id);
        if (!word_in(w->token_ids.p, w->token_ids.n, id.b)) {
            return false;
        }
    }
    return !cd_u256_lt(value, &w->min_value);
}

static void hit_add(cd_wh_match *m, const watch *w, const item *it, cd_wh_type type, const cd_wh_part *part, u32 sub,
                    bool is_outgoing)
{
    bool wants_args = w->abi.n != 0 && (type == CD_WH_A_CONTRACT || type == CD_WH_B_LOG);
    const cd_wh_hit hit = {
        .hook = w->key,
        .hook_id = w->id,
        .type = type,
        .kind = it->kind,
        .tx = it->tx,
        .log = it->log,
        .part = part,
        .inner = it->inner,
        .sub = sub,
        .is_outgoing = is_outgoing,
        .wants_args = wants_args,
        .event = wants_args ? cd_wh_abi_find(w->abi, it->log) : NULL,
    };
    cd_buf_put(&m->hits, cd_bytes_of(&hit, sizeof hit));
}

/* One event for each watched address, in the order of the list; of a transfer to oneself only the outgoing one. */
static void activity_hit(cd_wh_match *m, const watch *w, const item *it, cd_wh_type type)
{
    const cd_wh_part *part = it->log != NULL ? it->log->parts : NULL;
    u32 out = NOWHERE;
    u32 in = NOWHERE;
    if (!part_passes(w, it, type, part)) {
        return;
    }
    if (w->lists[L_ADDRESSES].n != 0) {
        out = w->at[R_ADDR_FROM];
        in = it->to == NULL || cd_addr20_eq(it->from, it->to) ? NOWHERE : w->at[R_ADDR_TO];
    } else if (w->lists[L_FROM].n == 0 && w->lists[L_TO].n != 0) {
        in = w->at[R_TO];
    } else {
        out = w->lists[L_FROM].n != 0 ? w->at[R_FROM] : 0;
    }
    if (w->direction == CD_WH_INCOMING) {
        out = NOWHERE;
    } else if (w->direction == CD_WH_OUTGOING) {
        in = NOWHERE;
    }
    if (in != NOWHERE && in < out) {
        hit_add(m, w, it, type, part, in, false);
        in = NOWHERE;
    }
    if (out != NOWHERE) {
        hit_add(m, w, it, type, part, out, true);
    }
    if (in != NOWHERE) {
        hit_add(m, w, it, type, part, in, false);
    }
}

static void type_hit(cd_wh_match *m, const watch *w, const item *it, cd_wh_type type)
{
    /* What else a webhook of C is told of the same transaction or log must not have the identity of its activity. */
    u32 base = w->has_two_of_tx && (type == CD_WH_C_MINED || type == CD_WH_C_TOKEN) ? 1u << 31 : 0;
    if (!item_passes(w, it, type)) {
        return;
    }
    if (type == CD_WH_B_ADDRESS || type == CD_WH_C_ADDRESS) {
        activity_hit(m, w, it, type);
    } else if (it->log == NULL || type == CD_WH_A_CONTRACT || type == CD_WH_B_LOG) {
        if (part_passes(w, it, type, NULL)) {
            hit_add(m, w, it, type, NULL, type == CD_WH_A_CONTRACT ? UINT32_MAX : base, false);
        }
    } else {
        for (u32 i = 0; i < it->log->parts_cnt; i++) {
            if (part_passes(w, it, type, &it->log->parts[i])) {
                hit_add(m, w, it, type, &it->log->parts[i], base + i, false);
            }
        }
    }
}

/* No value that a webhook could ask for in it is above this; as part_passes has it. */
static u64 rank_most(const item *it)
{
    u64 most = rank_of(it->inner != NULL ? &it->inner->value : &it->tx->moved);
    for (u32 i = 0; it->log != NULL && i < it->log->parts_cnt; i++) {
        most = cd_max_u64(most, rank_of(&it->log->parts[i].value));
    }
    return most;
}

/* Rising types: A's transfer of a log comes before the log itself, activity before what else there is. */
static void item_hit(cd_wh_match *m, const item *it, u64 number)
{
    usize cnt;
    const u32 *slots = slots_of(&m->touched, &cnt);
    for (usize i = 0; i < cnt; i++) {
        const watch *w = m->watches[slots[i]];
        if (w->from_block > number && it->kind != CD_WH_KIND_PENDING) {
            continue;
        }
        for (u32 left = w->types & it->types; left != 0; left &= left - 1) {
            type_hit(m, w, it, (cd_wh_type)__builtin_ctz(left));
        }
    }
    for (u32 left = it->types; left != 0; left &= left - 1) {
        cd_wh_type type = (cd_wh_type)__builtin_ctz(left);
        const anyone *any = anyones_of(&m->any[type], &cnt);
        u64 most = cnt == 0 ? 0 : rank_most(it);
        for (usize i = 0; i < cnt && any[i].least <= most; i++) {
            const watch *w = m->watches[any[i].slot];
            if (w->from_block <= number || it->kind == CD_WH_KIND_PENDING) {
                type_hit(m, w, it, type);
            }
        }
    }
}

static void block_hit(cd_wh_match *m, u64 number)
{
    static const cd_wh_type types[] = {CD_WH_A_BLOCK, CD_WH_C_BLOCK};
    const item it = {.kind = CD_WH_KIND_BLOCK};
    for (usize k = 0; k < CD_COUNT(types); k++) {
        usize cnt;
        const anyone *any = anyones_of(&m->any[types[k]], &cnt);
        for (usize i = 0; i < cnt; i++) {
            if (m->watches[any[i].slot]->from_block <= number) {
                hit_add(m, m->watches[any[i].slot], &it, types[k], NULL, 0, false);
            }
        }
    }
}

const cd_wh_hit *cd_wh_match_run(cd_wh_match *m, usize *cnt, const cd_wh_facts *facts)
{
    look looks[LOOKS_MAX];
    u32 wanted = cd_wh_match_types(m);
    cd_buf_clear(&m->items);
    cd_buf_clear(&m->hashes);
    cd_buf_clear(&m->hits);
    if (!facts->is_pending) {
        block_hit(m, facts->number);
    }
    for (usize i = 0; i < facts->txs_cnt; i++) {
        items_of_tx(m, &facts->txs[i], facts->is_pending);
    }
    const item *items = (const item *)(void *)m->items.p;
    usize items_cnt = m->items.n / sizeof *items;
    for (usize i = 0; i < items_cnt; i++) {
        if ((items[i].types & wanted) == 0) {
            continue;
        }
        usize n = looks_of(looks, m, &items[i]);
        for (usize k = 0; k < n; k++) {
            u64 hash = cd__wh_index_hash(&m->index, cd_bytes_of(looks[k].key, looks[k].size));
            cd_buf_put(&m->hashes, cd_bytes_of(&hash, sizeof hash));
        }
    }
    const u64 *hashes = (const u64 *)(void *)m->hashes.p;
    usize hashes_cnt = m->hashes.n / sizeof *hashes;
    usize at = 0;
    for (usize i = 0; i < items_cnt; i++) {
        if ((items[i].types & wanted) == 0) {
            continue;
        }
        usize n = looks_of(looks, m, &items[i]);
        m->stamp++;
        cd_buf_clear(&m->touched);
        for (usize k = 0; k < n; k++, at++) {
            const u64 *refs;
            u64 one;
            if (at + LEAD < hashes_cnt) {
                cd__wh_index_prefetch(&m->index, hashes[at + LEAD]);
            }
            usize refs_cnt =
                cd__wh_index_get(&m->index, &refs, &one, hashes[at], cd_bytes_of(looks[k].key, looks[k].size));
            for (usize r = 0; r < refs_cnt; r++) {
                ref_touch(m, &items[i], &looks[k], refs[r]);
            }
        }
        item_hit(m, &items[i], facts->number);
    }
    *cnt = m->hits.n / sizeof(cd_wh_hit);
    return (const cd_wh_hit *)(void *)m->hits.p;
}

const cd_wh_hit *cd_wh_hits_dup(cd_arena *mem, const cd_wh_hit *hits, usize cnt)
{
    cd_wh_hit *own = cd_arena_array(mem, cd_wh_hit, cnt);
    const char *last = NULL; /* a webhook's hits often follow each other */
    const char *last_own = NULL;
    for (usize i = 0; i < cnt; i++) {
        own[i] = hits[i];
        if (hits[i].hook_id != last) {
            last = hits[i].hook_id;
            last_own = cd_arena_str(mem, cd_bytes_str(last));
        }
        own[i].hook_id = last_own;
        own[i].event = hits[i].event == NULL ? NULL : cd_arena_str(mem, cd_bytes_str(hits[i].event));
    }
    return own;
}
