/* Wrappers followed on the server's side: what the last one leads to is shown, and each on the way is told what the
 * player does, as if the player had followed them itself. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/mem/mem.h"
#include "web/html.h"

enum { DEPTH_MAX = 5, DOC_MAX = 1 << 20, ERRORS_MAX = 8, LEFT_MIN_MS = 5 };
/* What error addresses hear: the VAST codes. */
enum { VAST_TIMEOUT = 301, VAST_TOO_DEEP = 302, VAST_NO_ADS = 303 };

/* One winner's chain. */
typedef struct chain {
    cd__run *run;
    cd__win *win;
    void (*done)(cd__run *run);
    cd_vast_tree *outer[DEPTH_MAX + 1]; /* from the outside in */
    usize cnt, depth;
} chain;

static u32 left_ms(const cd__run *run)
{
    u64 spent = (cd_clock_mono_ns(run->x->cfg.clock) - run->began_ns) / CD_NS_PER_MS;
    return spent >= run->budget_ms ? 0 : run->budget_ms - (u32)spent;
}

/* An address that we fetch ourselves: what a player would know is not known. */
static cd_bytes filled(cd__run *run, cd_bytes url, u32 code)
{
    static const char *const unknown[] = {"ADPLAYHEAD",  "MEDIAPLAYHEAD", "CONTENTPLAYHEAD", "ASSETURI",
                                          "IFA",         "DEVICEIP",      "DEVICEUA",        "PAGEURL",
                                          "REGULATIONS", "GDPRCONSENT"};
    cd_buf out = {0};
    char time[CD_TIME_TEXT_LEN];
    cd_time_fmt(time, cd_clock_wall_ns(run->x->cfg.clock));
    for (usize i = 0; i < url.n;) {
        const u8 *end = url.p[i] == '[' ? memchr(url.p + i, ']', url.n - i) : NULL;
        cd_bytes name = end == NULL ? (cd_bytes){0} : cd_bytes_of(url.p + i + 1, (usize)(end - url.p) - i - 1);
        bool is_done = true;
        if (cd_bytes_eq(name, cd_bytes_str("ERRORCODE")) && code != 0) {
            cd_buf_fmt(&out, "%u", code);
        } else if (cd_bytes_eq(name, cd_bytes_str("CACHEBUSTING"))) {
            cd_buf_fmt(&out, "%08llu", (unsigned long long)cd_rng_below(&run->x->rng, 100000000));
        } else if (cd_bytes_eq(name, cd_bytes_str("TIMESTAMP"))) {
            cd_url_part_enc(&out, cd_bytes_of(time, sizeof time));
        } else {
            is_done = false;
            for (usize k = 0; k < CD_COUNT(unknown) && !is_done && name.n != 0; k++) {
                is_done = cd_bytes_eq(name, cd_bytes_str(unknown[k]));
            }
            cd_buf_str(&out, is_done ? "-1" : "");
        }
        if (!is_done) {
            cd_buf_u8(&out, url.p[i]);
        }
        i += is_done ? name.n + 2 : 1;
    }
    cd_bytes text = cd_arena_dup(&run->mem, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return text;
}

static void end(chain *c)
{
    cd__run *run = c->run;
    if (--run->pending == 0) {
        c->done(run);
    }
}

static void lose(chain *c, u32 code)
{
    for (usize i = 0; i < c->cnt; i++) {
        cd_bytes urls[ERRORS_MAX];
        usize n = cd_vast_tree_errors(c->outer[i], urls, ERRORS_MAX);
        for (usize k = 0; k < n; k++) {
            cd__notices_send(c->run->x->notices, filled(c->run, urls[k], code));
        }
    }
    c->win->is_lost = true;
    end(c);
}

static void follow(chain *c, cd_bytes uri);

static void on_document(void *ctx, const cd_http_result *r)
{
    chain *c = ctx;
    cd_vast_tree *t = NULL;
    cd_bytes uri;
    if (r->err != CD_OK || r->status != 200) {
        lose(c, VAST_TIMEOUT);
    } else if (cd_vast_tree_parse(&t, &c->run->mem, cd_arena_dup(&c->run->mem, r->body), NULL) != CD_OK ||
               cd_vast_tree_ads(t) == 0) {
        lose(c, VAST_NO_ADS);
    } else if (cd_vast_tree_next(&uri, t)) {
        c->outer[c->cnt++] = t;
        follow(c, uri);
    } else {
        for (usize i = c->cnt; i > 0; i--) {
            cd_vast_tree_merge(t, c->outer[i - 1]);
        }
        c->win->tree = t;
        c->win->is_wrapped = false;
        c->win->is_unwrapped = true;
        end(c);
    }
}

static void follow(chain *c, cd_bytes uri)
{
    u32 left = left_ms(c->run);
    if (c->depth == DEPTH_MAX) {
        lose(c, VAST_TOO_DEEP);
        return;
    }
    if (left < LEFT_MIN_MS) {
        lose(c, VAST_TIMEOUT);
        return;
    }
    c->depth++;
    const char *url = cd_arena_str(&c->run->mem, filled(c->run, uri, 0));
    const cd_http_ask ask = {.url = url, .timeout_ms = left, .body_max = DOC_MAX};
    (void)cd_http_client_call(c->run->x->notice_http, &ask, on_document, c);
}

void cd__unwrap(cd__run *run, void (*done)(cd__run *run))
{
    run->pending = 1;
    for (usize i = 0; i < run->wins_cnt; i++) {
        cd__win *w = &run->wins[i];
        const cd_adx_slot *slot = run->slots[w->won.bid->imp];
        cd_bytes uri;
        if ((!run->unwraps && (slot == NULL || !slot->unwraps)) || !cd__show_uri(run, w, &uri)) {
            continue;
        }
        chain *c = cd_arena_new(&run->mem, chain);
        *c = (chain){.run = run, .win = w, .done = done};
        if (w->tree != NULL) {
            c->outer[c->cnt++] = w->tree;
        }
        run->pending++;
        follow(c, uri);
    }
    if (--run->pending == 0) {
        done(run);
    }
}
