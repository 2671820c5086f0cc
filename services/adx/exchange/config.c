#define _GNU_SOURCE // timegm
#include "services/adx/exchange/config.h"

#include "base/mem/mem.h"
#include "services/adx/ledger/ledger.h"
#include "services/adx/openrtb/fields.h"

#include <stdlib.h>
#include <time.h>

enum { TIMEOUT_MS = 80, TIMEOUT_MAX_MS = 60000, NANO_PER_MICRO = 1000, SIZE_MAX_PX = 16384 };

typedef struct reading {
    cd_adx_config *c;
    cd_arena *a;
    cd_errinfo *why;
} reading;

/* --- members --- */

static cd_err wants_str(const reading *r, cd_bytes *out, cd_json obj, const char *key)
{
    CD_TRY(cd_json_str(out, cd_json_get(obj, key), r->why));
    return out->n != 0 ? CD_OK : cd_json_fail(cd_json_get(obj, key), CD_EFORMAT, "is empty", r->why);
}

/* A name that the ledger uses: no blanks or controls, not longer than it takes. */
static cd_err wants_id(const reading *r, const char **out, cd_json obj, const char *key)
{
    cd_bytes s;
    CD_TRY(wants_str(r, &s, obj, key));
    for (usize i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] == 0x7f) {
            return cd_json_fail(cd_json_get(obj, key), CD_EFORMAT, "may not have blanks", r->why);
        }
    }
    if (s.n > CD_LEDGER_ID_MAX) {
        return cd_json_fail(cd_json_get(obj, key), CD_EFORMAT, "has more than 64 bytes", r->why);
    }
    *out = cd_arena_str(r->a, s);
    return CD_OK;
}

static bool is_http(cd_bytes url)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (usize i = 0; i < CD_COUNT(schemes); i++) {
        usize n = strlen(schemes[i]);
        if (url.n > n && memcmp(url.p, schemes[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static cd_err read_url(const reading *r, cd_bytes *out, cd_json obj, const char *key, bool is_wanted)
{
    cd_json v = cd_json_get(obj, key);
    if (!is_wanted && (!cd_json_has(v) || (cd_json_str(out, v, NULL) == CD_OK && out->n == 0))) {
        return CD_OK;
    }
    CD_TRY(cd_json_str(out, v, r->why));
    return is_http(*out) ? CD_OK : cd_json_fail(v, CD_EFORMAT, "must be http:// or https://", r->why);
}

/* An amount as decimal text; numbers are taken too. */
static cd_err read_money(const reading *r, cd_micro *out, cd_json obj, const char *key, cd_micro_round round)
{
    cd_json v = cd_json_get(obj, key);
    cd_bytes text;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    if (cd_json_num(&text, v, NULL) != CD_OK) {
        CD_TRY(cd_json_str(&text, v, r->why));
    }
    if (cd_micro_parse(out, text, round) != CD_OK || *out < 0) {
        return cd_json_fail(v, CD_EFORMAT, "is no amount", r->why);
    }
    return CD_OK;
}

static cd_err read_time(const reading *r, u64 *out, cd_json obj, const char *key)
{
    cd_json v = cd_json_get(obj, key);
    cd_bytes text;
    struct tm tm = {0};
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_str(&text, v, r->why));
    const char *end = strptime(cd_arena_str(r->a, text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    time_t t = end == NULL || *end != '\0' ? -1 : timegm(&tm);
    if (t < 0) {
        return cd_json_fail(v, CD_EFORMAT, "must be a time such as 2026-01-31T00:00:00Z", r->why);
    }
    *out = (u64)t;
    return CD_OK;
}

static cd_err read_list(const reading *r, cd_json *out, usize *cnt, cd_json root, const char *key, usize max)
{
    *out = cd_json_get(root, key);
    *cnt = 0;
    if (!cd_json_has(*out)) {
        return CD_OK;
    }
    CD_TRY(cd_json_arr(*out, r->why));
    *cnt = cd_json_len(*out);
    return *cnt <= max ? CD_OK : cd_json_fail(*out, CD_ELIMIT, "has too many elements", r->why);
}

/* --- bidders --- */

static cd_err read_headers(const reading *r, cd_adx_dsp *d, cd_json headers)
{
    const char **list = cd_arena_array(r->a, const char *, cd_json_len(headers));
    for (cd_json_it it = cd_json_iter(headers); cd_json_next(&it);) {
        cd_bytes v;
        CD_TRY(cd_json_str(&v, it.val, r->why));
        if (it.key.n == 0 || memchr(v.p, '\n', v.n) != NULL || memchr(v.p, '\r', v.n) != NULL ||
            memchr(it.key.p, '\n', it.key.n) != NULL || memchr(it.key.p, ':', it.key.n) != NULL) {
            return cd_json_fail(it.val, CD_EFORMAT, "is no header", r->why);
        }
        list[d->headers_cnt++] =
            cd_arena_fmt(r->a, "%.*s: %.*s", (int)it.key.n, (const char *)it.key.p, (int)v.n, (const char *)v.p);
    }
    d->headers = list;
    return CD_OK;
}

static cd_err read_version(const reading *r, cd_rtb_version *out, cd_json obj)
{
    cd_bytes v = cd_bytes_str("2.6");
    CD_TRY(cd_rtb_f_str(&v, obj, "version", r->why));
    *out = cd_bytes_eq(v, cd_bytes_str("2.5")) ? CD_RTB_25 : CD_RTB_26;
    return *out == CD_RTB_25 || cd_bytes_eq(v, cd_bytes_str("2.6"))
               ? CD_OK
               : cd_json_fail(cd_json_get(obj, "version"), CD_EVERSION, "must be 2.5 or 2.6", r->why);
}

static cd_err read_dsp(const reading *r, cd_adx_dsp *d, cd_json v)
{
    cd_bytes url = {0};
    cd_bytes name = {0};
    i32 timeout = TIMEOUT_MS;
    i32 qps = 0;
    CD_TRY(cd_json_obj(v, r->why));
    CD_TRY(wants_id(r, &d->id, v, "id"));
    CD_TRY(read_url(r, &url, v, "url", true));
    CD_TRY(cd_rtb_f_str(&name, v, "name", r->why));
    CD_TRY(cd_rtb_f_str(&d->seat, v, "seat", r->why));
    CD_TRY(read_version(r, &d->version, v));
    CD_TRY(cd_rtb_f_count(&timeout, v, "timeout_ms", r->why));
    CD_TRY(cd_rtb_f_count(&qps, v, "qps", r->why));
    if (timeout < 1 || timeout > TIMEOUT_MAX_MS) {
        return cd_json_fail(cd_json_get(v, "timeout_ms"), CD_ERANGE, "must be 1 to 60000", r->why);
    }
    if (cd_json_has(cd_json_get(v, "gzip"))) {
        CD_TRY(cd_json_bool(&d->gzip, cd_json_get(v, "gzip"), r->why));
    }
    d->url = cd_arena_str(r->a, url);
    d->name = name.n != 0 ? cd_arena_str(r->a, name) : d->id;
    d->seat = d->seat.n != 0 ? d->seat : cd_bytes_str(d->id);
    d->timeout_ms = (u32)timeout;
    d->qps = (u32)qps;
    return read_headers(r, d, cd_json_get(v, "headers"));
}

static cd_err read_dsps(const reading *r, cd_json root)
{
    cd_json list;
    usize i = 0;
    CD_TRY(read_list(r, &list, &r->c->dsps_cnt, root, "dsps", CD_ADX_DSPS_MAX));
    cd_adx_dsp *dsps = cd_arena_array(r->a, cd_adx_dsp, r->c->dsps_cnt);
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it); i++) {
        CD_TRY(read_dsp(r, &dsps[i], it.val));
        for (usize k = 0; k < i; k++) {
            if (strcmp(dsps[k].id, dsps[i].id) == 0) {
                return cd_json_fail(cd_json_get(it.val, "id"), CD_EEXIST, "is another's too", r->why);
            }
        }
    }
    r->c->dsps = dsps;
    return CD_OK;
}

/* --- campaigns --- */

/* sha256 and size come together or not at all. */
static cd_err read_object(const reading *r, cd_adx_object *o, cd_json v)
{
    cd_json digest = cd_json_get(v, "sha256");
    if (!cd_json_has(digest) && !cd_json_has(cd_json_get(v, "size"))) {
        return CD_OK;
    }
    CD_TRY(cd_json_fixed(o->digest.b, sizeof o->digest.b, digest, r->why));
    CD_TRY(cd_json_u64(&o->size, cd_json_get(v, "size"), r->why));
    return o->size != 0 && o->size <= INT64_MAX
               ? CD_OK
               : cd_json_fail(cd_json_get(v, "size"), CD_ERANGE, "must be above 0", r->why);
}

static cd_err read_file(const reading *r, cd_vast_media *m, cd_json v)
{
    CD_TRY(cd_json_obj(v, r->why));
    CD_TRY(read_url(r, &m->url, v, "url", true));
    CD_TRY(wants_str(r, &m->type, v, "type"));
    CD_TRY(cd_rtb_f_count(&m->w, v, "w", r->why));
    CD_TRY(cd_rtb_f_count(&m->h, v, "h", r->why));
    CD_TRY(cd_rtb_f_count(&m->bitrate, v, "bitrate", r->why));
    m->is_streaming = cd_bytes_eq(m->type, cd_bytes_str("application/x-mpegURL")) ||
                      cd_bytes_eq(m->type, cd_bytes_str("application/dash+xml"));
    return CD_OK;
}

static cd_err read_creative(const reading *r, cd_adx_creative *c, cd_json v)
{
    cd_bytes id = {0};
    cd_json files;
    usize i = 0;
    CD_TRY(cd_json_obj(v, r->why));
    CD_TRY(wants_str(r, &c->id, v, "id"));
    CD_TRY(cd_rtb_f_str(&id, v, "universal_ad_id", r->why));
    CD_TRY(cd_rtb_f_str(&c->title, v, "title", r->why));
    CD_TRY(cd_rtb_f_count(&c->duration, v, "duration", r->why));
    CD_TRY(cd_rtb_f_count(&c->skip_after, v, "skip_after", r->why));
    CD_TRY(cd_rtb_f_ints(&c->attr, r->a, v, "attr", r->why));
    CD_TRY(read_url(r, &c->click, v, "click", false));
    CD_TRY(read_list(r, &files, &c->media_cnt, v, "files", 64));
    if (c->media_cnt == 0 || c->duration == 0) {
        return cd_json_fail(v, CD_ENOENT, "wants duration and files", r->why);
    }
    const u8 *colon = id.n == 0 ? NULL : memchr(id.p, ':', id.n);
    usize n = colon == NULL ? 0 : (usize)(colon - id.p);
    c->registry = colon == NULL ? cd_bytes_str("unknown") : cd_bytes_sub(id, 0, n);
    c->universal_id = colon == NULL ? id : cd_bytes_sub(id, n + 1, id.n - n - 1);
    cd_vast_media *media = cd_arena_array(r->a, cd_vast_media, c->media_cnt);
    cd_adx_object *objects = cd_arena_array(r->a, cd_adx_object, c->media_cnt);
    for (cd_json_it it = cd_json_iter(files); cd_json_next(&it); i++) {
        CD_TRY(read_file(r, &media[i], it.val));
        CD_TRY(read_object(r, &objects[i], it.val));
    }
    c->media = media;
    c->objects = objects;
    return CD_OK;
}

static cd_err read_devices(const reading *r, cd_rtb_ints *out, cd_json targeting)
{
    static const char *const names[] = {"mobile", "desktop", "ctv", "phone", "tablet", "connected", "stb", "dooh"};
    cd_rtb_strs words = {0};
    CD_TRY(cd_rtb_f_strs(&words, r->a, targeting, "device", r->why));
    i32 *v = cd_arena_array(r->a, i32, words.cnt);
    for (usize i = 0; i < words.cnt; i++) {
        for (usize k = 0; k < CD_COUNT(names); k++) {
            v[i] = cd_bytes_eq(words.v[i], cd_bytes_str(names[k])) ? (i32)k + 1 : v[i];
        }
        if (v[i] == 0) {
            return cd_json_fail(cd_json_get(targeting, "device"), CD_EFORMAT, "names an unknown device", r->why);
        }
    }
    *out = (cd_rtb_ints){.v = v, .cnt = words.cnt};
    return CD_OK;
}

static cd_err read_campaign_money(const reading *r, cd_adx_campaign *c, cd_json v)
{
    cd_micro budget = 0;
    cd_micro daily = 0;
    cd_micro usd;
    c->cur = CD_CUR_USD;
    CD_TRY(read_money(r, &c->cpm, v, "cpm", CD_MICRO_DOWN));
    CD_TRY(cd_rtb_f_cur(&c->cur, v, "cur", r->why));
    CD_TRY(read_money(r, &budget, v, "budget", CD_MICRO_DOWN));
    CD_TRY(read_money(r, &daily, v, "daily_budget", CD_MICRO_DOWN));
    if (c->cpm == 0) {
        return cd_json_fail(cd_json_get(v, "cpm"), CD_ENOENT, "must be above 0", r->why);
    }
    if (!cd_fx_convert(&usd, &r->c->fx, c->cpm, c->cur, CD_CUR_USD, CD_MICRO_UP)) {
        return cd_json_fail(cd_json_get(v, "cur"), CD_ENOENT, "has no rate to USD", r->why);
    }
    c->usual = usd; // millionths for a thousand are billionths for one
    c->budget = budget * NANO_PER_MICRO;
    c->daily = daily * NANO_PER_MICRO;
    return CD_OK;
}

static cd_err read_campaign(const reading *r, cd_adx_campaign *c, cd_json v)
{
    cd_json targeting = cd_json_get(v, "targeting");
    cd_json creatives;
    usize i = 0;
    CD_TRY(cd_json_obj(v, r->why));
    CD_TRY(wants_id(r, &c->id, v, "id"));
    CD_TRY(wants_id(r, &c->advertiser, v, "advertiser"));
    CD_TRY(cd_rtb_f_str(&c->seat, v, "seat", r->why));
    CD_TRY(cd_rtb_f_strs(&c->adomain, r->a, v, "adomain", r->why));
    CD_TRY(cd_rtb_f_strs(&c->cat, r->a, v, "cat", r->why));
    CD_TRY(read_campaign_money(r, c, v));
    CD_TRY(cd_rtb_f_count(&c->freq_cap, cd_json_get(v, "freq"), "cap", r->why));
    CD_TRY(read_time(r, &c->start_s, v, "start"));
    c->end_s = UINT64_MAX;
    CD_TRY(read_time(r, &c->end_s, v, "end"));
    CD_TRY(cd_rtb_f_strs(&c->countries, r->a, targeting, "geo", r->why));
    CD_TRY(read_devices(r, &c->devices, targeting));
    CD_TRY(read_list(r, &creatives, &c->creatives_cnt, v, "creatives", 64));
    cd_adx_creative *list = cd_arena_array(r->a, cd_adx_creative, c->creatives_cnt);
    for (cd_json_it it = cd_json_iter(creatives); cd_json_next(&it); i++) {
        CD_TRY(read_creative(r, &list[i], it.val));
    }
    c->creatives = list;
    c->seat = c->seat.n != 0 ? c->seat : cd_bytes_str("house");
    return CD_OK;
}

/* Those who pay most first. */
static int by_price(const void *a, const void *b)
{
    const cd_adx_campaign *x = a;
    const cd_adx_campaign *y = b;
    return x->usual != y->usual ? (x->usual < y->usual) - (x->usual > y->usual) : strcmp(x->id, y->id);
}

static cd_err read_campaigns(const reading *r, cd_json root)
{
    cd_json list;
    usize i = 0;
    CD_TRY(read_list(r, &list, &r->c->campaigns_cnt, root, "campaigns", CD_ADX_CAMPAIGNS_MAX));
    r->c->campaigns = cd_arena_array(r->a, cd_adx_campaign, r->c->campaigns_cnt);
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it); i++) {
        CD_TRY(read_campaign(r, &r->c->campaigns[i], it.val));
        for (usize k = 0; k < i; k++) {
            if (strcmp(r->c->campaigns[k].id, r->c->campaigns[i].id) == 0) {
                return cd_json_fail(cd_json_get(it.val, "id"), CD_EEXIST, "is another's too", r->why);
            }
        }
    }
    if (i != 0) {
        qsort(r->c->campaigns, i, sizeof *r->c->campaigns, by_price);
    }
    return CD_OK;
}

/* --- slots --- */

static cd_err read_slot(const reading *r, cd_adx_slot *s, cd_json v)
{
    CD_TRY(cd_json_obj(v, r->why));
    CD_TRY(wants_str(r, &s->id, v, "id"));
    CD_TRY(wants_id(r, &s->publisher, v, "publisher"));
    CD_TRY(cd_rtb_f_count(&s->w, v, "w", r->why));
    CD_TRY(cd_rtb_f_count(&s->h, v, "h", r->why));
    CD_TRY(cd_rtb_f_count(&s->poddur, v, "poddur", r->why));
    CD_TRY(read_money(r, &s->rules.floor, v, "floor_cpm", CD_MICRO_UP));
    CD_TRY(read_url(r, &s->error_url, v, "error_url", false));
    if (cd_json_has(cd_json_get(v, "unwrap"))) {
        CD_TRY(cd_json_bool(&s->unwraps, cd_json_get(v, "unwrap"), r->why));
    }
    CD_TRY(cd_rtb_f_strs(&s->rules.bcat, r->a, v, "bcat", r->why));
    CD_TRY(cd_rtb_f_strs(&s->rules.badv, r->a, v, "badv", r->why));
    return s->w <= SIZE_MAX_PX && s->h <= SIZE_MAX_PX ? CD_OK
                                                      : cd_json_fail(v, CD_ERANGE, "w and h may be 16384", r->why);
}

static int by_id(const void *a, const void *b)
{
    return cd_bytes_cmp(((const cd_adx_slot *)a)->id, ((const cd_adx_slot *)b)->id);
}

static cd_err read_slots(const reading *r, cd_json root)
{
    cd_json list;
    usize i = 0;
    CD_TRY(read_list(r, &list, &r->c->slots_cnt, root, "slots", CD_ADX_SLOTS_MAX));
    cd_adx_slot *slots = cd_arena_array(r->a, cd_adx_slot, r->c->slots_cnt);
    for (cd_json_it it = cd_json_iter(list); cd_json_next(&it); i++) {
        CD_TRY(read_slot(r, &slots[i], it.val));
    }
    if (i != 0) {
        qsort(slots, i, sizeof *slots, by_id);
    }
    for (usize k = 1; k < i; k++) {
        if (cd_bytes_eq(slots[k - 1].id, slots[k].id)) {
            return cd_json_fail(list, CD_EEXIST, "has an id twice", r->why);
        }
    }
    r->c->slots = slots;
    return CD_OK;
}

const cd_adx_slot *cd_adx_config_slot(const cd_adx_config *c, cd_bytes id)
{
    const cd_adx_slot key = {.id = id};
    return c->slots_cnt == 0 || id.n == 0 ? NULL : bsearch(&key, c->slots, c->slots_cnt, sizeof key, by_id);
}

/* --- the rest --- */

static cd_err read_rates(const reading *r, cd_json root)
{
    cd_json fx = cd_json_get(root, "fx");
    usize cnt = 0;
    for (cd_json_it it = cd_json_iter(fx); cd_json_next(&it);) {
        cnt += cd_json_len(it.val);
    }
    cd_fx_rate *rates = cd_arena_array(r->a, cd_fx_rate, cnt);
    for (cd_json_it from = cd_json_iter(fx); cd_json_next(&from);) {
        for (cd_json_it to = cd_json_iter(from.val); cd_json_next(&to);) {
            cd_fx_rate *rate = &rates[r->c->fx.cnt++];
            cd_bytes text;
            if (cd_json_num(&text, to.val, NULL) != CD_OK) {
                CD_TRY(cd_json_str(&text, to.val, r->why));
            }
            if (!cd_cur_of(&rate->from, from.key) || !cd_cur_of(&rate->to, to.key) ||
                cd_micro_parse(&rate->rate, text, CD_MICRO_DOWN) != CD_OK || rate->rate <= 0) {
                return cd_json_fail(to.val, CD_EFORMAT, "is no rate between two currencies", r->why);
            }
        }
    }
    r->c->fx.rates = rates;
    return CD_OK;
}

static cd_err read_escrow(const reading *r, cd_json v)
{
    cd_adx_escrow *e = &r->c->escrow;
    cd_bytes text = {0};
    cd_micro least = 0;
    i32 decimals = 18;
    i32 interval_s = 60;
    if (!cd_json_has(v)) {
        return CD_OK;
    }
    CD_TRY(cd_json_obj(v, r->why));
    CD_TRY(read_url(r, &text, v, "rpc", true));
    e->rpc = cd_arena_str(r->a, text);
    CD_TRY(wants_str(r, &text, v, "key_file"));
    e->key_file = cd_arena_str(r->a, text);
    CD_TRY(cd_json_fixed(e->contract.b, 20, cd_json_get(v, "contract"), r->why));
    CD_TRY(cd_rtb_f_count(&decimals, v, "decimals", r->why));
    CD_TRY(cd_rtb_f_count(&interval_s, v, "interval_s", r->why));
    CD_TRY(read_money(r, &least, v, "payout_min", CD_MICRO_UP));
    if (decimals < 9 || decimals > 27) {
        return cd_json_fail(cd_json_get(v, "decimals"), CD_ERANGE, "must be 9 to 27: a nano-USD is not divided",
                            r->why);
    }
    if (interval_s == 0 || interval_s > 86400) {
        return cd_json_fail(cd_json_get(v, "interval_s"), CD_ERANGE, "must be 1 to 86400", r->why);
    }
    if (cd_json_has(cd_json_get(v, "token")) || least != 0) {
        CD_TRY(cd_json_fixed(e->token.b, 20, cd_json_get(v, "token"), r->why));
    }
    e->scale = 1;
    for (i32 i = 9; i < decimals; i++) {
        e->scale *= 10;
    }
    e->interval_ms = (u64)interval_s * 1000;
    e->payout_min = least * NANO_PER_MICRO;
    return CD_OK;
}

static cd_err read_root(const reading *r, cd_json root)
{
    cd_bytes asi = {0};
    CD_TRY(cd_json_obj(root, r->why));
    CD_TRY(read_rates(r, root));
    CD_TRY(read_dsps(r, root));
    CD_TRY(read_campaigns(r, root));
    CD_TRY(read_slots(r, root));
    CD_TRY(read_escrow(r, cd_json_get(root, "escrow")));
    CD_TRY(cd_rtb_f_str(&asi, cd_json_get(root, "seller"), "asi", r->why));
    r->c->asi = asi.n != 0 ? cd_arena_str(r->a, asi) : NULL;
    return CD_OK;
}

cd_err cd_adx_config_parse(cd_adx_config **out, cd_bytes text, cd_errinfo *why)
{
    cd_adx_config *c = cd_new(cd_adx_config);
    cd_json root;
    const reading r = {.c = c, .a = &c->mem, .why = why};
    cd_bytes used = text.n == 0 ? cd_bytes_str("{}") : text;
    cd_err err = cd_json_parse_deep(&root, &c->mem, used, CD_ADX_CONFIG_MAX, CD_RTB_DEPTH_MAX, why);
    c->refs = 1;
    if (err == CD_OK) {
        err = read_root(&r, root);
    }
    if (err != CD_OK) {
        cd_adx_config_unref(c);
        return err;
    }
    *out = c;
    return CD_OK;
}

cd_adx_config *cd_adx_config_ref(cd_adx_config *c)
{
    c->refs++;
    return c;
}

void cd_adx_config_unref(cd_adx_config *c)
{
    if (c != NULL && --c->refs == 0) {
        cd_arena_fini(&c->mem);
        cd_free(c);
    }
}
