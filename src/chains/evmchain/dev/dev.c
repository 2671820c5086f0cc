/* The development network's state: its clock, what the next block goes by, what outlives a restart. */
#include "chains/evmchain/dev/dev_priv.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "chains/evmchain/core/chaindb.h"

/* The record: flags, offset, gas limit, step, coinbase. */
enum { RECORD_SIZE = 1 + 8 + 8 + 8 + 20, HAS_STEP = 1, HAS_COINBASE = 2 };

i64 cd__dev_wall(const cd_dev *d)
{
    return (i64)cd_clock_wall_s(d->api->clock);
}

const cd_header *cd__dev_head(const cd_dev *d)
{
    return &cd_chain_head(d->api->chain)->header;
}

/* --- the next block --- */

/* When the next block is [spec:dev-rpc#2.2]. */
static u64 next_time(const cd_dev *d)
{
    u64 parent = cd__dev_head(d)->time;
    if (d->once.has_time) {
        return cd_max_u64(d->once.time, parent);
    }
    if (d->lasting.has_step) {
        return parent + d->lasting.step;
    }
    i64 clock;
    if (__builtin_add_overflow(cd__dev_wall(d), d->lasting.offset, &clock)) {
        clock = INT64_MAX; /* the end of time was chosen, and some has passed since */
    }
    return cd_max_u64(clock < 0 ? 0 : (u64)clock, parent + 1);
}

void cd__dev_next(const cd_api_dev *dev, cd_build_cfg *out)
{
    const cd_dev *d = (const cd_dev *)(const void *)dev;
    *out = (cd_build_cfg){
        .wish =
            {
                .time = next_time(d),
                .coinbase = d->lasting.has_coinbase ? &d->lasting.coinbase : NULL,
                .base_fee = d->once.has_base_fee ? &d->once.base_fee : NULL,
                .prev_randao = d->once.has_randao ? &d->once.randao : NULL,
                .gas_limit = d->lasting.gas_limit,
            },
        .may_be_empty = true,
    };
}

static const cd_addr20 *coinbase(const cd_api_dev *dev)
{
    const cd_dev *d = (const cd_dev *)(const void *)dev;
    return d->lasting.has_coinbase ? &d->lasting.coinbase : NULL;
}

/* --- what outlives a restart --- */

cd_err cd__dev_save(cd_dev *d, cd_errinfo *why)
{
    u8 record[RECORD_SIZE] = {0};
    cd_kv_batch batch = {0};
    const cd__dev_lasting *l = &d->lasting;
    record[0] = (u8)((l->has_step ? HAS_STEP : 0) | (l->has_coinbase ? HAS_COINBASE : 0));
    cd_put_be64(record + 1, (u64)l->offset);
    cd_put_be64(record + 9, l->gas_limit);
    cd_put_be64(record + 17, l->step);
    memcpy(record + 25, l->coinbase.b, 20);
    cd_kv_batch_for(&batch, d->kv);
    cd_chaindb_put_meta(&batch, CD_CHAINDB_DEV, cd_bytes_of(record, sizeof record));
    cd_err e = cd_kv_commit(d->kv, &batch, CD_KV_SYNC, why);
    cd_kv_batch_fini(&batch);
    return e;
}

static cd_err load(cd_dev *d)
{
    cd_buf record = {0};
    cd_err e = cd_chaindb_meta(d->kv, &record, CD_CHAINDB_DEV);
    if (e == CD_OK && record.n != RECORD_SIZE) {
        e = CD_ECORRUPT;
    }
    if (e == CD_OK) {
        const u8 *p = record.p;
        d->lasting = (cd__dev_lasting){
            .has_step = (p[0] & HAS_STEP) != 0,
            .has_coinbase = (p[0] & HAS_COINBASE) != 0,
            .offset = (i64)cd_be64(p + 1),
            .gas_limit = cd_be64(p + 9),
            .step = cd_be64(p + 17),
        };
        memcpy(d->lasting.coinbase.b, p + 25, 20);
    }
    cd_buf_fini(&record);
    return e == CD_ENOENT ? CD_OK : e;
}

/* --- as at the start --- */

void cd__dev_forget_snapshots(cd_dev *d, usize idx)
{
    while (d->snapshot_cnt > idx) {
        cd_txpool_copy_free(d->snapshots[--d->snapshot_cnt].pool);
    }
}

void cd__dev_restart_state(cd_dev *d)
{
    cd__dev_forget_snapshots(d, 0);
    d->once = (cd__dev_once){0};
    d->automine = true;
    d->auto_impersonate = false;
    d->is_logging = true;
    d->interval_min_ms = 0;
    d->interval_max_ms = 0;
    d->impersonated_cnt = 0;
    d->next_snapshot = 1;
    cd_rng_fill(&d->rng, d->instance.b, sizeof d->instance.b);
}

/* --- the table of methods --- */

#define ROW(prefix_, name_, fn_, lane_, required_, max_, schema_, summary_)                                            \
    {.group = "",                                                                                                      \
     .name = prefix_ #name_,                                                                                           \
     .fn = (fn_),                                                                                                      \
     .lane = CD_RPC_ROW_LANE(lane_),                                                                                   \
     .acts = CD_RPC_ROW_DOES(lane_),                                                                                   \
     .required = (required_),                                                                                          \
     .max = (max_),                                                                                                    \
     .schema = (schema_),                                                                                              \
     .summary = (summary_)},
#define ROWS_N(...)   ROW("", __VA_ARGS__)
#define ROWS_E(...)   ROW("evm_", __VA_ARGS__)
#define ROWS_H(...)   ROW("hardhat_", __VA_ARGS__)
#define ROWS_T(...)   ROW("tenderly_", __VA_ARGS__)
#define ROWS_HA(...)  ROWS_H(__VA_ARGS__) ROW("anvil_", __VA_ARGS__)
#define ROWS_HAT(...) ROWS_HA(__VA_ARGS__) ROWS_T(__VA_ARGS__)
#define ROWS_EHA(...) ROWS_E(__VA_ARGS__) ROWS_HA(__VA_ARGS__)

static void add_methods(const cd_api_dev *dev, cd_rpc_table *t)
{
    (void)dev;
    static const cd_rpc_method rows[] = {
#define X(ns_, ...) ROWS_##ns_(__VA_ARGS__)
#include "chains/evmchain/dev/methods.def"
#undef X
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        /* A group that is switched on may bring some of the names itself. */
        if (cd_rpc_table_find(t, cd_bytes_str(rows[i].name)) == NULL) {
            cd_rpc_table_add(t, &rows[i], 1);
        }
    }
}

/* --- life --- */

static const cd_api_dev_ops ops = {
    .next = cd__dev_next,
    .sent = cd__dev_sent,
    .may_send = cd__dev_may_send,
    .coinbase = coinbase,
    .watched = cd__dev_watched,
    .add_methods = add_methods,
};

cd_err cd_dev_open(cd_dev **out, const cd_dev_cfg *cfg)
{
    cd_dev *d = cd_new(cd_dev);
    d->hooks.ops = &ops;
    d->api = cfg->api;
    d->kv = cfg->kv;
    d->genesis = cfg->genesis;
    d->options = cfg->options;
    d->rng = cfg->rng != NULL ? *cfg->rng : cd_rng_os();
    d->console = cd_console_new();
    d->names = cd_names_new();
    cd__dev_restart_state(d);
    cd_err e = load(d);
    e = e != CD_OK ? e : cd__dev_derive_keys(d->accounts);
    if (e != CD_OK) {
        cd_dev_close(d);
        return e;
    }
    d->api->dev = &d->hooks;
    d->api->accounts = d->accounts;
    d->api->account_cnt = CD__DEV_ACCOUNTS;
    *out = d;
    return CD_OK;
}

void cd_dev_close(cd_dev *d)
{
    if (d != NULL) {
        cd__dev_save_state(d);
        d->api->dev = NULL;
        d->api->account_cnt = 0;
        cd__dev_forget_snapshots(d, 0);
        cd_free(d->snapshots);
        cd_free(d->impersonated);
        cd_console_free(d->console);
        cd_names_free(d->names);
        cd_free(d);
    }
}
