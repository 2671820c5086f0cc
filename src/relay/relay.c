#include "relay/relay.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "codec/ids.h"
#include "relay/form.h"
#include "relay/lane.h"
#include "relay/place.h"
#include "types/warp.h"

enum {
    QUORUM = 67,
    TIMEOUT_MS = 15000,
    BATCH_MAX = 48,
    SIGNS_MAX = 16,
    SAVE_MS = 100,
    LEARN_MS = 1000,
    LEARN_CNT = 4,
    SICK_FAILS = 5,
    TROUBLE_MS = 10000,
    TEXT_MAX = 200,
    CALL_MAX = 1 << 20,
    LOGS_MAX = 64 << 20,
};
#define GAS_MAX 8000000ull

static const char SENT_TOPIC[] = "0x56600c567728a800c0aa927500f831cb451df66a7af570eb4df4dfbf4674887d";
static const char WARP[2][43] = {"0x0000000000000000000000000000000000016201",
                                 "0x0200000000000000000000000000000000000005"};
static const char GET_CHAIN_ID[] = "0x4213cf78";

typedef struct chain {
    cd_relay_chain_cfg cfg;
    u32 idx;
    cd_relay *relay;
    cd_relay_lane *reads, *signs, *work, *sends;
    cd_addr20 account;
    /* Learned: IDs, the address of the precompile, where it stood. */
    bool is_known;
    u32 learn_left;
    bool learn_failed;
    u64 learn_ms;
    u64 chain_id;
    cd_hash32 id;
    cd_addr20 warp;
    bool has_warp[2];
    u64 first_head;
    usize numbers[LEARN_CNT]; /* 0, 1, …: which part of a question an answer is to */
    /* As a source. */
    u64 span; /* blocks in a question, fewer while the node refuses */
    /* As a destination: an answer to NONCES comes in parts. */
    u32 parts_left;
    bool parts_failed;
    u64 accepted, known;
    cd_u256 price, tip;
    /* What was said about it last. */
    char trouble[TEXT_MAX];
    u64 trouble_ms;
    cd_counter *found, *signed_cnt, *sent, *refused, *unreachable, *ignored;
    cd_gauge *height, *waiting, *at_work;
} chain;

typedef struct route {
    cd_relay *relay;
    u32 idx, source, destination;
    bool is_open;
    cd_relay_pos from;
    u64 to;
    cd_counter *delivered, *given_up;
    cd_hist *time;
} route;

struct cd_relay {
    cd_relay_cfg cfg;
    cd_loop *loop;
    cd_http_client *http;
    cd_timer *timer, *saver;
    bool is_soon;
    chain *chains;
    route *routes;
    usize route_cnt;
    cd_relay_core *core;
    cd_relay_places places;
    bool is_unsaved, save_failed;
};

static void pump_soon(cd_relay *r)
{
    if (!r->is_soon) {
        r->is_soon = true;
        cd_timer_start(r->timer, 0, 0);
    }
}

static u64 now_ms(const cd_relay *r)
{
    return cd_loop_now_ms(r->loop);
}

/* The same trouble is told every ten seconds. */
static void trouble(chain *c, const char *what, const char *text)
{
    u64 now = now_ms(c->relay);
    char line[TEXT_MAX];
    cd_buf b = {0};
    cd_buf_fmt(&b, "%s: %s", what, text);
    usize n = cd_min_u64(b.n, sizeof line - 1);
    memcpy(line, b.p, n);
    line[n] = '\0';
    cd_buf_fini(&b);
    if (strcmp(line, c->trouble) != 0 || now >= c->trouble_ms + TROUBLE_MS) {
        memcpy(c->trouble, line, sizeof line);
        c->trouble_ms = now;
        cd_log_warn(c->relay->cfg.log, "trouble with a chain", CD_F("chain", c->cfg.name),
                    CD_F("reason", (const char *)line));
    }
}

/* What an answer means for the machine, where an error says nothing about a message. */
static cd_relay_end end_of(chain *c, const char *what, const cd_relay_reply *a)
{
    if (a->is_answer && !a->is_error) {
        return CD_RELAY_DONE;
    }
    cd_counter_add(c->unreachable, 1);
    trouble(c, what, a->text);
    return CD_RELAY_UNREACHABLE;
}

/* --- places --- */

static cd_relay_place place_of(const cd_relay *r, const route *x)
{
    return (cd_relay_place){.source = r->chains[x->source].id,
                            .destination = r->chains[x->destination].id,
                            .messenger = r->chains[x->source].cfg.messenger};
}

static void note_places(cd_relay *r)
{
    for (usize i = 0; i < r->route_cnt; i++) {
        if (r->routes[i].is_open) {
            cd_relay_place p = place_of(r, &r->routes[i]);
            p.at = cd_relay_cursor(r->core, (u32)i);
            r->is_unsaved |= cd_relay_places_put(&r->places, &p);
        }
    }
}

static void save(cd_relay *r)
{
    cd_errinfo why = {0};
    note_places(r);
    if (!r->is_unsaved) {
        return;
    }
    bool is_saved = cd_relay_places_save(&r->places, r->cfg.fs, r->cfg.place_path, &why) == CD_OK;
    if (!is_saved && !r->save_failed) {
        cd_log_error(r->cfg.log, "the places cannot be written", CD_F("reason", (const char *)why.msg));
    }
    r->save_failed = !is_saved;
    r->is_unsaved = !is_saved;
}

static void on_save(void *ctx)
{
    save(ctx);
}

/* --- learning a chain --- */

static void open_routes(cd_relay *r)
{
    for (usize i = 0; i < r->route_cnt; i++) {
        route *x = &r->routes[i];
        const chain *s = &r->chains[x->source];
        if (x->is_open || !s->is_known || !r->chains[x->destination].is_known) {
            continue;
        }
        cd_relay_place p = place_of(r, x);
        const cd_relay_place *old = cd_relay_places_find(&r->places, &p);
        p.at.block = s->cfg.has_start ? s->cfg.start : s->first_head + 1;
        p.at = old != NULL ? old->at : p.at;
        x->is_open = true;
        cd_relay_begin(r->core, (u32)i, p.at);
        cd_log_info(r->cfg.log, "watching", CD_F("source", s->cfg.name),
                    CD_F("destination", r->chains[x->destination].cfg.name), CD_F("block", p.at.block),
                    CD_F("log", p.at.log));
    }
    save(r);
}

/* The questions of learning, in their order. */
enum { LEARN_CHAIN_ID, LEARN_OWN, LEARN_LEGACY, LEARN_HEAD };

static void learn_part(chain *c, usize part, const cd_relay_reply *a)
{
    bool is_good = a->is_answer && !a->is_error;
    cd_hash32 id;
    if (part == LEARN_CHAIN_ID) {
        c->learn_failed |= !is_good || cd_json_qty_u64(&c->chain_id, a->result, NULL) != CD_OK;
    } else if (part == LEARN_HEAD) {
        c->learn_failed |= !is_good || cd_json_qty_u64(&c->first_head, a->result, NULL) != CD_OK;
    } else {
        c->learn_failed |= !a->is_answer;
        usize i = part - LEARN_OWN;
        c->has_warp[i] = is_good && cd_json_fixed(id.b, sizeof id.b, a->result, NULL) == CD_OK;
        c->id = c->has_warp[i] ? id : c->id;
    }
    if (!a->is_answer || (a->is_error && part != LEARN_OWN && part != LEARN_LEGACY)) {
        trouble(c, "learning", a->text);
    }
}

static void on_learn(void *ctx, void *what, const cd_relay_reply *a)
{
    chain *c = ctx;
    usize part = *(const usize *)what;
    learn_part(c, part, a);
    if (--c->learn_left != 0) {
        return;
    }
    bool has_any = c->has_warp[0] || c->has_warp[1];
    if (!c->learn_failed && !has_any) {
        trouble(c, "learning", "the chain has no Warp precompile");
    }
    c->is_known = !c->learn_failed && has_any;
    c->learn_ms = now_ms(c->relay) + LEARN_MS;
    if (c->is_known) {
        cd_bytes text = cd_bytes_str(WARP[c->has_warp[0] ? 0 : 1] + 2);
        cd_buf id = {0};
        (void)!cd_hex_parse(c->warp.b, text);
        cd_id_put(&id, &c->id);
        cd_log_info(c->relay->cfg.log, "chain known", CD_F("chain", c->cfg.name), CD_F("id", cd_buf_cstr(&id)),
                    CD_F("height", c->first_head),
                    CD_F_HEX("account", cd_bytes_of(c->account.b, c->cfg.key != NULL ? sizeof c->account.b : 0)));
        cd_buf_fini(&id);
        open_routes(c->relay);
    }
    pump_soon(c->relay);
}

static void learn(chain *c)
{
    cd_buf params = {0};
    c->learn_left = LEARN_CNT;
    c->learn_failed = false;
    cd_relay_lane_ask(c->reads, "eth_chainId", "[]", on_learn, c, &c->numbers[LEARN_CHAIN_ID]);
    for (usize i = 0; i < CD_COUNT(WARP); i++) {
        cd_buf_clear(&params);
        cd_buf_fmt(&params, "[{\"to\":\"%s\",\"data\":\"%s\"},\"latest\"]", WARP[i], GET_CHAIN_ID);
        cd_relay_lane_ask(c->reads, "eth_call", cd_buf_cstr(&params), on_learn, c, &c->numbers[LEARN_OWN + i]);
    }
    cd_relay_lane_ask(c->reads, "eth_blockNumber", "[]", on_learn, c, &c->numbers[LEARN_HEAD]);
    cd_buf_fini(&params);
}

/* --- reading a source --- */

static void on_head(void *ctx, void *what, const cd_relay_reply *a)
{
    chain *c = ctx;
    u64 height = 0;
    (void)what;
    cd_relay_end end = end_of(c, "its height", a);
    if (end == CD_RELAY_DONE && cd_json_qty_u64(&height, a->result, NULL) != CD_OK) {
        end = CD_RELAY_UNREACHABLE;
    }
    cd_relay_head(c->relay->core, c->idx, end, height, now_ms(c->relay));
    cd_gauge_set(c->height, (i64)cd_relay_look_at(c->relay->core, c->idx).height);
    pump_soon(c->relay);
}

/* The message in a log's data: ABI of one byte string. */
static cd_err log_message(cd_bytes *out, cd_bytes data)
{
    enum { WORD = 32, HEAD = 2 * WORD };
    cd_u256 n;
    if (data.n < HEAD) {
        return CD_ESHORT;
    }
    cd_u256_load_be(&n, data.p + WORD);
    if (cd_u256_to_u64_sat(&n) > data.n - HEAD) {
        return CD_ERANGE;
    }
    *out = cd_bytes_sub(data, HEAD, (usize)cd_u256_to_u64_sat(&n));
    return CD_OK;
}

static bool is_wanted(const route *x, const cd_relay_seen *seen)
{
    const cd_relay *r = x->relay;
    const chain *s = &r->chains[x->source];
    const chain *d = &r->chains[x->destination];
    bool is_sender = r->cfg.sender_cnt == 0;
    for (usize i = 0; i < r->cfg.sender_cnt && !is_sender; i++) {
        is_sender = memcmp(r->cfg.senders[i].b, seen->sender.b, sizeof seen->sender.b) == 0;
    }
    return cd_hash32_eq(&seen->source, &s->id) && cd_hash32_eq(&seen->destination, &d->id) &&
           memcmp(seen->messenger.b, s->cfg.messenger.b, sizeof seen->messenger.b) == 0 && is_sender &&
           cd_relay_form_may(seen, &d->account);
}

/* One log. CD_EFULL: it must come again. */
static cd_err take_log(route *x, cd_arena *mem, cd_json v, cd_relay_pos *at)
{
    cd_relay *r = x->relay;
    chain *s = &r->chains[x->source];
    cd_bytes data;
    cd_bytes message;
    cd_relay_seen seen;
    CD_TRY(cd_json_qty_u64(&at->block, cd_json_get(v, "blockNumber"), NULL));
    CD_TRY(cd_json_qty_u64(&at->log, cd_json_get(v, "logIndex"), NULL));
    CD_TRY(cd_json_hex(&data, mem, cd_json_get(v, "data"), NULL));
    CD_TRY(log_message(&message, data));
    if (cd_relay_form_read(&seen, mem, message) != CD_OK) {
        cd_counter_add(s->ignored, 1);
        return CD_OK;
    }
    if (!is_wanted(x, &seen)) {
        return CD_OK;
    }
    if (seen.gas > r->cfg.gas_max) {
        cd_counter_add(s->ignored, 1);
        cd_log_warn(r->cfg.log, "a message wants too much gas", CD_F("source", s->cfg.name),
                    CD_F_HEX("id", cd_bytes_of(seen.id.b, sizeof seen.id.b)), CD_F("gas", seen.gas));
        return CD_OK;
    }
    const cd_relay_msg init = {.at = *at, .id = seen.id, .warp_id = seen.warp_id, .gas = seen.gas};
    usize before = cd_relay_look_at(r->core, x->source).waiting;
    cd_err e = cd_relay_found(r->core, x->idx, &init, now_ms(r));
    cd_counter_add(s->found, cd_relay_look_at(r->core, x->source).waiting - before);
    return e;
}

static void on_logs(void *ctx, void *what, const cd_relay_reply *a)
{
    route *x = ctx;
    cd_relay *r = x->relay;
    chain *s = &r->chains[x->source];
    cd_relay_pos to = {.block = x->to + 1};
    (void)what;
    cd_relay_end end = end_of(s, "its logs", a);
    if (end == CD_RELAY_DONE && cd_json_kind_of(a->result) != CD_JSON_ARR) {
        end = CD_RELAY_UNREACHABLE;
    }
    for (cd_json_it it = cd_json_iter(a->result); end == CD_RELAY_DONE && cd_json_next(&it);) {
        cd_relay_pos at = {0};
        cd_arena_mark mark = cd_arena_mark_get(a->mem);
        cd_err e = take_log(x, a->mem, it.val, &at);
        cd_arena_rewind(a->mem, mark);
        if (e == CD_EFULL) {
            to = at;
            break;
        }
        if (e != CD_OK) {
            trouble(s, "its logs", "one that is none");
            end = CD_RELAY_UNREACHABLE;
        }
    }
    s->span = end == CD_RELAY_DONE ? s->span * 2 : cd_max_u64(1, s->span / 2);
    s->span = cd_min_u64(s->span, 1 << 20);
    cd_relay_scanned(r->core, x->idx, end, to, now_ms(r));
    pump_soon(r);
}

static void put_addr(cd_buf *out, const cd_addr20 *addr)
{
    cd_hex_put(out, cd_bytes_of(addr->b, sizeof addr->b));
}

static void scan(cd_relay *r, const cd_relay_action *a)
{
    route *x = &r->routes[a->route];
    chain *s = &r->chains[x->source];
    cd_hash32 topic = {0};
    cd_buf params = {0};
    memcpy(topic.b + 12, s->cfg.messenger.b, sizeof s->cfg.messenger.b);
    x->from = a->from;
    x->to = cd_min_u64(a->to, a->from.block + s->span - 1);
    cd_buf_fmt(&params,
               "[{\"fromBlock\":\"0x%llx\",\"toBlock\":\"0x%llx\",\"address\":[\"%s\",\"%s\"],\"topics\":[\"%s\",\"",
               (unsigned long long)x->from.block, (unsigned long long)x->to, WARP[0], WARP[1], SENT_TOPIC);
    cd_hex_put(&params, cd_bytes_of(topic.b, sizeof topic.b));
    cd_buf_str(&params, "\"]}]");
    cd_relay_lane_ask(s->reads, "eth_getLogs", cd_buf_cstr(&params), on_logs, x, NULL);
    cd_buf_fini(&params);
}

/* --- signatures --- */

static void refused(cd_relay *r, const cd_relay_msg *m, const char *what, const char *text)
{
    const route *x = &r->routes[m->route];
    cd_counter_add(r->chains[x->destination].refused, 1);
    cd_log_warn(r->cfg.log, "refused", CD_F("source", r->chains[x->source].cfg.name),
                CD_F("destination", r->chains[x->destination].cfg.name),
                CD_F_HEX("id", cd_bytes_of(m->id.b, sizeof m->id.b)), CD_F("step", what),
                CD_F("attempt", m->attempts + 1), CD_F("reason", text));
}

static cd_err take_signed(cd_relay_msg *m, cd_arena *mem, cd_json v)
{
    cd_bytes bytes;
    cd_warp_message got;
    cd_hash32 id;
    CD_TRY(cd_json_hex(&bytes, mem, v, NULL));
    CD_TRY(cd_warp_message_dec(&got, bytes));
    cd_warp_unsigned_id(&id, got.text);
    if (!cd_hash32_eq(&id, &m->warp_id)) {
        return CD_EPROTO;
    }
    cd_buf_clear(&m->signed_msg);
    cd_buf_put(&m->signed_msg, bytes);
    return CD_OK;
}

static void on_signed(void *ctx, void *what, const cd_relay_reply *a)
{
    chain *s = ctx;
    cd_relay *r = s->relay;
    cd_relay_msg *m = what;
    cd_relay_end end = CD_RELAY_DONE;
    if (a->is_error) {
        refused(r, m, "signatures", a->text);
        end = CD_RELAY_REFUSED;
    } else {
        end = end_of(s, "signatures", a);
    }
    if (end == CD_RELAY_DONE && take_signed(m, a->mem, a->result) != CD_OK) {
        refused(r, m, "signatures", "the node answers with another message");
        end = CD_RELAY_REFUSED;
    }
    cd_counter_add(s->signed_cnt, end == CD_RELAY_DONE);
    cd_relay_signed(r->core, m, end, now_ms(r));
    pump_soon(r);
}

/* Who signs: the source's validators; for a chain of the primary network those of the receiving one. [spec:warp#5] */
static void sign(cd_relay *r, const cd_relay_action *a)
{
    chain *s = &r->chains[a->source];
    const chain *d = &r->chains[a->destination];
    const char *net = s->cfg.net[0] != '\0' || d->cfg.trusts_primary ? s->cfg.net : d->cfg.net;
    cd_buf params = {0};
    cd_buf_str(&params, "[\"");
    cd_hex_put(&params, cd_bytes_of(a->msg->warp_id.b, sizeof a->msg->warp_id.b));
    cd_buf_fmt(&params, "\",%u,\"%s\"]", r->cfg.quorum, net);
    cd_relay_lane_ask(s->signs, "warp_getMessageAggregateSignature", cd_buf_cstr(&params), on_signed, s, a->msg);
    cd_buf_fini(&params);
}

/* --- work at a destination --- */

/* The questions of NONCES. */
enum { PART_ACCEPTED, PART_KNOWN, PART_PRICE, PART_TIP, PART_CNT };

static void on_part(void *ctx, void *what, const cd_relay_reply *a)
{
    chain *d = ctx;
    u64 *const counts[] = {&d->accepted, &d->known};
    cd_u256 *const prices[] = {&d->price, &d->tip};
    usize part = *(const usize *)what;
    cd_relay_end end = end_of(d, "its account", a);
    cd_err e = end != CD_RELAY_DONE ? CD_EIO
               : part < PART_PRICE  ? cd_json_qty_u64(counts[part], a->result, NULL)
                                    : cd_json_qty_u256(prices[part - PART_PRICE], a->result, NULL);
    d->parts_failed |= e != CD_OK;
    if (--d->parts_left == 0) {
        cd_relay_nonces(d->relay->core, d->idx, d->parts_failed ? CD_RELAY_UNREACHABLE : CD_RELAY_DONE, d->accepted,
                        d->known, now_ms(d->relay));
        pump_soon(d->relay);
    }
}

static void ask_nonces(chain *d)
{
    static const char *const methods[] = {"eth_getTransactionCount", "eth_getTransactionCount", "eth_gasPrice",
                                          "eth_maxPriorityFeePerGas"};
    static const char *const tags[] = {"latest", "pending"};
    cd_buf params = {0};
    d->parts_left = PART_CNT;
    d->parts_failed = false;
    for (usize i = 0; i < PART_CNT; i++) {
        cd_buf_clear(&params);
        if (i < PART_PRICE) {
            cd_buf_str(&params, "[\"");
            put_addr(&params, &d->account);
            cd_buf_fmt(&params, "\",\"%s\"]", tags[i]);
        } else {
            cd_buf_str(&params, "[]");
        }
        cd_relay_lane_ask(d->work, methods[i], cd_buf_cstr(&params), on_part, d, &d->numbers[i]);
    }
    cd_buf_fini(&params);
}

static void on_checked(void *ctx, void *what, const cd_relay_reply *a)
{
    chain *d = ctx;
    cd_relay *r = d->relay;
    cd_relay_msg *m = what;
    cd_hash32 word = {0};
    cd_relay_end end = end_of(d, "what it has received", a);
    if (end == CD_RELAY_DONE && cd_json_fixed(word.b, sizeof word.b, a->result, NULL) != CD_OK) {
        trouble(d, "what it has received", "there is no messenger at this address");
        end = CD_RELAY_UNREACHABLE;
    }
    bool was_received = word.b[sizeof word.b - 1] != 0;
    if (end == CD_RELAY_DONE && !was_received && m->sent_ms != 0) {
        refused(r, m, "execution", "its transaction is in a block and the contract has not received it");
    }
    cd_relay_checked(r->core, m, end, was_received, now_ms(r));
    pump_soon(r);
}

static void check(cd_relay *r, const cd_relay_action *a)
{
    chain *d = &r->chains[a->destination];
    cd_arena mem = {0};
    cd_buf params = {0};
    cd_buf_str(&params, "[{\"to\":\"");
    put_addr(&params, &d->cfg.messenger);
    cd_buf_fmt(&params, "\",\"data\":\"%s\"},\"latest\"]", cd_relay_form_ask(&mem, &a->msg->id));
    cd_relay_lane_ask(d->work, "eth_call", cd_buf_cstr(&params), on_checked, d, a->msg);
    cd_buf_fini(&params);
    cd_arena_fini(&mem);
}

/* What a node's refusal of a transaction means, by its words: those of go-ethereum, which nodes of all kinds use. */
static cd_relay_end meaning(const char *text)
{
    static const struct {
        const char *words;
        cd_relay_end end;
    } rows[] = {
        {"already known", CD_RELAY_DONE},
        {"replacement transaction underpriced", CD_RELAY_DONE}, /* one with this nonce is there */
        {"nonce too low", CD_RELAY_TOO_LATE},
        {"exceeds block gas limit", CD_RELAY_REFUSED},
        {"intrinsic gas", CD_RELAY_REFUSED},
        {"oversized data", CD_RELAY_REFUSED},
        {"exceeds maximum", CD_RELAY_REFUSED},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (strstr(text, rows[i].words) != NULL) {
            return rows[i].end;
        }
    }
    return CD_RELAY_UNREACHABLE; /* no money, a full pool, a price too low: all of that passes */
}

static void on_sent(void *ctx, void *what, const cd_relay_reply *a)
{
    chain *d = ctx;
    cd_relay *r = d->relay;
    cd_relay_msg *m = what;
    cd_relay_end end = a->is_error ? meaning(a->text) : end_of(d, "a transaction", a);
    if (a->is_error && end == CD_RELAY_UNREACHABLE) {
        trouble(d, "a transaction", a->text);
    } else if (end == CD_RELAY_REFUSED) {
        refused(r, m, "transaction", a->text);
    }
    cd_counter_add(d->sent, end == CD_RELAY_DONE);
    cd_relay_sent(r->core, m, end, now_ms(r));
    pump_soon(r);
}

/* Twice the price, so that a rising base fee does not stop it, and a quarter more for each time that it must replace
 * another. */
static void raise(cd_u256 *out, const cd_u256 *price, u32 bump)
{
    cd_u256 part;
    *out = *price;
    for (u32 i = 0; i < bump; i++) {
        cd_u256_shr(&part, out, 2);
        cd_u256_add(out, out, &part);
        (void)cd_u256_add_u64(out, out, 1);
    }
}

static void send(cd_relay *r, const cd_relay_action *a)
{
    chain *d = &r->chains[a->destination];
    cd_arena mem = {0};
    cd_buf raw = {0};
    cd_buf params = {0};
    cd_bytes message = cd_buf_bytes(&a->msg->signed_msg);
    cd_relay_bring b = {.chain_id = d->chain_id,
                        .nonce = a->nonce,
                        .gas = cd_relay_form_gas(message, a->msg->gas),
                        .warp = d->warp,
                        .messenger = d->cfg.messenger,
                        .reward = d->account,
                        .signed_message = message,
                        .key = d->cfg.key};
    cd_u256 twice;
    cd_u256_add(&twice, &d->price, &d->price);
    raise(&b.fee_cap, &twice, a->bump);
    raise(&b.tip_cap, &d->tip, a->bump);
    b.tip_cap = cd_u256_lt(&b.fee_cap, &b.tip_cap) ? b.fee_cap : b.tip_cap;
    cd_err e = cd_relay_form_tx(&raw, &mem, &b);
    CD_ASSERT(e == CD_OK); /* the key has signed when the relay was opened */
    cd_buf_str(&params, "[\"");
    cd_hex_put(&params, cd_buf_bytes(&raw));
    cd_buf_str(&params, "\"]");
    cd_relay_lane_ask(d->sends, "eth_sendRawTransaction", cd_buf_cstr(&params), on_sent, d, a->msg);
    cd_buf_fini(&params);
    cd_buf_fini(&raw);
    cd_arena_fini(&mem);
}

/* --- the round --- */

static void tell(cd_relay *r, const cd_relay_action *a)
{
    route *x = &r->routes[a->route];
    const char *from = r->chains[a->source].cfg.name;
    const char *to = r->chains[a->destination].cfg.name;
    cd_bytes id = cd_bytes_of(a->msg->id.b, sizeof a->msg->id.b);
    u64 took = now_ms(r) - a->msg->found_ms;
    if (a->was_delivered) {
        cd_counter_add(x->delivered, 1);
        cd_hist_add(x->time, took);
        cd_log_info(r->cfg.log, "delivered", CD_F("source", from), CD_F("destination", to), CD_F_HEX("id", id),
                    CD_F("ms", took));
    } else {
        cd_counter_add(x->given_up, 1);
        cd_log_error(r->cfg.log, "given up", CD_F("source", from), CD_F("destination", to), CD_F_HEX("id", id),
                     CD_F("block", a->msg->at.block), CD_F("attempts", a->msg->attempts));
    }
}

static void act(cd_relay *r, const cd_relay_action *a)
{
    switch (a->what) {
    case CD_RELAY_HEAD:
        cd_relay_lane_ask(r->chains[a->source].reads, "eth_blockNumber", "[]", on_head, &r->chains[a->source], NULL);
        break;
    case CD_RELAY_SCAN:
        scan(r, a);
        break;
    case CD_RELAY_NONCES:
        ask_nonces(&r->chains[a->destination]);
        break;
    case CD_RELAY_CHECK:
        check(r, a);
        break;
    case CD_RELAY_SIGN:
        sign(r, a);
        break;
    case CD_RELAY_SEND:
        send(r, a);
        break;
    case CD_RELAY_TELL:
        tell(r, a);
        break;
    }
}

static void pump(cd_relay *r)
{
    u64 now = now_ms(r);
    cd_relay_action a;
    while (cd_relay_next(r->core, &a, now)) {
        act(r, &a);
    }
    u64 wake = cd_relay_wake(r->core);
    for (usize i = 0; i < r->cfg.chain_cnt; i++) {
        chain *c = &r->chains[i];
        cd_relay_look look = cd_relay_look_at(r->core, (u32)i);
        if (!c->is_known && c->learn_left == 0 && c->learn_ms <= now) {
            learn(c);
        }
        wake = !c->is_known && c->learn_left == 0 ? cd_min_u64(wake, c->learn_ms) : wake;
        cd_gauge_set(c->waiting, (i64)look.waiting);
        cd_gauge_set(c->at_work, (i64)look.at_work);
        cd_relay_lane_flush(c->reads);
        cd_relay_lane_flush(c->signs);
        cd_relay_lane_flush(c->work);
        cd_relay_lane_flush(c->sends);
    }
    if (wake != UINT64_MAX) {
        cd_timer_start(r->timer, wake > now ? wake - now : 1, 0);
    }
}

static void on_timer(void *ctx)
{
    cd_relay *r = ctx;
    r->is_soon = false;
    pump(r);
}

/* --- life --- */

static void open_chain(cd_relay *r, u32 i)
{
    chain *c = &r->chains[i];
    const cd_label label = {"chain", r->cfg.chains[i].name};
    cd_metrics *m = r->cfg.metrics;
    cd_relay_lane_cfg lane = {.http = r->http,
                              .url = r->cfg.chains[i].url,
                              .timeout_ms = r->cfg.timeout_ms,
                              .batch_max = BATCH_MAX,
                              .posts_max = 1,
                              .answer_max = CALL_MAX};
    c->cfg = r->cfg.chains[i];
    c->idx = i;
    c->relay = r;
    c->span = 1 << 10;
    for (usize k = 0; k < LEARN_CNT; k++) {
        c->numbers[k] = k;
    }
    c->work = cd_relay_lane_new(&lane);
    c->sends = cd_relay_lane_new(&lane); /* apart: a node need not change between asking and changing in a batch */
    lane.batch_max = LEARN_CNT;
    lane.answer_max = LOGS_MAX;
    c->reads = cd_relay_lane_new(&lane);
    lane.batch_max = 1; /* a call that collects cannot be part of a batch */
    lane.posts_max = SIGNS_MAX;
    lane.answer_max = CALL_MAX;
    c->signs = cd_relay_lane_new(&lane);
    c->found = cd_metrics_counter(m, "found", "Messages read from a source.", &label, 1);
    c->signed_cnt = cd_metrics_counter(m, "signed", "Messages of a source that were signed.", &label, 1);
    c->sent = cd_metrics_counter(m, "sent", "Transactions that a destination took.", &label, 1);
    c->refused = cd_metrics_counter(m, "refused", "Refusals of messages to a destination.", &label, 1);
    c->unreachable = cd_metrics_counter(m, "unreachable", "Questions to a chain without an answer.", &label, 1);
    c->ignored = cd_metrics_counter(m, "ignored", "Messages of a source that cannot be carried.", &label, 1);
    c->height = cd_metrics_gauge(m, "height", "A source's height.", &label, 1);
    c->waiting = cd_metrics_gauge(m, "waiting", "Messages of a source that are not settled.", &label, 1);
    c->at_work = cd_metrics_gauge(m, "at_work", "Messages to a destination that are being brought.", &label, 1);
}

static void open_route(cd_relay *r, u32 source, u32 destination)
{
    static const u64 bounds[] = {250, 500, 1000, 2000, 5000, 10000, 30000, 60000, 300000, 3600000};
    const cd_label labels[] = {{"source", r->chains[source].cfg.name},
                               {"destination", r->chains[destination].cfg.name}};
    cd_metrics *m = r->cfg.metrics;
    route *x = &r->routes[r->route_cnt];
    *x = (route){.relay = r, .idx = (u32)r->route_cnt++, .source = source, .destination = destination};
    x->delivered = cd_metrics_counter(m, "delivered", "Messages that have arrived.", labels, 2);
    x->given_up = cd_metrics_counter(m, "given_up", "Messages that were refused too often.", labels, 2);
    x->time = cd_metrics_hist(m, "delivery_seconds", "From reading a message to its arrival.", labels, 2, bounds,
                              CD_COUNT(bounds), 1000);
}

static cd_err open_routes_of(cd_relay *r, cd_errinfo *why)
{
    usize n = r->cfg.chain_cnt;
    r->routes = cd_new_array(route, n * n);
    for (u32 s = 0; s < n; s++) {
        for (u32 d = 0; d < n; d++) {
            if (s != d && r->chains[s].cfg.is_source && r->chains[d].cfg.key != NULL) {
                open_route(r, s, d);
            }
        }
    }
    if (r->route_cnt == 0) {
        return cd_fail(why, CD_EINVAL, "there is no source, or no other chain with a key");
    }
    cd_relay_route *routes = cd_new_array(cd_relay_route, r->route_cnt);
    for (usize i = 0; i < r->route_cnt; i++) {
        routes[i] =
            (cd_relay_route){.source = r->routes[i].source, .destination = r->routes[i].destination, .is_closed = true};
    }
    r->core = cd_relay_core_new(&r->cfg.limits, n, routes, r->route_cnt);
    cd_free(routes);
    return CD_OK;
}

cd_err cd_relay_open(cd_relay **out, cd_loop *loop, const cd_relay_cfg *cfg, cd_errinfo *why)
{
    cd_relay *r = cd_new(cd_relay);
    const cd_http_client_cfg http = {.user_agent = "candela-relay", .host_conns_max = 32, .conns_max = 256};
    r->cfg = *cfg;
    r->cfg.quorum = cfg->quorum != 0 ? cfg->quorum : QUORUM;
    r->cfg.gas_max = cfg->gas_max != 0 ? cfg->gas_max : GAS_MAX;
    r->cfg.timeout_ms = cfg->timeout_ms != 0 ? cfg->timeout_ms : TIMEOUT_MS;
    r->loop = loop;
    r->chains = cd_new_array(chain, cfg->chain_cnt);
    cd_err e = cfg->chain_cnt > CD_RELAY_CHAINS_MAX
                   ? cd_fail(why, CD_ELIMIT, "more than %d chains", CD_RELAY_CHAINS_MAX)
                   : cd_relay_places_load(&r->places, cfg->fs, cfg->place_path, why);
    e = e != CD_OK ? e : cd_http_client_new(&r->http, loop, &http, why);
    for (u32 i = 0; e == CD_OK && i < cfg->chain_cnt; i++) {
        open_chain(r, i);
        if (r->chains[i].cfg.key != NULL &&
            cd_relay_form_account(&r->chains[i].account, r->chains[i].cfg.key) != CD_OK) {
            e = cd_fail(why, CD_EKEY, "chain %s: no key of an account", cfg->chains[i].name);
        }
    }
    e = e != CD_OK ? e : open_routes_of(r, why);
    if (e != CD_OK) {
        cd_relay_close(r);
        return e;
    }
    r->timer = cd_timer_new(loop, on_timer, r);
    r->saver = cd_timer_new(loop, on_save, r);
    cd_timer_start(r->saver, SAVE_MS, SAVE_MS);
    pump_soon(r);
    *out = r;
    return CD_OK;
}

void cd_relay_close(cd_relay *r)
{
    if (r == NULL) {
        return;
    }
    if (r->core != NULL) {
        save(r);
    }
    for (usize i = 0; i < r->cfg.chain_cnt && r->chains != NULL; i++) {
        cd_relay_lane_free(r->chains[i].reads);
        cd_relay_lane_free(r->chains[i].signs);
        cd_relay_lane_free(r->chains[i].work);
        cd_relay_lane_free(r->chains[i].sends);
    }
    cd_timer_free(r->timer);
    cd_timer_free(r->saver);
    cd_http_client_free(r->http);
    cd_relay_core_free(r->core);
    cd_relay_places_fini(&r->places);
    cd_free(r->chains);
    cd_free(r->routes);
    cd_free(r);
}

bool cd_relay_health(const cd_relay *r, cd_json_w *w)
{
    bool is_healthy = !r->save_failed;
    for (usize i = 0; i < r->cfg.chain_cnt; i++) {
        cd_relay_look look = cd_relay_look_at(r->core, (u32)i);
        is_healthy = is_healthy && r->chains[i].is_known && look.source_fails < SICK_FAILS &&
                     look.destination_fails < SICK_FAILS;
    }
    cd_json_w_obj(w);
    cd_json_put_bool(w, "healthy", is_healthy);
    cd_json_put_bool(w, "placesWritten", !r->save_failed);
    cd_json_w_key(w, "chains");
    cd_json_w_arr(w);
    for (usize i = 0; i < r->cfg.chain_cnt; i++) {
        const chain *c = &r->chains[i];
        cd_relay_look look = cd_relay_look_at(r->core, (u32)i);
        bool is_well = c->is_known && look.source_fails == 0 && look.destination_fails == 0;
        cd_json_w_obj(w);
        cd_json_put_cstr(w, "name", c->cfg.name);
        cd_json_put_bool(w, "known", c->is_known);
        cd_json_put_u64(w, "height", look.height);
        cd_json_put_u64(w, "waiting", look.waiting);
        cd_json_put_u64(w, "atWork", look.at_work);
        cd_json_put_u64(w, "readsFailed", look.source_fails);
        cd_json_put_u64(w, "worksFailed", look.destination_fails);
        if (!is_well && c->trouble[0] != '\0') {
            cd_json_put_cstr(w, "reason", c->trouble);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    return is_healthy;
}
