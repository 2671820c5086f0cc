#include "base/hex.h"
#include "base/num_text.h"
#include "base/text.h"
#include "explorer/explorer_priv.h"
#include "web/serve.h"

enum { TYPED_MAX = 200 };

static bool is_word(cd_bytes t, const char *word)
{
    return cd_bytes_eq(t, cd_bytes_str(word));
}

static bool is_hex(cd_bytes t, usize digits)
{
    u8 bytes[32];
    return t.n == digits + 2 && t.p[0] == '0' && (t.p[1] | 0x20) == 'x' && digits <= 64 &&
           cd_hex_parse(bytes, cd_bytes_sub(t, 2, digits)) == CD_OK;
}

/* A height as people write it: 1204906, 1,204,906, C/1204906, 0x12629a. */
static bool height_of(u64 *out, cd_bytes t)
{
    char digits[CD_U64_TEXT_MAX];
    usize n = 0;
    if (cd_u64_parse_hex(out, t) == CD_OK) {
        return true;
    }
    for (usize i = 0; i < t.n; i++) {
        if (t.p[i] != ',') {
            if (n == sizeof digits) {
                return false;
            }
            digits[n++] = (char)t.p[i];
        }
    }
    return cd_u64_parse(out, cd_bytes_of(digits, n)) == CD_OK;
}

static void go(cd__xp *p, const char *where, cd_bytes what)
{
    cd_web_redirect(p->req, cd_arena_fmt(&p->a, "%s%s%.*s", p->x->root, where, (int)what.n, (const char *)what.p));
}

/* Labelled addresses and tokens; one of that name is gone to, several are listed. */
static bool by_name(cd__xp *p, cd_bytes t)
{
    cd_addr20 found[2 * CD__FOUND_MAX];
    usize labels = cd_labels_find(p->x->cfg.labels, found, CD__FOUND_MAX, t);
    usize cnt = labels + cd__token_find(p, found + labels, t);
    if (cnt == 1) {
        go(p, labels == 1 ? "/address/" : "/token/", cd__xp_hex(p, cd_bytes_of(found[0].b, 20)));
        return true;
    }
    if (cnt == 0) {
        cd__xp_missing(p, "Nothing is called", cd_foreign_of(t),
                       "A search takes heights, hashes of blocks and transactions, addresses, their "
                       "labels, and names and symbols of tokens.");
        return false;
    }
    cd_html_put(&p->h,
                "<h1>Search</h1><section class=\"panel\"><header><h2>What is called "
                "{}</h2></header><div class=\"body\"><ul>",
                cd_foreign_of(t));
    for (usize i = 0; i < cnt; i++) {
        cd_bytes hex = cd__xp_hex(p, cd_bytes_of(found[i].b, 20));
        cd_html_put(&p->h, "<li><a class=\"mono\" href=\"{}/{}/{}\">{}</a></li>", p->x->root,
                    i < labels ? "address" : "token", hex, hex);
    }
    cd_html_put(&p->h, "</ul></div></section>");
    return false;
}

bool cd__xp_search(cd__xp *p)
{
    cd_buf typed = {0};
    cd_hash32 hash;
    u64 height;
    const cd_accepted *b;
    usize idx;
    (void)cd_web_query(&typed, cd_http_req_query(p->req), "q", TYPED_MAX);
    cd_bytes t = cd_text_trim(cd_arena_dup(&p->a, cd_buf_bytes(&typed)), NULL);
    cd_buf_fini(&typed);
    p->searched = t;
    p->title = cd_bytes_str("Search");
    if (t.n == 0) {
        go(p, "", t);
        return true;
    }
    const char *to = p->x->cfg.primary == NULL ? NULL : cd_primary_search(p->x->cfg.primary, CD_PRIMARY_C, &p->a, t);
    if (to != NULL) {
        cd_web_redirect(p->req, to);
        return true;
    }
    if (is_hex(t, 64) && cd_hex_parse(hash.b, cd_bytes_sub(t, 2, 64)) == CD_OK) {
        if (cd_view_tx(p->view, &b, &idx, &p->a, &hash) == CD_OK) {
            go(p, "/tx/", t);
            return true;
        }
        if (cd_view_block_by_hash(p->view, &b, &p->a, &hash) == CD_OK) {
            go(p, cd_arena_fmt(&p->a, "/block/%s/", p->x->cfg.chain_name), t);
            return true;
        }
        if (cd__xp_pending(p, &hash)) {
            return false;
        }
        cd__xp_missing(p, "No transaction or block", cd_foreign_of(t), "on the C-Chain.");
        return false;
    }
    if (is_hex(t, 40)) {
        go(p, "/address/", t);
        return true;
    }
    /* Here every accepted block is the newest, the safe and the final one. */
    if (is_word(t, "latest") || is_word(t, "safe") || is_word(t, "finalized")) {
        height = cd_view_head(p->view)->block.header.number;
    } else if (!height_of(&height, cd__xp_without_chain(p, t))) {
        return by_name(p, t);
    }
    go(p, cd_arena_fmt(&p->a, "/block/%s/", p->x->cfg.chain_name),
       cd_bytes_str(cd_arena_fmt(&p->a, "%llu", (unsigned long long)height)));
    return true;
}
