/* Live rows: news of the chain come to the loop, a reader's thread makes the rows once, everybody who listens gets
 * the same bytes. What came in the meantime waits for the next rendering, so a fast chain costs no more than a slow
 * one. */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/table/list.h"
#include "codec/json.h"
#include "explorer/explorer_priv.h"
#include "net/http/sse.h"
#include "web/serve.h"

#include <stdatomic.h>

enum { LISTENERS_MAX = 1000, EVENTS_MAX = 2 * CD__LIVE_ROWS + 5, POOL_MS = 1000 };

/* Topics, as bits: everybody hears of blocks, who looks at what waits or at what is signed of that too. */
enum { TOPIC_BLOCKS = 0, TOPIC_POOL = 1, TOPIC_FINAL = 2 };

typedef struct event {
    const char *name;
    u64 topic;
    cd_buf data;
} event;

struct cd__live {
    cd_explorer *x;
    cd_sse *sse;  /* from the first listener on; NULL: there was none */
    bool is_left; /* nobody listens any more */
    cd_loop_task news;
    atomic_bool has_news; /* news was posted and has not run yet */
    cd_loop_task done;
    cd_timer *timer; /* from the first listener to such topics on; stops when nobody listens to anything */
    u64 watched;     /* topics that somebody has listened to since */
    u64 due;         /* topics that are to be looked at */
    bool is_rendering;
    bool is_stale; /* a block came since the rendering began */
    u64 told;      /* the height up to which everybody was told; during a rendering those who have come since */
    u64 epoch;     /* epoch of the chain at that height (cd_view_epoch) */
    /* The rendering's; its thread and the loop take turns. */
    u64 from;
    u64 from_epoch;
    u64 looks_at;   /* topics */
    u64 pool_mark;  /* cd__pool_mark when it was told last */
    u64 final_mark; /* cd__final_mark likewise */
    u64 seen;
    u64 seen_epoch;
    event events[EVENTS_MAX];
    usize cnt;
};

/* --- rendering --- */

/* What was written becomes an event: {"id":…,"html":…}. */
static void tell(struct cd__live *l, cd__xp *p, const char *name, cd_bytes id)
{
    event *e = &l->events[l->cnt++];
    cd_json_w w = {.out = &e->data};
    e->name = name;
    e->topic = TOPIC_BLOCKS;
    cd_json_w_obj(&w);
    cd_json_put_str(&w, "id", id);
    cd_json_put_str(&w, "html", cd_buf_bytes(&p->body));
    cd_json_w_obj_end(&w);
    cd_buf_clear(&p->body);
}

static void tell_blocks(struct cd__live *l, cd__xp *p, u64 from, u64 head)
{
    from = cd_max_u64(from, head < CD__LIVE_ROWS ? 0 : head + 1 - CD__LIVE_ROWS);
    for (u64 n = from; n <= head; n++) {
        const cd_accepted *b;
        if (cd_view_block(p->view, &b, &p->a, n) == CD_OK) {
            cd__xp_blocks_row(p, b);
            tell(l, p, CD__LIVE_BLOCKS, cd_bytes_str(cd_arena_fmt(&p->a, "%llu", (unsigned long long)n)));
        }
    }
}

/* The newest transactions behind a height, oldest first. */
static void tell_txs(struct cd__live *l, cd__xp *p, u64 from, u64 head)
{
    const cd_accepted *at[CD__LIVE_ROWS];
    usize idx[CD__LIVE_ROWS];
    usize cnt = 0;
    from = cd_max_u64(from, head < CD__XP_TXS_SEARCHED ? 1 : head + 1 - CD__XP_TXS_SEARCHED);
    const cd_accepted *b[CD__XP_PAGE];
    for (u64 n = head + 1; n > from && cnt < CD__LIVE_ROWS;) {
        usize got = cd__xp_down(p, b, n - 1, (usize)cd_min_u64(CD__XP_PAGE, n - from));
        for (usize i = 0; i < got; i++) {
            for (usize k = b[i]->block.tx_cnt; k-- != 0 && cnt < CD__LIVE_ROWS; cnt++) {
                at[cnt] = b[i];
                idx[cnt] = k;
            }
        }
        n = got == 0 ? from : n - got;
    }
    while (cnt-- != 0) {
        const cd_tx *tx = &at[cnt]->block.txs[idx[cnt]];
        cd__xp_txs_row(p, at[cnt], idx[cnt], true);
        tell(l, p, CD__LIVE_TXS, cd__xp_hex(p, cd_bytes_of(tx->hash.b, 32)));
    }
}

/* That something of it changed is enough: its pages are read again. */
static void tell_change(struct cd__live *l, cd__xp *p, const char *name, u64 topic, u64 *told, u64 mark)
{
    if (mark != 0 && mark != *told) {
        tell(l, p, name, (cd_bytes){0});
        l->events[l->cnt - 1].topic = topic;
        *told = mark;
    }
}

/* Renders the rows, on a reader's thread. */
static void render(void *arg)
{
    struct cd__live *l = arg;
    cd__xp *p = cd__xp_open(l->x, NULL);
    u64 head = cd_view_head(p->view)->block.header.number;
    l->seen = head;
    l->seen_epoch = cd_view_epoch(p->view);
    if (l->seen_epoch != l->from_epoch || head < l->from) {
        tell(l, p, "gap", (cd_bytes){0}); // rows that stand there are of blocks that are no more
    } else if (head > l->from) {
        tell_blocks(l, p, l->from + 1, head);
        tell_txs(l, p, l->from + 1, head);
        cd__xp_top(p);
        tell(l, p, CD__LIVE_TOP, (cd_bytes){0});
        cd__xp_bar_height(p, &p->h);
        tell(l, p, CD__LIVE_HEIGHT, (cd_bytes){0});
    }
    if ((l->looks_at & TOPIC_POOL) != 0) {
        tell_change(l, p, CD__LIVE_POOL, TOPIC_POOL, &l->pool_mark, cd__pool_mark(p));
    }
    if ((l->looks_at & TOPIC_FINAL) != 0) {
        tell_change(l, p, CD__LIVE_FINAL, TOPIC_FINAL, &l->final_mark, cd__final_mark(p));
    }
    cd__xp_close(p);
    cd_loop_post(l->x->cfg.loop, &l->done);
}

/* --- on the loop --- */

static struct cd__live *of_task(cd_loop_task *t, usize at)
{
    return (struct cd__live *)(void *)((u8 *)t - at);
}

static void begin(struct cd__live *l)
{
    if (l->is_rendering) {
        l->is_stale = true;
    } else if (l->sse != NULL && cd_sse_cnt(l->sse) != 0) {
        l->is_stale = false;
        l->from = l->told;
        l->from_epoch = l->epoch;
        l->told = UINT64_MAX;
        l->looks_at = l->due;
        l->due = 0;
        l->is_rendering = true;
        if (l->x->cfg.run(l->x->cfg.ctx, render, l) != CD_OK) {
            l->told = l->from;
            l->is_rendering = false;
        }
    }
}

static void on_news(cd_loop_task *t)
{
    struct cd__live *l = of_task(t, offsetof(struct cd__live, news));
    atomic_store(&l->has_news, false);
    begin(l);
}

static void on_done(cd_loop_task *t)
{
    struct cd__live *l = of_task(t, offsetof(struct cd__live, done));
    for (usize i = 0; i < l->cnt; i++) {
        if (l->sse != NULL) {
            cd_sse_send(l->sse, l->events[i].topic, l->events[i].name, cd_buf_bytes(&l->events[i].data));
        }
        cd_buf_fini(&l->events[i].data);
    }
    l->cnt = 0;
    l->told = cd_min_u64(l->told, l->seen);
    l->epoch = l->seen_epoch;
    l->is_rendering = false;
    if (l->is_stale || l->due != 0 || l->told < l->seen) {
        begin(l);
    }
}

static void on_timer(void *ctx)
{
    struct cd__live *l = ctx;
    if (l->sse == NULL || cd_sse_cnt(l->sse) == 0) {
        cd_timer_stop(l->timer);
        l->watched = 0;
        return;
    }
    l->due = l->watched;
    if (!l->is_rendering) {
        begin(l);
    }
}

/* Somebody listens to such topics: he is told once, and whenever one changes. */
static void look_at(struct cd__live *l, u64 topics)
{
    if (l->timer == NULL) {
        l->timer = cd_timer_new(l->x->cfg.loop, on_timer, l);
    }
    l->watched |= topics;
    cd_timer_start(l->timer, POOL_MS, POOL_MS);
}

static bool wants(const void *ctx, u64 topic)
{
    return topic == TOPIC_BLOCKS || (*(const u64 *)ctx & topic) != 0;
}

static u64 topics_of(cd_http_req *r)
{
    cd_buf text = {0};
    u64 topics = cd_web_query(&text, cd_http_req_query(r), CD__LIVE_POOL, 1) ? TOPIC_POOL : 0;
    topics |= cd_web_query(&text, cd_http_req_query(r), CD__LIVE_FINAL, 1) ? TOPIC_FINAL : 0;
    cd_buf_fini(&text);
    return topics;
}

/* The height that the listener's page shows ("?at="), the present one without. */
static u64 height_of(const struct cd__live *l, cd_http_req *r)
{
    cd_view *view = cd_view_newest(l->x->cfg.chain);
    u64 height = cd_view_head(view)->block.header.number;
    cd_buf text = {0};
    u64 at;
    if (cd_web_query(&text, cd_http_req_query(r), "at", CD_U64_TEXT_MAX) &&
        cd_u64_parse(&at, cd_buf_bytes(&text)) == CD_OK) {
        height = cd_min_u64(at, height);
    }
    cd_buf_fini(&text);
    cd_view_unref(view);
    return height;
}

void cd__live_listen(struct cd__live *l, cd_http_req *r)
{
    u64 at = height_of(l, r);
    if (cd_http_req_method(r) == CD_HTTP_HEAD) {
        cd_http_reply(r, 200, "text/event-stream");
        return;
    }
    if (l->sse == NULL && !l->is_left) {
        const cd_sse_cfg cfg = {.listeners_max = LISTENERS_MAX};
        l->sse = cd_sse_new(l->x->cfg.loop, &cfg, cd_clock_wall_ns(l->x->cfg.clock));
    }
    if (l->sse != NULL && cd_sse_cnt(l->sse) == 0 && !l->is_rendering) {
        cd_view *view = cd_view_newest(l->x->cfg.chain);
        l->told = at;
        l->epoch = cd_view_epoch(view);
        cd_view_unref(view);
    }
    u64 *wanted = cd_new(u64);
    *wanted = topics_of(r);
    u64 topics = *wanted;
    if (l->sse == NULL || !cd_sse_listen(l->sse, r, wants, wanted)) {
        cd_free(wanted);
        cd_http_req_add_header(r, "Retry-After", "10");
        cd_http_reply_error(r, 503, "too many listen already; the page shows the present state");
        return;
    }
    /* What came between its page and now is told to everybody once more: rows that stand there already are known by
     * id. */
    l->told = cd_min_u64(l->told, at);
    if (topics != 0) {
        look_at(l, topics);
    }
    if (!l->is_rendering) {
        begin(l);
    }
}

struct cd__live *cd__live_new(cd_explorer *x)
{
    struct cd__live *l = cd_new(struct cd__live);
    l->x = x;
    l->news.fn = on_news;
    l->done.fn = on_done;
    return l;
}

void cd__live_leave(struct cd__live *l)
{
    l->is_left = true;
    cd_timer_free(l->timer);
    l->timer = NULL;
    cd_sse_free(l->sse);
    l->sse = NULL;
}

void cd__live_free(struct cd__live *l)
{
    if (l == NULL) {
        return;
    }
    for (usize i = 0; i < l->cnt; i++) {
        cd_buf_fini(&l->events[i].data);
    }
    cd_timer_free(l->timer);
    cd_sse_free(l->sse);
    cd_free(l);
}

void cd_explorer_news(cd_explorer *x)
{
    if (x->live != NULL && !atomic_exchange(&x->live->has_news, true)) {
        cd_loop_post(x->cfg.loop, &x->live->news);
    }
}

const char *cd__xp_live(cd__xp *p, const char *what)
{
    if (p->x->live == NULL) {
        return NULL;
    }
    u64 head = cd_view_head(p->view)->block.header.number;
    bool is_topic = strcmp(what, CD__LIVE_POOL) == 0 || strcmp(what, CD__LIVE_FINAL) == 0;
    const char *topic = is_topic ? cd_arena_fmt(&p->a, "&%s=1", what) : "";
    return cd_arena_fmt(&p->a, "%s/live?at=%llu%s#%s", p->x->root, (unsigned long long)head, topic, what);
}
