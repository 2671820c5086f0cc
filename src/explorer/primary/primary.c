#include "base/mem/mem.h"
#include "explorer/primary/primary_priv.h"
#include "web/serve.h"

static const cd_page_link foot[] = {
    {.name = "API", .href = "/openrpc.json"},
    {.name = "Metrics", .href = "/v1/metrics"},
    {.name = "Health", .href = "/v1/health"},
};

/* --- chains that come and go --- */

static void make_sites(cd_primary *m)
{
    static const cd_page_link tabs[CD_PRIMARY_CHAINS][CD__PP_TABS] = {
        [CD_PRIMARY_P] = {{.name = "P-Chain", .href = "/P", .key = "h"},
                          {.name = "Blocks", .href = "/P/blocks", .key = "b"},
                          {.name = "Validators", .href = "/P/validators", .key = "v"},
                          {.name = "Networks", .href = "/P/networks", .key = "w"},
                          {.name = "X-Chain", .href = "/X", .key = "x"},
                          {.name = "C-Chain", .href = "", .key = "c"}},
        [CD_PRIMARY_X] = {{.name = "X-Chain", .href = "/X", .key = "h"},
                          {.name = "Blocks", .href = "/X/blocks", .key = "b"},
                          {.name = "Assets", .href = "/X/assets", .key = "t"},
                          {.name = "P-Chain", .href = "/P", .key = "p"},
                          {.name = "C-Chain", .href = "", .key = "c"}},
        [CD_PRIMARY_C] = {{.name = "C-Chain", .href = "", .key = "h"},
                          {.name = "P-Chain", .href = "/P", .key = "p"},
                          {.name = "X-Chain", .href = "/X", .key = "x"}},
    };
    static const usize cnt[CD_PRIMARY_CHAINS] = {6, 5, 3};
    for (usize c = 0; c < CD_PRIMARY_CHAINS; c++) {
        for (usize i = 0; i < cnt[c]; i++) {
            m->tabs[c][i] = tabs[c][i];
            m->tabs[c][i].href = cd_arena_fmt(&m->mem, "%s%s", m->cfg.root, tabs[c][i].href);
        }
        m->sites[c] = (cd_page_site){
            .product = "Explorer",
            .home = m->tabs[c][0].href,
            .assets = cd_arena_fmt(&m->mem, "%s/assets/", m->cfg.root),
            .tabs = m->tabs[c],
            .tabs_cnt = cnt[c],
            .foot = foot,
            .foot_cnt = CD_COUNT(foot),
            .search_action = cd_arena_fmt(&m->mem, "%s/%s/search", m->cfg.root, cd__pp_letters[c]),
            .search_label = "Block, transaction, address, validator",
        };
    }
}

cd_primary *cd_primary_new(const cd_primary_cfg *cfg)
{
    cd_primary *m = cd_new(cd_primary);
    m->cfg = *cfg;
    cd_mutex_init(&m->lock);
    cd_cond_init(&m->left);
    make_sites(m);
    return m;
}

void cd_primary_ids(cd_primary *m, const cd_vm_primary *ids)
{
    m->ids = ids;
}

void cd_primary_free(cd_primary *m)
{
    if (m == NULL) {
        return;
    }
    cd__pp_roll_end(m, m->roll);
    cd_cond_fini(&m->left);
    cd_mutex_fini(&m->lock);
    cd_arena_fini(&m->mem);
    cd_free(m);
}

void cd_primary_enter(cd_primary *m, cd_primary_chain chain, cd_vm *vm, const cd_crossings *crossings,
                      const cd_ui_final_source *final)
{
    cd_mutex_lock(&m->lock);
    cd__pp_seat *s = &m->seats[chain];
    s->vm = vm;
    s->is_here = true;
    if (crossings != NULL) {
        s->crossings = *crossings;
    }
    s->final = *final;
    cd_mutex_unlock(&m->lock);
}

void cd_primary_leave(cd_primary *m, cd_primary_chain chain)
{
    cd_mutex_lock(&m->lock);
    m->seats[chain].is_here = false;
    while (m->seats[chain].uses != 0) {
        cd_cond_wait(&m->left, &m->lock);
    }
    m->seats[chain].vm = NULL;
    cd_mutex_unlock(&m->lock);
}

bool cd_primary_has(cd_primary *m, cd_primary_chain chain)
{
    cd_mutex_lock(&m->lock);
    bool is_here = m->seats[chain].is_here;
    cd_mutex_unlock(&m->lock);
    return is_here;
}

/* --- a request --- */

static void hold(cd__pp *p)
{
    cd_primary *m = p->m;
    cd_mutex_lock(&m->lock);
    for (u32 i = 0; i < CD_PRIMARY_CHAINS; i++) {
        if (m->seats[i].is_here) {
            m->seats[i].uses++;
            p->held |= 1u << i;
        }
    }
    cd_mutex_unlock(&m->lock);
}

static void let_go(cd__pp *p)
{
    cd_primary *m = p->m;
    cd_mutex_lock(&m->lock);
    for (u32 i = 0; i < CD_PRIMARY_CHAINS; i++) {
        m->seats[i].uses -= (p->held >> i) & 1;
    }
    cd_mutex_unlock(&m->lock);
    cd_cond_wake_all(&m->left);
}

/* A chain whose state cannot be frozen is left out, as one that is not here. */
cd__pp *cd__pp_open(cd_primary *m, cd_primary_chain chain, cd_http_req *r)
{
    cd__pp *p = cd_new(cd__pp);
    *p = (cd__pp){.m = m, .req = r, .chain = chain, .now_s = cd_clock_wall_s(m->cfg.clock), .status = 200};
    p->h.out = &p->body;
    p->network = m->ids->network;
    hold(p);
    if ((p->held & 1u << CD_PRIMARY_P) != 0 && cd_platform_view_open(&p->p, m->seats[CD_PRIMARY_P].vm) == CD_OK) {
        p->network = p->p.network;
        p->now_s = cd_max_u64(p->now_s, p->p.time);
    }
    if ((p->held & 1u << CD_PRIMARY_X) != 0 && cd_xvm_view_open(&p->x, m->seats[CD_PRIMARY_X].vm) == CD_OK) {
        p->now_s = cd_max_u64(p->now_s, p->x.time);
    }
    if ((p->held & 1u << CD_PRIMARY_C) != 0 && m->seats[CD_PRIMARY_C].crossings.tx != NULL) {
        p->c = &m->seats[CD_PRIMARY_C].crossings;
    }
    for (u32 i = 0; i < CD_PRIMARY_CHAINS; i++) {
        if ((p->held & 1u << i) != 0) {
            p->final[i] = cd_ui_final_of(&m->seats[i].final);
        }
    }
    return p;
}

void cd__pp_close(cd__pp *p)
{
    cd_platform_view_close(&p->p);
    cd_xvm_view_close(&p->x);
    let_go(p);
    cd_buf_fini(&p->body);
    cd_arena_fini(&p->a);
    cd_free(p);
}

static void reply(cd__pp *p)
{
    cd_buf end = {0};
    cd_html e = {.out = &end};
    cd_html h = {.out = cd_http_req_out(p->req)};
    cd_html_put(&e, "<span>{}</span>", p->m->cfg.network);
    if (p->chain != CD_PRIMARY_C) {
        u64 height = p->chain == CD_PRIMARY_P ? p->p.height : p->x.height;
        cd_html_put(&e, "<span class=\"lampline opt\">");
        cd_ui_lamp(&e, cd_lamp_of(&p->final[p->chain], height));
        cd_html_put(&e, "{}</span>", cd_fmt_count(&p->a, height));
    }
    const cd_page page = {
        .site = &p->m->sites[p->chain],
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

/* What follows name and a '/' in the path; p == NULL: it is another page. */
static cd_bytes behind(cd_bytes path, const char *name)
{
    usize n = strlen(name);
    if (path.n > n && memcmp(path.p, name, n) == 0 && path.p[n] == '/') {
        return cd_bytes_sub(path, n + 1, path.n - n - 1);
    }
    return (cd_bytes){0};
}

/* A page of its own name, or of one thing; chains: bits of those that have it. */
typedef struct place {
    const char *name;
    u32 chains;
    void (*page)(cd__pp *p);
    void (*one)(cd__pp *p, cd_bytes rest);
} place;

enum { P = 1 << CD_PRIMARY_P, X = 1 << CD_PRIMARY_X, C = 1 << CD_PRIMARY_C };

static const place places[] = {
    {.name = "", .chains = P | X, .page = cd__pp_home},
    {.name = "blocks", .chains = P | X, .page = cd__pp_blocks},
    {.name = "block", .chains = P | X, .one = cd__pp_block},
    {.name = "tx", .chains = P | X | C, .one = cd__pp_tx},
    {.name = "address", .chains = P | X, .one = cd__pp_address},
    {.name = "validators", .chains = P, .page = cd__pp_validators},
    {.name = "validator", .chains = P, .one = cd__pp_validator_page},
    {.name = "networks", .chains = P, .page = cd__pp_nets},
    {.name = "network", .chains = P, .one = cd__pp_net_page},
    {.name = "chain", .chains = P, .one = cd__pp_chain_page},
    {.name = "assets", .chains = X, .page = cd__pp_assets},
    {.name = "asset", .chains = X, .one = cd__pp_asset_page},
};

static void write_body(cd__pp *p, cd_bytes path)
{
    for (usize i = 0; i < CD_COUNT(places); i++) {
        const place *at = &places[i];
        cd_bytes rest = at->one == NULL ? (cd_bytes){0} : behind(path, at->name);
        if ((at->chains >> p->chain & 1) == 0) {
            continue;
        }
        if (rest.p != NULL) {
            at->one(p, rest);
            return;
        }
        if (at->page != NULL && cd_bytes_eq(path, cd_bytes_str(at->name))) {
            at->page(p);
            return;
        }
    }
    cd__pp_missing(p, "No page", cd_foreign_of(path), "is here.");
}

/* Goes to what was found; what nobody here knows the C-Chain's search may. false: the page says that it is nothing. */
static bool search(cd__pp *p)
{
    p->searched = cd__pp_query(p, "q", 200);
    p->title = cd_bytes_str("Search");
    const char *to = cd_primary_search(p->m, p->chain, &p->a, p->searched);
    if (to == NULL && cd_primary_has(p->m, CD_PRIMARY_C)) {
        cd_buf text = {0};
        cd_url_part_enc(&text, p->searched);
        to = cd_arena_fmt(&p->a, "%s/search?q=%s", p->m->cfg.root, cd_buf_cstr(&text));
        cd_buf_fini(&text);
    }
    if (to == NULL) {
        cd__pp_missing(
            p, "Nothing is called", cd_foreign_of(p->searched),
            "A search takes heights, IDs of transactions, blocks, networks and assets, nodes and addresses.");
        return false;
    }
    cd_web_redirect(p->req, to);
    return true;
}

static bool is_here(const cd__pp *p)
{
    return p->chain == CD_PRIMARY_P ? p->p.state.kv != NULL : p->chain == CD_PRIMARY_X ? p->x.kv != NULL : p->c != NULL;
}

void cd_primary_serve(cd_primary *m, cd_primary_chain chain, cd_http_req *r)
{
    cd_bytes path = cd_http_req_path(r);
    usize skip = strlen(m->cfg.root) + 2;
    path = path.n <= skip ? (cd_bytes){0} : cd_bytes_sub(path, skip, path.n - skip);
    while (path.n != 0 && path.p[0] == '/') {
        path = cd_bytes_sub(path, 1, path.n - 1);
    }
    cd__pp *p = cd__pp_open(m, chain, r);
    bool is_answered = false;
    if (cd_http_req_method(r) == CD_HTTP_POST) {
        cd__pp_missing(p, "No form leads to", cd_foreign_of(path), "Nothing was changed.");
        p->status = 405;
    } else if (!is_here(p)) {
        cd__pp_missing(p, "This chain", (cd_foreign){.text = {0}}, "is not open on this node now.");
    } else if (cd_bytes_eq(path, cd_bytes_str("search"))) {
        is_answered = search(p);
    } else {
        write_body(p, path);
    }
    if (!is_answered) {
        reply(p);
    }
    cd__pp_close(p);
}

void cd_primary_no_pages(const cd_primary_cfg *cfg, const char *chain, cd_http_req *r)
{
    cd_arena a = {0};
    const cd_page_link tab = {.name = "Overview", .href = cfg->root, .key = "h"};
    const cd_page_site site = {
        .product = "Explorer",
        .home = cfg->root,
        .assets = cd_arena_fmt(&a, "%s/assets/", cfg->root),
        .tabs = &tab,
        .tabs_cnt = 1,
        .foot = foot,
        .foot_cnt = CD_COUNT(foot),
    };
    const cd_page page = {.site = &site, .title = cd_bytes_str("No pages for this chain")};
    cd_html h = {.out = cd_http_req_out(r)};
    cd_page_begin(&h, &page);
    cd_html_put(&h,
                "<section class=\"panel\"><div class=\"empty\"><h1>No pages for {}</h1><p>This chain runs a virtual "
                "machine of its own, whose blocks these pages cannot read. It is reached through its methods at "
                "<code>/v1/bc/{}</code>.</p></div></section>",
                cd_foreign_of(cd_bytes_str(chain)), cd_foreign_of(cd_bytes_str(chain)));
    cd_page_end(&h, &page);
    cd_arena_fini(&a);
    cd_web_reply_page(r, 404);
}
