/* One round of the feed's thread: new blocks to the live streams, then some of the past to those that are behind. */
#include "base/mem/mem.h"
#include "chains/evmchain/core/accepted.h"
#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/core/dev/cuts.h"
#include "chains/evmchain/core/dev/run.h"
#include "chains/evmchain/feed/feed_priv.h"
#include "chains/evmchain/feed/log_scan.h"
#include "chains/evmchain/feed/render.h"

enum {
    BLOCKS_MAX = 64,      /* blocks that live streams are told of in one round */
    NOTES_MAX = 256,      /* notes that one stream that is behind gets in one round */
    SCAN_MAX = 512,       /* blocks of the store that are looked at for it */
    PUBLISHED_MAX = 2048, /* notes that may be on their way to the loop before the thread waits */
};

/* --- publishing --- */

static void on_home(void *ctx)
{
    cd_feed *f = ctx;
    cd_mutex_lock(&f->lock);
    f->is_home_behind = false;
    cd_cond_wake_one(&f->wake);
    cd_mutex_unlock(&f->lock);
}

/* Lets the home thread come to what it was sent, so that no more than it can take piles up. */
static void wait_for_home(cd_feed *f)
{
    if (f->published < PUBLISHED_MAX) {
        return;
    }
    f->published = 0;
    f->is_home_behind = true;
    cd_rpc_topic_after(f->pending[0], on_home, f);
    cd_mutex_lock(&f->lock);
    while (f->is_home_behind && !f->is_stopping) {
        cd_cond_wait(&f->wake, &f->lock);
    }
    cd_mutex_unlock(&f->lock);
}

static void publish(cd_feed *f, cd__stream *s, cd_rpc_note *note)
{
    f->published++;
    cd_rpc_topic_publish(s->topic, note);
}

/* --- blocks --- */

static void keep(void *ctx, const cd_run_header *at)
{
    cd__feed_blocks *b = ctx;
    if (at->h.number >= b->first) {
        cd_accepted_of_run(&b->window[b->cnt++], &b->arena, b->layout, at);
    }
}

static cd_err load_run(cd__feed_blocks *b, cd_view *v, u64 number)
{
    cd_run run;
    cd_run_header at;
    CD_TRY(cd_run_find(cd_view_kv(v), &run, number));
    u64 mark_end = number + (CD_RUN_MARK - 1 - (number - run.first) % CD_RUN_MARK);
    u64 last = cd_min_u64(cd_min_u64(run.last, mark_end), number + CD__FEED_WINDOW - 1);
    cd_arena_reset(&b->arena);
    b->first = number;
    b->cnt = 0;
    b->layout = cd_view_rules(v)->layout;
    cd_err e = cd_run_at(cd_view_kv(v), &at, &run, b->layout, last, keep, b);
    if (e != CD_OK) {
        b->cnt = 0;
    }
    return e;
}

/* Gives the block of a height; good until the next call. */
static cd_err block_at(cd__feed_blocks *b, const cd_accepted **out, cd_view *v, u64 number)
{
    if (number < cd_view_first(v)) {
        cd_hash32 hash;
        bool is_known = b->cnt != 0 && number >= b->first && number - b->first < b->cnt;
        cd_err e = is_known ? CD_ENOENT : cd_chaindb_hash(cd_view_kv(v), &hash, number);
        if (e == CD_ENOENT && !is_known) {
            CD_TRY(load_run(b, v, number));
        }
        if (e == CD_ENOENT) {
            *out = &b->window[number - b->first];
            return CD_OK;
        }
        CD_TRY(e);
    }
    b->cnt = 0;
    cd_arena_reset(&b->arena);
    return cd_view_block(v, out, &b->arena, number);
}

/* --- live --- */

/* A log on its way to those who want it; each form is rendered when the first one asks. */
typedef struct telling {
    cd_feed *f;
    const cd_accepted *acc;
    u32 tx;
    u32 item;
    usize idx;
    cd_rpc_note *notes[2]; /* without cursor, with it */
} telling;

static void on_match(void *ctx, cd__match_row *row)
{
    telling *t = ctx;
    cd__stream *s = (cd__stream *)(void *)row;
    cd_rpc_note **note = &t->notes[s->with_cursor];
    if (*note == NULL) {
        *note = cd__note_log(t->acc, t->f->next.epoch, t->tx, t->item, t->idx, s->with_cursor);
    }
    publish(t->f, s, cd_rpc_note_ref(*note));
}

static void tell_logs(cd_feed *f, const cd_accepted *acc)
{
    telling t = {.f = f, .acc = acc};
    for (u32 i = 0; i < acc->block.tx_cnt; i++) {
        for (u32 j = 0; j < acc->receipts[i].log_cnt; j++, t.idx++) {
            t.tx = i;
            t.item = j;
            cd__match_log(&f->logs, &acc->receipts[i].logs[j], on_match, &t);
            for (usize k = 0; k < CD_COUNT(t.notes); k++) {
                if (t.notes[k] != NULL) {
                    cd_rpc_note_unref(t.notes[k]);
                    t.notes[k] = NULL;
                }
            }
        }
    }
}

static void tell_block(cd_feed *f, const cd_accepted *acc, const cd_chain_rules *rules)
{
    u64 epoch = f->next.epoch;
    for (usize full = 0; full < 2; full++) {
        for (usize cursor = 0; cursor < 2; cursor++) {
            cd__stream *s = f->txs[full][cursor];
            for (u32 i = 0; s != NULL && i < acc->block.tx_cnt; i++) {
                publish(f, s, cd__note_tx(acc, epoch, i, full != 0, cursor != 0));
            }
        }
    }
    tell_logs(f, acc);
    for (usize cursor = 0; cursor < 2; cursor++) {
        if (f->heads[cursor] != NULL) {
            publish(f, f->heads[cursor], cd__note_head(acc, rules, epoch, cursor != 0));
        }
    }
}

/* The highest block that may be told of. */
static u64 limit(const cd_feed *f, cd_view *view)
{
    u64 head = cd_view_head(view)->block.header.number;
    return f->cfg.limit == NULL ? head : f->cfg.limit(f->cfg.ctx, head);
}

static cd_err tell_new(cd_feed *f, cd_view *view, u64 head)
{
    if (cd_list_is_empty(&f->live)) {
        f->next.height = head + 1; /* a listener that comes now begins where it wants to */
    }
    f->next.height = cd_max_u64(f->next.height, cd_view_floor(view));
    for (usize n = 0; n < BLOCKS_MAX && f->next.height <= head; n++) {
        const cd_accepted *acc;
        CD_TRY(block_at(&f->blocks, &acc, view, f->next.height));
        tell_block(f, acc, cd_view_rules(view));
        f->next.height++;
        wait_for_home(f);
    }
    return CD_OK;
}

/* --- behind --- */

/* Tells s what it wants of a block, from s->at on. */
static void tell_rest(cd_feed *f, cd__stream *s, const cd_accepted *acc, const cd_chain_rules *rules, usize *notes)
{
    const cd_cursor at = s->at;
    usize idx = 0;
    switch (s->kind) {
    case CD_STREAM_HEADS:
        publish(f, s, cd__note_head(acc, rules, at.epoch, s->with_cursor));
        ++*notes;
        break;
    case CD_STREAM_TXS:
        for (u32 i = at.tx; i < acc->block.tx_cnt; i++, ++*notes) {
            publish(f, s, cd__note_tx(acc, at.epoch, i, s->is_full, s->with_cursor));
        }
        break;
    case CD_STREAM_LOGS:
        for (u32 i = 0; i < acc->block.tx_cnt; i++) {
            const cd_receipt *r = &acc->receipts[i];
            for (u32 j = 0; j < r->log_cnt; j++, idx++) {
                bool is_told = i < at.tx || (i == at.tx && j < at.item);
                if (!is_told && cd_log_criteria_match(&s->want, &r->logs[j])) {
                    publish(f, s, cd__note_log(acc, at.epoch, i, j, idx, s->with_cursor));
                    ++*notes;
                }
            }
        }
        break;
    }
    s->at = (cd_cursor){.epoch = at.epoch, .height = acc->block.header.number + 1};
}

static cd_err tell_past_logs(cd_feed *f, cd__stream *s, cd_view *view, u64 last)
{
    cd_log_scan scan;
    cd_arena a = {0};
    usize notes = 0;
    cd_err e = cd_log_scan_init(&scan, view, &s->want, s->at.height, last);
    while (e == CD_OK && notes < NOTES_MAX) {
        const cd_accepted *acc;
        e = cd_log_scan_next(&scan, &acc, &a, SCAN_MAX);
        if (e == CD_OK) {
            if (acc->block.header.number != s->at.height) {
                s->at = (cd_cursor){.epoch = s->at.epoch, .height = acc->block.header.number};
            }
            tell_rest(f, s, acc, cd_view_rules(view), &notes);
        }
        cd_arena_reset(&a);
    }
    cd_arena_fini(&a);
    if (e == CD_ENOENT || e == CD_EAGAIN) {
        u64 height = e == CD_ENOENT ? last + 1 : scan.next;
        if (height > s->at.height) {
            s->at = (cd_cursor){.epoch = s->at.epoch, .height = height};
        }
        e = CD_OK;
    }
    return e;
}

static cd_err tell_past(cd_feed *f, cd__stream *s, cd_view *view, u64 last)
{
    usize notes = 0;
    if (s->kind == CD_STREAM_LOGS) {
        return tell_past_logs(f, s, view, last);
    }
    while (s->at.height <= last && notes < NOTES_MAX) {
        const cd_accepted *acc;
        CD_TRY(block_at(&f->blocks, &acc, view, s->at.height));
        tell_rest(f, s, acc, cd_view_rules(view), &notes);
    }
    return CD_OK;
}

static void on_moved(void *ctx)
{
    cd__stream *s = ctx;
    cd_mutex_lock(&s->feed->lock);
    s->moves--;
    cd_mutex_unlock(&s->feed->lock);
    if (cd_rpc_topic_is_idle(s->topic)) {
        cd__feed_idle(s);
    }
}

/* Makes s a live stream. */
static void go_live(cd_feed *f, cd__stream *s)
{
    cd_list_del(&s->link);
    cd_list_push_back(&f->live, &s->link);
    s->is_live = true;
    f->has_gone_live = true;
    switch (s->kind) {
    case CD_STREAM_HEADS:
        f->heads[s->with_cursor] = s;
        break;
    case CD_STREAM_TXS:
        f->txs[s->is_full][s->with_cursor] = s;
        break;
    case CD_STREAM_LOGS:
        cd__match_add(&f->logs, &s->row);
        break;
    }
}

/* s has caught up: it becomes the live stream of its key, or its listeners join that. */
static void catch_up(cd_feed *f, cd__stream *s)
{
    cd__stream *other = NULL;
    cd_mutex_lock(&f->lock);
    bool is_dead = s->is_dead;
    if (!is_dead && !s->is_shared) {
        cd__stream **slot = cd_hmap_put(&f->shared, NULL, &s->key);
        other = *slot;
        if (other == NULL) {
            *slot = s;
            s->is_shared = true;
        } else if (other->is_live) {
            other->moves++;
        }
    }
    cd_mutex_unlock(&f->lock);
    if (is_dead) {
        return;
    }
    if (other == NULL) {
        go_live(f, s);
    } else if (other->is_live) {
        cd_rpc_topic_move(s->topic, other->topic); /* s has no listener then, and dies */
        cd_rpc_topic_after(other->topic, on_moved, other);
        cd_list_del(&s->link);
        cd_list_push_back(&f->gone, &s->link);
    } else {
        s->is_waiting = true;
    }
}

/* --- rounds --- */

cd_err cd_feed_follow(cd_cursor *at, cd_view *view)
{
    u64 cut;
    if (at->height < cd_view_floor(view)) {
        /* Of blocks before the state that came from peers there is nothing to tell. */
        *at = (cd_cursor){.epoch = at->epoch, .height = cd_view_floor(view)};
    }
    if (at->epoch >= cd_view_epoch(view)) {
        return CD_OK;
    }
    cd_err e = cd_cut_since(cd_view_kv(view), &cut, at->epoch);
    if (e == CD_OK && cd_cursor_is_past(at, cut)) {
        *at = (cd_cursor){.height = cut + 1};
    }
    at->epoch = cd_view_epoch(view);
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err tell_behind(cd_feed *f, cd__stream *s, cd_view *view)
{
    s->is_waiting = false;
    CD_TRY(cd_feed_follow(&s->at, view));
    if (cd_rpc_topic_pending(s->topic) > CD_RPC_TOPIC_LOW) {
        return CD_OK; /* the session tells when its client has taken them */
    }
    if (s->at.height < f->next.height) {
        CD_TRY(tell_past(f, s, view, f->next.height - 1));
        wait_for_home(f);
    }
    if (s->at.height == f->next.height && s->at.tx == 0 && s->at.item == 0) {
        catch_up(f, s);
    }
    return CD_OK;
}

/* A stream that is behind and is not waiting for its client. */
static bool has_work(const cd_feed *f)
{
    cd_list_each(it, &f->behind)
    {
        const cd__stream *s = cd_list_of(it, cd__stream, link);
        if (!s->is_waiting && cd_rpc_topic_pending(s->topic) <= CD_RPC_TOPIC_LOW) {
            return true;
        }
    }
    return false;
}

bool cd__feed_round(cd_feed *f)
{
    cd_view *view = cd_view_newest(f->cfg.chain);
    u64 head = limit(f, view);
    f->has_gone_live = false;
    cd_err e = cd_feed_follow(&f->next, view);
    if (e == CD_OK) {
        e = tell_new(f, view, head);
    }
    cd_list_each_safe(it, &f->behind)
    {
        if (e == CD_OK) {
            e = tell_behind(f, cd_list_of(it, cd__stream, link), view);
        }
    }
    f->blocks.cnt = 0; /* the window's blocks are borrowed from this view */
    cd_view_unref(view);
    if (e != CD_OK) {
        if (f->cfg.log != NULL) {
            cd_log_error(f->cfg.log, "the feed cannot read the chain", CD_F("error", cd_err_str(e)));
        }
        return false; /* with the next block it tries again */
    }
    return f->next.height <= head || f->has_gone_live || has_work(f);
}
