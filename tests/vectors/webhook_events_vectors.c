/* A block in a node's JSON becomes exactly the bodies that webhooks of all faces must get
 * (testdata/webhooks/block-fixture.json), and amounts are written as value-formatted.json says. */
#include "services/webhook/core/chain/event.h"
#include "tests/vectors/vec.h"

/* --- a webhook of the fixture, as its face would read it --- */

static const struct {
    const char *name;
    cd_wh_type type;
} types[] = {
    {"transfer", CD_WH_A_TRANSFER},
    {"erc20_transfer", CD_WH_A_ERC20},
    {"erc721_transfer", CD_WH_A_ERC721},
    {"erc1155_transfer", CD_WH_A_ERC1155},
    {"contract_event", CD_WH_A_CONTRACT},
    {"new_block", CD_WH_A_BLOCK},
    {"address_activity", CD_WH_B_ADDRESS},
    {"token_transfer", CD_WH_B_TOKEN},
    {"nft_transfer", CD_WH_B_NFT},
    {"mined_transaction", CD_WH_B_MINED},
    {"log", CD_WH_B_LOG},
    {"ADDRESS_ACTIVITY", CD_WH_C_ADDRESS},
    {"MINED_TRANSACTION", CD_WH_C_MINED},
    {"NFT_ACTIVITY", CD_WH_C_NFT},
    {"TOKEN_TRANSFER", CD_WH_C_TOKEN},
    {"INTERNAL_TRANSFER", CD_WH_C_INTERNAL},
    {"NEW_BLOCK", CD_WH_C_BLOCK},
};

static u32 mask_of(cd_json name)
{
    cd_bytes text = {0};
    if (cd_json_str(&text, name, NULL) == CD_OK) {
        for (usize i = 0; i < CD_COUNT(types); i++) {
            if (cd_bytes_eq(text, cd_bytes_str(types[i].name))) {
                return 1u << types[i].type;
            }
        }
    }
    return 0;
}

/* Strings of size bytes: none, one, or an array of them. */
static const void *list_of(vec *v, usize *cnt, cd_json list, usize size)
{
    bool is_one = cd_json_kind_of(list) == CD_JSON_STR;
    usize n = is_one ? 1 : cd_json_len(list);
    u8 *out = cd_arena_zalloc(&v->arena, (n + 1) * size);
    for (usize i = 0; i < n; i++) {
        vec_check(v, cd_json_fixed(out + i * size, size, is_one ? list : cd_json_at(list, i), NULL) == CD_OK,
                  "a filter of the fixture is not %zu bytes", size);
    }
    *cnt = n;
    return out;
}

static cd_wh_addrs addrs_of(vec *v, cd_json list)
{
    cd_wh_addrs out;
    out.p = list_of(v, &out.n, list, 20);
    return out;
}

static cd_wh_words words_of(vec *v, cd_json list)
{
    cd_wh_words out;
    out.p = list_of(v, &out.n, list, 32);
    return out;
}

static cd_wh_hook hook_of(vec *v, cd_json json, i64 key)
{
    cd_wh_hook hook = {.key = key};
    cd_bytes id = {0};
    cd_json events = cd_json_get(json, "events");
    cd_json a = cd_json_get(json, "filters");
    cd_json b = cd_json_get(json, "config");
    cd_json f = cd_json_has(b) ? b : a;
    cd_json topics = cd_json_get(f, "topics");
    vec_check(v, cd_json_str(&id, cd_json_get(json, "id"), NULL) == CD_OK, "webhook without id");
    hook.id = cd_arena_str(&v->arena, id);
    hook.types = mask_of(cd_json_get(json, "event_type"));
    for (cd_json_it it = cd_json_iter(events); cd_json_next(&it);) {
        hook.types |= mask_of(it.val);
    }
    hook.filter.addresses = addrs_of(v, cd_json_has(b) ? cd_json_get(b, "addresses") : cd_json_get(a, "address"));
    hook.filter.contracts = addrs_of(v, cd_json_has(b) ? cd_json_get(b, "contracts") : cd_json_get(a, "contract"));
    hook.filter.tx_hashes = words_of(v, cd_json_has(b) ? cd_json_get(b, "tx_hashes") : cd_json_get(a, "txHash"));
    for (usize i = 0; i < cd_json_len(topics) && i < 4; i++) {
        hook.filter.topics[i] = words_of(v, cd_json_at(topics, i));
    }
    if (cd_json_has(cd_json_get(f, "minValue"))) {
        vec_check(v, cd_json_u256(&hook.filter.min_value, cd_json_get(f, "minValue"), NULL) == CD_OK, "minValue");
    }
    return hook;
}

/* --- names of tokens --- */

typedef struct names {
    cd_arena *mem;
    cd_json json;
} names;

static const char *text_or_null(cd_arena *mem, cd_json v)
{
    cd_bytes text;
    return cd_json_str(&text, v, NULL) == CD_OK ? cd_arena_str(mem, text) : NULL;
}

static cd_json token_of(const names *n, const cd_addr20 *contract)
{
    cd_buf key = {0};
    cd_json_w w = {.out = &key};
    cd_json_w_hex(&w, cd_bytes_of(contract->b, 20));
    cd_bytes bare = cd_bytes_sub(cd_buf_bytes(&key), 1, key.n - 2);
    cd_json found = cd_json_get(n->json, cd_arena_str(n->mem, bare));
    cd_buf_fini(&key);
    return found;
}

static const cd_wh_token *token_name(const void *ctx, const cd_addr20 *contract)
{
    const names *n = ctx;
    cd_json json = token_of(n, contract);
    cd_wh_token *t = cd_arena_new(n->mem, cd_wh_token);
    u64 decimals;
    t->symbol = text_or_null(n->mem, cd_json_get(json, "symbol"));
    t->name = text_or_null(n->mem, cd_json_get(json, "name"));
    t->decimals = cd_json_u64(&decimals, cd_json_get(json, "decimals"), NULL) == CD_OK ? (i32)decimals : -1;
    return t;
}

static const char *token_uri(const void *ctx, const cd_wh_hit *hit)
{
    const names *n = ctx;
    cd_json uris = cd_json_get(token_of(n, &hit->log->contract), "tokenURI");
    const char *id = cd_arena_fmt(n->mem, "%llu", (unsigned long long)cd_u256_to_u64_sat(&hit->part->id));
    return text_or_null(n->mem, cd_json_get(uris, id));
}

/* --- the run --- */

/* The fixture has traces by the index of a transaction; a node gives them all. */
static cd_json traces_of(vec *v, cd_json fixture)
{
    cd_json traces = cd_json_get(fixture, "traces");
    usize cnt = cd_json_len(cd_json_get(cd_json_get(fixture, "block"), "transactions"));
    cd_buf text = {0};
    cd_json out = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        cd_json trace = cd_json_get(traces, cd_arena_fmt(&v->arena, "%zu", i));
        cd_json_w_obj(&w);
        cd_json_w_key(&w, "result");
        if (cd_json_has(trace)) {
            cd_json_raw(&text, trace);
            w.comma = true;
        } else {
            cd_json_w_raw(&w, cd_bytes_str("{\"type\":\"CALL\"}"));
        }
        cd_json_w_obj_end(&w);
    }
    cd_json_w_arr_end(&w);
    vec_check(v, cd_json_parse(&out, &v->arena, cd_buf_bytes(&text), 0, NULL) == CD_OK, "traces");
    cd_buf_fini(&text);
    return out;
}

/* The events of one webhook are the expected bodies, in their order. */
static void case_check(vec *v, const cd_wh_event *events, usize cnt, const cd_wh_hook *hook, cd_json bodies)
{
    usize at = 0;
    for (cd_json_it it = cd_json_iter(bodies); cd_json_next(&it); at++) {
        cd_bytes want = {0};
        while (at < cnt && events[at].hook != hook->key) {
            at++;
        }
        bool ok = cd_json_str(&want, it.val, NULL) == CD_OK && at < cnt && cd_bytes_eq(want, events[at].body);
        vec_check(v, ok, "%s:\n got %.*s\nwant %.*s", hook->id, at < cnt ? (int)events[at].body.n : 0,
                  at < cnt ? (const char *)events[at].body.p : "", (int)want.n, (const char *)want.p);
    }
    while (at < cnt && events[at].hook != hook->key) {
        at++;
    }
    vec_check(v, at >= cnt, "%s: more events than expected", hook->id);
}

static void block_run(vec *v)
{
    cd_json fixture;
    cd_wh_facts facts;
    cd_errinfo why = {0};
    u64 chain_id = 0;
    usize cnt;
    if (!vec_json(v, &fixture, vec_path(v, "webhooks/block-fixture.json"))) {
        return;
    }
    cd_json cases = cd_json_get(fixture, "cases");
    usize hooks_cnt = cd_json_len(cases);
    cd_err err = cd_wh_facts_parse(&facts, &v->arena, cd_json_get(fixture, "block"), cd_json_get(fixture, "receipts"),
                                   traces_of(v, fixture), &why);
    vec_check(v, err == CD_OK && cd_json_u64(&chain_id, cd_json_get(fixture, "chainId"), &why) == CD_OK, "facts: %s",
              why.msg);
    if (err != CD_OK) {
        return;
    }
    const cd_wh_chain chain = {
        .name = text_or_null(&v->arena, cd_json_get(fixture, "chain")),
        .symbol = text_or_null(&v->arena, cd_json_get(fixture, "nativeSymbol")),
        .id = chain_id,
    };
    const names n = {.mem = &v->arena, .json = cd_json_get(fixture, "token_metadata")};
    const cd_wh_names lookup = {.token = token_name, .uri = token_uri, .ctx = &n};
    cd_wh_hook *hooks = cd_arena_array(&v->arena, cd_wh_hook, hooks_cnt);
    cd_wh_match *match = cd_wh_match_new();
    for (usize i = 0; i < hooks_cnt; i++) {
        hooks[i] = hook_of(v, cd_json_get(cd_json_at(cases, i), "webhook"), (i64)i + 1);
        (void)cd_wh_match_put(match, &hooks[i]);
    }
    const cd_wh_hit *hits = cd_wh_match_run(match, &cnt, &facts);
    const cd_wh_event *events = cd_wh_events_make(&v->arena, &chain, &facts, hits, cnt, &lookup);
    for (usize i = 0; i < hooks_cnt; i++) {
        case_check(v, events, cnt, &hooks[i], cd_json_get(cd_json_at(cases, i), "expected_bodies"));
    }
    cd_wh_match_free(match);
}

static void units_run(vec *v)
{
    cd_json rows;
    if (!vec_json(v, &rows, vec_path(v, "webhooks/value-formatted.json"))) {
        return;
    }
    for (cd_json_it it = cd_json_iter(rows); cd_json_next(&it);) {
        char text[CD_WH_UNITS_MAX];
        cd_u256 value;
        cd_bytes want;
        u64 decimals;
        if (!cd_json_has(cd_json_get(it.val, "decimals"))) {
            continue; /* null: nothing is written */
        }
        bool ok = cd_json_u256(&value, cd_json_get(it.val, "value"), NULL) == CD_OK &&
                  cd_json_u64(&decimals, cd_json_get(it.val, "decimals"), NULL) == CD_OK &&
                  cd_json_str(&want, cd_json_get(it.val, "valueFormatted"), NULL) == CD_OK &&
                  cd_bytes_eq(want, cd_bytes_of(text, cd_wh_units_fmt(text, &value, (u32)decimals)));
        vec_check(v, ok, "value-formatted %.*s", (int)want.n, (const char *)want.p);
    }
}

int main(void)
{
    vec v = {0};
    block_run(&v);
    units_run(&v);
    return vec_end(&v);
}
