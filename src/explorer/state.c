/* What a transaction changed: accounts and slots, before and after. */
#include "base/hex.h"
#include "crypto/hash/keccak.h"
#include "explorer/explorer_priv.h"

enum {
    ROWS_MAX = 200,
    ACCOUNTS_MAX = 64,
    MAPS_MAX = 16 /* slots that are tried as the place of a mapping */
};

typedef struct change {
    cd__xp *p;
    cd_json pre;
    cd_json post;
    cd_addr20 accounts[ACCOUNTS_MAX]; /* all that are named, for the keys of mappings */
    usize accounts_cnt;
    usize shown;
    usize total;
} change;

static void account_add(change *c, const cd_addr20 *addr)
{
    for (usize i = 0; i < c->accounts_cnt; i++) {
        if (cd_addr20_eq(&c->accounts[i], addr)) {
            return;
        }
    }
    if (c->accounts_cnt < ACCOUNTS_MAX) {
        c->accounts[c->accounts_cnt++] = *addr;
    }
}

static bool take(change *c, const char *what)
{
    c->total++;
    if (c->shown >= ROWS_MAX) {
        return false;
    }
    c->shown++;
    cd_html_put(&c->p->h, "<tr><td>{}", what);
    return true;
}

/* --- rows --- */

static void balance(change *c, cd_json before, cd_json after)
{
    cd_html *h = &c->p->h;
    cd_u256 was = cd_u256_zero();
    cd_u256 is;
    (void)!cd_json_u256(&was, before, NULL);
    if (cd_json_u256(&is, after, NULL) != CD_OK || cd_u256_eq(&was, &is) || !take(c, "Balance")) {
        return;
    }
    bool is_less = cd_u256_lt(&is, &was);
    cd_u256 by;
    cd_u256_sub(&by, is_less ? &was : &is, is_less ? &is : &was);
    cd_html_put(h, "</td><td class=\"p2\">");
    cd__xp_lux(c->p, &was, true);
    cd_html_put(h, "</td><td>");
    cd__xp_lux(c->p, &is, true);
    cd_html_put(h, "<span class=\"sub {}\">{}", is_less ? "down" : "up", is_less ? "−" : "+");
    cd__xp_lux(c->p, &by, true);
    cd_html_put(h, "</span></td></tr>");
}

static void nonce(change *c, cd_json before, cd_json after)
{
    u64 was = 0;
    u64 is;
    (void)!cd_json_u64(&was, before, NULL);
    if (cd_json_u64(&is, after, NULL) == CD_OK && is != was && take(c, "Nonce")) {
        cd_html_put(&c->p->h, "</td><td class=\"p2\">{}</td><td>{}</td></tr>", cd_fmt_count(&c->p->a, was),
                    cd_fmt_count(&c->p->a, is));
    }
}

static void code(change *c, cd_json before, cd_json after)
{
    cd_bytes was = {0};
    cd_bytes is;
    (void)!cd_json_hex(&was, &c->p->a, before, NULL);
    if (cd_json_has(after) && cd_json_hex(&is, &c->p->a, after, NULL) == CD_OK && !cd_bytes_eq(was, is) &&
        take(c, "Code")) {
        cd_html_put(&c->p->h, "</td><td class=\"p2\">{}</td><td>{}</td></tr>",
                    was.n == 0 ? cd_bytes_str(CD_FMT_NONE) : cd_fmt_bytes(&c->p->a, was.n),
                    cd_fmt_bytes(&c->p->a, is.n));
    }
}

/* What the key of a slot may mean: a variable by its number, or the entry of an account in a mapping. */
static void meaning(change *c, const u8 key[32])
{
    cd_html *h = &c->p->h;
    cd_u256 number;
    cd_u256_load_be(&number, key);
    if (cd_u256_fits_u64(&number)) {
        cd_html_put(h, "Slot {}", cd_fmt_count(&c->p->a, number.w[0]));
        return;
    }
    for (usize i = 0; i < c->accounts_cnt; i++) {
        u8 entry[64] = {0};
        memcpy(entry + 12, c->accounts[i].b, 20);
        for (u32 slot = 0; slot < MAPS_MAX; slot++) {
            cd_hash32 hash;
            entry[63] = (u8)slot;
            cd_keccak256(&hash, cd_bytes_of(entry, sizeof entry));
            if (memcmp(hash.b, key, 32) == 0) {
                cd_html_put(h, "Slot {}, entry of ", slot);
                cd__xp_addr(c->p, &c->accounts[i], 0);
                return;
            }
        }
    }
    cd_html_put(h, "Slot ");
    cd_ui_ident(h, &(cd_ui_id){.text = cd__xp_hex(c->p, cd_bytes_of(key, 32))});
}

/* A word as it is stored, and as a number when that is shorter. */
static void word(change *c, const cd_u256 *v)
{
    if (cd_u256_bits(v) > 128) {
        u8 bytes[32];
        cd_u256_store_be(bytes, v);
        cd_ui_ident(&c->p->h, &(cd_ui_id){.text = cd__xp_hex(c->p, cd_bytes_of(bytes, 32)), .flags = CD_ID_COPY});
    } else {
        cd_html_put(&c->p->h, "<span class=\"any\">{}</span>", cd_fmt_amount(&c->p->a, v, 0, (cd_fmt_decimals){0}));
    }
}

static void slot(change *c, cd_bytes key, cd_json before, cd_json after)
{
    cd_html *h = &c->p->h;
    cd_u256 was = cd_u256_zero();
    cd_u256 is = cd_u256_zero();
    cd_bytes k;
    (void)!cd_json_u256(&was, before, NULL);
    (void)!cd_json_u256(&is, after, NULL);
    if (cd_u256_eq(&was, &is) || cd_hex_parse_prefixed(&k, &c->p->a, key) != CD_OK || k.n != 32 || !take(c, "")) {
        return;
    }
    meaning(c, k.p);
    cd_html_put(h, "</td><td class=\"p2\">");
    word(c, &was);
    cd_html_put(h, "</td><td>");
    word(c, &is);
    cd_html_put(h, "</td></tr>");
}

/* Slots that were zero stand in post only, those that became zero in pre only. */
static void slots(change *c, cd_json before, cd_json after)
{
    cd_json_it it = cd_json_iter(after);
    while (cd_json_next(&it)) {
        slot(c, it.key, cd_json_get(before, cd_arena_str(&c->p->a, it.key)), it.val);
    }
    it = cd_json_iter(before);
    while (cd_json_next(&it)) {
        if (!cd_json_has(cd_json_get(after, cd_arena_str(&c->p->a, it.key)))) {
            slot(c, it.key, it.val, (cd_json){0});
        }
    }
}

static void account(change *c, cd_bytes name, cd_json before, cd_json after)
{
    cd_addr20 addr;
    cd_html *h = &c->p->h;
    usize shown = c->shown;
    if (!cd__addr_parse(&addr, name) || shown >= ROWS_MAX) {
        return;
    }
    cd_html_put(h, "<tbody><tr><th colspan=\"3\" scope=\"rowgroup\">");
    cd__xp_addr(c->p, &addr, CD_ID_COPY);
    cd_html_put(h, "</th></tr>");
    balance(c, cd_json_get(before, "balance"), cd_json_get(after, "balance"));
    nonce(c, cd_json_get(before, "nonce"), cd_json_get(after, "nonce"));
    code(c, cd_json_get(before, "code"), cd_json_get(after, "code"));
    slots(c, cd_json_get(before, "storage"), cd_json_get(after, "storage"));
    if (c->shown == shown && cd_json_kind_of(after) == CD_JSON_NONE) {
        (void)take(c, "Account");
        cd_html_put(h, "</td><td class=\"p2\">there</td><td>gone</td></tr>");
    }
    cd_html_put(h, "</tbody>");
}

/* --- all of it --- */

static void collect(change *c, cd_json part)
{
    cd_json_it it = cd_json_iter(part);
    while (cd_json_next(&it)) {
        cd_addr20 addr;
        if (cd__addr_parse(&addr, it.key)) {
            account_add(c, &addr);
        }
    }
}

/* A word that looks like an address, in a topic or an argument. */
static void account_in(change *c, const u8 word[32])
{
    static const u8 zeros[12];
    cd_addr20 addr;
    memcpy(addr.b, word + 12, 20);
    if (memcmp(word, zeros, 12) == 0 && !cd_addr20_is_zero(&addr)) {
        account_add(c, &addr);
    }
}

static void collect_named(change *c, const cd_tx *tx, const cd_receipt *r)
{
    for (usize at = 4; at + 32 <= tx->data.n && c->accounts_cnt < ACCOUNTS_MAX; at += 32) {
        account_in(c, tx->data.p + at);
    }
    for (usize i = 0; i < r->log_cnt && c->accounts_cnt < ACCOUNTS_MAX; i++) {
        for (u32 t = 1; t < r->logs[i].topic_cnt; t++) {
            account_in(c, r->logs[i].topics[t].b);
        }
    }
}

void cd__state_write(cd__xp *p, const cd_accepted *b, usize idx)
{
    cd_errinfo why = {0};
    cd_json diff = cd__trace_tx(p, b, idx, "prestateTracer", "{\"diffMode\":true}", &why);
    cd_html *h = &p->h;
    if (cd_json_kind_of(diff) != CD_JSON_OBJ) {
        cd__trace_missing(p, why.msg);
        return;
    }
    change *c = cd_arena_new(&p->a, change);
    c->p = p;
    c->pre = cd_json_get(diff, "pre");
    c->post = cd_json_get(diff, "post");
    collect(c, c->pre);
    collect(c, c->post);
    collect_named(c, &b->block.txs[idx], &b->receipts[idx]);
    cd_html_put(h, "<table class=\"t\"><caption class=\"sr\">State changes</caption><thead><tr><th "
                   "scope=\"col\">What</th><th scope=\"col\" class=\"p2\">Before</th><th "
                   "scope=\"col\">After</th></tr></thead>");
    cd_json_it it = cd_json_iter(c->pre);
    while (cd_json_next(&it)) {
        account(c, it.key, it.val, cd_json_get(c->post, cd_arena_str(&p->a, it.key)));
    }
    it = cd_json_iter(c->post);
    while (cd_json_next(&it)) {
        if (!cd_json_has(cd_json_get(c->pre, cd_arena_str(&p->a, it.key)))) {
            account(c, it.key, (cd_json){0}, it.val);
        }
    }
    cd_html_put(h, "</table>");
    if (c->shown < c->total) {
        cd_html_put(h,
                    "<footer><span>Showing {} of {} and more; all of it: debug_traceTransaction with "
                    "prestateTracer</span></footer>",
                    cd_fmt_count(&p->a, c->shown), cd_fmt_count(&p->a, c->total));
    }
}
