/* Webhooks as the deliverer knows them: read once, prepared for sending, forgotten when there are many without work. */
#include "services/webhook/core/send/deliver_priv.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "codec/json.h"

#include <stdio.h>

enum {
    RESTING_MAX = 20000, /* kept without having work */
    LOADS_MAX = 256,     /* in one job */
};

/* What a job has read: in its arena. */
struct cd__wh_loaded {
    i64 key;
    bool is_there;
    cd_wh_hook hook;
};

static void wipe(cd__wh_hook *h)
{
    cd_wipe(&h->key_now, sizeof h->key_now);
    cd_wipe(&h->key_next, sizeof h->key_next);
    if (h->client.n != 0) {
        cd_wipe((void *)(uintptr_t)h->client.p, h->client.n);
        h->client = (cd_bytes){0};
    }
}

void cd__wh_hook_free(cd__wh_hook *h)
{
    if (!cd_list_is_empty(&h->resting)) {
        h->owner->resting_cnt--;
    }
    cd_list_del(&h->resting);
    cd_list_del(&h->ring);
    wipe(h);
    cd_arena_fini(&h->mem);
    cd_free(h);
}

cd__wh_hook *cd__wh_hook_of(cd_wh_deliverer *d, i64 key)
{
    bool is_new;
    cd__wh_hook **slot = cd_hmap_put(&d->hooks, &is_new, &key);
    if (is_new) {
        cd__wh_hook *h = cd_new(cd__wh_hook);
        h->owner = d;
        h->key = key;
        h->class = CD__WH_FRESH;
        cd_list_init(&h->ring);
        cd_list_init(&h->waiting);
        cd_list_init(&h->resting);
        *slot = h;
    }
    cd__wh_hook *h = *slot;
    if (!cd_list_is_empty(&h->resting)) {
        cd_list_del(&h->resting);
        d->resting_cnt--;
    }
    return h;
}

void cd__wh_hook_rest(cd__wh_hook *h)
{
    cd_wh_deliverer *d = h->owner;
    CD_ASSERT(h->items == 0);
    if (cd_list_is_empty(&h->resting)) {
        cd_list_push_back(&d->resting, &h->resting);
        d->resting_cnt++;
    }
    while (d->resting_cnt > RESTING_MAX) {
        cd__wh_hook *oldest = cd_list_of(d->resting.next, cd__wh_hook, resting);
        cd__wh_slow_tell(oldest, false); /* a webhook that is forgotten begins as a fresh one when it comes back */
        (void)cd_hmap_del(&d->hooks, &oldest->key);
        cd__wh_hook_free(oldest);
    }
}

/* --- preparing --- */

static void read_settings(cd__wh_hook *h, cd_buf *lines, cd_bytes text)
{
    cd_arena mem = {0};
    cd_json settings;
    h->standard = CD_WH_STANDARD_OFF;
    h->has_sequence = true;
    if (text.n != 0 && cd_json_parse(&settings, &mem, text, 0, NULL) == CD_OK) {
        bool on = false;
        cd_json standard = cd_json_get(settings, "standard_headers");
        cd_bytes word;
        if (cd_json_bool(&on, standard, NULL) == CD_OK) {
            h->standard = on ? CD_WH_STANDARD_V1 : CD_WH_STANDARD_OFF;
        } else if (cd_json_str(&word, standard, NULL) == CD_OK) {
            h->standard = cd_bytes_eq(word, cd_bytes_str("v1a")) ? CD_WH_STANDARD_V1A : CD_WH_STANDARD_V1;
        }
        if (cd_json_bool(&on, cd_json_get(settings, "sequence_headers"), NULL) == CD_OK) {
            h->has_sequence = on;
        }
        for (cd_json_it it = cd_json_iter(cd_json_get(settings, "headers")); cd_json_next(&it);) {
            if (cd_json_str(&word, it.val, NULL) == CD_OK) {
                cd_buf_fmt(lines, "%.*s: %.*s\r\n", (int)it.key.n, (const char *)it.key.p, (int)word.n,
                           (const char *)word.p);
            }
        }
    }
    cd_arena_fini(&mem);
}

/* Behind the authority of the URL, "/" when there is nothing. */
static const char *path_of(const char *url)
{
    const char *p = strstr(url, "://");
    p = p == NULL ? url : p + 3;
    return p + strcspn(p, "/?");
}

/* What curl writes on top of a request to this webhook. */
static const char *head_of(cd__wh_hook *h)
{
    const char *path = path_of(h->view.url);
    bool is_v6 = strchr(h->target.host, ':') != NULL;
    char port[8] = "";
    if (h->target.port != (h->target.is_https ? 443 : 80)) {
        (void)snprintf(port, sizeof port, ":%u", h->target.port);
    }
    return cd_arena_fmt(&h->mem,
                        "POST %s%s HTTP/1.1\r\nHost: %s%s%s%s\r\nUser-Agent: %s-Webhooks/1.0\r\n"
                        "Accept: */*\r\nAccept-Encoding: gzip\r\n",
                        *path == '/' ? "" : "/", path, is_v6 ? "[" : "", h->target.host, is_v6 ? "]" : "", port,
                        h->owner->cfg.brand);
}

void cd__wh_hook_set(cd__wh_hook *h, const cd_wh_hook *from)
{
    cd_wh_deliverer *d = h->owner;
    cd_errinfo why;
    wipe(h);
    cd_arena_reset(&h->mem);
    h->view = (cd_wh_hook){
        .key = from->key,
        .id = cd_arena_str(&h->mem, cd_bytes_str(from->id)),
        .project = cd_arena_str(&h->mem, cd_bytes_str(from->project)),
        .face = from->face,
        .name = cd_arena_str(&h->mem, cd_bytes_str(from->name)),
        .url = cd_arena_str(&h->mem, cd_bytes_str(from->url)),
        .chain = cd_arena_str(&h->mem, cd_bytes_str(from->chain)),
        .network = cd_arena_str(&h->mem, cd_bytes_str(from->network)),
        .types = from->types,
        .status = from->status,
        .settings = cd_arena_dup(&h->mem, from->settings),
        .is_strict = from->is_strict,
        .concurrency = from->concurrency,
        .created_ms = from->created_ms,
        .updated_ms = from->updated_ms,
    };
    cd_wh_sign_key_init(&h->key_now, from->secret);
    cd_wh_sign_key_init(&h->key_next, from->secret_next);
    h->client = cd_arena_dup(&h->mem, from->client);
    h->grace_until_ms = from->grace_until_ms;
    h->target_err = cd_wh_target_parse(&h->target, d->cfg.guard, cd_bytes_str(h->view.url), &why);
    cd_buf lines = {0};
    cd_buf_fmt(&lines, "Content-Type: application/json\r\nX-%s-Webhook-Id: %s\r\n", d->cfg.brand, h->view.id);
    read_settings(h, &lines, from->settings);
    h->lines = cd_arena_str(&h->mem, cd_buf_bytes(&lines));
    cd_buf_fini(&lines);
    h->head = head_of(h);
    h->is_loaded = true;
    h->is_gone = false;
    h->loaded_ms = cd_loop_now_ms(d->loop);
}

/* --- reading --- */

static cd_err run_load(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_wh_deliverer *d = cd_list_of(job, cd_wh_deliverer, load_job);
    for (usize i = 0; i < d->loading_cnt; i++) {
        struct cd__wh_loaded *l = &d->loaded[i];
        cd_err e = cd_wh_hook_by_key(s, &l->hook, &d->load_mem, l->key, false, why);
        if (e != CD_OK && e != CD_ENOENT) {
            return e;
        }
        l->is_there = e == CD_OK;
    }
    return CD_OK;
}

static void load_some(cd_wh_deliverer *d);

static void on_loaded(cd_job *job)
{
    cd_wh_deliverer *d = cd_list_of(job, cd_wh_deliverer, load_job);
    d->is_loading = false;
    if (job->err != CD_OK) {
        cd_log_error(d->cfg.log, "webhooks cannot be read", CD_F("error", job->why.msg));
    }
    for (usize i = 0; i < d->loading_cnt; i++) {
        const struct cd__wh_loaded *l = &d->loaded[i];
        cd__wh_hook **slot = cd_hmap_get(&d->hooks, &l->key);
        if (slot == NULL) {
            continue;
        }
        cd__wh_hook *h = *slot;
        if (job->err == CD_OK && l->is_there) {
            cd__wh_hook_set(h, &l->hook);
            if (h->class == CD__WH_FRESH && l->hook.failures > 0) {
                cd__wh_hook_hang(h); /* it failed last time and may hang still: new webhooks shall not wait for it */
            }
        } else {
            h->is_gone = job->err == CD_OK;
        }
        cd__wh_hook_ready(h);
    }
    cd_arena_reset(&d->load_mem);
    load_some(d);
}

static void load_some(cd_wh_deliverer *d)
{
    if (d->is_loading || d->to_load_cnt == 0 || d->is_draining) {
        return;
    }
    d->is_loading = true;
    d->loading_cnt = d->to_load_cnt < LOADS_MAX ? d->to_load_cnt : LOADS_MAX;
    d->loaded = cd_arena_array(&d->load_mem, struct cd__wh_loaded, d->loading_cnt);
    for (usize i = 0; i < d->loading_cnt; i++) {
        d->loaded[i].key = d->to_load[i];
    }
    d->to_load_cnt -= d->loading_cnt;
    memmove(d->to_load, d->to_load + d->loading_cnt, d->to_load_cnt * sizeof(i64));
    d->load_job.run = run_load;
    d->load_job.done = on_loaded;
    cd_jobs_read(d->cfg.db, &d->load_job);
}

void cd__wh_hook_load(cd__wh_hook *h)
{
    cd_wh_deliverer *d = h->owner;
    if (d->to_load_cnt == d->to_load_cap) {
        d->to_load_cap = d->to_load_cap * 2 + 64;
        d->to_load = cd_realloc(d->to_load, d->to_load_cap * sizeof(i64));
    }
    d->to_load[d->to_load_cnt++] = h->key;
    load_some(d);
}
