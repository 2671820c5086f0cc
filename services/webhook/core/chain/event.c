#include "services/webhook/core/chain/event.h"

#include "crypto/hash/sha2.h"
#include "num/u256_text.h"
#include "services/webhook/core/chain/abi_event.h"
#include "services/webhook/core/chain/payload.h"
#include "services/webhook/core/names.h"

#include <stdio.h>

/* 36^12: what B's twelve characters can tell apart. */
#define B_ID_RANGE 4738381338321616896ull

/* --- pairs --- */

void cd__wh_put_str(cd__wh_body *b, const char *key, const char *v)
{
    cd_json_w_key(&b->w, key);
    if (v == NULL) {
        cd_json_w_null(&b->w);
    } else {
        cd_json_w_cstr(&b->w, v);
    }
}

void cd__wh_put_u64(cd__wh_body *b, const char *key, u64 v)
{
    cd_json_w_key(&b->w, key);
    cd_json_w_u64(&b->w, v);
}

void cd__wh_put_finality(cd__wh_body *b)
{
    if (b->chain->is_final) {
        cd__wh_put_str(b, "finality", "final");
    }
}

void cd__wh_put_u64_str(cd__wh_body *b, const char *key, u64 v)
{
    cd_u256 wide = cd_u256_from_u64(v);
    cd__wh_put_dec(b, key, &wide);
}

void cd__wh_put_dec(cd__wh_body *b, const char *key, const cd_u256 *v)
{
    char text[CD_U256_TEXT_MAX];
    cd_json_w_key(&b->w, key);
    if (v == NULL) {
        cd_json_w_null(&b->w);
    } else {
        cd_json_w_str(&b->w, cd_bytes_of(text, cd_u256_fmt_dec(text, v)));
    }
}

void cd__wh_put_units(cd__wh_body *b, const char *key, const cd_u256 *v, i32 decimals)
{
    char text[CD_WH_UNITS_MAX];
    cd_json_w_key(&b->w, key);
    if (decimals < 0) {
        cd_json_w_null(&b->w);
    } else {
        cd_json_w_str(&b->w, cd_bytes_of(text, cd_wh_units_fmt(text, v, (u32)decimals)));
    }
}

void cd__wh_put_addr(cd__wh_body *b, const char *key, const cd_addr20 *v)
{
    cd_json_w_key(&b->w, key);
    if (v == NULL) {
        cd_json_w_null(&b->w);
    } else {
        cd_json_w_hex(&b->w, cd_bytes_of(v->b, 20));
    }
}

void cd__wh_put_hash(cd__wh_body *b, const char *key, const cd_hash32 *v)
{
    cd_json_w_key(&b->w, key);
    cd_json_w_hex(&b->w, cd_bytes_of(v->b, 32));
}

void cd__wh_put_topics(cd__wh_body *b, const cd_wh_log *log)
{
    cd_json_w_key(&b->w, "topics");
    cd_json_w_arr(&b->w);
    for (u32 i = 0; i < log->topics_cnt; i++) {
        cd_json_w_hex(&b->w, cd_bytes_of(log->topics[i].b, 32));
    }
    cd_json_w_arr_end(&b->w);
    cd_json_w_key(&b->w, "data");
    cd_json_w_hex(&b->w, log->data);
    if (b->hit->wants_args) {
        cd_json_w_key(&b->w, "decoded");
        cd_wh_abi_put(&b->w, b->hit->event, log);
    }
}

usize cd_wh_units_fmt(char out[CD_WH_UNITS_MAX], const cd_u256 *value, u32 decimals)
{
    char digits[CD_U256_TEXT_MAX];
    usize n = cd_u256_fmt_dec(digits, value);
    usize whole = n > decimals ? n - decimals : 0;
    usize at = whole;
    CD_ASSERT(decimals <= 255);
    memcpy(out, digits, whole);
    if (whole == 0) {
        out[at++] = '0';
    }
    out[at++] = '.';
    usize first = at;
    for (usize zeros = n < decimals ? decimals - n : 0; zeros > 0; zeros--) {
        out[at++] = '0';
    }
    memcpy(out + at, digits + whole, n - whole);
    at += n - whole;
    while (at > first && out[at - 1] == '0') {
        at--;
    }
    if (at == first) {
        out[at++] = '0';
    }
    out[at] = '\0';
    return at;
}

/* --- identity --- */

static void hash_make(u8 h[32], const cd_wh_chain *chain, const cd_wh_facts *facts, const cd_wh_hit *hit)
{
    static const u8 domain[12] = {'s', 'v', 'c', '/', 'e', 'v', 'e', 'n', 't', '/', 'v', '1'};
    u8 text[sizeof domain + 8 + 32 + 1 + 32 + 4 + 4 + CD_WH_ID_MAX];
    usize id_n = strlen(hit->hook_id);
    cd_hash32 sum;
    u32 index = hit->log != NULL     ? hit->log->index
                : hit->inner != NULL ? (u32)(hit->inner - hit->tx->inners)
                : hit->tx != NULL    ? hit->tx->index
                                     : 0;
    CD_ASSERT(id_n < CD_WH_ID_MAX);
    memcpy(text, domain, sizeof domain);
    cd_put_be64(text + 12, chain->id);
    memcpy(text + 20, facts->hash.b, 32);
    text[52] = (u8)hit->kind;
    if (hit->tx != NULL) {
        memcpy(text + 53, hit->tx->hash.b, 32);
    } else {
        memset(text + 53, 0, 32);
    }
    cd_put_be32(text + 85, index);
    cd_put_be32(text + 89, hit->sub);
    memcpy(text + 93, hit->hook_id, id_n);
    cd_sha256(&sum, cd_bytes_of(text, 93 + id_n));
    memcpy(h, sum.b, 32);
}

static void a_id(char *out, const u8 h[32])
{
    static const char hex[] = "0123456789abcdef";
    memcpy(out, "evt-", 4);
    for (usize i = 0; i < 12; i++) {
        out[4 + 2 * i] = hex[h[i] >> 4];
        out[5 + 2 * i] = hex[h[i] & 15];
    }
    out[28] = '\0';
}

static void b_id(char *out, const u8 h[32])
{
    u64 v = cd_be64(h) % B_ID_RANGE;
    memcpy(out, "evt_", 4);
    for (usize i = 12; i-- > 0; v /= 36) {
        out[4 + i] = "0123456789abcdefghijklmnopqrstuvwxyz"[v % 36];
    }
    out[16] = '\0';
}

/* A ULID: 48 bits of milliseconds and 80 of h, as 26 characters of five bits from the right. */
static void c_id(char *out, const u8 h[32], u64 time_ms)
{
    u8 bytes[16];
    u128 v;
    cd_put_be64(bytes, time_ms << 16);
    memcpy(bytes + 6, h, 10);
    v = (u128)cd_be64(bytes) << 64 | cd_be64(bytes + 8);
    memcpy(out, "evt_", 4);
    for (usize i = 26; i-- > 0; v >>= 5) {
        out[4 + i] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[(u32)v & 31];
    }
    out[30] = '\0';
}

void cd_wh_event_id(char out[CD_WH_EVENT_ID_MAX], cd_wh_face face, const u8 h[32], u64 time_ms)
{
    switch (face) {
    case CD_WH_A:
        a_id(out, h);
        break;
    case CD_WH_B:
        b_id(out, h);
        break;
    case CD_WH_C:
        c_id(out, h, time_ms);
        break;
    }
}

/* --- events --- */

cd_wh_need cd_wh_hit_need(const cd_wh_hit *hit)
{
    if (hit->log == NULL) {
        return CD_WH_NEED_NOTHING;
    }
    switch (hit->type) {
    case CD_WH_A_ERC20:
    case CD_WH_B_ADDRESS:
    case CD_WH_B_TOKEN:
    case CD_WH_C_ADDRESS:
    case CD_WH_C_TOKEN:
        return CD_WH_NEED_COIN;
    case CD_WH_C_NFT:
        return CD_WH_NEED_NFT;
    case CD_WH_A_TRANSFER:
    case CD_WH_A_ERC721:
    case CD_WH_A_ERC1155:
    case CD_WH_A_CONTRACT:
    case CD_WH_A_BLOCK:
    case CD_WH_B_NFT:
    case CD_WH_B_MINED:
    case CD_WH_B_LOG:
    case CD_WH_C_MINED:
    case CD_WH_C_INTERNAL:
    case CD_WH_C_BLOCK:
    case CD_WH_C_PENDING:
    case CD_WH_TYPES_CNT:
        break;
    }
    return CD_WH_NEED_NOTHING;
}

/* What is the same for all events of a block. */
typedef struct frame {
    const cd_wh_chain *chain;
    const cd_wh_facts *facts;
    const cd_wh_names *names;
    char time[CD_TIME_TEXT_LEN + 1], time_ms[CD_TIME_TEXT_LEN + 1];
    bool is_test;
} frame;

static frame frame_make(const cd_wh_chain *chain, const cd_wh_facts *facts, const cd_wh_names *names)
{
    frame f = {.chain = chain, .facts = facts, .names = names};
    cd_time_fmt(f.time_ms, facts->time_ms * CD_NS_PER_MS);
    memcpy(f.time, f.time_ms, CD_TIME_TEXT_LEN);
    memcpy(f.time + CD_TIME_TEXT_LEN - 5, "Z", 2);
    return f;
}

static void event_make(cd_wh_event *out, cd_arena *mem, cd_buf *scratch, const frame *f, const cd_wh_hit *hit)
{
    static const cd_wh_token unknown = {.decimals = -1};
    cd_wh_need need = cd_wh_hit_need(hit);
    cd_wh_face face = cd_wh_type_face(hit->type);
    const cd_wh_token *token = need == CD_WH_NEED_NOTHING ? NULL : f->names->token(f->names->ctx, &hit->log->contract);
    cd__wh_body b = {
        .w = {.out = scratch},
        .chain = f->chain,
        .facts = f->facts,
        .hit = hit,
        .token = token == NULL ? &unknown : token,
        .uri = need == CD_WH_NEED_NFT ? f->names->uri(f->names->ctx, hit) : NULL,
        .id = out->id,
        .time = f->time,
        .time_ms = f->time_ms,
        .is_test = f->is_test,
    };
    out->hook = hit->hook;
    out->type = hit->type;
    out->block = f->facts->number;
    out->time_ms = f->facts->time_ms;
    hash_make(out->h, f->chain, f->facts, hit);
    cd_wh_event_id(out->id, face, out->h, f->facts->time_ms);
    cd_buf_clear(scratch);
    switch (face) {
    case CD_WH_A:
        cd__wh_a_body(&b);
        break;
    case CD_WH_B:
        cd__wh_b_body(&b);
        break;
    case CD_WH_C:
        cd__wh_c_body(&b);
        break;
    }
    out->body = cd_arena_dup(mem, cd_buf_bytes(scratch));
}

cd_wh_event *cd_wh_events_make(cd_arena *mem, const cd_wh_chain *chain, const cd_wh_facts *facts, const cd_wh_hit *hits,
                               usize hits_cnt, const cd_wh_names *names)
{
    cd_wh_event *events = cd_arena_array(mem, cd_wh_event, hits_cnt + 1);
    frame f = frame_make(chain, facts, names);
    cd_buf scratch = {0};
    for (usize i = 0; i < hits_cnt; i++) {
        event_make(&events[i], mem, &scratch, &f, &hits[i]);
    }
    cd_buf_fini(&scratch);
    return events;
}

/* --- examples --- */

static const cd_wh_token *example_token(const void *ctx, const cd_addr20 *contract)
{
    static const cd_wh_token token = {.symbol = "USDC", .name = "USD Coin", .decimals = 6};
    (void)ctx;
    (void)contract;
    return &token;
}

static const char *example_uri(const void *ctx, const cd_wh_hit *hit)
{
    (void)ctx;
    (void)hit;
    return "https://example.com/7.json";
}

cd_wh_event cd_wh_event_example(cd_arena *mem, const cd_wh_chain *chain, const cd_wh_hook *hook, cd_wh_type type,
                                u64 now_ms)
{
    static const u32 path[] = {0, 1};
    const cd_addr20 from = {.b = {0x11, 0x11}};
    const cd_addr20 to = {.b = {0x22, 0x22}};
    const cd_addr20 contract = {.b = {0x33, 0x33}};
    const cd_hash32 topics[] = {{.b = {0xdd, 0xf2, 0x52, 0xad}}};
    const cd_wh_part part = {.id = cd_u256_from_u64(7), .value = cd_u256_from_u64(1500000)};
    const cd_wh_part nft = {.id = cd_u256_from_u64(7), .value = cd_u256_one()};
    const cd_u256 coin = cd_u256_from_u64(1500000000000000000);
    bool is_nft = type == CD_WH_A_ERC721 || type == CD_WH_B_NFT || type == CD_WH_C_NFT;
    const cd_wh_log log = {
        .topics_cnt = CD_COUNT(topics),
        .topics = topics,
        .contract = contract,
        .from = from,
        .to = to,
        .operator= from,
        .move = type == CD_WH_A_ERC1155 ? CD_WH_MOVE_ERC1155
                : is_nft                ? CD_WH_MOVE_ERC721
                                        : CD_WH_MOVE_ERC20,
        .parts_cnt = 1,
        .parts = is_nft ? &nft : &part,
    };
    const cd_wh_inner inner = {.from = from, .to = to, .value = coin, .call = "CALL", .depth = 2, .path = path};
    const cd_wh_tx tx = {
        .hash = {.b = {0x44, 0x44}},
        .from = from,
        .to = to,
        .has_to = true,
        .is_ok = true,
        .has_fees = true,
        .value = coin,
        .moved = coin,
        .gas_price = cd_u256_from_u64(26000000000),
        .max_fee = cd_u256_from_u64(30000000000),
        .max_tip = cd_u256_from_u64(1000000000),
        .gas_used = 21000,
        .gas = 21000,
        .logs = &log,
        .logs_cnt = 1,
        .inners = &inner,
        .inners_cnt = 1,
    };
    bool is_pending = type == CD_WH_C_PENDING;
    bool is_block = type == CD_WH_A_BLOCK || type == CD_WH_C_BLOCK;
    bool is_inner = type == CD_WH_C_INTERNAL;
    bool is_tx = type == CD_WH_A_TRANSFER || type == CD_WH_B_ADDRESS || type == CD_WH_B_MINED ||
                 type == CD_WH_C_ADDRESS || type == CD_WH_C_MINED;
    bool is_log = !is_pending && !is_block && !is_inner && !is_tx;
    bool is_plain = type == CD_WH_A_CONTRACT || type == CD_WH_B_LOG;
    const cd_wh_facts facts = {
        .is_pending = is_pending,
        .has_base_fee = true,
        .number = is_pending ? 0 : 1,
        .hash = {.b = {0x55, 0x55}},
        .time_ms = is_pending ? now_ms : now_ms / 1000 * 1000,
        .gas_used = 21000,
        .gas_limit = 12000000,
        .base_fee = cd_u256_from_u64(25000000000),
        .txs = &tx,
        .txs_cnt = 1,
    };
    const cd_wh_hit hit = {
        .hook = hook->key,
        .hook_id = hook->id,
        .type = type,
        .kind = is_pending ? CD_WH_KIND_PENDING
                : is_block ? CD_WH_KIND_BLOCK
                : is_inner ? CD_WH_KIND_INNER
                : is_log   ? CD_WH_KIND_LOG
                           : CD_WH_KIND_TX,
        .tx = is_block ? NULL : &tx,
        .log = is_log ? &log : NULL,
        .part = is_log && !is_plain ? log.parts : NULL,
        .inner = is_inner ? &inner : NULL,
        .is_outgoing = true,
    };
    const cd_wh_names names = {.token = example_token, .uri = example_uri};
    frame f = frame_make(chain, &facts, &names);
    cd_buf scratch = {0};
    cd_wh_event event = {0};
    f.is_test = true;
    event_make(&event, mem, &scratch, &f, &hit);
    cd_buf_fini(&scratch);
    return event;
}
