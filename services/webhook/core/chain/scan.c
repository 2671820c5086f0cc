#include "services/webhook/core/chain/scan.h"

#include "base/mem/mem.h"

enum { PAUSE_MIN_MS = 100, PAUSE_MAX_MS = 10000 };

struct cd_wh_scan {
    cd_wh_source source;
    cd_wh_match *match;
    u64 at, last;
    u32 tries, tried;
    const cd_wh_scan_events *events;
    void *ctx;
    cd_fetched got;
    cd_fetch *fetch;
    cd_wh_facts facts;
    const cd_wh_hit *hits;
    usize hits_cnt;
    cd_wh_naming *naming;
    cd_timer *timer; /* the next block, or the same again */
};

static void block_clear(cd_wh_scan *s)
{
    cd_fetch_cancel(s->fetch);
    s->fetch = NULL;
    cd_wh_naming_free(s->naming);
    s->naming = NULL;
    cd_arena_fini(&s->got.mem);
    s->got = (cd_fetched){0};
}

static void fail(cd_wh_scan *s, const char *reason)
{
    if (++s->tried == s->tries) {
        s->events->over(s->ctx, reason);
        return;
    }
    u64 pause = (u64)PAUSE_MIN_MS << (s->tried < 8 ? s->tried : 8);
    block_clear(s);
    cd_timer_start(s->timer, pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause, 0);
}

static void on_named(void *ctx)
{
    cd_wh_scan *s = ctx;
    const cd_wh_names names = cd_wh_naming_names(s->naming);
    const cd_wh_event *events =
        cd_wh_events_make(&s->got.mem, &s->source.chain, &s->facts, s->hits, s->hits_cnt, &names);
    s->tried = 0;
    s->events->block(s->ctx, &s->facts, events, s->hits_cnt);
}

static void on_fetched(void *ctx, cd_err err, const char *reason)
{
    cd_wh_scan *s = ctx;
    cd_errinfo why = {0};
    s->fetch = NULL;
    if (err == CD_OK) {
        err = cd_wh_facts_parse(&s->facts, &s->got.mem, s->got.block, s->got.receipts, s->got.traces, &why);
        reason = why.msg;
    }
    if (err == CD_OK && s->facts.number != s->at) {
        err = CD_EPROTO;
        reason = "the node answers with another block";
    }
    if (err != CD_OK) {
        fail(s, reason);
        return;
    }
    const cd_wh_hit *hits = cd_wh_match_run(s->match, &s->hits_cnt, &s->facts);
    s->hits = cd_wh_hits_dup(&s->got.mem, hits, s->hits_cnt);
    cd_wh_naming_new(&s->naming, s->source.tokens, &s->got.mem, &s->facts, s->hits, s->hits_cnt, on_named, s);
}

static void on_timer(void *ctx)
{
    cd_wh_scan *s = ctx;
    bool traces = (cd_wh_match_types(s->match) & 1u << CD_WH_C_INTERNAL) != 0;
    s->fetch = cd_fetch_new(s->source.node, &s->got, s->at, NULL, traces ? CD_WH_TRACE_DEPTH_MAX : 0, on_fetched, s);
}

cd_wh_scan *cd_wh_scan_new(const cd_wh_source *source, cd_wh_match *match, u64 first, u64 last, u32 tries,
                           const cd_wh_scan_events *events, void *ctx)
{
    cd_wh_scan *s = cd_new(cd_wh_scan);
    s->source = *source;
    s->match = match;
    s->at = first;
    s->last = last;
    s->tries = tries;
    s->events = events;
    s->ctx = ctx;
    s->timer = cd_timer_new(source->loop, on_timer, s);
    cd_timer_start(s->timer, 0, 0);
    return s;
}

void cd_wh_scan_next(cd_wh_scan *s)
{
    block_clear(s);
    if (s->at == s->last) {
        s->events->over(s->ctx, NULL);
        return;
    }
    s->at += s->at < s->last ? 1 : UINT64_MAX;
    cd_timer_start(s->timer, 0, 0);
}

void cd_wh_scan_free(cd_wh_scan *s)
{
    if (s != NULL) {
        block_clear(s);
        cd_timer_free(s->timer);
        cd_free(s);
    }
}
