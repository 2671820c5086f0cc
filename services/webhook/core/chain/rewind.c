#include "services/webhook/core/chain/rewind.h"

#include "base/mem/mem.h"
#include "base/table/list.h"

enum { AT_ONCE = 32 }; /* blocks that are asked for in one request */

struct cd__wh_rewind {
    cd__wh_rewind_cfg cfg;
    cd_job job;
    cd_arena mem, ask_mem;
    cd_call *call;
    bool is_stopped;
    cd_wh_cursor from;
    cd_wh_cursor *known;
    usize cnt, at, asked; /* known blocks: in all, looked at, asked for just now */
    cd_wh_cursor to;
    cd_wh_enqueued made;
    bool done;
};

static void over(cd__wh_rewind *r, cd__wh_rewound how, const char *reason)
{
    r->cfg.over(r->cfg.ctx, how, r->from.height, r->to.height, reason);
}

/* --- the store --- */

static cd_err write_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd__wh_rewind *r = cd_list_of(job, cd__wh_rewind, job);
    return cd_wh_rewind(s, &r->made, &r->done, &r->mem, &r->from, r->to.height, r->to.hash, why);
}

static void write_done(cd_job *job)
{
    cd__wh_rewind *r = cd_list_of(job, cd__wh_rewind, job);
    if (r->is_stopped) {
        return;
    }
    if (job->err != CD_OK) {
        over(r, CD__WH_UNKNOWN, job->why.msg);
        return;
    }
    r->cfg.told(r->cfg.ctx, &r->made);
    over(r, CD__WH_REWOUND, "");
}

static void rewind_to(cd__wh_rewind *r, u64 height, const u8 hash[32])
{
    r->to.height = height;
    memcpy(r->to.hash, hash, 32);
    r->job = (cd_job){.run = write_run, .done = write_done};
    cd_jobs_write(r->cfg.db, &r->job);
}

/* --- the node --- */

static bool hash_of(u8 out[32], const cd_answer *a)
{
    return !a->is_error && cd_json_fixed(out, 32, cd_json_get(a->result, "hash"), NULL) == CD_OK;
}

static void on_genesis(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd__wh_rewind *r = ctx;
    u8 hash[32];
    r->call = NULL;
    if (err != CD_OK || !hash_of(hash, &answers[0])) {
        over(r, CD__WH_UNKNOWN, err != CD_OK ? reason : "the node does not tell its first block");
    } else if (r->cfg.from_nothing) {
        rewind_to(r, 0, hash);
    } else {
        over(r, CD__WH_NO_COMMON, "the node has none of the blocks that were followed last");
    }
}

static void ask_genesis(cd__wh_rewind *r)
{
    static const cd_ask ask = {.method = "eth_getBlockByNumber", .params = "[\"0x0\",false]"};
    cd_arena_reset(&r->ask_mem);
    r->call = cd_call_new(r->cfg.node, &r->ask_mem, &ask, 1, 0, on_genesis, r);
}

static void ask_more(cd__wh_rewind *r);

static void on_blocks(void *ctx, cd_err err, const char *reason, const cd_answer *answers)
{
    cd__wh_rewind *r = ctx;
    r->call = NULL;
    if (err != CD_OK) {
        over(r, CD__WH_UNKNOWN, reason);
        return;
    }
    for (usize i = 0; i < r->asked; i++) {
        const cd_wh_cursor *k = &r->known[r->at + i];
        u8 hash[32];
        if (answers[i].is_error) {
            over(r, CD__WH_UNKNOWN, "the node does not tell its blocks");
            return;
        }
        if (hash_of(hash, &answers[i]) && memcmp(hash, k->hash, 32) == 0) {
            rewind_to(r, k->height, k->hash);
            return;
        }
    }
    r->at += r->asked;
    ask_more(r);
}

static void ask_more(cd__wh_rewind *r)
{
    cd_ask asks[AT_ONCE];
    cd_arena_reset(&r->ask_mem);
    r->asked = r->cnt - r->at < AT_ONCE ? r->cnt - r->at : AT_ONCE;
    for (usize i = 0; i < r->asked; i++) {
        u64 height = r->known[r->at + i].height;
        asks[i] = (cd_ask){
            .method = "eth_getBlockByNumber",
            .params = cd_arena_fmt(&r->ask_mem, "[\"0x%llx\",false]", (unsigned long long)height),
        };
    }
    if (r->asked == 0) {
        ask_genesis(r);
    } else {
        r->call = cd_call_new(r->cfg.node, &r->ask_mem, asks, r->asked, 0, on_blocks, r);
    }
}

static cd_err read_run(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd__wh_rewind *r = cd_list_of(job, cd__wh_rewind, job);
    r->from.chain = r->cfg.chain;
    CD_TRY(cd_wh_cursor_get(s, &r->from.height, r->from.hash, r->cfg.chain, why));
    return cd_wh_known(s, &r->known, &r->cnt, &r->mem, r->cfg.chain, why);
}

static void read_done(cd_job *job)
{
    cd__wh_rewind *r = cd_list_of(job, cd__wh_rewind, job);
    if (r->is_stopped) {
        return;
    }
    if (job->err == CD_OK) {
        ask_more(r);
    } else {
        over(r, CD__WH_UNKNOWN, job->why.msg);
    }
}

/* --- life --- */

cd__wh_rewind *cd__wh_rewind_new(const cd__wh_rewind_cfg *cfg)
{
    cd__wh_rewind *r = cd_new(cd__wh_rewind);
    r->cfg = *cfg;
    r->job = (cd_job){.run = read_run, .done = read_done};
    cd_jobs_read(cfg->db, &r->job);
    return r;
}

void cd__wh_rewind_stop(cd__wh_rewind *r)
{
    if (r != NULL) {
        r->is_stopped = true;
        cd_call_cancel(r->call);
        r->call = NULL;
    }
}

void cd__wh_rewind_free(cd__wh_rewind *r)
{
    if (r == NULL) {
        return;
    }
    cd__wh_rewind_stop(r);
    cd_arena_fini(&r->mem);
    cd_arena_fini(&r->ask_mem);
    cd_free(r);
}
