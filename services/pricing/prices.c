#include "services/pricing/prices.h"

#include "base/mem.h"

typedef struct entry {
    char id[CD_PRICE_NAME_MAX];
    char currency[CD_PRICE_NAME_MAX];
    cd_price view;
    void *slot;
} entry;

struct cd_prices {
    const cd_clock *clock;
    u32 ttl_s;
    u64 started_ns;
    u64 hits;
    u64 negatives;
    entry *statics;
    usize statics_cnt;
    cd_prices_changed *changed;
    void *changed_ctx;
};

struct cd_prices_answer {
    cd_prices *prices;
    const cd_prices_query *query;
};

bool cd_price_name_fold(char out[CD_PRICE_NAME_MAX], cd_bytes text)
{
    if (text.n == 0 || text.n > CD_PRICE_NAME_MAX) {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        c = c >= 'A' && c <= 'Z' ? (u8)(c + 32) : c;
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_alnum && (i == 0 || (c != '.' && c != '_' && c != '-'))) {
            return false;
        }
        out[i] = (char)c;
    }
    return true;
}

cd_prices *cd_prices_new(const cd_prices_cfg *cfg)
{
    cd_prices *p = cd_new(cd_prices);
    p->clock = cfg->clock != NULL ? cfg->clock : cd_clock_real();
    p->ttl_s = cfg->ttl_s != 0 ? cfg->ttl_s : 3600;
    p->started_ns = cd_clock_wall_ns(p->clock);
    p->statics = cd_new_array(entry, cfg->statics_cnt);
    for (usize i = 0; i < cfg->statics_cnt; i++) {
        const cd_prices_static *s = &cfg->statics[i];
        entry *e = &p->statics[i];
        if (cd_price_name_fold(e->id, s->id) && cd_price_name_fold(e->currency, s->currency)) {
            e->view = (cd_price){.id = cd_bytes_of(e->id, s->id.n),
                                 .currency = cd_bytes_of(e->currency, s->currency.n),
                                 .symbol = cd_bytes_of(e->id, s->id.n),
                                 .name = cd_bytes_of(e->id, s->id.n),
                                 .price = s->price,
                                 .stored_ns = p->started_ns,
                                 .source = "static",
                                 .slot = &e->slot};
            p->statics_cnt++;
        }
    }
    return p;
}

void cd_prices_free(cd_prices *p)
{
    if (p != NULL) {
        for (usize i = 0; i < p->statics_cnt; i++) {
            cd_free(p->statics[i].slot);
        }
        cd_free(p->statics);
        cd_free(p);
    }
}

static entry *find(const cd_prices *p, cd_bytes id, cd_bytes currency)
{
    for (usize i = 0; i < p->statics_cnt; i++) {
        entry *e = &p->statics[i];
        if (cd_bytes_eq(e->view.id, id) && cd_bytes_eq(e->view.currency, currency)) {
            return e;
        }
    }
    return NULL;
}

usize cd_prices_answer_cnt(const cd_prices_answer *a)
{
    return a->query->ids_cnt * a->query->currencies_cnt;
}

void cd_prices_answer_at(const cd_prices_answer *a, cd_prices_item *out, usize idx)
{
    const cd_prices_query *q = a->query;
    cd_bytes id = q->ids[idx / q->currencies_cnt];
    cd_bytes currency = q->currencies[idx % q->currencies_cnt];
    entry *e = find(a->prices, id, currency);
    *out = (cd_prices_item){.state = CD_PRICE_UNKNOWN, .price = {.id = id, .currency = currency}};
    if (e != NULL) {
        out->state = CD_PRICE_HIT;
        out->price = e->view;
    }
}

cd_prices_ask *cd_prices_get(cd_prices *p, const cd_prices_query *q, cd_prices_done *done,
                             void *ctx)
{
    cd_prices_answer a = {.prices = p, .query = q};
    for (usize i = 0; i < cd_prices_answer_cnt(&a); i++) {
        cd_prices_item item;
        cd_prices_answer_at(&a, &item, i);
        p->hits += item.state == CD_PRICE_HIT;
        p->negatives += item.state == CD_PRICE_UNKNOWN;
    }
    done(ctx, &a);
    return NULL;
}

void cd_prices_cancel(cd_prices_ask *a)
{
    (void)a;
}

void cd_prices_on_change(cd_prices *p, cd_prices_changed *fn, void *ctx)
{
    p->changed = fn;
    p->changed_ctx = ctx;
}

void cd_prices_recent(cd_prices *p, cd_prices_visit *visit, void *ctx)
{
    cd_prices_search(p, cd_bytes_of(NULL, 0), visit, ctx);
}

void cd_prices_search(cd_prices *p, cd_bytes text, cd_prices_visit *visit, void *ctx)
{
    bool goes_on = true;
    for (usize i = 0; i < p->statics_cnt && goes_on; i++) {
        const cd_price *v = &p->statics[i].view;
        if (v->id.n >= text.n && cd_bytes_eq(cd_bytes_sub(v->id, 0, text.n), text)) {
            goes_on = visit(ctx, v, CD_PRICE_HIT);
        }
    }
}

usize cd_prices_history(const cd_prices *p, cd_prices_point out[CD_PRICES_HISTORY], cd_bytes id,
                        cd_bytes currency)
{
    const entry *e = find(p, id, currency);
    if (e == NULL) {
        return 0;
    }
    out[0] = (cd_prices_point){.wall_s = (u32)(e->view.stored_ns / CD_NS_PER_SEC),
                               .price = (float)e->view.price};
    return 1;
}

void cd_prices_state_get(cd_prices *p, cd_prices_state *out)
{
    *out = (cd_prices_state){.entries = p->statics_cnt,
                             .fresh = p->statics_cnt,
                             .hits = p->hits,
                             .negatives = p->negatives,
                             .started_wall_ns = p->started_ns,
                             .is_ready = cd_prices_is_ready(p)};
}

void cd_prices_provider_get(const cd_prices *p, cd_prices_provider_state *out, usize idx)
{
    (void)p;
    (void)idx;
    *out = (cd_prices_provider_state){.name = ""};
}

bool cd_prices_is_ready(const cd_prices *p)
{
    return p->statics_cnt != 0;
}

u32 cd_prices_ttl_s(const cd_prices *p)
{
    return p->ttl_s;
}
