/* Pages: who may look, what is read for them, and the answer. */
#include "services/adx/exchange/page_priv.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "codec/base64.h"
#include "net/http/query.h"

enum { EARNED_MAX = 50, LIVE_MS = 3000 };

void cd__pulse_note(cd__pulse *p, u64 now_s, bool is_filled, bool is_floor)
{
    u64 minute = now_s / 60;
    if (minute > p->minute + CD__PULSE_MINUTES || minute < p->minute) {
        memset(p, 0, sizeof *p);
        p->minute = minute;
    }
    for (; p->minute < minute; p->minute++) {
        memset(&p->at[(p->minute + 1) % CD__PULSE_MINUTES], 0, sizeof p->at[0]);
    }
    usize i = minute % CD__PULSE_MINUTES;
    p->at[i].filled += is_filled ? 1 : 0;
    p->at[i].floor += !is_filled && is_floor ? 1 : 0;
    p->at[i].none += !is_filled && !is_floor ? 1 : 0;
}

/* --- who may look --- */

/* A browser sends the admin token as the password of any name. */
static bool is_reader(const cd_exchange *x, cd_http_req *r)
{
    static const char scheme[] = "Basic ";
    cd_bytes given = cd_http_req_header(r, "Authorization");
    const char *want = x->cfg.admin_token;
    usize n = sizeof scheme - 1;
    cd_buf text = {0};
    if (cd__front_is_admin(x, r)) {
        return true;
    }
    if (want == NULL || given.n < n || given.n > 1024 || memcmp(given.p, scheme, n) != 0 ||
        cd_base64_dec(&text, cd_bytes_sub(given, n, given.n - n)) != CD_OK) {
        cd_buf_fini(&text);
        return false;
    }
    const u8 *colon = text.n == 0 ? NULL : memchr(text.p, ':', text.n);
    usize at = colon == NULL ? 0 : (usize)(colon - text.p) + 1;
    bool is_good = colon != NULL && text.n - at == strlen(want) && cd_ct_eq(text.p + at, want, strlen(want));
    cd_wipe(text.p, text.n);
    cd_buf_fini(&text);
    return is_good;
}

/* --- what is read --- */

static cd_err read_campaigns(cd__view *v, cd_ledger *l, cd_errinfo *why)
{
    const cd_adx_config *c = v->setup->config;
    for (usize i = 0; i < c->campaigns_cnt && i < CD__PAGE_ROWS; i++) {
        cd__page_campaign *p = &v->campaigns[i];
        char name[CD_LEDGER_ID_MAX + 16];
        static const char *const kinds[] = {"advertiser/", "escrow/", "leased/"};
        i64 *const outs[] = {&p->funded, &p->escrow, &p->leased};
        for (usize k = 0; k < CD_COUNT(kinds); k++) {
            usize n = strlen(kinds[k]);
            memcpy(name, kinds[k], n);
            memcpy(name + n, c->campaigns[i].id, strlen(c->campaigns[i].id) + 1);
            CD_TRY(cd_ledger_account(l, outs[k], name, why));
        }
        p->funded = -p->funded;
    }
    return CD_OK;
}

static cd_err read_miners(cd__view *v, cd_ledger *l, cd_errinfo *why)
{
    CD_TRY(cd_wages_sum(l, &v->wages, NULL, v->now_s, why));
    CD_TRY(cd_wages_list(l, v->miners, &v->miners_cnt, CD__PAGE_ROWS, why));
    for (usize i = 0; i < v->miners_cnt && i < EARNED_MAX; i++) {
        CD_TRY(cd_wages_sum(l, &v->earned[i], v->miners[i].id, v->now_s, why));
    }
    return CD_OK;
}

static cd_err run_read(cd_clerk_cmd *cmd, cd_ledger *l, cd_errinfo *why)
{
    cd__view *v = (cd__view *)(void *)cmd;
    CD_TRY(read_campaigns(v, l, why));
    CD_TRY(read_miners(v, l, why));
    CD_TRY(cd_ledger_account(l, &v->fees, "fees", why));
    CD_TRY(cd_settle_sum(l, &v->settle, why));
    return cd_settle_list(l, v->sendings, &v->sendings_cnt, CD__PAGE_ROWS, why);
}

/* Tells the parts of the overview to every page that shows them. */
static void tell(cd__view *v)
{
    static const char *const names[CD__PAGE_PARTS] = {"figures", "requests", "miners"};
    for (usize i = 0; i < CD__PAGE_PARTS; i++) {
        cd_buf html = {0};
        cd_buf event = {0};
        cd_html h = {.out = &html};
        cd_json_w w = {.out = &event};
        cd__page_live(&h, v, i);
        cd_json_w_obj(&w);
        cd_json_put_str(&w, "html", cd_buf_bytes(&html));
        cd_json_w_obj_end(&w);
        cd_sse_send(v->x->live, 0, names[i], cd_buf_bytes(&event));
        cd_buf_fini(&html);
        cd_buf_fini(&event);
    }
}

static void on_read(cd_clerk_cmd *cmd)
{
    cd__view *v = (cd__view *)(void *)cmd;
    cd_http_req *r = v->r;
    if (r == NULL) {
        v->x->is_telling = false;
        if (cmd->err == CD_OK && v->x->live != NULL) {
            tell(v);
        }
    } else if (cmd->err == CD_OK) {
        cd_html h = {.out = cd_http_req_out(r)};
        cd__page_write(&h, v);
        cd_web_reply_page(r, 200);
    } else {
        cd_log_error(v->x->cfg.log, "page not read", CD_F("why", (const char *)cmd->why.msg));
        cd__front_error(r, 503, "busy", "the books cannot be read now, try again");
    }
    cd__setup *setup = v->setup;
    if (--setup->refs == 0) {
        cd_adx_config_unref(setup->config);
        cd_free(setup);
    }
    cd_arena_fini(&v->mem);
    cd_free(v);
}

static void begin(cd_exchange *x, cd_http_req *r, const char *tab, const cd_adx_slot *slot)
{
    cd__view *v = cd_new(cd__view);
    v->x = x;
    v->r = r;
    v->tab = tab;
    v->slot = slot;
    v->setup = x->setup;
    v->setup->refs++;
    v->now_s = cd_clock_wall_s(x->cfg.clock);
    v->campaigns = cd_arena_array(&v->mem, cd__page_campaign, CD__PAGE_ROWS);
    v->miners = cd_arena_array(&v->mem, cd_miner_row, CD__PAGE_ROWS);
    v->earned = cd_arena_array(&v->mem, cd_wages_sums, EARNED_MAX);
    v->sendings = cd_arena_array(&v->mem, cd_sending, CD__PAGE_ROWS);
    v->cmd.run = run_read;
    v->cmd.done = on_read;
    if (cd_clerk_post(x->clerk, &v->cmd) != CD_OK) {
        v->cmd.err = CD_EFULL;
        on_read(&v->cmd);
    }
}

/* --- routes --- */

static void search(cd_exchange *x, cd_http_req *r)
{
    cd_arena mem = {0};
    cd_bytes q = {0};
    const char *to = "/";
    cd_buf url = {0};
    if (cd_query_get(&q, &mem, cd_http_req_query(r), "q") != CD_OK) {
        q = (cd_bytes){0};
    }
    if (q.n == 64) {
        cd_buf_str(&url, "/auctions/");
        cd_url_part_enc(&url, q);
        to = cd_buf_cstr(&url);
    } else if (cd_adx_config_slot(x->setup->config, q) != NULL) {
        cd_buf_str(&url, "/slots/");
        cd_url_part_enc(&url, q);
        to = cd_buf_cstr(&url);
    } else if (q.n == CD_MINER_ID_LEN) {
        to = "/miners";
    } else if (q.n != 0) {
        to = "/campaigns";
    }
    cd_web_redirect(r, to);
    cd_buf_fini(&url);
    cd_arena_fini(&mem);
}

static bool slot_page(cd_exchange *x, cd_http_req *r, cd_bytes name)
{
    cd_arena mem = {0};
    cd_bytes id;
    const cd_adx_slot *slot =
        cd_query_unescape(&id, &mem, name) == CD_OK ? cd_adx_config_slot(x->setup->config, id) : NULL;
    cd_arena_fini(&mem);
    if (slot != NULL) {
        begin(x, r, "/slots", slot);
    }
    return slot != NULL;
}

static void on_live(void *ctx)
{
    cd_exchange *x = ctx;
    if (cd_sse_cnt(x->live) != 0 && !x->is_telling) {
        x->is_telling = true;
        begin(x, NULL, "/", NULL);
    }
}

void cd__pages_open(cd_exchange *x)
{
    const cd_sse_cfg cfg = {.listeners_max = 64, .kept_max = 1024};
    x->live = cd_sse_new(x->cfg.loop, &cfg, cd_clock_wall_ns(x->cfg.clock));
    x->live_timer = cd_timer_new(x->cfg.loop, on_live, x);
    cd_timer_start(x->live_timer, LIVE_MS, LIVE_MS);
}

static void listen(cd_exchange *x, cd_http_req *r)
{
    if (!cd_sse_listen(x->live, r, NULL, NULL)) {
        cd__front_error(r, 503, "busy", "too many pages listen");
    }
}

static bool is_below(cd_bytes *rest, cd_bytes path, const char *folder)
{
    usize n = strlen(folder);
    bool is_it = path.n > n && memcmp(path.p, folder, n) == 0;
    *rest = is_it ? cd_bytes_sub(path, n, path.n - n) : (cd_bytes){0};
    return is_it;
}

bool cd__pages(cd_exchange *x, cd_http_req *r, cd_bytes path)
{
    static const char *const own[] = {"/", "/miners", "/campaigns", "/bidders", "/slots", "/money"};
    cd_bytes rest;
    const char *tab = NULL;
    if (is_below(&rest, path, CD__PAGE_ASSETS)) {
        return cd_web_reply_asset(r, rest);
    }
    if (cd_bytes_eq(path, cd_bytes_str("/auctions"))) { // sealed auctions are for everybody to check
        cd__front_post(x, r, CD_NOTARY_BOOKS, cd__page_auctions);
        return true;
    }
    if (is_below(&rest, path, "/auctions/")) {
        cd__front_post(x, r, CD_NOTARY_BOOKS, cd__page_auction);
        return true;
    }
    for (usize i = 0; i < CD_COUNT(own); i++) {
        tab = cd_bytes_eq(path, cd_bytes_str(own[i])) ? own[i] : tab;
    }
    bool is_slot = is_below(&rest, path, "/slots/");
    bool is_film = cd_bytes_eq(path, cd_bytes_str("/film"));
    bool is_live = cd_bytes_eq(path, cd_bytes_str("/live"));
    bool is_search = cd_bytes_eq(path, cd_bytes_str("/search"));
    if (tab == NULL && !is_slot && !is_search && !is_live && !is_film) {
        return false;
    }
    if (!is_reader(x, r)) {
        cd_http_req_add_header(r, "WWW-Authenticate", "Basic realm=\"candela-adx\", charset=\"UTF-8\"");
        cd__front_error(r, 401, "unauthorized", "these pages want the admin token, as the password of any name");
    } else if (is_search) {
        search(x, r);
    } else if (is_film) {
        cd__page_film(x, r);
    } else if (is_live) {
        listen(x, r);
    } else if (is_slot) {
        return slot_page(x, r, rest);
    } else {
        begin(x, r, tab, NULL);
    }
    return true;
}
