#include "services/webhook/core/chain/tokens.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/table/list.h"

enum {
    CACHE_MAX = 1 << 16,
    TEXT_MAX = 64,
    URI_MAX = 2048,
    ASKS_MAX = 300, /* calls in one request */
    CALLS_EACH = 3, /* symbol, name, decimals */
    GAS = 100000,
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 10000,
    LIMIT_EXCEEDED = -32005, /* a provider's: later */
    REVERTED = 3,
    VM_ERROR = -32015,
    TRIES_MAX = 8, /* before an error that nobody knows is an answer */
};

#define SYMBOL    "95d89b41" /* symbol() */
#define NAME      "06fdde03" /* name() */
#define DECIMALS  "313ce567" /* decimals() */
#define TOKEN_URI "c87b56dd" /* tokenURI(uint256), ERC-721 */
#define URI       "0e89341c" /* uri(uint256), ERC-1155 */

struct cd_wh_tokens {
    cd_loop *loop;
    cd_jobs *db;
    cd_upstream *node;
    const char *chain;
    cd_hmap cache;    /* address -> cd_wh_token */
    cd_arena strings; /* symbols and names of the cached tokens */
};

/* A contract whose symbol, name or decimals an event needs. */
typedef struct want {
    cd_addr20 contract;
    cd_wh_token token;
    bool is_known;
} want;

/* A token whose URI an event needs. */
typedef struct uri_want {
    const cd_wh_hit *hit;
    const char *text;
} uri_want;

struct cd_wh_naming {
    cd_job job; /* reads what the store knows */
    cd_wh_tokens *tokens;
    cd_arena *mem;
    const cd_wh_facts *facts;
    cd_wh_naming_fn *fn;
    void *ctx;
    cd_hmap by_addr; /* contract -> index of wants */
    cd_hmap by_part; /* part of a transfer -> index of uris */
    cd_buf wants;
    cd_buf uris;
    usize asked; /* how many of the wants, then of the uris, have their answers */
    usize asking;
    usize asks_cnt; /* number of eth_calls in `call` */
    cd_call *call;
    cd_arena call_mem;
    cd_timer *retry;
    u32 pause_ms;
    u32 tries;
    bool in_job;
    bool is_dropped;
};

/* Keeps in the store what was learnt. */
typedef struct keep_job {
    cd_job job;
    const char *chain;
    cd_arena mem;
    want *wants;
    usize cnt;
} keep_job;

static void ask_more(cd_wh_naming *n);

/* --- answers of contracts --- */

/* The length of the UTF-8 sequence at p, 0 when there is none. */
static usize utf8_len(const u8 *p, usize left)
{
    u8 c = p[0];
    usize n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (n == 1) {
        return 1;
    }
    u8 lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    u8 hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (c < 0xc2 || c > 0xf4 || left < n || p[1] < lo || p[1] > hi) {
        return 0;
    }
    for (usize i = 2; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

/* What of it can be shown: no control characters (C1 neither), no pieces of characters, no more than max bytes. */
static const char *text_clean(cd_arena *mem, cd_bytes in, usize max)
{
    char *out = cd_arena_alloc(mem, (in.n < max ? in.n : max) + 1);
    usize n = 0;
    for (usize i = 0; i < in.n;) {
        usize len = utf8_len(in.p + i, in.n - i);
        bool is_control =
            len == 1 ? in.p[i] < 0x20 || in.p[i] == 0x7f : len == 2 && in.p[i] == 0xc2 && in.p[i + 1] < 0xa0;
        if (len == 0 || is_control) {
            i += len == 0 ? 1 : len;
            continue;
        }
        if (n + len > max) {
            break;
        }
        memcpy(out + n, in.p + i, len);
        n += len;
        i += len;
    }
    out[n] = '\0';
    return out;
}

/* A word as a number that is at most max. */
static bool word_number(usize *out, cd_bytes answer, usize at, usize max)
{
    cd_u256 v;
    cd_u256_load_be(&v, answer.p + at);
    if (!cd_u256_fits_u64(&v) || cd_u256_to_u64_sat(&v) > max) {
        return false;
    }
    *out = (usize)cd_u256_to_u64_sat(&v);
    return true;
}

const char *cd_wh_token_text(cd_arena *mem, cd_bytes answer, usize max)
{
    usize at, n;
    if (answer.n == 32) {
        while (answer.n != 0 && answer.p[answer.n - 1] == 0) {
            answer.n--;
        }
        return text_clean(mem, answer, max);
    }
    if (answer.n < 64 || !word_number(&at, answer, 0, answer.n - 32) ||
        !word_number(&n, answer, at, answer.n - 32 - at)) {
        return NULL;
    }
    return text_clean(mem, cd_bytes_sub(answer, at + 32, n), max);
}

i32 cd_wh_token_number(cd_bytes answer)
{
    usize n;
    return answer.n == 32 && word_number(&n, answer, 0, 255) ? (i32)n : -1;
}

/* --- tokens --- */

cd_wh_tokens *cd_wh_tokens_new(cd_loop *loop, cd_jobs *db, cd_upstream *node, const char *chain)
{
    cd_wh_tokens *t = cd_new(cd_wh_tokens);
    t->loop = loop;
    t->db = db;
    t->node = node;
    t->chain = chain;
    cd_hmap_init(&t->cache, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(cd_wh_token));
    return t;
}

void cd_wh_tokens_free(cd_wh_tokens *t)
{
    if (t != NULL) {
        cd_hmap_fini(&t->cache);
        cd_arena_fini(&t->strings);
        cd_free(t);
    }
}

static const char *text_copy(cd_arena *mem, const char *text)
{
    return text == NULL ? NULL : cd_arena_str(mem, cd_bytes_str(text));
}

static cd_wh_token token_copy(cd_arena *mem, const cd_wh_token *t)
{
    return (cd_wh_token){
        .symbol = text_copy(mem, t->symbol),
        .name = text_copy(mem, t->name),
        .decimals = t->decimals,
    };
}

static void cache_put(cd_wh_tokens *t, const want *w)
{
    if (cd_hmap_cnt(&t->cache) >= CACHE_MAX) {
        cd_hmap_clear(&t->cache);
        cd_arena_reset(&t->strings);
    }
    *(cd_wh_token *)cd_hmap_put(&t->cache, NULL, &w->contract) = token_copy(&t->strings, &w->token);
}

/* --- a naming --- */

static want *wants_of(const cd_wh_naming *n, usize *cnt)
{
    *cnt = n->wants.n / sizeof(want);
    return (want *)(void *)n->wants.p;
}

static uri_want *uris_of(const cd_wh_naming *n, usize *cnt)
{
    *cnt = n->uris.n / sizeof(uri_want);
    return (uri_want *)(void *)n->uris.p;
}

static u64 part_key(const cd_wh_hit *hit)
{
    return (u64)(uintptr_t)hit->part;
}

static const cd_wh_token *name_token(const void *ctx, const cd_addr20 *contract)
{
    const cd_wh_naming *n = ctx;
    usize cnt;
    const u32 *at = cd_hmap_get(&n->by_addr, contract);
    return at == NULL ? NULL : &wants_of(n, &cnt)[*at].token;
}

static const char *name_uri(const void *ctx, const cd_wh_hit *hit)
{
    const cd_wh_naming *n = ctx;
    usize cnt;
    u64 key = part_key(hit);
    const u32 *at = cd_hmap_get(&n->by_part, &key);
    return at == NULL ? NULL : uris_of(n, &cnt)[*at].text;
}

cd_wh_names cd_wh_naming_names(const cd_wh_naming *n)
{
    return (cd_wh_names){.token = name_token, .uri = name_uri, .ctx = n};
}

static void naming_release(cd_wh_naming *n)
{
    cd_call_cancel(n->call);
    cd_timer_free(n->retry);
    cd_arena_fini(&n->call_mem);
    cd_hmap_fini(&n->by_addr);
    cd_hmap_fini(&n->by_part);
    cd_buf_fini(&n->wants);
    cd_buf_fini(&n->uris);
    cd_free(n);
}

void cd_wh_naming_free(cd_wh_naming *n)
{
    if (n == NULL) {
        return;
    }
    n->is_dropped = true;
    if (!n->in_job) {
        naming_release(n);
    }
}

/* Notes what a hit needs. */
static void hit_want(cd_wh_naming *n, const cd_wh_hit *hit)
{
    cd_wh_need need = cd_wh_hit_need(hit);
    bool is_new;
    usize cnt;
    if (need == CD_WH_NEED_NOTHING) {
        return;
    }
    u32 *at = cd_hmap_put(&n->by_addr, &is_new, &hit->log->contract);
    if (is_new) {
        want w = {.contract = hit->log->contract, .token.decimals = -1};
        const cd_wh_token *known = cd_hmap_get(&n->tokens->cache, &w.contract);
        if (known != NULL) {
            w.token = token_copy(n->mem, known);
            w.is_known = true;
        }
        (void)wants_of(n, &cnt);
        *at = (u32)cnt;
        cd_buf_put(&n->wants, cd_bytes_of(&w, sizeof w));
    }
    if (need == CD_WH_NEED_NFT) {
        u64 key = part_key(hit);
        at = cd_hmap_put(&n->by_part, &is_new, &key);
        if (is_new) {
            const uri_want u = {.hit = hit};
            (void)uris_of(n, &cnt);
            *at = (u32)cnt;
            cd_buf_put(&n->uris, cd_bytes_of(&u, sizeof u));
        }
    }
}

/* --- what the store knows --- */

static cd_err store_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_wh_naming *n = cd_list_of(job, cd_wh_naming, job);
    usize cnt;
    want *wants = wants_of(n, &cnt);
    for (usize i = 0; i < cnt; i++) {
        if (wants[i].is_known) {
            continue;
        }
        /* In memory of its own: it may have been dropped meanwhile, and with it what it is for. */
        cd_err err = cd_wh_token_get(s, &wants[i].token, &n->call_mem, n->tokens->chain, &wants[i].contract, why);
        if (err != CD_OK && err != CD_ENOENT) {
            return err;
        }
        wants[i].is_known = err == CD_OK;
    }
    return CD_OK;
}

/* Whether the store could tell or not, the node knows. */
static void store_done(cd_job *job)
{
    cd_wh_naming *n = cd_list_of(job, cd_wh_naming, job);
    usize cnt;
    n->in_job = false;
    if (n->is_dropped) {
        naming_release(n);
        return;
    }
    want *wants = wants_of(n, &cnt);
    for (usize i = 0; i < cnt; i++) {
        if (wants[i].is_known) {
            wants[i].token = token_copy(n->mem, &wants[i].token);
            cache_put(n->tokens, &wants[i]);
        }
    }
    ask_more(n);
}

static cd_err keep_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    keep_job *k = cd_list_of(job, keep_job, job);
    for (usize i = 0; i < k->cnt; i++) {
        CD_TRY(cd_wh_token_put(s, &k->wants[i].token, k->chain, &k->wants[i].contract, why));
    }
    return CD_OK;
}

/* What could not be kept is asked for again some day. */
static void keep_done(cd_job *job)
{
    keep_job *k = cd_list_of(job, keep_job, job);
    cd_arena_fini(&k->mem);
    cd_free(k);
}

static void keep(cd_wh_tokens *t, const want *wants, usize cnt)
{
    if (t->db == NULL || cnt == 0) {
        return;
    }
    keep_job *k = cd_new(keep_job);
    k->job.run = keep_run;
    k->job.done = keep_done;
    k->chain = t->chain;
    k->wants = cd_arena_array(&k->mem, want, cnt);
    k->cnt = cnt;
    for (usize i = 0; i < cnt; i++) {
        k->wants[i].contract = wants[i].contract;
        k->wants[i].token = token_copy(&k->mem, &wants[i].token);
    }
    cd_jobs_write(t->db, &k->job);
}

/* --- what the node says --- */

static const char *call_params(cd_arena *mem, const cd_addr20 *contract, const char *selector, const cd_u256 *argument,
                               const u64 *block)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_hash32 word;
    cd_json_w_arr(&w);
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "to");
    cd_json_w_hex(&w, cd_bytes_of(contract->b, 20));
    cd_json_w_key(&w, "gas");
    cd_json_w_qty(&w, GAS);
    cd_json_w_key(&w, "data");
    cd_buf_fmt(&text, "\"0x%s", selector);
    if (argument != NULL) {
        word = cd_u256_to_hash(argument);
        for (usize i = 0; i < 32; i++) {
            cd_buf_fmt(&text, "%02x", word.b[i]);
        }
    }
    cd_buf_u8(&text, '"');
    cd_json_w_obj_end(&w);
    if (block == NULL) {
        cd_json_w_cstr(&w, "latest");
    } else {
        cd_json_w_qty(&w, *block);
    }
    cd_json_w_arr_end(&w);
    const char *params = cd_arena_str(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return params;
}

static cd_bytes answer_bytes(cd_arena *mem, const cd_answer *a)
{
    cd_bytes out = {0};
    if (!a->is_error && cd_json_hex(&out, mem, a->result, NULL) != CD_OK) {
        out = (cd_bytes){0};
    }
    return out;
}

static void on_retry(void *ctx)
{
    ask_more(ctx);
}

static void ask_later(cd_wh_naming *n)
{
    n->pause_ms = n->pause_ms == 0 ? PAUSE_MIN_MS : 2 * n->pause_ms;
    n->pause_ms = n->pause_ms > PAUSE_MAX_MS ? PAUSE_MAX_MS : n->pause_ms;
    if (n->retry == NULL) {
        n->retry = cd_timer_new(n->tokens->loop, on_retry, n);
    }
    cd_timer_start(n->retry, n->pause_ms, 0);
}

/* Takes the answers for what begins at n->asked: wants first, then uris. */
static void answers_take(cd_wh_naming *n, const cd_answer *a)
{
    usize wants_cnt, uris_cnt;
    want *wants = wants_of(n, &wants_cnt);
    uri_want *uris = uris_of(n, &uris_cnt);
    cd_buf fresh = {0};
    for (usize i = n->asked; i < n->asked + n->asking; i++) {
        if (i >= wants_cnt) {
            uris[i - wants_cnt].text = cd_wh_token_text(n->mem, answer_bytes(&n->call_mem, a++), URI_MAX);
        } else if (!wants[i].is_known) {
            wants[i].token.symbol = cd_wh_token_text(n->mem, answer_bytes(&n->call_mem, &a[0]), TEXT_MAX);
            wants[i].token.name = cd_wh_token_text(n->mem, answer_bytes(&n->call_mem, &a[1]), TEXT_MAX);
            wants[i].token.decimals = cd_wh_token_number(answer_bytes(&n->call_mem, &a[2]));
            wants[i].is_known = true;
            a += CALLS_EACH;
            cache_put(n->tokens, &wants[i]);
            cd_buf_put(&fresh, cd_bytes_of(&wants[i], sizeof wants[i]));
        }
    }
    keep(n->tokens, (const want *)(void *)fresh.p, fresh.n / sizeof(want));
    cd_buf_fini(&fresh);
    n->asked += n->asking;
}

/* The contract has answered, be it by failing; anything else that goes wrong is the node's. */
static bool is_said(const cd_answer *a)
{
    static const char *const words[] = {"revert", "out of gas", "opcode", "jump", "stack", "VM e", "EVM"};
    for (usize i = 0; a->is_error && i < CD_COUNT(words); i++) {
        if (strstr(a->message, words[i]) != NULL) {
            return true;
        }
    }
    return a->is_error ? a->code == REVERTED || a->code == VM_ERROR : cd_json_kind_of(a->result) == CD_JSON_STR;
}

/* All contracts have answered, as they are after the block: the first answer is the node's height. One that is behind
 * would know nothing of what the block has made. */
static bool are_good(cd_wh_naming *n, const cd_answer *a)
{
    u64 height = 0;
    bool is_all_said = true;
    for (usize i = 1; i <= n->asks_cnt; i++) {
        if (a[i].code == LIMIT_EXCEEDED) {
            return false;
        }
        is_all_said = is_all_said && is_said(&a[i]);
    }
    if (a[0].is_error || cd_json_qty_u64(&height, a[0].result, NULL) != CD_OK || height < n->facts->number) {
        return false;
    }
    return is_all_said || ++n->tries >= TRIES_MAX;
}

static void on_answers(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd_wh_naming *n = ctx;
    (void)reason;
    n->call = NULL;
    if (err != CD_OK || !are_good(n, answers)) {
        ask_later(n);
        return;
    }
    n->pause_ms = 0;
    n->tries = 0;
    answers_take(n, answers + 1);
    ask_more(n);
}

/* Asks for the next that nobody knows; with nothing left, tells. */
static void ask_more(cd_wh_naming *n)
{
    cd_ask asks[1 + ASKS_MAX] = {{.method = "eth_blockNumber", .params = "[]"}};
    usize cnt = 0;
    usize wants_cnt, uris_cnt;
    const want *wants = wants_of(n, &wants_cnt);
    const uri_want *uris = uris_of(n, &uris_cnt);
    static const char *const selectors[CALLS_EACH] = {SYMBOL, NAME, DECIMALS};
    cd_arena_reset(&n->call_mem);
    n->asking = 0;
    for (usize i = n->asked; i < wants_cnt + uris_cnt && cnt + CALLS_EACH <= ASKS_MAX; i++) {
        n->asking++;
        for (usize k = 0; i < wants_cnt && !wants[i].is_known && k < CALLS_EACH; k++) {
            asks[++cnt] = (cd_ask){
                .method = "eth_call",
                .params = call_params(&n->call_mem, &wants[i].contract, selectors[k], NULL, NULL),
            };
        }
        if (i >= wants_cnt) {
            const cd_wh_hit *hit = uris[i - wants_cnt].hit;
            u64 block = n->facts->number;
            block -= cd_addr20_is_zero(&hit->log->to) &&
                     block != 0; /* a burnt token has no URI any more: the one of the block before is asked for */
            const char *what = hit->log->move == CD_WH_MOVE_ERC721 ? TOKEN_URI : URI;
            asks[++cnt] = (cd_ask){
                .method = "eth_call",
                .params = call_params(&n->call_mem, &hit->log->contract, what, &hit->part->id, &block),
            };
        }
    }
    if (cnt == 0) {
        n->fn(n->ctx);
        return;
    }
    n->asks_cnt = cnt;
    n->call = cd_call_new(n->tokens->node, &n->call_mem, asks, 1 + cnt, 0, on_answers, n);
}

void cd_wh_naming_new(cd_wh_naming **out, cd_wh_tokens *t, cd_arena *mem, const cd_wh_facts *facts,
                      const cd_wh_hit *hits, usize hits_cnt, cd_wh_naming_fn *fn, void *ctx)
{
    cd_wh_naming *n = cd_new(cd_wh_naming);
    bool is_all_known = true;
    usize cnt;
    n->tokens = t;
    n->mem = mem;
    n->facts = facts;
    n->fn = fn;
    n->ctx = ctx;
    cd_hmap_init(&n->by_addr, CD_HASH_KEYED, sizeof(cd_addr20), sizeof(u32));
    cd_hmap_init(&n->by_part, CD_HASH_KEYED, sizeof(u64), sizeof(u32));
    for (usize i = 0; i < hits_cnt; i++) {
        hit_want(n, &hits[i]);
    }
    const want *wants = wants_of(n, &cnt);
    for (usize i = 0; i < cnt; i++) {
        is_all_known = is_all_known && wants[i].is_known;
    }
    *out = n;
    if (!is_all_known && t->db != NULL) {
        n->job.run = store_run;
        n->job.done = store_done;
        n->in_job = true;
        cd_jobs_read(t->db, &n->job);
    } else {
        ask_more(n);
    }
}
