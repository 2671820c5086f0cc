/* One request: its demand, its auction, its winners. */
#include "services/adx/exchange/exchange_priv.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "services/adx/openrtb/forward.h"

enum { MARGIN_MS = 10, TMAX_MIN_MS = 20, STEP = CD_MICRO_ONE / 100, TEXT_KEPT = 64 * 1024 };

cd__run *cd__run_new(cd_exchange *x)
{
    if (x->runs_cnt == CD__RUNS_MAX) {
        return NULL;
    }
    cd_list *kept = cd_list_first(&x->idle);
    cd__run *run = kept != NULL ? cd_list_of(kept, cd__run, link) : cd_new(cd__run);
    if (kept != NULL) {
        cd_list_del(kept);
        x->idle_cnt--;
    }
    x->runs_cnt++;
    run->x = x;
    run->setup = x->setup;
    run->setup->refs++;
    run->began_ns = cd_clock_mono_ns(x->cfg.clock);
    return run;
}

static void setup_unref(cd__setup *s)
{
    if (--s->refs == 0) {
        cd_adx_config_unref(s->config);
        cd_free(s);
    }
}

void cd__run_free(cd__run *run)
{
    cd_exchange *x = run->x;
    setup_unref(run->setup);
    x->runs_cnt--;
    if (x->idle_cnt < CD__RUNS_KEPT && run->text.cap <= TEXT_KEPT) {
        cd_arena mem = run->mem;
        cd_buf text = run->text;
        cd_arena_reset(&mem);
        cd_buf_clear(&text);
        *run = (cd__run){.mem = mem, .text = text};
        cd_list_push_back(&x->idle, &run->link);
        x->idle_cnt++;
        return;
    }
    cd_arena_fini(&run->mem);
    cd_buf_fini(&run->text);
    cd_free(run);
}

/* --- campaigns --- */

static bool targets(const cd_adx_campaign *c, const cd_rtb_req *req, u64 now_s)
{
    return now_s >= c->start_s && now_s < c->end_s &&
           (c->countries.cnt == 0 || cd_rtb_strs_has(&c->countries, req->country)) &&
           (c->devices.cnt == 0 || cd_rtb_ints_has(&c->devices, req->devicetype));
}

static bool creative_fits(const cd_adx_creative *c, const cd_rtb_video *v)
{
    bool plays = false;
    for (usize i = 0; i < c->media_cnt && !plays; i++) {
        plays = cd_rtb_strs_has(&v->mimes, c->media[i].type);
    }
    bool is_long = v->maxduration != 0 && c->duration > v->maxduration;
    bool is_other = v->rqddurs.cnt != 0 && !cd_rtb_ints_has(&v->rqddurs, c->duration);
    return plays && !is_long && !is_other && c->duration >= v->minduration;
}

/* The creative whose turn it is, of those that fit: the auction's number spreads them. */
static const cd_adx_creative *choose(const cd_adx_campaign *c, const cd_rtb_video *v, u32 turn)
{
    usize fit = 0;
    for (usize i = 0; i < c->creatives_cnt; i++) {
        fit += creative_fits(&c->creatives[i], v) ? 1 : 0;
    }
    usize wanted = fit == 0 ? 0 : turn % fit;
    for (usize i = 0; i < c->creatives_cnt && fit != 0; i++) {
        if (creative_fits(&c->creatives[i], v) && wanted-- == 0) {
            return &c->creatives[i];
        }
    }
    return NULL;
}

static void bid_local(cd__run *run, const cd_adx_campaign *c, const cd_adx_creative *cr, const cd_rtb_imp *imp)
{
    cd_rtb_bid *b = cd_rtb_bids_add(&run->bids, &run->mem);
    if (b == NULL) {
        return;
    }
    cd__local *l = cd_arena_new(&run->mem, cd__local);
    *l = (cd__local){.campaign = c, .creative = cr};
    b->id = cd_bytes_str(cd_arena_fmt(&run->mem, "%s-%zu", run->hex, run->bids.cnt));
    b->impid = imp->id;
    b->seat = c->seat;
    b->crid = cr->id;
    b->adid = cd_bytes_str(c->id);
    b->adomain = c->adomain;
    b->cat = c->cat;
    b->attr = cr->attr;
    b->cur = c->cur;
    b->price = c->cpm;
    b->dur = cr->duration;
    b->mtype = 2;
    b->bidder = UINT32_MAX;
    b->local = l;
}

static void ask_campaigns(cd__run *run)
{
    const cd_adx_config *config = run->setup->config;
    u64 now_s = cd_clock_wall_s(run->x->cfg.clock);
    for (usize i = 0; i < run->req.imps_cnt; i++) {
        const cd_rtb_imp *imp = &run->req.imps[i];
        for (usize k = 0; k < config->campaigns_cnt && run->bids.cnt < CD__LOCALS_MAX; k++) {
            const cd_adx_campaign *c = &config->campaigns[k];
            if ((imp->media & CD_RTB_VIDEO) == 0 || !targets(c, &run->req, now_s)) {
                continue;
            }
            const cd_adx_creative *cr = choose(c, &imp->video, cd_be32(run->id));
            if (cr == NULL) {
                continue;
            }
            if (!cd__freq_allows(run, c, 0)) {
                run->is_capped = true;
            } else if (cd_budget_has(run->x->budget, c->budget_no, c->usual)) {
                bid_local(run, c, cr, imp);
            } else {
                run->is_broke = true;
            }
        }
    }
}

/* --- winners --- */

/* What an impression at this price is in nano-USD; a price of X millionths CPM is X billionths for one. */
static i64 nano_of(const cd__run *run, cd_micro price)
{
    cd_micro usd = 0;
    bool is_known = cd_fx_convert(&usd, run->rules.fx, price, run->rules.cur, CD_CUR_USD, CD_MICRO_DOWN);
    return is_known ? usd : 0;
}

static u32 life_of(const cd__run *run, const cd_rtb_bid *b)
{
    u32 usual = run->x->cfg.token_life_s;
    i32 wanted = run->req.imps[b->imp].exp;
    u32 life = wanted == 0 ? usual : (u32)wanted;
    return life > 2 * usual ? 2 * usual : life;
}

static const char *publisher_of(const cd__run *run, usize imp)
{
    const cd_adx_slot *s = run->slots[imp];
    return s != NULL ? s->publisher : "unknown";
}

static void fill_token(cd__run *run, cd__win *w, usize number)
{
    const cd_rtb_bid *b = w->won.bid;
    const cd__local *l = b->local;
    const char *payer = l != NULL ? l->campaign->id : run->setup->config->dsps[b->bidder].id;
    const char *publisher = publisher_of(run, b->imp);
    w->won.exp = (i32)life_of(run, b);
    w->token = (cd_token){
        .is_campaign = l != NULL,
        .expires_s = (u32)(cd_clock_wall_s(run->x->cfg.clock) + (u32)w->won.exp),
        .price = nano_of(run, b->clears),
        .place = (u8)number,
    };
    memcpy(w->token.auction, run->id, sizeof run->id);
    memcpy(w->token.payer, payer, strlen(payer) + 1);
    memcpy(w->token.publisher, publisher, strlen(publisher) + 1);
}

/* How often a campaign has won in this request so far. */
static u32 wins_of(const cd__run *run, const cd_adx_campaign *c)
{
    u32 cnt = 0;
    for (usize i = 0; i < run->wins_cnt; i++) {
        const cd__local *l = run->wins[i].won.bid->local;
        cnt += l != NULL && l->campaign == c ? 1 : 0;
    }
    return cnt;
}

/* Sets a campaign's money aside. */
static bool reserve(cd__run *run, cd__win *w)
{
    const cd__local *l = w->won.bid->local;
    u8 name[CD_LEDGER_TOKEN_LEN];
    cd_token_name(name, &w->token);
    return l == NULL || cd_budget_reserve(run->x->budget, &w->token.lease, l->campaign->budget_no, w->token.price, name,
                                          (u32)w->won.exp);
}

static void cancel_all(cd__run *run)
{
    for (usize i = 0; i < run->wins_cnt; i++) {
        u8 name[CD_LEDGER_TOKEN_LEN];
        cd_token_name(name, &run->wins[i].token);
        cd_budget_cancel(run->x->budget, name);
    }
}

/* A bid whose markup nobody can play is lost, and with the last one that is borne all of its bidder's. */
static void lose_markup(cd__run *run, cd_rtb_bid *b)
{
    bool is_last = ++run->asked[b->bidder].bad >= CD__BAD_DOCS_MAX;
    b->loss = CD_LOSS_FORMAT;
    for (usize i = 0; i < run->bids.cnt && is_last; i++) {
        cd_rtb_bid *other = &run->bids.v[i];
        bool could_win =
            other->loss == CD_LOSS_WON || other->loss == CD_LOSS_OUTBID || other->loss == CD_LOSS_DEAL_BEATS;
        if (other->local == NULL && other->bidder == b->bidder && could_win) {
            other->loss = CD_LOSS_FORMAT;
        }
    }
}

/* The winners of a decision, each with its money and something to play; false when one has not, and all must be decided
 * again. */
static bool collect(cd__run *run)
{
    run->wins_cnt = 0;
    for (usize imp = 0; imp < run->req.imps_cnt; imp++) {
        u32 place = 1;
        for (usize i = 0; i < run->bids.cnt;) {
            cd_rtb_bid *b = &run->bids.v[i];
            if (b->loss != CD_LOSS_WON || b->imp != imp || b->place != place) {
                i++;
                continue;
            }
            if (run->wins_cnt == CD__WINS_MAX) {
                b->loss = CD_LOSS_OUTBID;
                b->place = 0;
                place++;
                i = 0;
                continue;
            }
            cd__win *w = &run->wins[run->wins_cnt];
            *w = (cd__win){.won.bid = b};
            fill_token(run, w, run->wins_cnt);
            bool plays = cd__show_read(run, w);
            if (!plays) {
                cancel_all(run);
                lose_markup(run, b);
                return false;
            }
            const cd__local *l = b->local;
            if (l != NULL && !cd__freq_allows(run, l->campaign, wins_of(run, l->campaign))) {
                cancel_all(run);
                b->loss = CD_LOSS_INTERNAL;
                run->is_capped = true;
                return false;
            }
            if (!reserve(run, w)) {
                cancel_all(run);
                b->loss = CD_LOSS_INTERNAL;
                run->is_broke = true;
                return false;
            }
            run->wins_cnt++;
            place++;
            i = 0;
        }
    }
    return true;
}

static void tell_losers(cd__run *run)
{
    cd_buf url = {0};
    for (usize i = 0; i < run->bids.cnt; i++) {
        const cd_rtb_bid *b = &run->bids.v[i];
        cd_rtb_macro_text room;
        if (b->local != NULL || b->lurl.n == 0 || (b->loss == CD_LOSS_WON && b->place != 0)) {
            continue;
        }
        cd_rtb_macros m = cd_rtb_macros_of(&room, b, cd_bytes_str(run->hex), &run->rules.cur);
        cd_buf_clear(&url);
        cd_rtb_macros_put(&url, b->lurl, &m);
        cd__notices_send(run->x->notices, cd_buf_bytes(&url));
    }
    cd_buf_fini(&url);
}

static u32 nbr_of(const cd__run *run)
{
    bool all_low = run->bids.cnt != 0;
    usize asked = 0;
    usize late = 0;
    for (usize i = 0; i < run->bids.cnt; i++) {
        cd_rtb_loss l = run->bids.v[i].loss;
        all_low = all_low && (l == CD_LOSS_FLOOR || l == CD_LOSS_DEAL_FLOOR);
    }
    for (usize i = 0; i < run->setup->config->dsps_cnt && run->is_asking; i++) {
        asked += run->asked[i].end <= CD_BIDDER_BROKEN ? 1 : 0;
        late += run->asked[i].end == CD_BIDDER_LATE ? 1 : 0;
    }
    if (run->bids.cnt != 0 && !run->is_broke && !run->is_capped) {
        return all_low ? CD__NBR_FLOOR : CD__NBR_FILTERED;
    }
    if (asked != 0 && late == asked) {
        return CD__NBR_LATE;
    }
    return run->is_broke ? CD__NBR_BUDGET : run->is_capped ? CD__NBR_CAPPED : CD__NBR_NO_DEMAND;
}

/* Winners that have nothing to show are none. */
static void drop_lost(cd__run *run)
{
    usize cnt = 0;
    for (usize i = 0; i < run->wins_cnt; i++) {
        cd__win *w = &run->wins[i];
        if (w->is_lost) {
            cd_rtb_bid *b = &run->bids.v[w->won.bid - run->bids.v];
            b->loss = CD_LOSS_FORMAT;
            b->place = 0;
        } else {
            run->wins[cnt++] = *w;
        }
    }
    run->wins_cnt = cnt;
}

/* What is shown, told, counted and answered, once it is known what the winners show. */
static void conclude(cd__run *run)
{
    cd_exchange *x = run->x;
    drop_lost(run);
    for (usize i = 0; i < run->wins_cnt; i++) {
        cd__show_miner(run, &run->wins[i]);
        cd_buf_clear(&run->text);
        cd_token_put(&run->text, &x->key, &run->wins[i].token);
        run->wins[i].token_text = cd_arena_dup(&run->mem, cd_buf_bytes(&run->text));
        cd__show(run, &run->wins[i]);
        cd_counter_add(run->wins[i].token.is_campaign ? x->m.wins_local : x->m.wins_dsp, 1);
        const cd__local *l = run->wins[i].won.bid->local;
        if (l != NULL) {
            cd__freq_count(run, l->campaign);
        }
    }
    run->nbr = run->wins_cnt == 0 ? nbr_of(run) : CD__NBR_UNKNOWN;
    tell_losers(run);
    cd__pulse_note(&x->pulse, cd_clock_wall_s(x->cfg.clock), run->wins_cnt != 0, run->nbr == CD__NBR_FLOOR);
    cd__run_explain(run);
    cd_counter_add(run->wins_cnt != 0 ? x->m.sold : x->m.unsold, 1);
    cd_hist_add(x->m.seconds, cd_clock_mono_ns(x->cfg.clock) - run->began_ns);
    run->done(run);
}

static void finish(cd__run *run)
{
    run->wins = cd_arena_array(&run->mem, cd__win, run->bids.cnt < CD__WINS_MAX ? run->bids.cnt + 1 : CD__WINS_MAX);
    do {
        cd_rtb_decide(run->winners, &run->bids, &run->rules);
    } while (!collect(run));
    cd__unwrap(run, conclude);
}

/* --- bidders --- */

typedef struct asking {
    cd__run *run;
    u32 dsp;
} asking;

static void on_answer(void *ctx, cd_bidder_end end, cd_bytes body, u32 ms)
{
    const asking *a = ctx;
    cd__run *run = a->run;
    cd__asked *asked = &run->asked[a->dsp];
    const cd_adx_dsp *dsp = &run->setup->config->dsps[a->dsp];
    cd_errinfo why = {0};
    *asked = (cd__asked){.end = end, .ms = ms, .nbr = -1};
    if (end == CD_BIDDER_ANSWER &&
        cd_rtb_bids_parse(&run->bids, &asked->nbr, &run->mem, body, run->req.id, dsp->seat, a->dsp, &why) != CD_OK) {
        asked->end = CD_BIDDER_BROKEN;
        cd_log_debug(run->x->cfg.log, "answer of a bidder", CD_F("dsp", dsp->id), CD_F("why", (const char *)why.msg));
    }
    if (--run->pending == 0) {
        finish(run);
    }
}

static void ask_one(cd__run *run, u32 i, cd_bytes head, u32 time_ms, u32 tmax)
{
    asking *a = cd_arena_new(&run->mem, asking);
    *a = (asking){.run = run, .dsp = i};
    cd_buf_clear(&run->text);
    cd_buf_put(&run->text, head);
    cd_rtb_forward_end(&run->text, (i32)tmax);
    run->pending++;
    cd_bidders_call(run->x->bidders, run->setup->dsp_no[i], &run->setup->config->dsps[i], cd_buf_bytes(&run->text),
                    time_ms, on_answer, a);
}

/* The request in a bidder's version, made once. */
static cd_bytes head_of(cd__run *run, cd_rtb_version version, cd_bytes known[2])
{
    if (known[version].p == NULL) {
        const cd_rtb_forward f = {
            .version = version,
            .at = run->rules.req->at != 0 ? run->rules.req->at : run->rules.at,
            .asi = run->setup->config->asi,
            .sid = cd_bytes_str(publisher_of(run, 0)),
        };
        cd_buf_clear(&run->text);
        cd_rtb_forward_put(&run->text, &run->req, &f);
        known[version] = cd_arena_dup(&run->mem, cd_buf_bytes(&run->text));
    }
    return known[version];
}

static void ask_bidders(cd__run *run)
{
    const cd_adx_config *config = run->setup->config;
    cd_bytes heads[2] = {{0}};
    u64 spent_ms = (cd_clock_mono_ns(run->x->cfg.clock) - run->began_ns) / CD_NS_PER_MS;
    u32 left_ms = spent_ms < run->budget_ms ? run->budget_ms - (u32)spent_ms : 0;
    run->is_asking = true;
    for (u32 i = 0; i < config->dsps_cnt; i++) {
        const cd_adx_dsp *dsp = &config->dsps[i];
        u32 time_ms;
        u32 tmax;
        cd_bidder_end may = cd_bidders_may(run->x->bidders, run->setup->dsp_no[i], dsp, left_ms, &time_ms, &tmax);
        run->asked[i] = (cd__asked){.end = may, .nbr = -1};
        if (may == CD_BIDDER_ANSWER) {
            ask_one(run, i, head_of(run, dsp->version, heads), time_ms, tmax);
        }
    }
}

/* --- the beginning --- */

static void find_slots(cd__run *run)
{
    usize cnt = run->req.imps_cnt;
    run->slots = cd_arena_array(&run->mem, const cd_adx_slot *, cnt);
    run->slot_rules = cd_arena_array(&run->mem, const cd_rtb_slot *, cnt);
    for (usize i = 0; i < cnt; i++) {
        run->slots[i] = cd_adx_config_slot(run->setup->config, run->req.imps[i].tagid);
        run->slot_rules[i] = run->slots[i] == NULL ? NULL : &run->slots[i]->rules;
    }
    run->rules.slots = run->slot_rules;
}

/* It is known what other exchanges have shown to the device. */
static void on_caps(cd__run *run)
{
    ask_campaigns(run);
    if (--run->pending == 0) {
        finish(run);
    }
}

void cd__run_begin(cd__run *run, cd__run_done *done)
{
    cd_exchange *x = run->x;
    u64 words[2] = {cd_rng_u64(&x->rng), cd_rng_u64(&x->rng)};
    memcpy(run->id, words, sizeof run->id);
    cd_hex_fmt(run->hex, cd_bytes_of(run->id, sizeof run->id));
    run->done = done;
    run->rules = (cd_rtb_rules){
        .req = &run->req, .fx = &run->setup->config->fx, .floor = x->cfg.floor, .at = x->cfg.at, .step = STEP};
    bool has_cur = cd_rtb_cur_choose(&run->rules.cur, &run->req, run->rules.fx);
    CD_ASSERT(has_cur); // who parsed the request has looked
    find_slots(run);
    if (run->req.tmax != 0 && run->req.tmax < TMAX_MIN_MS) {
        run->nbr = CD__NBR_NO_TIME;
        cd__run_explain(run);
        run->done(run);
        return;
    }
    u32 asked_ms = run->req.tmax == 0 ? UINT32_MAX : (u32)run->req.tmax - MARGIN_MS;
    run->budget_ms = asked_ms < x->cfg.timeout_ms ? asked_ms : x->cfg.timeout_ms;
    run->pending = cd__freq_ask(run, on_caps) ? 1 : 0;
    if (run->pending == 0) {
        ask_campaigns(run);
    }
    ask_bidders(run);
    if (run->pending == 0) {
        finish(run);
    }
}
