/* What became of events: deliveries, attempts, replay, sequence ledger, statistics. */
#include "services/webhook/api/call.h"
#include "services/webhook/api/mask.h"

#include "base/num_text.h"

enum {
    LIMIT_DFLT = 50,
    LIMIT_MAX = 100,
    LEDGER_MAX = 1000,
    STATS_HOURS = 24,
    STATS_HOURS_MAX = 24 * 30,
    MS_PER_HOUR = 3600 * 1000,
};

/* --- parts --- */

/* Text that is perhaps no text. */
static void put_text(cd_json_w *w, cd_wh_face face, const char *name, cd_bytes text)
{
    cd__wapi_key(w, face, name);
    cd_json_w_str(w, text);
}

/* Bodies go after a while, rows stay. */
static void put_payload(cd_json_w *w, const cd_wh_delivery *d)
{
    cd_json_w_key(w, "payload");
    if (d->event.body.n != 0) {
        cd_json_w_raw(w, d->event.body);
    } else {
        cd_json_w_null(w);
    }
}

static void put_delivery(cd_json_w *w, cd_wh_face face, const cd_wh_delivery *d, const cd_wh_attempt *last)
{
    char id[CD_U64_TEXT_MAX];
    usize n = cd_i64_fmt(id, d->key);
    cd__wapi_key(w, face, "id");
    cd_json_w_str(w, cd_bytes_of(id, n));
    if (face == CD_WH_C) {
        put_payload(w, d);
    }
    cd__wapi_w_u64_if(w, face, "status_code", last != NULL && last->status != 0, last == NULL ? 0 : last->status);
    cd__wapi_w_bool(w, face, "success", d->state == CD_WH_DELIVERED);
    cd__wapi_w_u64(w, face, "attempt_count", d->attempts);
    cd__wapi_w_str(w, face, "error", last != NULL && last->error[0] != '\0' ? last->error : NULL);
    cd__wapi_w_time(w, face, "delivered_at", d->delivered_ms);
    cd__wapi_w_str(w, face, "status", cd_wh_state_name(d->state));
    cd__wapi_w_str(w, face, "event_id", d->event.id);
    cd__wapi_w_str(w, face, "event_type", cd_wh_type_name(d->event.type));
    bool waits = d->state == CD_WH_PENDING || d->state == CD_WH_RETRYING || d->state == CD_WH_HELD;
    cd__wapi_w_time(w, face, "next_attempt_at", waits ? d->next_ms : 0);
    cd__wapi_w_u64_if(w, face, "response_time_ms", last != NULL, last == NULL ? 0 : last->ms);
    cd__wapi_key(w, face, "response_body");
    if (last != NULL) {
        cd_json_w_str(w, last->body);
    } else {
        cd_json_w_null(w);
    }
    cd__wapi_w_u64(w, face, "sequence", d->sequence);
    cd__wapi_w_u64(w, face, "block_number", d->event.block);
    cd__wapi_w_time(w, face, "created_at", d->created_ms);
    cd__wapi_w_bool(w, face, "is_test", d->is_test);
    cd__wapi_w_bool(w, face, "is_replay", d->is_replay);
}

static void put_attempt(cd_json_w *w, cd_wh_face face, const cd_wh_attempt *a)
{
    cd_json_w_obj(w);
    cd__wapi_w_u64(w, face, "number", a->number);
    cd__wapi_w_time(w, face, "at", a->at_ms);
    cd__wapi_w_u64_if(w, face, "status_code", a->status != 0, a->status);
    cd__wapi_w_str(w, face, "error", a->error[0] != '\0' ? a->error : NULL);
    cd__wapi_w_u64(w, face, "response_time_ms", a->ms);
    cd__wapi_key(w, face, "timings");
    cd_json_w_obj(w);
    cd__wapi_w_u64(w, face, "dns_ms", a->dns_ms);
    cd__wapi_w_u64(w, face, "connect_ms", a->connect_ms);
    cd__wapi_w_u64(w, face, "tls_ms", a->tls_ms);
    cd__wapi_w_u64(w, face, "ttfb_ms", a->ttfb_ms);
    cd_json_w_obj_end(w);
    put_text(w, face, "request", cd_bytes_str(a->request));
    put_text(w, face, "response", cd_bytes_str(a->response));
    put_text(w, face, "response_body", a->body);
    cd_json_w_obj_end(w);
}

/* "failed" or "failed,skipped", or an array of them. */
static cd_err read_states(cd__wapi_call *c, u32 *mask, cd_bytes text)
{
    while (text.n != 0) {
        const u8 *comma = memchr(text.p, ',', text.n);
        usize n = comma == NULL ? text.n : (usize)(comma - text.p);
        cd_wh_state state;
        if (cd_wh_state_of(&state, cd_bytes_sub(text, 0, n)) != CD_OK) {
            return cd__wapi_refuse(c, 400, "invalid_value", "status", "%.*s is no status", (int)cd_min_u64(n, 40),
                                   (const char *)text.p);
        }
        *mask |= 1u << state;
        n += comma != NULL;
        text = cd_bytes_sub(text, n, text.n - n);
    }
    return CD_OK;
}

static cd_err read_query(cd__wapi_call *c, cd_wh_delivery_query *q)
{
    u64 limit = LIMIT_DFLT;
    const char *states = cd__wapi_query(c, "status");
    *q = (cd_wh_delivery_query){.project = c->account.project.id};
    CD_TRY(cd__wapi_query_u64(c, &limit, "limit", 1, LIMIT_MAX));
    CD_TRY(cd__wapi_time(c, &q->from_ms, "from", cd__wapi_query(c, "from")));
    CD_TRY(cd__wapi_time(c, &q->to_ms, "to", cd__wapi_query(c, "to")));
    CD_TRY(cd__wapi_cursor(c, &q->before));
    CD_TRY(read_states(c, &q->states, states == NULL ? (cd_bytes){0} : cd_bytes_str(states)));
    q->limit = (u32)limit;
    return CD_OK;
}

static void open_list(cd__wapi_call *c, cd_json_w *w, const char *name)
{
    if (cd__wapi_face(c) != CD_WH_C) {
        cd_json_w_obj(w);
        cd__wapi_key(w, cd__wapi_face(c), name);
    }
    cd_json_w_arr(w);
}

static void close_list(cd__wapi_call *c, cd_json_w *w, const char *next)
{
    cd_json_w_arr_end(w);
    if (cd__wapi_face(c) != CD_WH_C) {
        cd__wapi_w_str(w, cd__wapi_face(c), "next_cursor", next);
        cd_json_w_obj_end(w);
    }
    cd__wapi_link_next(c, next);
}

/* One more than is shown is asked for: it tells whether there is a next page. */
static const char *cut(cd__wapi_call *c, const cd_wh_delivery *d, usize *cnt, u32 limit)
{
    bool has_more = *cnt > limit;
    *cnt = has_more ? limit : *cnt;
    return cd__wapi_cursor_fmt(c, has_more ? d[*cnt - 1].key : 0);
}

/* --- deliveries --- */

static cd_err deliveries_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery_query q;
    cd_wh_delivery *list;
    usize cnt;
    CD_TRY(cd__wapi_find(c, s, false, why));
    CD_TRY(read_query(c, &q));
    q.hook = c->hook.key;
    u32 limit = q.limit++;
    CD_TRY(cd_wh_delivery_list(s, &list, &cnt, &c->mem, &q, why));
    const char *next = cut(c, list, &cnt, limit);
    cd_json_w w = cd__wapi_writer(c);
    open_list(c, &w, "deliveries");
    for (usize i = 0; i < cnt; i++) {
        cd_wh_delivery d;
        cd_wh_attempt *attempts;
        usize attempts_cnt;
        CD_TRY(cd_wh_delivery_get(s, &d, &attempts, &attempts_cnt, &c->mem, c->hook.key, list[i].key, why));
        cd_json_w_obj(&w);
        put_delivery(&w, cd__wapi_face(c), &d, attempts_cnt == 0 ? NULL : &attempts[attempts_cnt - 1]);
        cd_json_w_obj_end(&w);
    }
    close_list(c, &w, next);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_DELIVERIES = {.run = deliveries_run};

static cd_err read_sub(cd__wapi_call *c, i64 *out)
{
    if (cd_i64_parse(out, cd_bytes_str(c->sub)) != CD_OK || *out <= 0) {
        return cd__wapi_refuse(c, 404, "not_found", "", "no such delivery");
    }
    return CD_OK;
}

static cd_err delivery_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery d;
    cd_wh_attempt *attempts;
    usize cnt;
    i64 id;
    cd_wh_face face = cd__wapi_face(c);
    CD_TRY(cd__wapi_find(c, s, false, why));
    CD_TRY(read_sub(c, &id));
    cd_err err = cd_wh_delivery_get(s, &d, &attempts, &cnt, &c->mem, c->hook.key, id, why);
    if (err == CD_ENOENT) {
        return cd__wapi_refuse(c, 404, "not_found", "", "no such delivery");
    }
    CD_TRY(err);
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    put_delivery(&w, face, &d, cnt == 0 ? NULL : &attempts[cnt - 1]);
    if (face != CD_WH_C) {
        put_payload(&w, &d);
    }
    cd__wapi_key(&w, face, "chain_hash");
    cd_json_w_hex(&w, cd_bytes_of(d.chain_hash, 32));
    cd__wapi_key(&w, face, "attempts");
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        if (!c->account.key.may_write) {
            attempts[i].request = cd_wh_mask_head(&c->mem, attempts[i].request);
        }
        put_attempt(&w, face, &attempts[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_DELIVERY = {.run = delivery_run};

/* --- replay --- */

static cd_err replay_one_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    i64 id;
    i64 made;
    char text[CD_U64_TEXT_MAX];
    CD_TRY(cd__wapi_find(c, s, false, why));
    CD_TRY(read_sub(c, &id));
    cd_err err = cd_wh_replay_one(s, &made, c->hook.key, id, why);
    if (err == CD_ENOENT) {
        return cd__wapi_refuse(c, 404, "not_found", "", "no such delivery");
    }
    if (err == CD_EEXIST) {
        return cd__wapi_refuse(c, 409, "still_waiting", "", "this delivery still waits");
    }
    CD_TRY(err);
    c->due = true;
    c->status = 202;
    usize n = cd_i64_fmt(text, made);
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_w_u64(&w, cd__wapi_face(c), "queued", 1);
    put_text(&w, cd__wapi_face(c), "delivery_id", cd_bytes_of(text, n));
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_REPLAY_ONE = {.run = replay_one_run};

/* Text, or Unix seconds as a number. */
static cd_err read_when(cd__wapi_call *c, u64 *out_ms, const char *key)
{
    cd_json v = cd_json_get(c->body, key);
    const char *text = NULL;
    u64 s;
    if (cd_json_kind_of(v) == CD_JSON_NUM && cd_json_u64(&s, v, NULL) == CD_OK) {
        text = cd_arena_fmt(&c->mem, "%llu", (unsigned long long)s);
    } else {
        CD_TRY(cd_wh_read_str(&c->read, &text, c->body, key, 40, false));
    }
    return cd__wapi_time(c, out_ms, key, text);
}

static cd_err replay_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery_query q = {0};
    cd_json states = cd_json_get(c->body, "status");
    u64 queued;
    CD_TRY(cd__wapi_find(c, s, false, why));
    CD_TRY(read_when(c, &q.from_ms, "from"));
    CD_TRY(read_when(c, &q.to_ms, "to"));
    q.states = 1u << CD_WH_FAILED | 1u << CD_WH_SKIPPED;
    if (cd_json_has(states)) {
        q.states = 0;
        for (cd_json_it it = cd_json_iter(states); cd_json_next(&it);) {
            cd_bytes name;
            if (cd_json_str(&name, it.val, NULL) != CD_OK) {
                return cd_wh_bad_shape(&c->read, "string_type", "status", "must be names of states");
            }
            CD_TRY(read_states(c, &q.states, name));
        }
        if (q.states == 0) {
            return cd_wh_bad_shape(&c->read, "list_type", "status", "must be an array of states, not empty");
        }
    }
    q.hook = c->hook.key;
    CD_TRY(cd_wh_replay(s, &queued, &q, why));
    c->due = queued != 0;
    c->status = 202;
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_w_u64(&w, cd__wapi_face(c), "queued", queued);
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_REPLAY = {.run = replay_run};

/* --- ledger and events --- */

static cd_err ledger_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    u64 from = 0;
    u64 to = INT64_MAX;
    u64 limit = LEDGER_MAX;
    cd_wh_block_row *rows;
    usize cnt;
    u64 next;
    cd_wh_face face = cd__wapi_face(c);
    CD_TRY(cd__wapi_find(c, s, false, why));
    CD_TRY(cd__wapi_query_u64(c, &from, "from_block", 0, INT64_MAX));
    CD_TRY(cd__wapi_query_u64(c, &to, "to_block", 0, INT64_MAX));
    CD_TRY(cd__wapi_query_u64(c, &limit, "limit", 1, LEDGER_MAX));
    CD_TRY(cd_wh_ledger(s, &rows, &cnt, &next, &c->mem, c->hook.key, from, to, (u32)limit, why));
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_key(&w, face, "blocks");
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_obj(&w);
        cd__wapi_w_u64(&w, face, "block_number", rows[i].block);
        cd__wapi_w_u64(&w, face, "matches", rows[i].matches);
        cd__wapi_w_u64(&w, face, "first_sequence", rows[i].first_sequence);
        cd__wapi_w_u64(&w, face, "last_sequence", rows[i].last_sequence);
        cd__wapi_key(&w, face, "statuses");
        cd_json_w_obj(&w);
        for (u32 k = 0; k < CD_WH_STATES_CNT; k++) {
            if (rows[i].states[k] != 0) {
                cd_json_w_key(&w, cd_wh_state_name((cd_wh_state)k));
                cd_json_w_u64(&w, rows[i].states[k]);
            }
        }
        cd_json_w_obj_end(&w);
        cd_json_w_obj_end(&w);
    }
    cd_json_w_arr_end(&w);
    cd__wapi_key(&w, face, "next_block");
    if (next != 0) {
        cd_json_w_u64(&w, next);
    } else {
        cd_json_w_null(&w);
    }
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_LEDGER = {.run = ledger_run};

/* Ids of webhooks by key: a list has few of them, often the same. */
static cd_err id_of(const char **out, cd__wapi_call *c, cd_wh_store *s, const cd_wh_delivery *list,
                    const char *const *ids, usize i, cd_errinfo *why)
{
    cd_wh_hook hook;
    for (usize k = i; k-- > 0;) {
        if (list[k].hook == list[i].hook) {
            *out = ids[k];
            return CD_OK;
        }
    }
    cd_err err = cd_wh_hook_by_key(s, &hook, &c->mem, list[i].hook, false, why);
    if (err == CD_ENOENT) { // deleted meanwhile
        *out = NULL;
        return CD_OK;
    }
    CD_TRY(err);
    *out = hook.id;
    return CD_OK;
}

static cd_err events_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_delivery_query q;
    cd_wh_delivery *list;
    usize cnt;
    cd_wh_face face = cd__wapi_face(c);
    CD_TRY(read_query(c, &q));
    q.events_only = true;
    u32 limit = q.limit++;
    CD_TRY(cd_wh_delivery_list(s, &list, &cnt, &c->mem, &q, why));
    const char *next = cut(c, list, &cnt, limit);
    const char **ids = cd_arena_array(&c->mem, const char *, cnt);
    cd_json_w w = cd__wapi_writer(c);
    open_list(c, &w, "events");
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(id_of(&ids[i], c, s, list, ids, i, why));
        cd_json_w_obj(&w);
        cd__wapi_w_str(&w, face, "id", list[i].event.id);
        cd__wapi_w_str(&w, face, "event_type", cd_wh_type_name(list[i].event.type));
        cd__wapi_w_str(&w, face, "webhook_id", ids[i]);
        cd__wapi_w_u64(&w, face, "block_number", list[i].event.block);
        cd__wapi_w_u64(&w, face, "sequence", list[i].sequence);
        cd__wapi_w_str(&w, face, "status", cd_wh_state_name(list[i].state));
        cd__wapi_w_time(&w, face, "created_at", list[i].created_ms);
        cd_json_w_obj_end(&w);
    }
    close_list(c, &w, next);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_EVENTS = {.run = events_run};

/* --- statistics --- */

static void put_stat(cd_json_w *w, cd_wh_face face, const cd_wh_stat *st)
{
    cd__wapi_w_u64(w, face, "attempts", st->attempts);
    cd__wapi_w_u64(w, face, "delivered", st->delivered);
    cd__wapi_w_u64(w, face, "failed", st->failed);
    cd__wapi_w_u64(w, face, "retried", st->retried);
}

static cd_err stats_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    static const u32 percents[] = {50, 95, 99};
    u64 hours = STATS_HOURS;
    cd_wh_stat *list;
    cd_wh_stat all = {0};
    usize cnt;
    cd_wh_face face = cd__wapi_face(c);
    CD_TRY(cd__wapi_find(c, s, false, why));
    CD_TRY(cd__wapi_query_u64(c, &hours, "hours", 1, STATS_HOURS_MAX));
    u64 now_hour = cd__wapi_now_ms(c->api) / MS_PER_HOUR;
    CD_TRY(cd_wh_stats(s, &list, &cnt, &c->mem, c->hook.key, c->account.project.id, now_hour + 1 - hours, why));
    for (usize i = 0; i < cnt; i++) {
        all.attempts += list[i].attempts;
        all.delivered += list[i].delivered;
        all.failed += list[i].failed;
        all.retried += list[i].retried;
        for (usize k = 0; k < CD_WH_BUCKETS; k++) {
            all.latency[k] += list[i].latency[k];
        }
    }
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_w_str(&w, face, "webhook_id", c->hook.id);
    cd__wapi_w_u64(&w, face, "hours", hours);
    put_stat(&w, face, &all);
    cd__wapi_key(&w, face, "latency_ms");
    cd_json_w_obj(&w);
    for (usize i = 0; i < CD_COUNT(percents); i++) {
        cd_json_w_key(&w, cd_arena_fmt(&c->mem, "p%u", percents[i]));
        cd_json_w_u64(&w, cd_wh_stat_percentile(&all, percents[i]));
    }
    cd_json_w_obj_end(&w);
    cd__wapi_key(&w, face, "by_hour");
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_obj(&w);
        cd__wapi_w_time(&w, face, "hour", list[i].hour * MS_PER_HOUR);
        put_stat(&w, face, &list[i]);
        cd_json_w_obj_end(&w);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_STATS = {.run = stats_run};
