#include "explorer/explorer_priv.h"

#include "base/mem/mem.h"
#include "web/page.h"
#include "web/serve.h"

static const cd_page_link foot[] = {
    {.name = "API", .href = "/openrpc.json"},
    {.name = "Metrics", .href = "/v1/metrics"},
    {.name = "Health", .href = "/v1/health"},
};

/* What does not differ between the pages of one explorer. */
static void make_site(cd_explorer *x)
{
    static const cd_page_link tabs[CD__TABS] = {
        [CD__TAB_HOME] = {.name = "Overview", .href = "", .key = "h"},
        [CD__TAB_BLOCKS] = {.name = "Blocks", .href = "/blocks", .key = "b"},
        [CD__TAB_TXS] = {.name = "Transactions", .href = "/txs", .key = "a"},
        [CD__TAB_TOKENS] = {.name = "Tokens", .href = "/tokens", .key = "t"},
        [CD__TAB_POOL] = {.name = "Pool", .href = "/pool", .key = "p"},
        [CD__TAB_NODE] = {.name = "Node", .href = "/node", .key = "n"},
        [CD__TAB_P] = {.name = "P-Chain", .href = "/P", .key = "v"},
        [CD__TAB_X] = {.name = "X-Chain", .href = "/X", .key = "x"},
    };
    for (usize i = 0; i < CD__TABS; i++) {
        x->tabs[i] = tabs[i];
        x->tabs[i].href = cd_arena_fmt(&x->mem, "%s%s", x->root, tabs[i].href);
    }
    x->site = (cd_page_site){
        .product = "Explorer",
        .home = x->root,
        .assets = cd_arena_fmt(&x->mem, "%s/assets/", x->root),
        .tabs = x->tabs,
        .tabs_cnt = x->cfg.primary == NULL ? CD__TAB_P : CD__TABS,
        .foot = foot,
        .foot_cnt = CD_COUNT(foot),
        .search_action = cd_arena_fmt(&x->mem, "%s/search", x->root),
        .search_label = "Block, transaction or address",
    };
}

cd_explorer *cd_explorer_new(const cd_explorer_cfg *cfg)
{
    cd_explorer *x = cd_new(cd_explorer);
    *x = (cd_explorer){.cfg = *cfg};
    x->root = cfg->root != NULL ? cfg->root : CD_EXPLORER_ROOT;
    x->cfg.chain_name = cfg->chain_name != NULL ? cfg->chain_name : "C";
    x->cfg.rpc = cfg->rpc != NULL ? cfg->rpc : "/";
    make_site(x);
    cd__known_init(x);
    x->holders = cd__holders_new();
    x->live = cfg->loop == NULL ? NULL : cd__live_new(x);
    cd__atomic_enter(x);
    return x;
}

bool cd_explorer_has_page(const char *name)
{
    static const char *const names[] = {"assets", "blocks", "tokens",   "pool", "node",    "search",
                                        "block",  "tx",     "contract", "live", "address", "token",
                                        "P",      "X",      "C",        "txs",  "finality"};
    bool has = false;
    for (usize i = 0; i < CD_COUNT(names); i++) {
        has = has || strcmp(names[i], name) == 0;
    }
    return has;
}

void cd_explorer_leave(cd_explorer *x)
{
    if (x->live != NULL) {
        cd__live_leave(x->live);
    }
    if (x->cfg.primary != NULL) {
        cd_primary_leave(x->cfg.primary, CD_PRIMARY_C);
    }
}

void cd_explorer_free(cd_explorer *x)
{
    if (x == NULL) {
        return;
    }
    cd__live_free(x->live);
    cd__holders_free(x->holders);
    cd_arena_fini(&x->mem);
    cd_free(x);
}

void cd__xp_missing(cd__xp *p, const char *what, cd_foreign text, const char *advice)
{
    p->status = 404;
    p->title = cd_bytes_str("Not found");
    cd_html_put(
        &p->h,
        "<section class=\"panel\"><div class=\"empty\"><svg viewBox=\"0 0 32 32\" "
        "aria-hidden=\"true\">"
        "<use href=\"#i-mark\"/></svg><h1>{} {}</h1><p>{}</p><p><a href=\"{}\">Overview</a></p></div></section>",
        what, text, advice, p->x->root);
}

void cd__xp_broken(cd__xp *p, cd_err e)
{
    p->status = 500;
    p->title = cd_bytes_str("Not readable");
    cd_html_put(&p->h,
                "<section class=\"panel\"><div class=\"empty\"><h1>This could not be "
                "read</h1><p>The chain's store says: {}. "
                "The log of the node knows more.</p></div></section>",
                cd_err_str(e));
}

/* What follows name and a '/' in the path; p == NULL: it is another page. */
static cd_bytes behind(cd_bytes path, const char *name)
{
    usize n = strlen(name);
    if (path.n > n && memcmp(path.p, name, n) == 0 && path.p[n] == '/') {
        return cd_bytes_sub(path, n + 1, path.n - n - 1);
    }
    return (cd_bytes){0};
}

/* Perhaps it is the ID of a chain without pages, or of something else of the primary network, which has one. */
static bool missing(cd__xp *p, cd_bytes path)
{
    cd_primary *m = p->x->cfg.primary;
    const char *to = m == NULL ? NULL : cd_primary_search(m, CD_PRIMARY_C, &p->a, path);
    if (to != NULL) {
        cd_web_redirect(p->req, to);
        return true;
    }
    cd__xp_missing(p, "No page", cd_foreign_of(path), "is here.");
    return false;
}

/* The page of a path; true when it answered by itself. */
static bool write_body(cd__xp *p, cd_bytes path)
{
    cd_bytes rest;
    if ((rest = behind(path, "contract")).p != NULL) {
        cd__xp_contract(p, rest);
    } else if (cd_http_req_method(p->req) == CD_HTTP_POST) {
        cd__xp_missing(p, "No form leads to", cd_foreign_of(path), "Nothing was changed.");
        p->status = 405;
    } else if (path.n == 0) {
        cd__xp_home(p);
    } else if (cd_bytes_eq(path, cd_bytes_str("blocks"))) {
        cd__xp_blocks(p);
    } else if (cd_bytes_eq(path, cd_bytes_str("txs"))) {
        cd__xp_txs(p);
    } else if (cd_bytes_eq(path, cd_bytes_str("tokens"))) {
        cd__xp_tokens(p);
    } else if (cd_bytes_eq(path, cd_bytes_str("pool"))) {
        cd__xp_pool(p);
    } else if (cd_bytes_eq(path, cd_bytes_str("finality"))) {
        cd__xp_finality(p);
    } else if (cd_bytes_eq(path, cd_bytes_str("search"))) {
        return cd__xp_search(p);
    } else if ((rest = behind(path, "block")).p != NULL) {
        cd__xp_block(p, rest);
    } else if ((rest = behind(path, "tx")).p != NULL) {
        cd__xp_tx(p, rest);
    } else if ((rest = behind(path, "token")).p != NULL) {
        cd__xp_token_page(p, rest);
    } else if ((rest = behind(path, "address")).p != NULL) {
        cd__xp_address(p, rest);
    } else {
        return missing(p, path);
    }
    return false;
}

void cd__xp_bar_height(cd__xp *p, cd_html *h)
{
    u64 height = cd_view_head(p->view)->block.header.number;
    const char *to = cd__xp_final_href(p);
    if (to != NULL) {
        cd_html_put(h, "<a class=\"lampline\" href=\"{}\" title=\"Finality\">", to);
    }
    cd_ui_lamp(h, cd_lamp_of(&p->final, height));
    cd_html_put(h, "{}", cd_fmt_count(&p->a, height));
    if (to != NULL) {
        cd_html_put(h, "</a>");
    }
}

void cd__xp_reply(cd__xp *p)
{
    cd_buf end = {0};
    cd_html e = {.out = &end};
    cd_html h = {.out = cd_http_req_out(p->req)};
    const char *live = p->is_live ? cd__xp_live(p, CD__LIVE_HEIGHT) : NULL;
    cd_html_put(&e, "<span>{} <span class=\"mut\">{}</span></span>", p->x->cfg.network,
                cd_view_rules(p->view)->chain_id);
    cd_html_put(&e, "<span class=\"lampline opt\" data-live=\"{}\">", live == NULL ? "" : live);
    cd__xp_bar_height(p, &e);
    cd_html_put(&e, "</span>");
    const cd_page page = {
        .site = &p->x->site,
        .title = p->title,
        .tab = p->tab,
        .searched = p->searched,
        .bar_end = cd_markup_of(&e),
    };
    cd_page_begin(&h, &page);
    cd_html_put(&h, "{}", cd_markup_of(&p->h));
    cd_page_end(&h, &page);
    cd_buf_fini(&end);
    cd_web_reply_page(p->req, p->status);
}

cd__xp *cd__xp_open(const cd_explorer *x, cd_http_req *r)
{
    cd__xp *p = cd_new(cd__xp);
    *p = (cd__xp){
        .x = x, .req = r, .view = cd_view_newest(x->cfg.chain), .now_s = cd_clock_wall_s(x->cfg.clock), .status = 200};
    /* A chain may be ahead of the machine's clock: its ages are told from its newest block. */
    p->now_s = cd_max_u64(p->now_s, cd_view_head(p->view)->block.header.time);
    p->final = cd_ui_final_of(&x->cfg.final);
    p->h.out = &p->body;
    return p;
}

void cd__xp_close(cd__xp *p)
{
    cd_view_unref(p->view);
    cd_buf_fini(&p->body);
    cd_arena_fini(&p->a);
    cd_free(p);
}

/* The path below the explorer's, without slashes in front. */
static cd_bytes path_of(const cd_explorer *x, const cd_http_req *r)
{
    cd_bytes path = cd_http_req_path(r);
    usize root = strlen(x->root);
    path = cd_bytes_sub(path, root, path.n - root);
    while (path.n != 0 && path.p[0] == '/') {
        path = cd_bytes_sub(path, 1, path.n - 1);
    }
    return path;
}

bool cd_explorer_is_heavy(const cd_explorer *x, const cd_http_req *r)
{
    static const char *const below[] = {"tx", "token", "contract", "address"};
    cd_bytes path = path_of(x, r);
    bool is = cd_bytes_eq(path, cd_bytes_str("tokens")) || cd_bytes_eq(path, cd_bytes_str("search"));
    for (usize i = 0; i < CD_COUNT(below); i++) {
        is = is || behind(path, below[i]).p != NULL;
    }
    return is;
}

void cd_explorer_serve(cd_explorer *x, cd_http_req *r)
{
    cd_bytes path = path_of(x, r);
    cd_bytes asset = behind(path, "assets");
    if (asset.p != NULL && cd_web_reply_asset(r, asset)) {
        return;
    }
    if (x->cfg.primary != NULL && behind(path, "C").p != NULL) {
        cd_primary_serve(x->cfg.primary, CD_PRIMARY_C, r);
        return;
    }
    cd__xp *p = cd__xp_open(x, r);
    if (!write_body(p, path)) {
        cd__xp_reply(p);
    }
    cd__xp_close(p);
}

bool cd_explorer_serve_here(cd_explorer *x, cd_http_req *r)
{
    cd_bytes path = path_of(x, r);
    if (x->live != NULL && cd_bytes_eq(path, cd_bytes_str("live"))) {
        cd__live_listen(x->live, r);
        return true;
    }
    if (cd_bytes_eq(path, cd_bytes_str("node"))) {
        cd__xp *p = cd__xp_open(x, r);
        cd__xp_node(p);
        cd__xp_reply(p);
        cd__xp_close(p);
        return true;
    }
    return false;
}
