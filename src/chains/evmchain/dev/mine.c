/* Making blocks, and the clock that gives them their times. [spec:dev-rpc#2.1] [spec:dev-rpc#3.2] */
#include "base/hex.h"
#include "base/log/log.h"
#include "chains/evmchain/core/revert.h"
#include "chains/evmchain/dev/dev_priv.h"
#include "chains/evmchain/dev/tell.h"
#include "chains/evmchain/feed/json.h"
#include "chains/evmchain/rpc/calls/trial.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

/* Numbers above are milliseconds: evm_setTime, evm_setIntervalMining. */
static const u64 time_ms_from = 1000000000000;
enum { INTERVAL_MS_FROM = 1000 };

/* Blocks that one call shows. */
enum { SHOWN_MAX = 256 };

/* Empty blocks that are made in one go; between them it is looked whether the server stops. */
enum { RUN_MAX = 100000 };

/* --- making --- */

/* The clock is never behind the head: many blocks in a second, or a run of them, take it along. It is stored with what
 * is stored next; after a kill the head says as much. */
static void keep_up(cd_dev *d)
{
    i64 ahead = (i64)cd_min_u64(cd__dev_head(d)->time, INT64_MAX) - cd__dev_wall(d);
    if (ahead > d->lasting.offset) {
        d->lasting.offset = ahead;
    }
}

/* After a block: one-shot values are used up, and a time that somebody chose moves the clock. */
static cd_err used_up(cd_dev *d, const cd__dev_once *once, cd_errinfo *why)
{
    d->last_block_wall_ms = cd_clock_wall_ns(d->api->clock) / CD_NS_PER_MS;
    d->once = (cd__dev_once){0};
    keep_up(d);
    if (once->has_time) {
        d->lasting.offset = (i64)once->time - cd__dev_wall(d);
        CD_TRY(cd__dev_save(d, why));
    }
    return cd_api_follow(d->api);
}

/* Who is told of the blocks with transactions that are made; watch saw them run. */
typedef struct witness {
    void (*see)(void *ctx, const cd_chain_block *b, const cd_console_watch *watch);
    void *ctx;
} witness;

/* A block on its way through the engine. */
typedef struct making {
    cd_dev *d;
    cd_console_watch *watch;
    const witness *who;
} making;

static void on_made(void *ctx, const cd_chain_block *b)
{
    const making *m = ctx;
    cd__dev_tell_block(m->d, b, m->watch);
    if (m->who != NULL) {
        m->who->see(m->who->ctx, b, m->watch);
    }
}

static cd_err make(cd_dev *d, bool may_be_empty, const witness *who, cd_errinfo *why)
{
    cd_console_watch watch;
    making m = {.d = d, .watch = &watch, .who = who};
    cd_api_plan plan = {.made = on_made, .ctx = &m};
    cd__dev_once once = d->once;
    cd__dev_next(&d->hooks, &plan.cfg);
    once.time = plan.cfg.wish.time;
    plan.cfg.may_be_empty = may_be_empty;
    cd_console_watch_init(&watch, d->console);
    plan.cfg.tracer = &watch.tracer;
    cd_err e = cd_api_produce(d->api, &plan, why);
    e = e == CD_OK ? used_up(d, &once, why) : e;
    cd_console_watch_fini(&watch);
    return e;
}

cd_err cd__dev_mine_one(cd_dev *d, cd_errinfo *why)
{
    return make(d, true, NULL, why);
}

static cd_err make_one_empty(cd_dev *d, const cd_header_wish *wish, cd_errinfo *why)
{
    cd_api_plan plan = {.cfg = {.wish = *wish, .may_be_empty = true, .no_pool = true}};
    return cd_api_produce(d->api, &plan, why);
}

cd_err cd__dev_make_empty(cd_dev *d, u64 cnt, u64 interval, const cd_header_wish *wish, cd_errinfo *why)
{
    CD_TRY(make_one_empty(d, wish, why));
    /* What was chosen for the first only does not reach further. */
    cd_header_wish lasting = {.coinbase = wish->coinbase, .gas_limit = wish->gas_limit};
    for (u64 left = cnt - 1; left != 0; left--) {
        cd_err e = CD_EUNSUPPORTED;
        lasting.time = cd__dev_head(d)->time + interval;
        if (left > 1) {
            cd_api_plan plan = {.cfg.wish = lasting, .run = left, .interval = interval};
            e = cd_api_produce(d->api, &plan, why);
        }
        if (e != CD_EUNSUPPORTED) {
            return e;
        }
        CD_TRY(make_one_empty(d, &lasting, why));
    }
    return CD_OK;
}

/* The rest of a run, without transactions. */
static cd_err make_empty(cd_dev *d, u64 count, u64 interval, cd_errinfo *why)
{
    cd_build_cfg cfg;
    cd__dev_once once = d->once;
    u64 first = cd__dev_head(d)->number + 1;
    cd__dev_next(&d->hooks, &cfg);
    once.time = cfg.wish.time;
    CD_TRY(cd__dev_make_empty(d, count, interval, &cfg.wish, why));
    cd__dev_tell_run(d, first, count);
    return used_up(d, &once, why);
}

/* Makes count blocks, interval seconds apart from the second on. */
static cd_err mine(const cd_rpc_call *call, u64 count, u64 interval, const witness *who, cd_errinfo *why)
{
    cd_dev *d = cd__dev_of(call);
    /* Blocks after the first keep their distance as if somebody had chosen it. */
    cd__dev_lasting before = d->lasting;
    cd_err e = CD_OK;
    u64 span;
    if (__builtin_mul_overflow(count == 0 ? 0 : count - 1, interval, &span) ||
        !cd_add_u64(&span, span, cd__dev_head(d)->time) || span > INT64_MAX) {
        return cd_fail(why, CD_EINVAL, "the last block's timestamp would be beyond 63 bits");
    }
    while (e == CD_OK && count != 0 && cd_txpool_pending_cnt(d->api->pool) != 0) {
        usize waiting = cd_txpool_cnt(d->api->pool);
        e = make(d, true, who, why);
        d->lasting.has_step = true;
        d->lasting.step = interval;
        count--;
        if (cd_txpool_cnt(d->api->pool) == waiting) {
            break; /* the transactions that are left cannot be put into a block now */
        }
    }
    while (e == CD_OK && count != 0) {
        u64 n = cd_min_u64(count, RUN_MAX);
        e = make_empty(d, n, interval, why);
        d->lasting.has_step = true;
        d->lasting.step = interval;
        count -= n;
        if (e == CD_OK && count != 0 && cd_rpc_is_ending(call)) {
            e = cd_fail(why, CD_ECLOSED, "the server is stopping: %llu blocks were not made",
                        (unsigned long long)count);
        }
    }
    d->lasting.has_step = before.has_step;
    d->lasting.step = before.step;
    return e;
}

/* Makes the block that is due by the clock and gives when the next one is. */
static u64 mine_by_clock(cd_dev *d)
{
    cd_errinfo why = {0};
    if (d->interval_max_ms == 0) {
        return UINT64_MAX;
    }
    if (cd_clock_mono_ns(d->api->clock) >= d->interval_at_ns) {
        cd_err e = cd__dev_mine_one(d, &why);
        if (e != CD_OK) {
            cd_log_error(d->api->log, "no block made", CD_F("chain", "C"),
                         CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
        }
        u64 ms = d->interval_min_ms + cd_rng_below(&d->rng, d->interval_max_ms - d->interval_min_ms + 1);
        d->interval_at_ns = cd_clock_mono_ns(d->api->clock) + ms * CD_NS_PER_MS;
    }
    return d->interval_at_ns;
}

u64 cd_dev_wake(cd_dev *d)
{
    u64 at = mine_by_clock(d);
    if (d->dump_every_ns == 0) {
        return at;
    }
    if (cd_clock_mono_ns(d->api->clock) >= d->dump_at_ns) {
        cd__dev_save_state(d);
    }
    return cd_min_u64(at, d->dump_at_ns);
}

/* --- automine --- */

static bool is_pending(const cd_txpool *p, const cd_pool_tx *t)
{
    cd_txpool_account a;
    return cd_txpool_account_of(p, &a, &t->tx.sender) && a.pending_cnt != 0 &&
           t->tx.nonce <= a.txs[a.pending_cnt - 1]->tx.nonce;
}

/* How one transaction ended. */
typedef struct ending {
    cd_arena *arena;
    const cd_hash32 *hash;
    bool has_failed;
    cd_tx_result result;
} ending;

static void see_ending(void *ctx, const cd_chain_block *b, const cd_console_watch *watch)
{
    ending *e = ctx;
    const cd_console_tx *seen = watch->txs;
    for (usize i = 0; i < b->block.tx_cnt && seen != NULL; i++, seen = seen->next) {
        if (cd_hash32_eq(&b->block.txs[i].hash, e->hash)) {
            e->has_failed = seen->status != CD_EVM_OK;
            e->result.status = seen->status;
            e->result.output = cd_arena_dup(e->arena, seen->output);
            e->result.reason = cd_arena_str(e->arena, cd_bytes_str(seen->words));
        }
    }
}

/* Lets the sender know that its transaction failed, where that was asked for; the answer has no room for its hash. */
static cd_err throw(cd_rpc_call * call, const ending *e)
{
    char hash[65] = {0};
    const cd_dev *d = cd__dev_of(call);
    if (!e->has_failed || !d->throws_on_revert) {
        return CD_OK;
    }
    cd_hex_fmt(hash, cd_bytes_of(e->hash->b, 32));
    cd_log_info(d->api->log, "transaction failed", CD_F("hash", (const char *)cd_arena_fmt(call->arena, "0x%s", hash)));
    return cd_trial_fail(call, &e->result);
}

cd_err cd__dev_sent(cd_rpc_call *call, const cd_hash32 *hash)
{
    cd_dev *d = cd__dev_of(call);
    ending end = {.arena = call->arena, .hash = hash};
    cd_txpool *p = d->api->pool;
    const cd_pool_tx *t;
    cd_u256 base_fee;
    if (!d->automine) {
        return CD_OK;
    }
    CD_TRY(cd_api_base_fee(call, &base_fee));
    t = cd_txpool_get(p, hash);
    if (t != NULL && is_pending(p, t) && cd_u256_lt(&t->tx.fee_cap, &base_fee)) {
        char cap[CD_U256_TEXT_MAX];
        char fee[CD_U256_TEXT_MAX];
        char who[CD_ADDR_TEXT_SIZE];
        (void)cd_u256_fmt_dec(cap, &t->tx.fee_cap);
        (void)cd_u256_fmt_dec(fee, &base_fee);
        (void)cd_addr_fmt(who, &t->tx.sender);
        (void)cd_txpool_drop(p, hash);
        return cd_rpc_fail(call, CD_RPC_SERVER,
                           "max fee per gas less than block base fee: address %s, maxFeePerGas: "
                           "%s, baseFee: %s",
                           who, cap, fee);
    }
    while ((t = cd_txpool_get(p, hash)) != NULL && is_pending(p, t)) {
        cd_errinfo why = {0};
        cd_err e = make(d, false, &(witness){.see = see_ending, .ctx = &end}, &why);
        if (e == CD_ENOENT) {
            break;
        }
        CD_TRY(cd__dev_done(call, e, &why));
    }
    return throw(call, &end);
}

/* --- methods that make blocks --- */

/* Takes a time for the next block. */
static cd_err choose_time(cd_rpc_call *call, u64 time)
{
    cd_dev *d = cd__dev_of(call);
    u64 parent = cd__dev_head(d)->time;
    if (time > INT64_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: out of range");
    }
    if (time < parent) {
        return cd_rpc_fail(call, CD_RPC_SERVER, "Timestamp %llu is lower than the previous block's timestamp %llu",
                           (unsigned long long)time, (unsigned long long)parent);
    }
    d->once.has_time = true;
    d->once.time = time;
    return CD_OK;
}

/* Seconds between blocks of a run when nobody says. */
static u64 usual_step(const cd_dev *d)
{
    return d->lasting.has_step ? d->lasting.step : 1;
}

static cd_err check_count(cd_rpc_call *call, u64 count, u64 max)
{
    return count <= max
               ? CD_OK
               : cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: at most %llu blocks at once, not %llu",
                             (unsigned long long)max, (unsigned long long)count);
}

/* Takes nothing, a timestamp, or {timestamp, blocks}, and makes those blocks. */
static cd_err mine_asked(cd_rpc_call *call, u64 max, const witness *who)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    cd_json what = cd_rpc_arg(call, 0);
    cd_json time = what;
    u64 blocks = 1;
    if (cd_json_kind_of(what) == CD_JSON_OBJ) {
        time = cd_json_get(what, "timestamp");
        if (cd_json_has(cd_json_get(what, "blocks"))) {
            CD_TRY(cd__dev_n64_of(call, &blocks, cd_json_get(what, "blocks"), 0));
        }
    }
    CD_TRY(check_count(call, blocks, max));
    if (cd_json_has(time)) {
        u64 at;
        CD_TRY(cd__dev_n64_of(call, &at, time, 0));
        CD_TRY(choose_time(call, at));
    }
    return cd__dev_done(call, mine(call, blocks, usual_step(d), who, &why), &why);
}

cd_err cd__dev_evm_mine(cd_rpc_call *call)
{
    CD_TRY(mine_asked(call, CD__DEV_MINE_MAX, NULL));
    cd_json_w_cstr(call->out, "0x0");
    return CD_OK;
}

/* How the transactions of some blocks ended, by block. */
typedef struct endings {
    cd_arena *arena;
    u64 first;
    const cd_tx_end *of[SHOWN_MAX];
} endings;

static void see_endings(void *ctx, const cd_chain_block *b, const cd_console_watch *watch)
{
    endings *e = ctx;
    cd_tx_end *ends = cd_arena_array(e->arena, cd_tx_end, b->block.tx_cnt);
    const cd_console_tx *seen = watch->txs;
    for (usize i = 0; i < b->block.tx_cnt && seen != NULL; i++, seen = seen->next) {
        ends[i].output = cd_arena_dup(e->arena, seen->output);
        if (seen->status != CD_EVM_OK) {
            ends[i].reason = seen->status == CD_EVM_REVERT ? cd_revert_reason(e->arena, ends[i].output)
                                                           : cd_arena_str(e->arena, cd_bytes_str(seen->words));
        }
    }
    e->of[b->block.header.number - e->first] = ends;
}

cd_err cd__dev_mine_detailed(cd_rpc_call *call)
{
    const cd_dev *d = cd__dev_of(call);
    endings ends = {.arena = call->arena, .first = cd__dev_head(d)->number + 1};
    CD_TRY(mine_asked(call, SHOWN_MAX, &(witness){.see = see_endings, .ctx = &ends}));
    cd_view *v = cd_view_newest(d->api->chain);
    cd_err e = CD_OK;
    cd_json_w_arr(call->out);
    for (u64 n = ends.first; e == CD_OK && n <= cd__dev_head(d)->number; n++) {
        const cd_accepted *acc;
        e = cd_view_block(v, &acc, call->arena, n);
        if (e == CD_OK) {
            cd_api_block_ended(call->out, &acc->block, cd_view_rules(v), acc->rlp.n, ends.of[n - ends.first]);
        }
    }
    cd_json_w_arr_end(call->out);
    cd_view_unref(v);
    return cd__dev_done(call, e, NULL);
}

cd_err cd__dev_mine_many(cd_rpc_call *call)
{
    cd_errinfo why = {0};
    cd_dev *d = cd__dev_of(call);
    u64 count = 1;
    u64 interval = usual_step(d);
    if (cd_rpc_has_arg(call, 0)) {
        CD_TRY(cd__dev_n64(call, &count, 0));
        CD_TRY(check_count(call, count, CD__DEV_MINE_MAX));
    }
    if (cd_rpc_has_arg(call, 1)) {
        CD_TRY(cd__dev_n64(call, &interval, 1));
        interval = cd_max_u64(interval, 1);
    }
    cd_err e = mine(call, count, interval, NULL, &why);
    CD_TRY(cd__dev_done(call, e, &why));
    return cd__dev_setter(call);
}

/* --- switches --- */

cd_err cd__dev_set_automine(cd_rpc_call *call)
{
    CD_TRY(cd_rpc_read_bool(call, &cd__dev_of(call)->automine, cd_rpc_arg(call, 0), 0));
    return cd__dev_setter(call);
}

cd_err cd__dev_get_automine(cd_rpc_call *call)
{
    cd_json_w_bool(call->out, cd__dev_of(call)->automine);
    return CD_OK;
}

cd_err cd__dev_miner_start(cd_rpc_call *call)
{
    cd__dev_of(call)->automine = true;
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

cd_err cd__dev_miner_stop(cd_rpc_call *call)
{
    cd__dev_of(call)->automine = false;
    cd_json_w_bool(call->out, true);
    return CD_OK;
}

cd_err cd__dev_set_interval(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_json v = cd_rpc_arg(call, 0);
    u64 min;
    u64 max;
    if (cd_json_kind_of(v) == CD_JSON_ARR) {
        CD_TRY(cd__dev_n64_of(call, &min, cd_json_at(v, 0), 0));
        CD_TRY(cd__dev_n64_of(call, &max, cd_json_at(v, 1), 0));
    } else {
        CD_TRY(cd__dev_n64(call, &min, 0));
        /* Hardhat counts milliseconds, Anvil seconds. */
        bool is_ms = !cd__dev_is_anvil(call) && min >= INTERVAL_MS_FROM;
        if (!is_ms && !cd_mul_u64(&min, min, 1000)) {
            min = UINT64_MAX;
        }
        max = min;
    }
    if (cd_json_len(v) > 2 || min > max || max > time_ms_from) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: not an interval");
    }
    d->interval_min_ms = min;
    d->interval_max_ms = max;
    d->interval_at_ns = cd_clock_mono_ns(d->api->clock) + min * CD_NS_PER_MS;
    cd_log_info(d->api->log, "interval mining", CD_F("min_ms", min), CD_F("max_ms", max));
    return cd__dev_setter(call);
}

cd_err cd__dev_get_interval(cd_rpc_call *call)
{
    u64 ms = cd__dev_of(call)->interval_max_ms;
    if (ms == 0) {
        cd_json_w_null(call->out);
    } else {
        cd_json_w_u64(call->out, ms / 1000);
    }
    return CD_OK;
}

/* --- time --- */

/* evm_ methods give a number as decimal text. */
static void write_seconds(cd_rpc_call *call, i64 seconds)
{
    if (cd__dev_is_anvil(call)) {
        cd_json_w_i64(call->out, seconds);
    } else {
        cd_json_w_cstr(call->out, cd_arena_fmt(call->arena, "%lld", (long long)seconds));
    }
}

cd_err cd__dev_increase_time(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    u64 more;
    i64 offset;
    CD_TRY(cd__dev_n64(call, &more, 0));
    keep_up(d);
    if (more > INT64_MAX || __builtin_add_overflow(d->lasting.offset, (i64)more, &offset) ||
        offset > INT64_MAX - cd__dev_wall(d)) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: out of range");
    }
    d->lasting.offset = offset;
    cd_err e = cd__dev_save(d, &why);
    CD_TRY(cd__dev_done(call, e == CD_OK ? cd_api_follow(d->api) : e, &why));
    write_seconds(call, offset);
    return CD_OK;
}

cd_err cd__dev_set_next_time(cd_rpc_call *call)
{
    u64 time;
    CD_TRY(cd__dev_n64(call, &time, 0));
    CD_TRY(choose_time(call, time));
    CD_TRY(cd__dev_done(call, cd_api_follow(cd_api_of(call)), NULL));
    if (call->method->name[0] == 'e') {
        write_seconds(call, (i64)time);
        return CD_OK;
    }
    return cd__dev_setter(call);
}

cd_err cd__dev_set_time(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    u64 time;
    CD_TRY(cd__dev_n64(call, &time, 0));
    if (time > time_ms_from) {
        time /= 1000;
    }
    i64 before = d->lasting.offset;
    d->lasting.offset = (i64)time - cd__dev_wall(d);
    d->once.has_time = false;
    cd_err e = cd__dev_save(d, &why);
    CD_TRY(cd__dev_done(call, e == CD_OK ? cd_api_follow(d->api) : e, &why));
    cd_json_w_i64(call->out, d->lasting.offset - before);
    return CD_OK;
}

cd_err cd__dev_set_step(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    u64 step;
    CD_TRY(cd__dev_n64(call, &step, 0));
    if (step > UINT32_MAX) {
        return cd_rpc_fail(call, CD_RPC_INVALID_PARAMS, "invalid argument 0: out of range");
    }
    d->lasting.step = step;
    d->lasting.has_step = true;
    return cd__dev_setter_save(call);
}

cd_err cd__dev_remove_step(cd_rpc_call *call)
{
    cd_dev *d = cd__dev_of(call);
    cd_errinfo why = {0};
    bool had = d->lasting.has_step;
    d->lasting.has_step = false;
    CD_TRY(cd__dev_done(call, cd__dev_save(d, &why), &why));
    cd_json_w_bool(call->out, had);
    return CD_OK;
}
