#include "services/pricing/render.h"

#include "base/mem/mem.h"

#include <stdio.h>
#include <stdlib.h>

void cd_render_time(cd_json_w *w, u64 wall_ns)
{
    enum { SECONDS = 19 }; /* "2026-11-21T14:05:02" */
    char text[CD_TIME_TEXT_LEN + 16];
    cd_time_fmt(text, wall_ns);
    usize n = SECONDS;
    u64 ns = wall_ns % CD_NS_PER_SEC;
    if (ns != 0) {
        n += (usize)snprintf(text + n, sizeof text - n, ".%09u", (u32)ns);
        while (text[n - 1] == '0') {
            n--;
        }
    }
    text[n++] = 'Z';
    cd_json_w_str(w, cd_bytes_of(text, n));
}

void cd_render_price(cd_json_w *w, const cd_price *p, bool is_cached)
{
    cd_json_w_obj(w);
    cd_json_put_str(w, "id", p->id);
    cd_json_put_str(w, "symbol", p->symbol);
    cd_json_put_str(w, "name", p->name);
    cd_json_w_key(w, "price");
    cd_json_w_f64(w, p->price);
    cd_json_put_str(w, "currency", p->currency);
    cd_json_w_key(w, "change_24h");
    cd_json_w_f64(w, p->change_24h);
    cd_json_w_key(w, "market_cap");
    cd_json_w_f64(w, p->market_cap);
    cd_json_w_key(w, "volume_24h");
    cd_json_w_f64(w, p->volume_24h);
    cd_json_w_key(w, "updated_at");
    cd_render_time(w, p->stored_ns);
    cd_json_put_bool(w, "cached", is_cached);
    cd_json_w_obj_end(w);
}

const cd_rendered *cd_render_kept(const cd_price *p)
{
    if (*p->slot == NULL) {
        cd_buf b = {0};
        cd_json_w w = {.out = &b};
        cd_render_price(&w, p, true);
        cd_buf_u8(&b, '\n');
        cd_rendered *kept = cd_alloc(sizeof *kept + b.n);
        cd_http_etag_fmt(kept->etag, cd_buf_bytes(&b));
        kept->n = (u32)b.n;
        memcpy(kept->body, b.p, b.n);
        cd_buf_fini(&b);
        *p->slot = kept;
    }
    return *p->slot;
}

/* --- /simple/price --- */

enum {
    WHAT_PRICE,
    WHAT_MARKET_CAP,
    WHAT_VOLUME,
    WHAT_CHANGE,
    WHAT_UPDATED,
};

static int by_name(const void *a, const void *b)
{
    return cd_bytes_cmp(((const cd_simple_key *)a)->name, ((const cd_simple_key *)b)->name);
}

cd_simple_key *cd_simple_keys(usize *out_cnt, cd_arena *a, const cd_simple_form *form, const cd_bytes *currencies,
                              usize currencies_cnt)
{
    const struct {
        u32 what;
        bool is_wanted;
        const char *suffix;
    } columns[] = {
        {WHAT_PRICE, true, ""},
        {WHAT_MARKET_CAP, form->market_cap, "_market_cap"},
        {WHAT_VOLUME, form->volume_24h, "_24h_vol"},
        {WHAT_CHANGE, form->change_24h, "_24h_change"},
    };
    cd_simple_key *keys = cd_arena_array(a, cd_simple_key, currencies_cnt * CD_COUNT(columns) + 1);
    usize n = 0;
    for (usize i = 0; i < currencies_cnt; i++) {
        for (usize j = 0; j < CD_COUNT(columns); j++) {
            if (columns[j].is_wanted) {
                usize suffix = strlen(columns[j].suffix);
                u8 *name = cd_arena_alloc(a, currencies[i].n + suffix);
                memcpy(name, currencies[i].p, currencies[i].n);
                memcpy(name + currencies[i].n, columns[j].suffix, suffix);
                keys[n++] = (cd_simple_key){
                    .name = cd_bytes_of(name, currencies[i].n + suffix),
                    .what = columns[j].what,
                    .currency = i,
                };
            }
        }
    }
    if (form->last_updated) {
        keys[n++] = (cd_simple_key){.name = cd_bytes_str("last_updated_at"), .what = WHAT_UPDATED};
    }
    qsort(keys, n, sizeof *keys, by_name);
    *out_cnt = n;
    return keys;
}

/* A price with so many digits behind the point, without zeros at the end. */
static void put_rounded(cd_json_w *w, double v, i32 precision)
{
    char text[352]; /* the largest double has 309 digits before the point */
    usize n = (usize)snprintf(text, sizeof text, "%.*f", precision, v);
    if (precision > 0) {
        while (text[n - 1] == '0') {
            n--;
        }
        n -= text[n - 1] == '.' ? 1 : 0;
    }
    cd_json_w_raw(w, cd_bytes_of(text, n));
}

static void put_updated(cd_json_w *w, const cd_prices_item *items, usize cnt)
{
    u64 newest = 0;
    for (usize i = 0; i < cnt; i++) {
        if (cd_price_is_there(items[i].state)) {
            newest = cd_max_u64(newest, items[i].price.last_updated_s);
        }
    }
    cd_json_w_key(w, "last_updated_at");
    if (newest == 0) {
        cd_json_w_null(w);
    } else {
        cd_json_w_u64(w, newest);
    }
}

static void put_key(cd_json_w *w, const cd_simple_key *key, const cd_price *p, i32 precision)
{
    cd_json_w_key_str(w, key->name);
    switch (key->what) {
    case WHAT_PRICE:
        if (precision >= 0) {
            put_rounded(w, p->price, precision);
        } else {
            cd_json_w_f64(w, p->price);
        }
        break;
    case WHAT_MARKET_CAP:
        cd_json_w_f64(w, p->market_cap);
        break;
    case WHAT_VOLUME:
        cd_json_w_f64(w, p->volume_24h);
        break;
    default:
        cd_json_w_f64(w, p->change_24h);
        break;
    }
}

void cd_render_simple(cd_json_w *w, const cd_simple_key *keys, usize keys_cnt, const cd_prices_item *items,
                      usize items_cnt, i32 precision)
{
    const cd_price *any = NULL;
    for (usize i = 0; i < items_cnt && any == NULL; i++) {
        any = cd_price_is_there(items[i].state) ? &items[i].price : NULL;
    }
    if (any == NULL) {
        return;
    }
    cd_json_w_key_str(w, any->id);
    cd_json_w_obj(w);
    for (usize i = 0; i < keys_cnt; i++) {
        if (keys[i].what == WHAT_UPDATED) {
            put_updated(w, items, items_cnt);
        } else if (cd_price_is_there(items[keys[i].currency].state)) {
            put_key(w, &keys[i], &items[keys[i].currency].price, precision);
        }
    }
    cd_json_w_obj_end(w);
}
