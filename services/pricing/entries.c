#include "base/mem/mem.h"
#include "services/pricing/prices_priv.h"
#include "services/pricing/record.h"

/* The newest point of a history is the price itself. */
enum { HISTORY_FIRST = 4, HISTORY_OLD = CD_PRICES_HISTORY - 1, EVICT_LOOK = 64 };

cd_bytes cd__price_id(const cd__price_entry *e)
{
    return cd_bytes_of(e->text, e->id_n);
}

cd_bytes cd__price_currency(const cd__price_entry *e)
{
    return cd_bytes_of(e->text + e->id_n, e->currency_n);
}

static u64 hash_of(const cd_prices *p, cd_bytes id, cd_bytes currency)
{
    u8 key[2 * CD_PRICE_NAME_MAX + 1];
    memcpy(key, id.p, id.n);
    key[id.n] = 0;
    memcpy(key + id.n + 1, currency.p, currency.n);
    return cd_siphash13(p->sipkey, cd_bytes_of(key, id.n + 1 + currency.n));
}

static cd__price_entry *find(const cd_prices *p, u64 hash, cd_bytes id, cd_bytes currency)
{
    cd__price_entry **at = cd_hmap_get(&p->table, &hash);
    cd__price_entry *e = at == NULL ? NULL : *at;
    while (e != NULL && !(cd_bytes_eq(cd__price_id(e), id) && cd_bytes_eq(cd__price_currency(e), currency))) {
        e = e->same_hash;
    }
    return e;
}

cd__price_entry *cd__price_find(const cd_prices *p, cd_bytes id, cd_bytes currency)
{
    return find(p, hash_of(p, id, currency), id, currency);
}

/* Replaces the texts of e; id and currency may be its own. */
static void set_text(cd__price_entry *e, cd_bytes id, cd_bytes currency, cd_bytes symbol, cd_bytes name)
{
    char *text = cd_alloc(id.n + currency.n + symbol.n + name.n);
    char *at = text;
    const cd_bytes parts[] = {id, currency, symbol, name};
    for (usize i = 0; i < CD_COUNT(parts); i++) {
        if (parts[i].n != 0) {
            memcpy(at, parts[i].p, parts[i].n);
            at += parts[i].n;
        }
    }
    cd_free(e->text);
    e->text = text;
    e->id_n = (u8)id.n;
    e->currency_n = (u8)currency.n;
    e->symbol_n = (u8)symbol.n;
    e->name_n = (u16)name.n;
}

cd__price_entry *cd__price_make(cd_prices *p, cd_bytes id, cd_bytes currency)
{
    u64 hash = hash_of(p, id, currency);
    cd__price_entry *e = find(p, hash, id, currency);
    if (e != NULL) {
        return e;
    }
    e = cd_new(cd__price_entry);
    cd_list_init(&e->lru);
    cd_list_init(&e->waits);
    cd_list_init(&e->queued);
    set_text(e, id, currency, (cd_bytes){0}, (cd_bytes){0});
    cd__price_entry **at = cd_hmap_put(&p->table, NULL, &hash);
    e->hash = hash;
    e->same_hash = *at;
    *at = e;
    return e;
}

static void entry_free(cd__price_entry *e)
{
    cd_free(e->slot);
    cd_free(e->history);
    cd_free(e->text);
    cd_free(e);
}

/* Takes e out of every place that knows it. */
static void drop(cd_prices *p, cd__price_entry *e)
{
    cd__price_entry **at = cd_hmap_get(&p->table, &e->hash);
    CD_ASSERT(at != NULL && e->pins == 0 && e->phase == CD__PRICE_IDLE);
    while (*at != e) {
        at = &(*at)->same_hash;
    }
    *at = e->same_hash;
    at = cd_hmap_get(&p->table, &e->hash);
    if (*at == NULL) {
        (void)cd_hmap_del(&p->table, &e->hash);
    }
    p->there_cnt -= e->kind == CD__PRICE_THERE && !e->is_passing;
    p->unknown_cnt -= e->kind == CD__PRICE_UNKNOWN;
    cd_list_del(&e->lru);
    entry_free(e);
}

static bool is_needed(const cd__price_entry *e)
{
    return e->pins != 0 || e->phase != CD__PRICE_IDLE;
}

void cd__price_tidy(cd_prices *p, cd__price_entry *e)
{
    if ((e->kind == CD__PRICE_EMPTY || e->is_passing) && !is_needed(e)) {
        drop(p, e);
    }
}

/* Makes room in a list that has grown beyond max. Entries somebody needs stay. */
static void evict(cd_prices *p, cd_list *list, usize cnt, usize max)
{
    cd_list *at = list->prev;
    for (u32 looked = 0; cnt > max && at != list && looked < EVICT_LOOK; looked++) {
        cd__price_entry *e = cd_list_of(at, cd__price_entry, lru);
        at = at->prev;
        if (!is_needed(e)) {
            drop(p, e);
            cnt--;
        }
    }
}

void cd__price_used(cd_prices *p, cd__price_entry *e)
{
    e->hit_s = (u32)(cd__prices_now(p) / CD_NS_PER_SEC);
    if (!e->is_passing && (e->kind == CD__PRICE_THERE || e->kind == CD__PRICE_UNKNOWN)) {
        cd_list *list = e->kind == CD__PRICE_THERE ? &p->there : &p->unknown;
        cd_list_del(&e->lru);
        cd_list_push_front(list, &e->lru);
    }
}

static void set_kind(cd_prices *p, cd__price_entry *e, cd__price_kind kind)
{
    p->there_cnt -= e->kind == CD__PRICE_THERE && !e->is_passing;
    p->unknown_cnt -= e->kind == CD__PRICE_UNKNOWN;
    e->is_passing = false;
    e->kind = (u8)kind;
    p->there_cnt += kind == CD__PRICE_THERE;
    p->unknown_cnt += kind == CD__PRICE_UNKNOWN;
    cd_list_del(&e->lru);
    if (kind == CD__PRICE_THERE || kind == CD__PRICE_UNKNOWN) {
        cd_list_push_front(kind == CD__PRICE_THERE ? &p->there : &p->unknown, &e->lru);
    }
}

void cd__price_point_add(cd__price_entry *e, u32 wall_s, float price)
{
    if (e->history_cnt == e->history_cap && e->history_cap < HISTORY_OLD) {
        /* Not yet a full ring, so it begins at 0. */
        u8 cap = e->history_cap == 0 ? HISTORY_FIRST : (u8)(e->history_cap * 2);
        e->history_cap = cap < HISTORY_OLD ? cap : HISTORY_OLD;
        e->history = cd_realloc(e->history, e->history_cap * sizeof *e->history);
    }
    if (e->history_cnt < e->history_cap) {
        e->history[e->history_cnt++] = (cd_prices_point){.wall_s = wall_s, .price = price};
    } else {
        e->history[e->history_at] = (cd_prices_point){.wall_s = wall_s, .price = price};
        e->history_at = (u8)((e->history_at + 1) % HISTORY_OLD);
    }
}

/* Into the cache, where it takes the place of what was not used for longest; with all of that in use it is there for
 * who waits, and no longer: the cache never holds more than it may. */
static void join(cd_prices *p, cd__price_entry *e)
{
    if (e->kind != CD__PRICE_THERE || e->is_passing) {
        evict(p, &p->there, p->there_cnt, p->cfg.entries_max - 1);
    }
    bool is_new = e->kind != CD__PRICE_THERE || e->is_passing;
    if (is_new && p->there_cnt >= p->cfg.entries_max) {
        set_kind(p, e, CD__PRICE_EMPTY);
        e->kind = CD__PRICE_THERE;
        e->is_passing = true;
    } else {
        set_kind(p, e, CD__PRICE_THERE);
        p->changes++;
    }
}

static bool is_same(const cd__price_entry *e, const cd_market_row *row)
{
    return e->price == row->price && e->change_24h == row->change_24h && e->market_cap == row->market_cap &&
           e->volume_24h == row->volume_24h;
}

void cd__price_store(cd_prices *p, cd__price_entry *e, const cd_market_row *row, u8 source, u64 stored_wall_ns,
                     u64 age_ns)
{
    cd_bytes old_symbol = cd_bytes_of(e->text + e->id_n + e->currency_n, e->symbol_n);
    cd_bytes old_name = cd_bytes_of(e->text + e->id_n + e->currency_n + e->symbol_n, e->name_n);
    bool is_change = e->kind != CD__PRICE_THERE || !is_same(e, row);
    if (!cd_bytes_eq(old_symbol, row->symbol) || !cd_bytes_eq(old_name, row->name)) {
        set_text(e, cd__price_id(e), cd__price_currency(e), row->symbol, row->name);
    }
    if (e->kind == CD__PRICE_THERE) {
        cd__price_point_add(e, (u32)(e->stored_wall_ns / CD_NS_PER_SEC), (float)e->price);
    }
    e->price = row->price;
    e->change_24h = row->change_24h;
    e->market_cap = row->market_cap;
    e->volume_24h = row->volume_24h;
    e->last_updated_s = row->last_updated_s;
    e->stored_wall_ns = stored_wall_ns;
    e->stored_ns = (i64)cd__prices_now(p) - (i64)age_ns;
    e->source = source;
    e->is_missing = false;
    cd_free(e->slot);
    e->slot = NULL;
    if (e->kind != CD__PRICE_STATIC) {
        join(p, e);
    }
    if (is_change && p->changed != NULL) {
        cd_price view;
        cd__price_view(p, &view, e);
        p->changed(p->changed_ctx, &view);
    }
}

void cd__price_store_unknown(cd_prices *p, cd__price_entry *e)
{
    e->checked_ns = (i64)cd__prices_now(p);
    if (e->kind == CD__PRICE_THERE) {
        e->is_missing = true;
        return;
    }
    set_kind(p, e, CD__PRICE_UNKNOWN);
    evict(p, &p->unknown, p->unknown_cnt, p->unknown_max);
}

static bool is_within(i64 since_ns, u64 now_ns, u32 s)
{
    return (i64)now_ns - since_ns < (i64)(s * CD_NS_PER_SEC);
}

bool cd__price_is_fresh(const cd_prices *p, const cd__price_entry *e, u64 now_ns)
{
    return e->kind == CD__PRICE_STATIC ||
           (e->kind == CD__PRICE_THERE && !e->is_missing && is_within(e->stored_ns, now_ns, p->cfg.ttl_s));
}

bool cd__price_is_settled(const cd_prices *p, const cd__price_entry *e, u64 now_ns)
{
    return (e->kind == CD__PRICE_UNKNOWN || (e->kind == CD__PRICE_THERE && e->is_missing)) &&
           is_within(e->checked_ns, now_ns, p->cfg.negative_ttl_s);
}

void cd__price_view(const cd_prices *p, cd_price *out, cd__price_entry *e)
{
    i64 age = (i64)cd__prices_now(p) - e->stored_ns;
    const char *behind = e->text + e->id_n + e->currency_n;
    *out = (cd_price){
        .id = cd__price_id(e),
        .currency = cd__price_currency(e),
        .symbol = cd_bytes_of(behind, e->symbol_n),
        .name = cd_bytes_of(behind + e->symbol_n, e->name_n),
        .price = e->price,
        .change_24h = e->change_24h,
        .market_cap = e->market_cap,
        .volume_24h = e->volume_24h,
        .last_updated_s = e->last_updated_s,
        .stored_ns = e->stored_wall_ns,
        .age_s = e->kind == CD__PRICE_STATIC || age < 0 ? 0 : (u64)age / CD_NS_PER_SEC,
        .source = p->sources[e->source],
        .slot = &e->slot,
    };
}

u8 cd__price_source(cd_prices *p, cd_bytes name)
{
    for (usize i = 0; i < p->sources_cnt; i++) {
        if (cd_bytes_eq(cd_bytes_str(p->sources[i]), name)) {
            return (u8)i;
        }
    }
    if (p->sources_cnt == CD__PRICE_SOURCES_MAX) {
        return 0; /* more names than a gateway has providers: other instances', called by the first one */
    }
    char *copy = cd_alloc(name.n + 1);
    memcpy(copy, name.p, name.n);
    p->sources[p->sources_cnt] = copy;
    return (u8)p->sources_cnt++;
}

/* --- records --- */

static usize points_of(const cd__price_entry *e)
{
    return e->kind == CD__PRICE_THERE || e->kind == CD__PRICE_STATIC ? e->history_cnt + (usize)1 : 0;
}

static cd_prices_point point_of(const cd__price_entry *e, usize i)
{
    if (i == e->history_cnt) {
        return (cd_prices_point){.wall_s = (u32)(e->stored_wall_ns / CD_NS_PER_SEC), .price = (float)e->price};
    }
    return e->history[e->history_cnt == HISTORY_OLD ? (e->history_at + i) % HISTORY_OLD : i];
}

usize cd_prices_history(const cd_prices *p, cd_prices_point out[CD_PRICES_HISTORY], cd_bytes id, cd_bytes currency)
{
    bool is_name = cd__price_is_name(id) && cd__price_is_name(currency);
    const cd__price_entry *e = is_name ? cd__price_find(p, id, currency) : NULL;
    usize cnt = e == NULL ? 0 : points_of(e);
    for (usize i = 0; i < cnt; i++) {
        out[i] = point_of(e, i);
    }
    return cnt;
}

void cd__price_record_enc(const cd_prices *p, cd_buf *out, const cd__price_entry *e)
{
    const char *behind = e->text + e->id_n + e->currency_n;
    cd_price_record r = {
        .currency = cd__price_currency(e),
        .source = cd_bytes_str(p->sources[e->source]),
        .row = {.id = cd__price_id(e),
                .symbol = cd_bytes_of(behind, e->symbol_n),
                .name = cd_bytes_of(behind + e->symbol_n, e->name_n),
                .price = e->price,
                .change_24h = e->change_24h,
                .market_cap = e->market_cap,
                .volume_24h = e->volume_24h,
                .last_updated_s = e->last_updated_s},
        .stored_wall_ns = e->stored_wall_ns,
        .history_cnt = (u8)points_of(e),
    };
    for (usize i = 0; i < r.history_cnt; i++) {
        r.history[i] = point_of(e, i);
    }
    cd_price_record_enc(out, &r);
}

bool cd__price_record_take(cd_prices *p, cd__price_entry *e, cd_bytes bytes)
{
    cd_price_record r;
    cd_rd rd = cd_rd_init(bytes);
    cd_price_record_dec(&rd, &r);
    if (rd.err != CD_OK || cd_rd_left(&rd) != 0 || !cd_bytes_eq(r.row.id, cd__price_id(e)) ||
        !cd_bytes_eq(r.currency, cd__price_currency(e)) || e->kind == CD__PRICE_STATIC ||
        (e->kind == CD__PRICE_THERE && r.stored_wall_ns <= e->stored_wall_ns)) {
        return false;
    }
    u64 now_ns = cd_clock_wall_ns(p->clock);
    u64 age_ns = now_ns > r.stored_wall_ns ? now_ns - r.stored_wall_ns : 0;
    /* Its history is longer than ours only when we have none: after a start. The last point is the price itself. */
    usize older = e->history_cnt == 0 && r.history_cnt != 0 ? r.history_cnt - (usize)1 : 0;
    for (usize i = 0; i < older; i++) {
        cd__price_point_add(e, r.history[i].wall_s, r.history[i].price);
    }
    cd__price_store(p, e, &r.row, cd__price_source(p, r.source), r.stored_wall_ns, age_ns);
    return true;
}

void cd__prices_entries_fini(cd_prices *p)
{
    void *val;
    for (usize it = 0; cd_hmap_next(&p->table, &it, NULL, &val);) {
        cd__price_entry *e = *(cd__price_entry **)val;
        while (e != NULL) {
            cd__price_entry *next = e->same_hash;
            entry_free(e);
            e = next;
        }
    }
    cd_hmap_fini(&p->table);
    for (usize i = 0; i < p->sources_cnt; i++) {
        cd_free(p->sources[i]);
    }
}
