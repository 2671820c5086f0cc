/* The pages of sealed auctions, written by the notary's books thread: anybody may read and check them. */
#include "services/adx/exchange/page_priv.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "web/assets.h"

enum { LISTED = 50, MICRO_DECIMALS = 6 };

static cd_bytes micro(cd_arena *a, u64 v)
{
    cd_u256 n = cd_u256_from_u64(v);
    return cd_fmt_exact(a, &n, MICRO_DECIMALS);
}

static void begin(cd_html *h, cd_page *page, cd_bytes title)
{
    *page = (cd_page){.site = &cd__page_site, .title = title, .tab = "/auctions"};
    cd_page_begin(h, page);
}

/* --- the list --- */

void cd__page_auctions(const cd_notary_room *room, cd_http_req *r)
{
    static const cd_ui_col cols[] = {{.name = "Auction"},
                                     {.name = "Slot", .flags = CD_COL_P2},
                                     {.name = "Bids", .flags = CD_COL_NUM},
                                     {.name = "Closed"}};
    cd_html h = {.out = cd_http_req_out(r)};
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_auction_brief *list = cd_arena_array(&mem, cd_auction_brief, LISTED);
    usize cnt = 0;
    cd_page page;
    if (cd_auction_sql_recent(room->auctions, list, &cnt, LISTED, &why) != CD_OK) {
        cd__front_error(r, 503, "busy", "the auctions cannot be read now, try again");
        cd_arena_fini(&mem);
        return;
    }
    begin(&h, &page, cd_bytes_str("Sealed auctions"));
    cd_html_put(
        &h, "<div class=\"head\"><div class=\"grow\"><h1>Sealed auctions</h1></div></div><section class=\"panel\">");
    if (cnt == 0) {
        cd_ui_empty(&h, "No auction with bids yet",
                    "A default auction is always open: candela-adx seal-bid makes a bid for it.", (cd_markup){0});
    } else {
        cd_ui_table_begin(&h, "Settled auctions", cols, CD_COUNT(cols), NULL, NULL);
        for (usize i = 0; i < cnt; i++) {
            char digits[64];
            cd_hex_fmt(digits, cd_bytes_of(list[i].id.b, 32));
            cd_bytes id = cd_bytes_of(digits, sizeof digits);
            const cd_ui_id link = {
                .text = id, .href = cd_bytes_str(cd_arena_fmt(&mem, "/auctions/%.64s", digits)), .flags = CD_ID_COPY};
            cd_html_put(&h, "<tr>");
            cd_ui_cell(&h, &cols[0]);
            cd_ui_ident(&h, &link);
            cd_html_put(&h, "</td>");
            cd_ui_cell(&h, &cols[1]);
            cd_html_put(&h, "{}</td>", cd_foreign_of(cd_bytes_str(list[i].slot)));
            cd_ui_cell(&h, &cols[2]);
            cd_html_put(&h, "{}</td>", list[i].bids);
            cd_ui_cell(&h, &cols[3]);
            cd_ui_time(&h, &mem, list[i].bid_deadline_ms / 1000, room->now_ms / 1000);
            cd_html_put(&h, "</td></tr>");
        }
        cd_ui_table_end(&h);
    }
    cd_html_put(&h, "</section>");
    cd_page_end(&h, &page);
    cd_web_reply_page(r, 200);
    cd_arena_fini(&mem);
}

/* --- one auction --- */

static void say(cd_html *h, cd_arena *a, const cd_outcome *o)
{
    if (o->is_void) {
        cd_html_put(
            h,
            "<p class=\"say\">Nobody bid the reserve of <b>{} USD CPM</b>. The proof says so of every opened bid, and "
            "nothing else about it.</p>",
            micro(a, o->reserve));
        return;
    }
    cd_html_put(h, "<p class=\"say\"><b>{}</b> won at <b>{} USD CPM</b>, ",
                cd_foreign_of(cd_sealed_bidder(&o->bids[o->winner])), micro(a, o->price));
    if (o->second == CD_OUTCOME_NOBODY) {
        cd_html_put(h, "the reserve: no other bid reached it. ");
    } else {
        cd_html_put(h, "the bid of <b>{}</b>, which is opened. ", cd_foreign_of(cd_sealed_bidder(&o->bids[o->second])));
    }
    cd_html_put(h, "Public are the price and who set it; what the others bid, the winner too, stays hidden.</p>");
}

static void bids(cd_html *h, const cd_outcome *o)
{
    static const cd_ui_col cols[] = {{.name = "Seq", .flags = CD_COL_NUM},
                                     {.name = "Bidder"},
                                     {.name = "Commitment", .flags = CD_COL_P2},
                                     {.name = "What is known"}};
    cd_html_put(h, "<section class=\"panel\"><header><h2>Bids</h2></header>");
    cd_ui_table_begin(h, "Bids", cols, CD_COUNT(cols), NULL, NULL);
    for (u32 i = 0; i < o->cnt; i++) {
        char digits[64];
        cd_hex_fmt(digits, cd_bytes_of(o->bids[i].commitment.b, 32));
        const cd_ui_id id = {.text = cd_bytes_of(digits, sizeof digits), .flags = CD_ID_COPY};
        bool is_winner = i == o->winner;
        cd_html_put(h, "<tr>");
        cd_ui_cell(h, &cols[0]);
        cd_html_put(h, "{}</td>", i);
        cd_ui_cell(h, &cols[1]);
        cd_html_put(h, "{}</td>", cd_foreign_of(cd_sealed_bidder(&o->bids[i])));
        cd_ui_cell(h, &cols[2]);
        cd_ui_ident(h, &id);
        cd_html_put(h, "</td>");
        cd_ui_cell(h, &cols[3]);
        cd_ui_pill(h,
                   is_winner            ? CD_PILL_LIVE
                   : o->is_forfeited[i] ? CD_PILL_WARN
                                        : CD_PILL_NEUTRAL,
                   cd_bytes_str(is_winner            ? "Winner"
                                : i == o->second     ? "Set the price"
                                : o->is_forfeited[i] ? "Not opened"
                                                     : "Hidden"));
        cd_html_put(h, "</td></tr>");
    }
    cd_ui_table_end(h);
    cd_html_put(h, "</section>");
}

/* A host that can stand in a command; what is none is this machine. */
static cd_bytes host_of(cd_http_req *r)
{
    cd_bytes host = cd_http_req_header(r, "Host");
    bool is_good = host.n != 0 && host.n <= 260;
    for (usize i = 0; is_good && i < host.n; i++) {
        u8 c = host.p[i];
        is_good = (u8)((c | 0x20) - 'a') < 26 || (u8)(c - '0') < 10 || strchr(".-:[]", c) != NULL;
    }
    return is_good ? host : cd_bytes_str("localhost");
}

static void check_it(cd_html *h, const char *id, cd_bytes host)
{
    const cd_web_asset *script = cd_web_asset_get(CD_WEB_VERIFY);
    cd_buf command = {0};
    cd_buf_fmt(
        &command,
        "curl -s '%.*s/auction/outcome?auction_id=%.64s' > outcome.json\ncandela-adx verify-outcome outcome.json",
        (int)host.n, (const char *)host.p, id);
    cd_html_put(
        h,
        "<section class=\"panel\"><header><h2>Check it yourself</h2></header><div class=\"body stack\"><p>One "
        "aggregated Bulletproof shows that the winner's bid is at least the price and nobody else's above "
        "it; the log of the bids is recomputed, so that none can be changed, added or left out.</p>"
        "<div class=\"row\"><button type=\"button\" class=\"btn\" data-verify=\"/auction/outcome?auction_id={}\" "
        "data-says=\"said\" hidden>Check in this browser</button><output id=\"said\" role=\"status\"></output></div>"
        "<noscript><p>Checking in the browser wants scripts; the command does not.</p></noscript>",
        id);
    cd_ui_code(h, cd_buf_bytes(&command), "command");
    cd_html_put(h,
                "<p><a href=\"/auction/outcome?auction_id={}\">The outcome's document</a></p></div></section><script "
                "src=\"" CD__PAGE_ASSETS "{}\" defer></script>",
                id, script->name);
    cd_buf_fini(&command);
}

static void live(cd_html *h, const cd_auction_view *v, u64 now_ms)
{
    cd_html_put(
        h, "<section class=\"panel\"><div class=\"body stack\"><p class=\"say\">{} bids are in. {}</p></div></section>",
        v->cnt, now_ms < v->row.bid_deadline_ms ? "It is open." : "Bids are being opened; the outcome follows.");
}

void cd__page_auction(const cd_notary_room *room, cd_http_req *r)
{
    static const char folder[] = "/auctions/";
    cd_bytes path = cd_http_req_path(r);
    cd_bytes name = cd_bytes_sub(path, sizeof folder - 1, path.n - (sizeof folder - 1));
    cd_html h = {.out = cd_http_req_out(r)};
    cd_arena mem = {0};
    cd_buf doc = {0};
    cd_errinfo why = {0};
    cd_hash32 id;
    cd_auction_view v;
    cd_outcome o;
    cd_page page;
    bool is_id = name.n == 64 && cd_hex_parse(id.b, name) == CD_OK;
    bool is_live = is_id && cd_house_look(room->house, &v, &id, room->now_ms);
    bool is_there = is_live || (is_id && cd_house_outcome(room->house, &doc, &id, &why) == CD_OK &&
                                cd_outcome_parse(&o, &mem, cd_buf_bytes(&doc), &why) == CD_OK);
    begin(&h, &page, cd_bytes_str(is_there ? "Sealed auction" : "No such auction"));
    cd_html_put(&h, "<div class=\"head\"><div class=\"grow\"><h1>{}</h1></div></div>",
                is_there ? "Sealed auction" : "No such auction");
    if (!is_there) {
        cd_html_put(&h, "<p class=\"say\">No auction has the id {}. <a href=\"/auctions\">Settled auctions</a></p>",
                    cd_foreign_of(name));
    } else {
        char digits[65] = {0};
        cd_hex_fmt(digits, cd_bytes_of(id.b, 32));
        const cd_ui_id shown = {.text = cd_bytes_of(digits, 64), .flags = CD_ID_FULL | CD_ID_COPY | CD_ID_PAGE};
        cd_html_put(&h, "<div class=\"row\">");
        cd_ui_ident(&h, &shown);
        cd_html_put(&h, "</div>");
        if (is_live) {
            live(&h, &v, room->now_ms);
        } else {
            cd_html_put(&h, "<section class=\"panel\"><div class=\"body stack\">");
            say(&h, &mem, &o);
            cd_html_put(&h,
                        "<dl class=\"kv\"><dt>Reserve, USD CPM</dt><dd>{}</dd><dt>Fee for an impression, nano-USD</dt>"
                        "<dd>{}</dd><dt>Bids</dt><dd>{}</dd></dl></div></section>",
                        micro(&mem, o.reserve), cd_outcome_fee(&o), o.cnt);
            bids(&h, &o);
            check_it(&h, digits, host_of(r));
        }
    }
    cd_page_end(&h, &page);
    cd_web_reply_page(r, is_there ? 200 : 404);
    cd_buf_fini(&doc);
    cd_arena_fini(&mem);
}
