/* Notices: fetched once, in the background, bounded in number. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/mem/mem.h"
#include "base/num_text.h"

enum { SENT_MAX = 4096, KEEPING_MAX = 4096, TIMEOUT_MS = 5000, ANSWER_MAX = 64 * 1024, URL_MAX_LEN = 8192 };

struct cd__notices {
    cd_exchange *x;
    usize sent, keeping;
    cd_counter *ok, *failed, *dropped;
};

cd__notices *cd__notices_new(cd_exchange *x)
{
    cd__notices *n = cd_new(cd__notices);
    static const char help[] = "Notices to bidders by what became of them.";
    const cd_label ends[] = {{"end", "ok"}, {"end", "failed"}, {"end", "dropped"}};
    n->x = x;
    n->ok = cd_metrics_counter(x->cfg.metrics, "notices_total", help, &ends[0], 1);
    n->failed = cd_metrics_counter(x->cfg.metrics, "notices_total", help, &ends[1], 1);
    n->dropped = cd_metrics_counter(x->cfg.metrics, "notices_total", help, &ends[2], 1);
    return n;
}

void cd__notices_free(cd__notices *n)
{
    cd_free(n);
}

static void on_sent(void *ctx, const cd_http_result *r)
{
    cd__notices *n = ctx;
    n->sent--;
    cd_counter_add(r->err == CD_OK && r->status < 400 ? n->ok : n->failed, 1);
}

void cd__notices_send(cd__notices *n, cd_bytes url)
{
    char text[URL_MAX_LEN + 1];
    if (n->sent == SENT_MAX || url.n > URL_MAX_LEN || memchr(url.p, 0, url.n) != NULL) {
        cd_counter_add(n->dropped, 1);
        return;
    }
    memcpy(text, url.p, url.n);
    text[url.n] = '\0';
    const cd_http_ask ask = {.url = text, .timeout_ms = TIMEOUT_MS, .body_max = ANSWER_MAX};
    n->sent++;
    (void)cd_http_client_call(n->x->notice_http, &ask, on_sent, n);
}

/* To be fetched when a token is paid: in the ledger, so that it is whoever pays it, and after a restart. */
typedef struct keeping {
    cd_clerk_cmd cmd;
    cd__notices *notices;
    u8 token[CD_LEDGER_TOKEN_LEN];
    u64 until_s;
    usize n;
    u8 url[];
} keeping;

static cd_err run_keep(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    const keeping *k = (const keeping *)(const void *)cmd;
    return cd_ledger_note(l, k->token, cd_bytes_of(k->url, k->n), k->until_s, why);
}

static void on_kept(cd_clerk_cmd *cmd)
{
    keeping *k = (keeping *)(void *)cmd;
    k->notices->keeping--;
    cd_counter_add(k->notices->dropped, cmd->err == CD_OK ? 0 : 1);
    cd_free(k);
}

void cd__notices_bill(cd__notices *n, const u8 token[CD_LEDGER_TOKEN_LEN], cd_bytes url, u64 until_s)
{
    if (url.n > URL_MAX_LEN || memchr(url.p, 0, url.n) != NULL || n->keeping == KEEPING_MAX) {
        cd_counter_add(n->dropped, 1);
        return;
    }
    keeping *k = cd_alloc(sizeof *k + url.n);
    *k = (keeping){.notices = n, .until_s = until_s, .n = url.n, .cmd = {.run = run_keep, .done = on_kept}};
    memcpy(k->token, token, sizeof k->token);
    memcpy(k->url, url.p, url.n);
    if (cd_clerk_post(n->x->clerk, &k->cmd) != CD_OK) {
        cd_counter_add(n->dropped, 1);
        cd_free(k);
        return;
    }
    n->keeping++;
}

void cd__notices_paid(cd__notices *n, cd_bytes kept)
{
    char time[CD_U64_TEXT_MAX];
    u64 now_ms = cd_clock_wall_ns(n->x->cfg.clock) / CD_NS_PER_MS;
    const cd_rtb_macros m = {.imp_ts = cd_bytes_of(time, cd_u64_fmt(time, now_ms))};
    cd_buf url = {0};
    cd_rtb_macros_put(&url, kept, &m);
    cd__notices_send(n, cd_buf_bytes(&url));
    cd_buf_fini(&url);
}
