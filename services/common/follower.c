#include "services/common/follower.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/list.h"
#include "net/ws/client.h"

#include <stdio.h>

enum {
    POLL_MS = 1000,
    PUSHED_FACTOR = 10, /* how much more rarely a node is asked that tells by itself */
    PAUSE_MIN_MS = 50,
    PAUSE_MAX_MS = 10000,
    DIAL_MS = 10000,
    MESSAGE_MAX = 4 << 20,
    KEPT = 64,      /* hashes of blocks that were given, to know them again */
    FAR = 64,       /* blocks to go, from which on ranges are asked for */
    RANGE_MIN = 16, /* a node that does not answer so many at once is asked for one after the other */
    DENSE = 64,     /* blocks that come one by one when a range has begun with transactions */
    ASK_HEADS = 1,  /* ids of requests over the WebSocket */
    ASK_PENDING = 2,
    ASK_NO_PENDING = 3,
    SUB_MAX = 128,
    SEARCHES_MAX = 64, /* pending transactions that are being asked for */
};

/* Where a block is on its way from the node to the owner. */
typedef enum slot_state { SLOT_FREE, SLOT_FETCHING, SLOT_FAILED, SLOT_READY, SLOT_GIVEN } slot_state;

/* A place for a block that is not done: at most CD_FOLLOWER_AHEAD at a time. */
typedef struct slot {
    cd_follower *follower;
    slot_state state;
    cd_follower_block block; /* its number is valid unless the slot is free */
    bool has_hash;           /* block.hash is known before the fetch, which asks for that very block */
    cd_fetch *fetch;
} slot;

/* A pending transaction of which the node told only the hash. */
typedef struct search {
    cd_list link;
    cd_follower *follower;
    cd_arena mem;
    cd_call *call;
} search;

struct cd_follower {
    cd_loop *loop;
    cd_follower_cfg cfg;
    const cd_follower_events *events;
    void *ctx;
    slot slots[CD_FOLLOWER_AHEAD]; /* block n is in slot n % CD_FOLLOWER_AHEAD */
    struct {
        cd_follower_block block; /* the run that the owner has, when is_given */
        cd_call *call;           /* asks for blocks from f->next on; NULL: no range is being asked for */
        cd_arena mem;            /* holds question and answer */
        usize asked, max;        /* blocks that were asked for, and may be; max 0: this node gives no ranges */
        u64 not_before;          /* blocks below this number are fetched one by one */
        bool is_given;
        cd_hash32 hashes[CD_FOLLOWER_RUN_KEPT];
    } range;
    bool has_next; /* next, oldest and fetched are known */
    bool has_last; /* a block was given, or there was a cursor: the next block must build on `last` */
    u64 oldest;    /* number of the oldest block that the owner has not given back */
    u64 next;      /* number of the block to be given next */
    u64 fetched;   /* number of the block to be fetched next */
    cd_hash32 last;
    cd_hash32 kept[KEPT]; /* hashes of the last blocks that were given; number n at n % KEPT; zeros: not known */
    u64 head;
    cd_hash32 head_hash; /* hash of block `head`, valid when has_head_hash */
    bool has_head, has_head_hash;
    u64 final; /* the highest block that the node says is final, when has_final; asked for by is_final_only alone */
    bool has_final;
    bool is_heard, is_behind;
    bool is_stopped;
    bool is_freed;
    u32 pause_ms; /* how long the next pause before another try is */
    cd_timer *retry;

    cd_arena ask_mem; /* holds the question for the head and its answer */
    u64 asked;        /* number of the block whose hash was asked for in the same request */
    cd_call *ask;     /* the question for the head; NULL: none is under way */
    cd_timer *poll;

    cd_ws_dial *dial;
    cd_ws *ws;
    bool wants_pending; /* a subscription to the mempool stands or was asked for */
    bool hashes_only;   /* the node tells hashes of pending transactions alone */
    cd_list searches;
    usize searches_cnt;
    char heads_sub[SUB_MAX], pending_sub[SUB_MAX];
    u32 dial_pause_ms;
    cd_timer *redial;
};

static void pump(cd_follower *f);

/* Gives the highest block that may be given; false: none yet. */
static bool limit(const cd_follower *f, u64 *out)
{
    bool is_there = f->cfg.is_final_only ? f->has_final : f->has_head && f->head >= f->cfg.confirmations;
    *out = !is_there ? 0 : f->cfg.is_final_only ? f->final : f->head - f->cfg.confirmations;
    return is_there;
}

/* --- blocks --- */

static slot *slot_of(cd_follower *f, u64 number)
{
    return &f->slots[number % CD_FOLLOWER_AHEAD];
}

static void replaced(cd_follower *f)
{
    f->is_stopped = true;
    f->events->replaced(f->ctx);
}

/* Compares the hash of a block that the node tells of with the one that was given under that number; when they differ,
 * the chain was replaced. */
static void compare(cd_follower *f, u64 number, const cd_hash32 *hash)
{
    static const cd_hash32 any;
    if (!f->has_last || f->is_stopped || number >= f->next || f->next - number > KEPT) {
        return;
    }
    const cd_hash32 *had = &f->kept[number % KEPT];
    if (!cd_hash32_eq(had, &any) && !cd_hash32_eq(had, hash)) {
        replaced(f);
    }
}

static void trouble(cd_follower *f, const char *reason)
{
    f->events->trouble(f->ctx, reason);
}

static void slot_clear(slot *s)
{
    cd_fetch_cancel(s->fetch);
    cd_arena_fini(&s->block.got.mem);
    s->block.got = (cd_fetched){0};
    s->fetch = NULL;
}

static void pause_longer(cd_follower *f)
{
    f->pause_ms = f->pause_ms == 0 ? PAUSE_MIN_MS : f->pause_ms > PAUSE_MAX_MS / 2 ? PAUSE_MAX_MS : 2 * f->pause_ms;
    cd_timer_start(f->retry, f->pause_ms, 0);
}

static void slot_fail(slot *s, cd_err err, const char *reason)
{
    cd_follower *f = s->follower;
    /* A node may tell of a block before it can show it. */
    if (err != CD_ENOENT || f->pause_ms > 8 * PAUSE_MIN_MS) {
        trouble(f, reason);
    }
    slot_clear(s);
    s->state = SLOT_FAILED;
    s->has_hash = false; /* another block may be there by now */
    pause_longer(f);
}

/* Number, hash and parent as the block itself says; it must be the one that was asked for. */
static cd_err head_read(cd_follower_block *b, bool has_hash, cd_errinfo *why)
{
    u64 number;
    cd_hash32 hash;
    CD_TRY(cd_json_qty_u64(&number, cd_json_get(b->got.block, "number"), why));
    CD_TRY(cd_json_fixed(hash.b, 32, cd_json_get(b->got.block, "hash"), why));
    CD_TRY(cd_json_fixed(b->parent.b, 32, cd_json_get(b->got.block, "parentHash"), why));
    if (number != b->number || (has_hash && !cd_hash32_eq(&hash, &b->hash))) {
        return cd_fail(why, CD_EPROTO, "the node answers with another block");
    }
    b->hash = hash;
    return CD_OK;
}

static void on_fetched(void *ctx, cd_err err, const char *reason)
{
    slot *s = ctx;
    cd_errinfo why = {0};
    s->fetch = NULL;
    if (err == CD_OK) {
        err = head_read(&s->block, s->has_hash, &why);
        reason = why.msg;
    }
    if (err == CD_OK) {
        err = s->follower->events->check(s->follower->ctx, &s->block, &why);
    }
    if (err != CD_OK) {
        slot_fail(s, err, reason);
        return;
    }
    s->follower->pause_ms = 0;
    s->state = SLOT_READY;
    pump(s->follower);
}

/* --- ranges --- */

/* One header of a range: it builds on what was before, and is empty. REPLACED is for the caller to say. */
typedef enum link { LINK_EMPTY, LINK_FULL, LINK_NONE, LINK_OTHER } link;

static link header_read(const cd_follower *f, cd_hash32 *hash, cd_hash32 *parent, u64 number, const cd_answer *a)
{
    u64 got;
    cd_json txs = cd_json_get(a->result, "transactions");
    if (a->is_error || cd_json_qty_u64(&got, cd_json_get(a->result, "number"), NULL) != CD_OK || got != number ||
        cd_json_fixed(hash->b, 32, cd_json_get(a->result, "hash"), NULL) != CD_OK ||
        cd_json_fixed(parent->b, 32, cd_json_get(a->result, "parentHash"), NULL) != CD_OK ||
        cd_json_kind_of(txs) != CD_JSON_ARR) {
        return LINK_NONE;
    }
    if (f->has_last && !cd_hash32_eq(parent, &f->last)) {
        return LINK_OTHER;
    }
    return cd_json_len(txs) == 0 ? LINK_EMPTY : LINK_FULL;
}

/* Takes the empty blocks at the front; gives what came behind them. */
static link range_take(cd_follower *f, const cd_answer *answers)
{
    cd_follower_block *b = &f->range.block;
    link what = LINK_EMPTY;
    usize cnt = 0;
    cd_hash32 all[CD_FOLLOWER_RUN];
    *b = (cd_follower_block){.first = f->next};
    for (usize i = 0; i < f->range.asked; i++) {
        cd_hash32 hash, parent;
        what = header_read(f, &hash, &parent, f->next, &answers[i]);
        if (what != LINK_EMPTY) {
            break;
        }
        b->parent = cnt == 0 ? parent : b->parent;
        b->hash = hash;
        b->number = f->next;
        all[cnt] = hash;
        f->kept[f->next % KEPT] = hash;
        f->last = hash;
        f->has_last = true;
        f->next++;
        cnt++;
    }
    f->fetched = f->next;
    b->hashes_cnt = cnt < CD_FOLLOWER_RUN_KEPT ? cnt : CD_FOLLOWER_RUN_KEPT;
    memcpy(f->range.hashes, all + cnt - b->hashes_cnt, b->hashes_cnt * sizeof *all);
    return what;
}

static void range_give(cd_follower *f)
{
    cd_follower_block *b = &f->range.block;
    b->hashes = f->range.hashes;
    f->range.is_given = true;
    f->events->block(f->ctx, b);
}

static void on_range(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd_follower *f = ctx;
    f->range.call = NULL;
    if (err != CD_OK) {
        trouble(f, reason);
        f->range.max = f->range.max / 2 < RANGE_MIN ? 0 : f->range.max / 2;
        pause_longer(f);
        return;
    }
    u64 began = f->next;
    link what = range_take(f, answers);
    f->pause_ms = 0;
    if (what == LINK_FULL || what == LINK_NONE) {
        f->range.not_before = f->next + (f->next - began < RANGE_MIN ? DENSE : 1);
    }
    if (f->next != began) {
        range_give(f);
    }
    if (what == LINK_OTHER) {
        replaced(f);
    } else {
        pump(f);
    }
}

static void range_ask(cd_follower *f, u64 cnt)
{
    cd_ask asks[CD_FOLLOWER_RUN];
    cd_arena_reset(&f->range.mem);
    f->range.asked = (usize)cd_min_u64(cnt, f->range.max);
    for (usize i = 0; i < f->range.asked; i++) {
        unsigned long long number = f->next + i;
        asks[i] = (cd_ask){
            .method = "eth_getBlockByNumber",
            .params = cd_arena_fmt(&f->range.mem, "[\"0x%llx\",false]", number),
        };
    }
    f->range.call = cd_call_new(f->cfg.node, &f->range.mem, asks, f->range.asked, 0, on_range, f);
}

/* True while a range is asked for or will be: then no block is fetched for itself. */
static bool range_run(cd_follower *f)
{
    u64 end;
    (void)limit(f, &end);
    if (f->range.call != NULL || f->range.is_given) {
        return true;
    }
    bool may = f->range.max != 0 && f->fetched >= f->range.not_before && end > f->fetched && end - f->fetched > FAR &&
               (f->events->wants(f->ctx) & CD_FOLLOWER_EMPTY) == 0;
    if (may && f->oldest == f->fetched) { /* nothing is under way any more */
        range_ask(f, end - f->next + 1);
    }
    return may;
}

/* --- blocks, one by one --- */

static void slot_fetch(cd_follower *f, slot *s)
{
    bool traces = (f->events->wants(f->ctx) & CD_FOLLOWER_TRACES) != 0;
    s->state = SLOT_FETCHING;
    s->fetch = cd_fetch_new(f->cfg.node, &s->block.got, s->block.number, s->has_hash ? &s->block.hash : NULL,
                            traces ? f->cfg.trace_depth : 0, on_fetched, s);
}

/* Gives what is ready and in turn. */
static void give(cd_follower *f)
{
    while (!f->is_stopped && f->next < f->fetched) {
        slot *s = slot_of(f, f->next);
        if (s->state != SLOT_READY) {
            return;
        }
        if (f->has_last && !cd_hash32_eq(&s->block.parent, &f->last)) {
            replaced(f);
            return;
        }
        f->has_last = true;
        f->last = s->block.hash;
        f->kept[f->next % KEPT] = s->block.hash;
        f->next++;
        s->state = SLOT_GIVEN;
        f->events->block(f->ctx, &s->block);
    }
}

static void fetch_more(cd_follower *f)
{
    u64 end;
    if (range_run(f) || !limit(f, &end)) {
        return;
    }
    while (f->fetched <= end && f->fetched < f->oldest + CD_FOLLOWER_AHEAD) {
        slot *s = slot_of(f, f->fetched);
        s->block.number = s->block.first = f->fetched;
        s->has_hash = f->has_head_hash && f->fetched == f->head;
        if (s->has_hash) {
            s->block.hash = f->head_hash;
        }
        f->fetched++;
        slot_fetch(f, s);
    }
}

static void pump(cd_follower *f)
{
    if (f->is_stopped || !f->has_head) {
        return;
    }
    u64 end;
    if (!f->has_next && limit(f, &end)) {
        f->has_next = true;
        f->next = end;
        f->oldest = f->next;
        f->fetched = f->next;
    }
    if (f->has_next) {
        give(f);
        fetch_more(f);
    }
}

static void on_retry(void *ctx)
{
    cd_follower *f = ctx;
    if (f->oldest == f->fetched) {
        pump(f); /* no block is fetched for itself, so it was a range that failed */
        return;
    }
    for (u64 n = f->oldest; n < f->fetched && !f->is_stopped && !f->range.is_given; n++) {
        slot *s = slot_of(f, n);
        if (s->state == SLOT_FAILED) {
            slot_fetch(f, s);
        }
    }
}

void cd_follower_done(cd_follower *f, cd_follower_block *b)
{
    if (b == &f->range.block) {
        CD_ASSERT(f->range.is_given);
        cd_arena_fini(&b->got.mem);
        f->range.is_given = false;
        f->oldest = b->number + 1;
        pump(f);
        return;
    }
    slot *s = cd_list_of(b, slot, block);
    CD_ASSERT(s->state == SLOT_GIVEN && b->number == f->oldest);
    slot_clear(s);
    s->state = SLOT_FREE;
    f->oldest++;
    pump(f);
}

/* --- the head --- */

static void head_set(cd_follower *f, u64 number, const cd_hash32 *hash)
{
    if (hash != NULL) {
        compare(f, number, hash);
    }
    if (!f->has_head || number >= f->head) {
        f->has_head = true;
        f->head = number;
        f->has_head_hash = hash != NULL;
        if (hash != NULL) {
            f->head_hash = *hash;
        }
        pump(f);
    }
}

/* Heads are pushed where there is a subscription; that a block has become final is not. */
static void poll_start(cd_follower *f)
{
    bool is_told = f->heads_sub[0] != '\0' && (!f->cfg.is_final_only || f->final >= f->head);
    cd_timer_start(f->poll, (u64)f->cfg.poll_ms * (is_told ? PUSHED_FACTOR : 1), 0);
}

/* The hash of the block that was given last, if the node has one of that number. */
static void compare_last(cd_follower *f, cd_json block)
{
    cd_hash32 hash;
    if (cd_json_fixed(hash.b, 32, cd_json_get(block, "hash"), NULL) == CD_OK) {
        compare(f, f->asked, &hash);
    }
}

/* The final block, which never goes back: a node that begins anew, or one that lags, is not followed down. */
static void final_take(cd_follower *f, const cd_answer *a)
{
    u64 number;
    if (a->is_error || cd_json_qty_u64(&number, cd_json_get(a->result, "number"), NULL) != CD_OK) {
        trouble(f, "the node does not tell which block is final");
    } else if (!f->has_final || number > f->final) {
        f->final = number;
        f->has_final = true;
        pump(f);
    }
}

static void on_number(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd_follower *f = ctx;
    u64 number;
    f->ask = NULL;
    f->is_heard = false;
    poll_start(f);
    if (err == CD_OK && !answers[0].is_error && cd_json_qty_u64(&number, answers[0].result, NULL) == CD_OK) {
        compare_last(f, answers[1].result);
        if (f->is_stopped) {
            return;
        }
        /* A head of the same number may be known with its hash, by the subscription: this answer has none. */
        if (!f->has_head || number > f->head) {
            head_set(f, number, NULL);
        }
        if (f->cfg.is_final_only && !f->is_stopped) {
            final_take(f, &answers[2]);
        }
        f->is_behind = f->has_next && number + 1 < f->oldest;
        f->is_heard = !f->is_behind;
        if (f->is_behind) {
            trouble(f, "the node is behind what was followed already");
            f->events->behind(f->ctx);
        }
    } else {
        trouble(f, err == CD_OK ? "the node does not tell its height" : reason);
    }
}

static void head_ask(cd_follower *f)
{
    if (f->ask != NULL || f->is_stopped) {
        return;
    }
    cd_arena_reset(&f->ask_mem);
    f->asked = f->has_next && f->next != 0 ? f->next - 1 : 0;
    const cd_ask asks[] = {
        {.method = "eth_blockNumber", .params = "[]"},
        {.method = "eth_getBlockByNumber",
         .params = cd_arena_fmt(&f->ask_mem, "[\"0x%llx\",false]", (unsigned long long)f->asked)},
        {.method = "eth_getBlockByNumber", .params = "[\"finalized\",false]"},
    };
    usize cnt = f->cfg.is_final_only ? 3 : 2;
    f->ask = cd_call_new(f->cfg.node, &f->ask_mem, asks, cnt, 0, on_number, f);
}

static void say(cd_follower *f, const char *text)
{
    if (cd_ws_send_bytes(f->ws, CD_WS_TEXT, cd_bytes_str(text)) != CD_OK) {
        cd_ws_abort(f->ws);
    }
}

/* Subscribes to the mempool, or ends that, as the owner wants it now. */
static void pending_update(cd_follower *f)
{
    bool wants = (f->events->wants(f->ctx) & CD_FOLLOWER_PENDING) != 0;
    if (wants && f->cfg.ws_url == NULL) {
        trouble(f, "pending transactions are only told by a WebSocket, and there is none");
    }
    if (f->ws == NULL || wants == f->wants_pending) {
        return;
    }
    if (wants) {
        f->wants_pending = true;
        say(f, f->hashes_only ? "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"eth_subscribe\","
                                "\"params\":[\"newPendingTransactions\"]}"
                              : "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"eth_subscribe\","
                                "\"params\":[\"newPendingTransactions\",true]}");
    } else if (f->pending_sub[0] != '\0') { /* else its id is still to come */
        cd_buf text = {0};
        f->wants_pending = false;
        cd_buf_fmt(&text,
                   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"eth_unsubscribe\","
                   "\"params\":[\"%s\"]}",
                   f->pending_sub);
        say(f, cd_buf_cstr(&text));
        cd_buf_fini(&text);
        f->pending_sub[0] = '\0';
    }
}

void cd_follower_update(cd_follower *f)
{
    if (f != NULL && !f->is_stopped) {
        pending_update(f);
    }
}

static void on_poll(void *ctx)
{
    cd_follower *f = ctx;
    pending_update(f);
    head_ask(f);
}

/* --- the WebSocket --- */

static bool sub_is(const char *sub, cd_json id)
{
    cd_bytes text;
    return sub[0] != '\0' && cd_json_str(&text, id, NULL) == CD_OK && cd_bytes_eq(text, cd_bytes_str(sub));
}

/* The id of a subscription, if it is one that can be said again as it is. */
static bool sub_read(char out[SUB_MAX], cd_json id)
{
    cd_bytes text;
    if (cd_json_str(&text, id, NULL) != CD_OK || text.n == 0 || text.n >= SUB_MAX) {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] >= 0x7f || text.p[i] == '"' || text.p[i] == '\\') {
            return false;
        }
    }
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return true;
}

static void on_answer(cd_follower *f, u64 id, cd_json msg)
{
    cd_json result = cd_json_get(msg, "result");
    if (id == ASK_HEADS) {
        if (!sub_read(f->heads_sub, result)) {
            trouble(f, "the node does not tell of new blocks by itself");
        }
        head_ask(f); /* what came before the subscription */
    } else if (id == ASK_PENDING) {
        if (!sub_read(f->pending_sub, result)) {
            if (f->hashes_only) {
                trouble(f, "the node does not tell of pending transactions");
                return;
            }
            f->hashes_only = true;
            f->wants_pending = false;
        }
        pending_update(f);
    }
}

static void search_release(search *x)
{
    cd_call_cancel(x->call);
    cd_arena_fini(&x->mem);
    cd_list_del(&x->link);
    x->follower->searches_cnt--;
    cd_free(x);
}

/* One that is not there is mined or dropped by now. */
static void on_found(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    search *x = ctx;
    x->call = NULL;
    if (err != CD_OK) {
        trouble(x->follower, reason);
    } else if (cd_json_has(answers[0].result) && !x->follower->is_stopped) {
        x->follower->events->pending(x->follower->ctx, answers[0].result);
    }
    search_release(x);
}

/* Nodes tell a pending transaction as a whole or, older ones, by its hash. */
static void on_pending(cd_follower *f, cd_json tx)
{
    cd_hash32 hash;
    if (cd_json_kind_of(tx) != CD_JSON_STR) {
        f->events->pending(f->ctx, tx);
        return;
    }
    if (cd_json_fixed(hash.b, 32, tx, NULL) != CD_OK || f->searches_cnt == SEARCHES_MAX) {
        trouble(f, "a pending transaction is not looked at: no hash, or too many at a time");
        return;
    }
    search *x = cd_new(search);
    char hex[65] = {0};
    cd_hex_fmt(hex, cd_bytes_of(hash.b, 32));
    x->follower = f;
    cd_list_push_back(&f->searches, &x->link);
    f->searches_cnt++;
    const cd_ask ask = {.method = "eth_getTransactionByHash", .params = cd_arena_fmt(&x->mem, "[\"0x%s\"]", hex)};
    x->call = cd_call_new(f->cfg.node, &x->mem, &ask, 1, 0, on_found, x);
}

static void on_message(void *ctx, cd_ws *w, cd_ws_kind kind, cd_bytes data)
{
    cd_follower *f = ctx;
    cd_arena mem = {0};
    cd_json msg, params, result;
    u64 id, number;
    cd_hash32 hash;
    (void)kind;
    if (cd_json_parse(&msg, &mem, data, MESSAGE_MAX, NULL) != CD_OK) {
        trouble(f, "the node sends what is no JSON");
        cd_ws_abort(w);
        cd_arena_fini(&mem);
        return;
    }
    params = cd_json_get(msg, "params");
    result = cd_json_get(params, "result");
    if (cd_json_u64(&id, cd_json_get(msg, "id"), NULL) == CD_OK) {
        on_answer(f, id, msg);
    } else if (sub_is(f->heads_sub, cd_json_get(params, "subscription"))) {
        pending_update(f);
        if (cd_json_qty_u64(&number, cd_json_get(result, "number"), NULL) == CD_OK &&
            cd_json_fixed(hash.b, 32, cd_json_get(result, "hash"), NULL) == CD_OK) {
            head_set(f, number, &hash);
        }
        if (f->cfg.is_final_only && f->ask == NULL) {
            poll_start(f);
        }
    } else if (sub_is(f->pending_sub, cd_json_get(params, "subscription")) && !f->is_stopped) {
        on_pending(f, result);
    }
    cd_arena_fini(&mem);
}

static void redial_later(cd_follower *f)
{
    f->heads_sub[0] = '\0';
    f->pending_sub[0] = '\0';
    f->wants_pending = false;
    f->dial_pause_ms = f->dial_pause_ms == 0                 ? PAUSE_MIN_MS
                       : f->dial_pause_ms > PAUSE_MAX_MS / 2 ? PAUSE_MAX_MS
                                                             : 2 * f->dial_pause_ms;
    cd_timer_start(f->redial, f->dial_pause_ms, 0);
    cd_timer_start(f->poll, 0, 0); /* HTTP may still work */
}

static void on_ws_closed(void *ctx, u16 code, cd_bytes reason)
{
    cd_follower *f = ctx;
    char text[80];
    (void)reason; /* the node's words */
    f->ws = NULL;
    if (f->loop == NULL) { /* stopped: this was the last word */
        if (f->is_freed) {
            cd_free(f);
        }
        return;
    }
    (void)snprintf(text, sizeof text, "the WebSocket connection to the node %s (%u)",
                   code == CD_WS_BROKEN ? "is lost" : "was closed", code);
    trouble(f, text);
    redial_later(f);
}

static void on_opened(void *ctx, cd_ws *w, const char *reason)
{
    cd_follower *f = ctx;
    f->dial = NULL;
    f->ws = w;
    if (w == NULL) {
        trouble(f, reason);
        redial_later(f);
        return;
    }
    f->dial_pause_ms = 0;
    say(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_subscribe\",\"params\":[\"newHeads\"]}");
    pending_update(f);
}

static cd_err dial(cd_follower *f, cd_errinfo *why)
{
    static const cd_ws_events events = {.message = on_message, .closed = on_ws_closed};
    return cd_ws_dial_new(&f->dial, f->cfg.hub, f->cfg.ws_url, DIAL_MS, &events, on_opened, f, why);
}

static void on_redial(void *ctx)
{
    cd_follower *f = ctx;
    cd_err err = dial(f, NULL);
    CD_ASSERT(err == CD_OK); /* the URL was good at the start */
}

/* --- life --- */

cd_err cd_follower_new(cd_follower **out, cd_loop *loop, const cd_follower_cfg *cfg, const cd_follower_events *events,
                       void *ctx, cd_errinfo *why)
{
    cd_follower *f = cd_new(cd_follower);
    f->loop = loop;
    f->cfg = *cfg;
    f->cfg.poll_ms = cfg->poll_ms == 0 ? POLL_MS : cfg->poll_ms;
    f->events = events;
    f->ctx = ctx;
    if (cfg->ws_url != NULL) {
        cd_err err = dial(f, why);
        if (err != CD_OK) {
            cd_free(f);
            return err;
        }
    }
    for (usize i = 0; i < CD_FOLLOWER_AHEAD; i++) {
        f->slots[i].follower = f;
    }
    f->range.max = CD_FOLLOWER_RUN;
    cd_list_init(&f->searches);
    f->has_next = cfg->has_cursor;
    static const cd_hash32 any;
    f->has_last = cfg->has_cursor && !cd_hash32_eq(&cfg->cursor_hash, &any);
    f->next = cfg->has_cursor ? cfg->cursor + 1 : 0;
    f->oldest = f->next;
    f->fetched = f->next;
    f->last = cfg->cursor_hash;
    if (f->has_last) {
        f->kept[cfg->cursor % KEPT] = f->last;
    }
    f->retry = cd_timer_new(loop, on_retry, f);
    f->poll = cd_timer_new(loop, on_poll, f);
    f->redial = cd_timer_new(loop, on_redial, f);
    cd_timer_start(f->poll, 0, 0);
    *out = f;
    return CD_OK;
}

void cd_follower_stop(cd_follower *f)
{
    if (f->loop == NULL) {
        return;
    }
    f->loop = NULL;
    f->is_stopped = true;
    for (usize i = 0; i < CD_FOLLOWER_AHEAD; i++) {
        if (f->slots[i].state != SLOT_GIVEN) {
            slot_clear(&f->slots[i]);
        }
    }
    cd_list_each_safe(it, &f->searches)
    {
        search_release(cd_list_of(it, search, link));
    }
    cd_call_cancel(f->range.call);
    f->range.call = NULL;
    cd_arena_fini(&f->range.mem);
    cd_call_cancel(f->ask);
    cd_arena_fini(&f->ask_mem);
    cd_timer_free(f->retry);
    cd_timer_free(f->poll);
    cd_timer_free(f->redial);
    if (f->dial != NULL) {
        cd_ws_dial_drop(f->dial);
    }
    if (f->ws != NULL) {
        cd_ws_abort(f->ws);
    }
}

void cd_follower_free(cd_follower *f)
{
    if (f == NULL) {
        return;
    }
    cd_follower_stop(f);
    for (usize i = 0; i < CD_FOLLOWER_AHEAD; i++) {
        slot_clear(&f->slots[i]);
    }
    cd_arena_fini(&f->range.block.got.mem);
    f->is_freed = true;
    if (f->ws == NULL) {
        cd_free(f); /* with a connection, the event of its end frees f */
    }
}

cd_follower_state cd_follower_look(const cd_follower *f)
{
    u64 end;
    (void)limit(f, &end);
    return (cd_follower_state){
        .head = f->head,
        .limit = end,
        .given = f->has_next && f->next != 0 ? f->next - 1 : 0,
        .is_pushed = f->heads_sub[0] != '\0',
        .is_heard = f->is_heard,
        .is_behind = f->is_behind,
        .is_stopped = f->is_stopped,
    };
}
