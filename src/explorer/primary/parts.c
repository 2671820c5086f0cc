#include "base/num_text.h"
#include "explorer/primary/primary_priv.h"
#include "web/serve.h"

const char *const cd__pp_letters[CD_PRIMARY_CHAINS] = {"P", "X", "C"};

cd_primary_chain cd__pp_chain_of(const cd__pp *p, const cd_hash32 *id)
{
    const cd_vm_primary *ids = p->m->ids;
    return cd_hash32_is_zero(id)                ? CD_PRIMARY_P
           : cd_hash32_eq(id, &ids->x_chain_id) ? CD_PRIMARY_X
           : cd_hash32_eq(id, &ids->c_chain_id) ? CD_PRIMARY_C
                                                : CD_PRIMARY_CHAINS;
}

/* --- texts --- */

static cd_bytes keep(cd__pp *p, cd_buf *text)
{
    cd_bytes kept = cd_arena_dup(&p->a, cd_buf_bytes(text));
    cd_buf_fini(text);
    return kept;
}

cd_bytes cd__pp_href(cd__pp *p, cd_primary_chain chain, const char *page, cd_bytes what)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%s/%s/%s", p->m->cfg.root, cd__pp_letters[chain], page);
    if (what.n != 0) {
        cd_buf_str(&text, "/");
        cd_buf_put(&text, what);
    }
    return keep(p, &text);
}

cd_bytes cd__pp_id_text(cd__pp *p, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    return keep(p, &text);
}

cd_bytes cd__pp_node_text(cd__pp *p, const cd_node_id *id)
{
    cd_buf text = {0};
    cd_node_id_put(&text, id);
    return keep(p, &text);
}

cd_bytes cd__pp_addr_text(cd__pp *p, cd_primary_chain chain, const cd_addr20 *addr)
{
    cd_buf text = {0};
    cd_chain_addr_put(&text, cd__pp_letters[chain], p->network->prefix, addr);
    return keep(p, &text);
}

/* --- identifiers --- */

static void ident(cd__pp *p, cd_bytes text, cd_bytes href, u32 flags)
{
    cd_ui_ident(&p->h,
                &(cd_ui_id){.text = text, .href = (flags & CD_ID_PAGE) != 0 ? (cd_bytes){0} : href, .flags = flags});
}

void cd__pp_tx_id(cd__pp *p, cd_primary_chain chain, const cd_hash32 *id, u32 flags)
{
    cd_bytes text = cd__pp_id_text(p, id);
    ident(p, text, cd__pp_href(p, chain, "tx", text), flags);
}

void cd__pp_node(cd__pp *p, const cd_node_id *id, u32 flags)
{
    cd_bytes text = cd__pp_node_text(p, id);
    ident(p, text, cd__pp_href(p, CD_PRIMARY_P, "validator", text), flags | CD_ID_GLINT);
}

void cd__pp_addr(cd__pp *p, cd_primary_chain chain, const cd_addr20 *addr, u32 flags)
{
    cd_bytes text = cd__pp_addr_text(p, chain, addr);
    ident(p, text, cd__pp_href(p, chain == CD_PRIMARY_C ? CD_PRIMARY_P : chain, "address", text), flags | CD_ID_GLINT);
}

void cd__pp_net(cd__pp *p, const cd_hash32 *id)
{
    if (cd_hash32_is_zero(id)) {
        cd_html_put(&p->h, "<a href=\"{}\">the primary network</a>",
                    cd__pp_href(p, CD_PRIMARY_P, "validators", (cd_bytes){0}));
        return;
    }
    cd_bytes text = cd__pp_id_text(p, id);
    ident(p, text, cd__pp_href(p, CD_PRIMARY_P, "network", text), 0);
}

void cd__pp_asset_id(cd__pp *p, const cd_hash32 *id)
{
    cd_bytes text = cd__pp_id_text(p, id);
    ident(p, text, p->x.kv == NULL ? (cd_bytes){0} : cd__pp_href(p, CD_PRIMARY_X, "asset", text), 0);
}

void cd__pp_height(cd__pp *p, cd_primary_chain chain, u64 height)
{
    cd_bytes text = cd_bytes_str(cd_arena_fmt(&p->a, "%llu", (unsigned long long)height));
    cd_bytes href =
        chain == CD_PRIMARY_C
            ? cd_bytes_str(cd_arena_fmt(&p->a, "%s/block/C/%llu", p->m->cfg.root, (unsigned long long)height))
            : cd__pp_href(p, chain, "block", text);
    cd_html_put(&p->h, "<span class=\"lampline\">");
    cd_ui_lamp(&p->h, cd_lamp_of(&p->final[chain], height));
    cd_html_put(&p->h, "<a class=\"mono\" href=\"{}\">{}</a></span>", href, cd_fmt_count(&p->a, height));
}

void cd__pp_badge(cd__pp *p, cd_primary_chain chain)
{
    static const char *const looks[CD_PRIMARY_CHAINS] = {"ch p", "ch x", "ch c"};
    cd_html_put(&p->h, "<span class=\"{}\" aria-hidden=\"true\">{}</span>", looks[chain], cd__pp_letters[chain]);
}

void cd__pp_crumbs(cd__pp *p, const char *page, const char *name)
{
    cd_html_put(&p->h, "<p class=\"crumbs\">");
    cd__pp_badge(p, p->chain);
    if (p->chain == CD_PRIMARY_C) {
        cd_html_put(&p->h, " <a href=\"{}\">C-Chain</a>", p->m->cfg.root);
    } else {
        cd_html_put(&p->h, " <a href=\"{}\">{}-Chain</a>", p->m->sites[p->chain].home, cd__pp_letters[p->chain]);
        if (page != NULL) {
            cd_html_put(&p->h, " / <a href=\"{}\">{}</a>", cd__pp_href(p, p->chain, page, (cd_bytes){0}), name);
        }
    }
    cd_html_put(&p->h, "</p>");
}

/* --- amounts --- */

static void read_asset(cd__pp *p, cd__pp_asset *out, const cd_hash32 *id)
{
    cd_xvm_tx t;
    *out = (cd__pp_asset){.id = *id, .decimals = 255};
    if (cd_hash32_eq(id, &p->m->ids->asset_id)) {
        out->symbol = cd_bytes_str(p->network->family->symbol);
        out->name = cd_bytes_str(p->network->family->asset);
        out->decimals = p->network->decimals;
    } else if (p->x.kv != NULL && cd_xvm_get_tx(p->x.kv, &t, &p->a, id) == CD_OK &&
               t.tx.body.is->id == CD_X_CREATE_ASSET) {
        const cd_x_create_asset *c = t.tx.body.v;
        out->symbol = c->symbol;
        out->name = c->name;
        out->decimals = c->denomination;
    }
}

const cd__pp_asset *cd__pp_asset_of(cd__pp *p, const cd_hash32 *id)
{
    static const cd__pp_asset unknown = {.decimals = 255};
    for (usize i = 0; i < p->assets_cnt; i++) {
        if (cd_hash32_eq(&p->assets[i].id, id)) {
            return &p->assets[i];
        }
    }
    if (p->assets_cnt == CD__PP_ASSETS) {
        return &unknown;
    }
    cd__pp_asset *a = &p->assets[p->assets_cnt++];
    read_asset(p, a, id);
    return a;
}

static cd_bytes number(cd__pp *p, u64 amount, u32 decimals, u32 sig)
{
    cd_u256 v = cd_u256_from_u64(amount);
    return cd_fmt_amount(&p->a, &v, decimals, (cd_fmt_decimals){.sig = sig});
}

void cd__pp_amount(cd__pp *p, u64 amount, const cd_hash32 *asset)
{
    const cd__pp_asset *is = cd__pp_asset_of(p, asset);
    if (is->decimals == 255) {
        cd_html_put(&p->h, "{} units of ", cd_fmt_count(&p->a, amount));
        cd__pp_asset_id(p, asset);
    } else {
        cd_html_put(&p->h, "{} {}", number(p, amount, is->decimals, 0), cd_foreign_of(is->symbol));
    }
}

void cd__pp_native(cd__pp *p, u64 amount)
{
    cd_html_put(&p->h, "{} {}", number(p, amount, p->network->decimals, 0), p->network->family->symbol);
}

cd_bytes cd__pp_figure(cd__pp *p, u64 amount)
{
    return number(p, amount, p->network->decimals, 6);
}

/* --- rows of lists --- */

void cd__pp_owners(cd__pp *p, cd_primary_chain chain, const cd_owners *o)
{
    enum { SHOWN = 8 };
    const cd_addr20 *v = o->addrs.v;
    if (o->addrs.cnt == 0) {
        cd_html_put(&p->h, "<span class=\"mut\">nobody</span>");
    }
    for (u32 i = 0; i < o->addrs.cnt && i < SHOWN; i++) {
        cd_html_put(&p->h, "{}", i == 0 ? "" : " ");
        cd__pp_addr(p, chain, &v[i], 0);
    }
    if (o->addrs.cnt > SHOWN) {
        cd_html_put(&p->h, " <span class=\"mut\">and {} more</span>", o->addrs.cnt - SHOWN);
    }
    if (o->addrs.cnt > 1) {
        cd_html_put(&p->h, " <span class=\"tag\">{} of {}</span>", o->threshold, o->addrs.cnt);
    }
    if (o->locktime > p->now_s) {
        cd_html_put(&p->h, " <span class=\"mut\">locked until {}</span>", cd_fmt_utc(&p->a, o->locktime));
    }
}

void cd__pp_pair_owners(cd__pp *p, cd_primary_chain chain, const char *name, const cd_owners *o)
{
    cd_html_put(&p->h, "<dt>{}</dt><dd>", name);
    cd__pp_owners(p, chain, o);
    cd_html_put(&p->h, "</dd>");
}

void cd__pp_pair(cd__pp *p, const char *name, cd_bytes value)
{
    cd_html_put(&p->h, "<dt>{}</dt><dd>{}</dd>", name, value);
}

void cd__pp_pair_time(cd__pp *p, const char *name, u64 time)
{
    cd_html_put(&p->h, "<dt>{}</dt><dd>", name);
    cd_ui_time(&p->h, &p->a, time, p->now_s);
    cd_html_put(&p->h, " <span class=\"mut\">{}</span></dd>", cd_fmt_utc(&p->a, time));
}

cd_bytes cd__pp_query(cd__pp *p, const char *name, usize max)
{
    cd_buf text = {0};
    (void)cd_web_query(&text, cd_http_req_query(p->req), name, max);
    return keep(p, &text);
}

u64 cd__pp_query_number(cd__pp *p, const char *name)
{
    u64 v = 0;
    return cd_u64_parse(&v, cd__pp_query(p, name, CD_U64_TEXT_MAX)) == CD_OK ? v : 0;
}

/* --- pages without a subject --- */

void cd__pp_missing(cd__pp *p, const char *what, cd_foreign text, const char *advice)
{
    p->status = 404;
    p->title = cd_bytes_str("Not found");
    cd_html_put(
        &p->h,
        "<section class=\"panel\"><div class=\"empty\"><svg viewBox=\"0 0 32 32\" aria-hidden=\"true\">"
        "<use href=\"#i-mark\"/></svg><h1>{} {}</h1><p>{}</p><p><a href=\"{}\">Overview</a></p></div></section>",
        what, text, advice, p->m->sites[p->chain].home);
}

void cd__pp_broken(cd__pp *p, cd_err e)
{
    p->status = 500;
    p->title = cd_bytes_str("Not readable");
    cd_html_put(
        &p->h,
        "<section class=\"panel\"><div class=\"empty\"><h1>This could not be read</h1><p>The chain's store says: "
        "{}. The log of the node knows more.</p></div></section>",
        cd_err_str(e));
}
