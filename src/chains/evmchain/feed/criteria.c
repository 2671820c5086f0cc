#include "chains/evmchain/feed/criteria.h"

#include <stdlib.h>

/* Values that one place may have. */
enum { VALUES_MAX = 1000 };

/* --- reading --- */

static int addr_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_addr20));
}

static int value_order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_hash32));
}

/* Sorts and drops repetitions; gives how many are left. */
static usize tidy(void *items, usize cnt, usize size, int (*order)(const void *, const void *))
{
    u8 *p = items;
    usize kept = 0;
    if (cnt == 0) {
        return 0;
    }
    qsort(items, cnt, size, order);
    for (usize i = 1; i < cnt; i++) {
        if (order(p + kept * size, p + i * size) != 0) {
            memmove(p + ++kept * size, p + i * size, size);
        }
    }
    return kept + 1;
}

static cd_err read_addrs(cd_rpc_call *call, cd_log_criteria *c, cd_arena *a, cd_json v, usize idx)
{
    bool is_list = cd_json_kind_of(v) == CD_JSON_ARR;
    usize cnt = is_list ? cd_json_len(v) : 1;
    if (cnt > VALUES_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: exceed max addresses", idx);
    }
    cd_addr20 *addrs = cd_arena_array(a, cd_addr20, cnt);
    for (usize i = 0; i < cnt; i++) {
        CD_TRY(cd_rpc_read_addr(call, &addrs[i], is_list ? cd_json_at(v, i) : v, idx));
    }
    c->addrs = addrs;
    c->addr_cnt = tidy(addrs, cnt, sizeof *addrs, addr_order);
    return CD_OK;
}

static cd_err read_choice(cd_rpc_call *call, cd_log_choice *c, cd_arena *a, cd_json v, usize idx)
{
    if (!cd_json_has(v)) {
        return CD_OK; /* null: anything */
    }
    bool is_list = cd_json_kind_of(v) == CD_JSON_ARR;
    usize cnt = is_list ? cd_json_len(v) : 1;
    if (cnt > VALUES_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: exceed max topics", idx);
    }
    cd_hash32 *values = cd_arena_array(a, cd_hash32, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_json one = is_list ? cd_json_at(v, i) : v;
        if (!cd_json_has(one)) {
            return CD_OK; /* a null among the choices allows everything */
        }
        CD_TRY(cd_rpc_read_hash(call, &values[i], one, idx));
    }
    c->values = values;
    c->cnt = tidy(values, cnt, sizeof *values, value_order);
    return CD_OK;
}

cd_err cd_log_criteria_read(cd_rpc_call *call, cd_log_criteria *out, cd_arena *a, cd_json v, usize idx)
{
    cd_log_criteria c = {0};
    cd_json address = cd_json_get(v, "address");
    cd_json topics = cd_json_get(v, "topics");
    if (cd_json_has(address)) {
        CD_TRY(read_addrs(call, &c, a, address, idx));
    }
    if (cd_json_has(topics) && cd_json_kind_of(topics) != CD_JSON_ARR) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument %zu: topics: not an array", idx);
    }
    c.topic_cnt = cd_json_len(topics);
    if (c.topic_cnt > CD_LOG_TOPICS_MAX) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "exceed max topics");
    }
    for (usize i = 0; i < c.topic_cnt; i++) {
        CD_TRY(read_choice(call, &c.topics[i], a, cd_json_at(topics, i), idx));
    }
    *out = c;
    return CD_OK;
}

void cd_log_criteria_dup(cd_log_criteria *out, cd_arena *a, const cd_log_criteria *c)
{
    cd_log_criteria own = *c;
    cd_bytes addrs = cd_bytes_of((const u8 *)c->addrs, c->addr_cnt * sizeof(cd_addr20));
    own.addrs = (const cd_addr20 *)cd_arena_dup(a, addrs).p;
    for (usize i = 0; i < c->topic_cnt; i++) {
        const cd_log_choice *from = &c->topics[i];
        cd_bytes values = cd_bytes_of((const u8 *)from->values, from->cnt * sizeof(cd_hash32));
        own.topics[i].values = (const cd_hash32 *)cd_arena_dup(a, values).p;
    }
    *out = own;
}

usize cd_log_criteria_size(const cd_log_criteria *c)
{
    usize size = c->addr_cnt * sizeof(cd_addr20);
    for (usize i = 0; i < c->topic_cnt; i++) {
        size += c->topics[i].cnt * sizeof(cd_hash32);
    }
    return size;
}

/* --- matching --- */

/* Most filters have one value in a place. */
static bool has(const void *items, usize cnt, usize size, const void *item)
{
    usize lo = 0;
    usize hi = cnt;
    while (lo < hi) {
        usize mid = (lo + hi) / 2;
        int order = memcmp((const u8 *)items + mid * size, item, size);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return cnt == 0;
}

bool cd_log_criteria_match(const cd_log_criteria *c, const cd_log *log)
{
    bool ok = c->topic_cnt <= log->topic_cnt && has(c->addrs, c->addr_cnt, sizeof(cd_addr20), &log->addr);
    for (usize i = 0; ok && i < c->topic_cnt; i++) {
        ok = has(c->topics[i].values, c->topics[i].cnt, sizeof(cd_hash32), &log->topics[i]);
    }
    return ok;
}

bool cd_log_criteria_may_match(const cd_log_criteria *c, const cd_bloom *bloom)
{
    bool ok = c->addr_cnt == 0;
    for (usize i = 0; i < c->addr_cnt && !ok; i++) {
        ok = cd_bloom_has(bloom, cd_bytes_of(c->addrs[i].b, 20));
    }
    for (usize i = 0; i < c->topic_cnt && ok; i++) {
        const cd_log_choice *choice = &c->topics[i];
        ok = choice->cnt == 0;
        for (usize j = 0; j < choice->cnt && !ok; j++) {
            ok = cd_bloom_has(bloom, cd_bytes_of(choice->values[j].b, 32));
        }
    }
    return ok;
}

void cd_log_criteria_enc(cd_buf *out, const cd_log_criteria *c)
{
    u8 n[8];
    cd_put_be64(n, c->addr_cnt);
    cd_buf_put(out, cd_bytes_of(n, 8));
    cd_buf_put(out, cd_bytes_of((const u8 *)c->addrs, c->addr_cnt * sizeof(cd_addr20)));
    for (usize i = 0; i < c->topic_cnt; i++) {
        const cd_log_choice *choice = &c->topics[i];
        cd_put_be64(n, choice->cnt);
        cd_buf_put(out, cd_bytes_of(n, 8));
        cd_buf_put(out, cd_bytes_of((const u8 *)choice->values, choice->cnt * sizeof(cd_hash32)));
    }
}
