/* Why an auction went as it did, written down when it is over. */
#include "services/adx/exchange/exchange_priv.h"

static void put_micro(cd_json_w *w, const char *key, cd_micro v)
{
    char text[CD_MICRO_TEXT_MAX];
    if (v >= 0) {
        cd_json_w_key(w, key);
        cd_json_w_str(w, cd_bytes_of(text, cd_micro_fmt(text, v)));
    }
}

static void put_text(cd_json_w *w, const char *key, cd_bytes v)
{
    cd_json_w_key(w, key);
    cd_json_w_str(w, v);
}

static void put_bidders(cd_json_w *w, const cd__run *run)
{
    cd_json_w_key(w, "bidders");
    cd_json_w_arr(w);
    for (usize i = 0; i < run->setup->config->dsps_cnt && run->is_asking; i++) {
        const cd__asked *a = &run->asked[i];
        cd_json_w_obj(w);
        put_text(w, "id", cd_bytes_str(run->setup->config->dsps[i].id));
        put_text(w, "end", cd_bytes_str(cd_bidder_end_text(a->end)));
        cd_json_w_key(w, "ms");
        cd_json_w_u64(w, a->ms);
        if (a->nbr >= 0) {
            cd_json_w_key(w, "nbr");
            cd_json_w_i64(w, a->nbr);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

static void put_bid(cd_json_w *w, const cd__run *run, const cd_rtb_bid *b)
{
    bool is_local = b->local != NULL;
    cd_json_w_obj(w);
    put_text(w, "id", b->id);
    put_text(w, "imp", b->impid);
    put_text(w, is_local ? "campaign" : "bidder",
             is_local ? b->adid : cd_bytes_str(run->setup->config->dsps[b->bidder].id));
    put_text(w, "seat", b->seat);
    put_micro(w, "price", b->price);
    put_text(w, "cur", cd_bytes_str(b->cur.c));
    cd_json_w_key(w, "loss");
    cd_json_w_u64(w, (u64)b->loss);
    put_text(w, "reason", cd_bytes_str(cd_rtb_loss_text(b->loss)));
    put_micro(w, "min_to_win", b->to_win);
    if (b->loss == CD_LOSS_WON) {
        put_micro(w, "clears", b->clears);
    }
    cd_json_w_obj_end(w);
}

static void put_imps(cd_json_w *w, const cd__run *run)
{
    cd_json_w_key(w, "imps");
    cd_json_w_arr(w);
    for (usize i = 0; i < run->req.imps_cnt; i++) {
        cd_micro floor = -1;
        cd_json_w_obj(w);
        put_text(w, "id", run->req.imps[i].id);
        if (cd_rtb_floor(&floor, &run->rules, i)) {
            put_micro(w, "floor", floor);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

void cd__run_explain(cd__run *run)
{
    char at[CD_TIME_TEXT_LEN];
    u64 now = cd_clock_wall_ns(run->x->cfg.clock);
    cd_json_w w = {.out = &run->text};
    cd_buf_clear(&run->text);
    cd_time_fmt(at, now);
    cd_json_w_obj(&w);
    put_text(&w, "auction_id", cd_bytes_str(run->hex));
    put_text(&w, "request_id", run->req.id);
    put_text(&w, "at", cd_bytes_of(at, sizeof at));
    put_text(&w, "result", cd_bytes_str(run->wins_cnt != 0 ? "sold" : "unsold"));
    if (run->wins_cnt == 0) {
        cd_json_w_key(&w, "nbr");
        cd_json_w_u64(&w, run->nbr);
    }
    put_text(&w, "cur", cd_bytes_str(run->rules.cur.c));
    put_imps(&w, run);
    put_bidders(&w, run);
    cd_json_w_key(&w, "bids");
    cd_json_w_arr(&w);
    for (usize i = 0; i < run->bids.cnt; i++) {
        put_bid(&w, run, &run->bids.v[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd_explain_put(run->x->explain, cd_bytes_str(run->hex), run->req.id, cd_buf_bytes(&run->text), now / CD_NS_PER_SEC);
}
