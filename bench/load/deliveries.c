/* bench-deliveries - signed, durably logged deliveries to receivers on loopback, beside bare POSTs by the same client.
 *
 *   bench-deliveries FOLDER [-s SECONDS] [-w WEBHOOKS] [-f IN_FLIGHT] [-o HOSTS] [-n STORED]
 *                            [-h HANGING [-a | -p]] [-r WINDOWS] [-t TIMEOUT_MS]
 *
 * First POSTs over 64 kept connections, then deliveries of face B to WEBHOOKS webhooks, in blocks of 5,000 events that
 * follow one another as they are done. The store is made in FOLDER, or goes on in the one that is there; before that it
 * is filled with STORED deliveries. IN_FLIGHT 64 has as many connections busy as the POSTs, HOSTS 1 (of 250) leads to
 * their receiver.
 *
 * HANGING further webhooks get a twentieth of the events and never answer. When every one has been asked once,
 * WINDOWS of SECONDS are measured, by what goes to the others. For comparison: with -a they do answer; with -p they
 * are paused first, so that the same events are written and nothing is sent.
 *
 * One JSON line each: {"name", "per_s", "cpu_us", "from_s", "to_s"}; cpu_us is the processor time of this process, all
 * threads, by deliveries; the receiver is a process of its own. [spec:webhooks#10] */
#include "bench/load/webhook_sink.h"

#include "base/mem/mem.h"
#include "base/os/clock.h"
#include "base/table/list.h"
#include "net/http/client.h"
#include "services/webhook/core/send/deliver.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CONNS = 64,
    BLOCK = 5000,
    AHEAD = 2 * BLOCK,
    HOSTS = 250,
    HANGING_EVERY = 20,
    CALM_MS = 1500, /* beyond the time-out, before the measurement */
};

static const char body[] =
    "{\"id\":\"evt_z9y8x7w6v5u5\",\"event_type\":\"token_transfer\",\"webhook_id\":\"wh_"
    "a1b2c3d4e5f6\",\"created_at\":"
    "\"2026-01-15T10:35:22Z\",\"data\":{\"chain\":\"lux\",\"block_number\":20574336,\"tx_hash\":"
    "\"0x1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c\",\"contract\":"
    "\"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\",\"from\":"
    "\"0x71c7656ec7ab88b098defb751b7401b5f6d8976f\",\"to\":"
    "\"0xd8da6bf26964af9d7eed9e03e53415d37aa96045\",\"value\":\"50000000000\",\"symbol\":\"USDC\","
    "\"decimals\":6}}";

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-deliveries: %s\n", what);
    exit(1);
}

static double cpu_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static u64 now_ns(void)
{
    return cd_clock_mono_ns(cd_clock_real());
}

typedef enum phase { POSTING, WARMING, CALMING, MEASURING } phase;

typedef struct load {
    cd_loop *loop;
    webhook_sink *sink;
    u32 seconds;
    u64 begin_ns, until_ns;
    double begin_cpu;
    u64 done, begin_done, begin_hanging;
    phase phase;
    cd_timer *clock;

    cd_http_client *client;
    char url[100];
    u32 running;

    cd_jobs *db;
    cd_wh_deliverer *deliverer;
    i64 *hooks; /* the healthy first */
    u32 healthy, hanging;
    u32 in_flight; /* 0: as the service does it */
    u32 hosts;
    u32 stored, windows, timeout_ms;
    u32 answer, pauses; /* 1: those that hang otherwise */
    u64 block;
    u64 made; /* for healthy ones */
    cd_job job, last_job;
    cd_arena mem;
    cd_wh_event *events;
    cd_wh_enqueued enqueued;
    bool is_enqueuing, is_over;
} load;

static void begin(load *l)
{
    l->begin_done = l->done;
    l->begin_hanging = atomic_load(&l->sink->hanging);
    l->begin_cpu = cpu_s();
    l->begin_ns = now_ns();
    l->until_ns = l->begin_ns + l->seconds * CD_NS_PER_SEC;
}

static void end(const load *l, const char *name)
{
    double took = (double)(now_ns() - l->begin_ns) / 1e9;
    double n = (double)(l->done - l->begin_done);
    (void)printf("{\"name\":\"%s\",\"per_s\":%.0f,\"cpu_us\":%.2f,\"hanging_per_s\":%.1f,"
                 "\"from_s\":%.3f,\"to_s\":%.3f}\n",
                 name, n / took, (cpu_s() - l->begin_cpu) * 1e6 / n,
                 (double)(atomic_load(&l->sink->hanging) - l->begin_hanging) / took, (double)l->begin_ns / 1e9,
                 (double)l->begin_ns / 1e9 + took);
    (void)fflush(stdout);
}

/* --- bare POSTs --- */

static void post(load *l);

static void on_answer(void *ctx, const cd_http_result *r)
{
    load *l = ctx;
    l->running--;
    if (r->status != 200) {
        die(r->reason);
    }
    l->done++;
    if (now_ns() < l->until_ns) {
        post(l);
    } else if (l->running == 0) {
        cd_loop_stop(l->loop);
    }
}

static void post(load *l)
{
    static const char *const headers[] = {"Content-Type: application/json"};
    const cd_http_ask ask = {
        .method = CD_HTTP_POST,
        .url = l->url,
        .headers = headers,
        .headers_cnt = 1,
        .body = cd_bytes_of(body, sizeof body - 1),
        .timeout_ms = 15000,
    };
    l->running++;
    (void)cd_http_client_call(l->client, &ask, on_answer, l);
}

static void run_posts(load *l)
{
    const cd_http_client_cfg cfg = {.conns_max = CONNS, .host_conns_max = CONNS};
    cd_errinfo why;
    if (cd_http_client_new(&l->client, l->loop, &cfg, &why) != CD_OK) {
        die(why.msg);
    }
    (void)snprintf(l->url, sizeof l->url, "http://127.0.0.1:%u/hook", l->sink->port);
    begin(l);
    for (u32 i = 0; i < CONNS; i++) {
        post(l);
    }
    cd_loop_run(l->loop);
    end(l, "post");
    cd_http_client_free(l->client);
    l->done = 0;
}

/* --- deliveries --- */

static cd_err add_hooks(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load *l = cd_list_of(job, load, job);
    u64 now = cd_clock_wall_ns(cd_clock_real()) / CD_NS_PER_MS;
    const cd_wh_project p = {.id = "p", .name = "p", .tier = "enterprise", .email = "", .face = CD_WH_B};
    u8 hash[32];
    if (cd_wh_cursor_get(s, &l->block, hash, "lux", why) == CD_OK) {
        l->block++; /* a store that was filled before */
    }
    CD_TRY(cd_wh_project_put(s, &p, why));
    for (u32 i = 0; i < l->healthy + l->hanging; i++) {
        bool hangs = i >= l->healthy;
        cd_wh_hook h = {
            .id = cd_arena_fmt(&l->mem, "wh_%llu_%u", (unsigned long long)l->block, i),
            .project = "p",
            .face = CD_WH_B,
            .name = "",
            .url = cd_arena_fmt(&l->mem, "http://127.%u.%u.%u:%u/%s/%u", hangs ? 1 : 0, hangs ? i / HOSTS % 250 : 0,
                                1 + i % l->hosts, l->sink->port, hangs ? "hang" : "hook", i),
            .chain = "lux",
            .network = "",
            .types = 1u << CD_WH_B_TOKEN,
            .config = cd_bytes_str("{}"),
            .settings = cd_bytes_str("{}"),
            .secret = cd_bytes_str("whsec_k7m9p2q4r6s8t0v2w4x6y8z0"),
            .created_ms = now,
            .updated_ms = now,
        };
        CD_TRY(cd_wh_hook_add(s, &h, 0, why));
        l->hooks[i] = h.key;
    }
    return CD_OK;
}

static void on_added(cd_job *job)
{
    load *l = cd_list_of(job, load, job);
    if (job->err != CD_OK) {
        die(job->why.msg);
    }
    cd_loop_stop(l->loop);
}

static cd_err enqueue(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load *l = cd_list_of(job, load, job);
    u8 hash[32] = {0};
    cd_put_be64(hash, l->block);
    return cd_wh_enqueue(s, &l->enqueued, &l->mem, l->events, BLOCK, "lux", l->block, hash, why);
}

/* A block of events, some for webhooks that hang. */
static void make_block(load *l)
{
    l->block++;
    l->events = cd_arena_array(&l->mem, cd_wh_event, BLOCK);
    for (u32 i = 0; i < BLOCK; i++) {
        cd_wh_event *e = &l->events[i];
        bool hangs = l->hanging != 0 && i % HANGING_EVERY == 0;
        u64 nth = l->block * BLOCK + i;
        e->hook = hangs ? l->hooks[l->healthy + nth / HANGING_EVERY % l->hanging] : l->hooks[nth % l->healthy];
        e->type = CD_WH_B_TOKEN;
        e->block = l->block;
        cd_put_be64(e->h, nth * 0x9e3779b97f4a7c15ull);
        cd_put_be64(e->h + 8, nth);
        (void)snprintf(e->id, sizeof e->id, "evt_%012llx", (unsigned long long)nth);
        e->body = cd_bytes_of(body, sizeof body - 1);
        l->made += !hangs;
    }
}

/* --- a store that has seen much --- */

/* What a request looks like in the log. */
static const char request[] =
    "POST /hook/123 HTTP/1.1\r\nHost: 127.0.0.124:40000\r\nUser-Agent: Svc-Webhooks/1.0\r\nAccept: "
    "*/*\r\n"
    "Accept-Encoding: gzip\r\nContent-Type: application/json\r\nX-Svc-Webhook-Id: wh_0_123\r\n"
    "X-Svc-Delivery: 1000000-1\r\nX-Svc-Attempt: 1\r\nX-Svc-Sequence: 2000\r\nX-Svc-Event-Hash: "
    "1b5b9ccb3e8d006a5230de9bda23ff91edc794d4f56410560830b418528e446c\r\nX-Svc-Chain: "
    "36ceeceb343ef1d92c08f8dbf2d5b983b6c76b6e135e5ffed2b36d03b59177ae\r\nX-Svc-Signature: "
    "79a64c6aa20665773c8ceadeae405bdb15918d409108d28c66c536e351b6d11d\r\nX-Svc-Timestamp: "
    "1768473322\r\n"
    "Content-Length: 478\r\n\r\n";

static cd_err store_block(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load *l = cd_list_of(job, load, job);
    const cd_wh_attempt a = {
        .number = 1,
        .at_ms = cd_clock_wall_ns(cd_clock_real()) / CD_NS_PER_MS,
        .ms = 1,
        .status = 200,
        .error = "",
        .request = request,
        .response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
        .body = cd_bytes_str("ok"),
    };
    CD_TRY(enqueue(job, s, why));
    for (usize i = 0; i < l->enqueued.cnt; i++) {
        CD_TRY(cd_wh_settle(s, &l->enqueued.made[i], &a, CD_WH_DELIVERED, 0, why));
    }
    return CD_OK;
}

static void on_stored(cd_job *job)
{
    load *l = cd_list_of(job, load, job);
    if (job->err != CD_OK) {
        die(job->why.msg);
    }
    if (l->enqueued.cnt != BLOCK) {
        die("a block was not handed out");
    }
    cd_loop_stop(l->loop);
}

static void fill(load *l)
{
    for (u32 i = 0; i < l->stored; i += BLOCK) {
        make_block(l);
        l->job = (cd_job){.run = store_block, .done = on_stored, .is_soft = true};
        cd_jobs_write(l->db, &l->job);
        cd_loop_run(l->loop);
        cd_arena_reset(&l->mem);
    }
    l->made = 0;
}

/* --- the load --- */

static void more(load *l);

static void on_enqueued(cd_job *job)
{
    load *l = cd_list_of(job, load, job);
    if (job->err != CD_OK) {
        die(job->why.msg);
    }
    cd_wh_deliver_offer(l->deliverer, l->enqueued.made, l->enqueued.cnt);
    cd_arena_reset(&l->mem);
    l->is_enqueuing = false;
    more(l);
}

/* A block, when there is little left to do. */
static void more(load *l)
{
    if (l->is_enqueuing || l->is_over || l->made - l->done > AHEAD) {
        return;
    }
    l->is_enqueuing = true;
    make_block(l);
    l->job = (cd_job){.run = enqueue, .done = on_enqueued};
    cd_jobs_write(l->db, &l->job);
}

static void on_settled(void *ctx, const cd_wh_settled *s)
{
    load *l = ctx;
    if (s->state == CD_WH_DELIVERED && s->d->hook <= l->hooks[l->healthy - 1]) {
        l->done++;
    }
    more(l);
}

/* The receivers that hang are left alone. */
static cd_err pause_hooks(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load *l = cd_list_of(job, load, last_job);
    bool changed = false;
    for (u32 i = l->healthy; i < l->healthy + l->hanging; i++) {
        CD_TRY(cd_wh_hook_pause(s, &changed, l->hooks[i], CD_WH_PAUSED, why));
    }
    return CD_OK;
}

static void calm(load *l)
{
    l->phase = CALMING;
    cd_timer_start(l->clock, l->timeout_ms + CALM_MS, 0);
}

static void on_paused(cd_job *job)
{
    load *l = cd_list_of(job, load, last_job);
    if (job->err != CD_OK) {
        die(job->why.msg);
    }
    calm(l);
}

static void on_clock(void *ctx)
{
    load *l = ctx;
    switch (l->phase) {
    case WARMING: /* until all have had a request */
        if (atomic_load(&l->sink->hanging) < l->hanging) {
            cd_timer_start(l->clock, 100, 0);
        } else if (l->pauses) {
            l->last_job = (cd_job){.run = pause_hooks, .done = on_paused};
            cd_jobs_write(l->db, &l->last_job);
        } else {
            calm(l);
        }
        return;
    case MEASURING:
        end(l, l->hanging == 0 ? "deliver"
               : l->answer     ? "beside_answering"
               : l->pauses     ? "beside_paused"
                               : "beside_hanging");
        if (--l->windows == 0) {
            l->is_over = true;
            cd_loop_stop(l->loop);
            return;
        }
        break;
    case POSTING:
    case CALMING:
        break;
    }
    l->phase = MEASURING;
    begin(l);
    cd_timer_start(l->clock, (u64)l->seconds * 1000, 0);
}

/* The receiver goes, and who comes next in this store shall not wait for it. */
static cd_err remove_hooks(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    load *l = cd_list_of(job, load, last_job);
    for (u32 i = 0; i < l->healthy + l->hanging; i++) {
        CD_TRY(cd_wh_hook_delete(s, l->hooks[i], why));
    }
    return CD_OK;
}

static void on_removed(cd_job *job)
{
    load *l = cd_list_of(job, load, last_job);
    if (job->err != CD_OK) {
        die(job->why.msg);
    }
    cd_loop_stop(l->loop);
}

static void on_drained(void *ctx)
{
    cd_loop_stop(ctx);
}

static void run_deliveries(load *l, const char *folder)
{
    static const char *const cidrs[] = {"127.0.0.0/8"};
    static const u8 master[32] = {1};
    char url[300];
    cd_errinfo why;
    cd_wh_guard *guard = NULL;
    const cd_wh_guard_cfg rules = {.allow_http = true, .allow_cidrs = cidrs, .allow_cidrs_cnt = 1};
    (void)snprintf(url, sizeof url, "sqlite:%s/webhooks.db", folder);
    const cd_wh_store_cfg store = {.url = url, .worker = "w", .master_key = master, .clock = cd_clock_real()};
    if (cd_wh_db_open(&l->db, l->loop, &store, NULL, &why) != CD_OK ||
        cd_wh_guard_new(&guard, l->loop, &rules, &why) != CD_OK) {
        die(why.msg);
    }
    l->hooks = cd_new_array(i64, l->healthy + l->hanging);
    l->job = (cd_job){.run = add_hooks, .done = on_added};
    cd_jobs_write(l->db, &l->job);
    cd_loop_run(l->loop);
    cd_arena_reset(&l->mem);
    fill(l);
    const cd_wh_deliver_cfg cfg = {.db = l->db,
                                   .guard = guard,
                                   .brand = "Svc",
                                   .in_flight = l->in_flight,
                                   .timeout_ms = l->timeout_ms,
                                   .ctx = l,
                                   .settled = on_settled};
    if (cd_wh_deliver_new(&l->deliverer, l->loop, &cfg, &why) != CD_OK) {
        die(why.msg);
    }
    l->clock = cd_timer_new(l->loop, on_clock, l);
    l->phase = l->hanging != 0 ? WARMING : CALMING;
    cd_timer_start(l->clock, 0, 0);
    begin(l);
    more(l);
    cd_loop_run(l->loop);
    cd_timer_free(l->clock);
    cd_wh_deliver_drain(l->deliverer, 100, on_drained, l->loop);
    cd_loop_run(l->loop);
    l->last_job = (cd_job){.run = remove_hooks, .done = on_removed};
    cd_jobs_write(l->db, &l->last_job);
    cd_loop_run(l->loop);
    cd_jobs_close(l->db);
    cd_wh_deliver_free(l->deliverer);
    cd_wh_guard_free(guard);
    cd_free(l->hooks);
}

int main(int argc, char **argv)
{
    load l = {.seconds = 5, .healthy = 500, .hosts = HOSTS, .windows = 1, .timeout_ms = 2000};
    cd_errinfo why;
    for (int c; (c = getopt(argc, argv, "s:w:f:o:n:h:apr:t:")) != -1;) {
        u32 n = optarg == NULL ? 1 : (u32)strtoul(optarg, NULL, 10);
        *(c == 's'   ? &l.seconds
          : c == 'w' ? &l.healthy
          : c == 'f' ? &l.in_flight
          : c == 'o' ? &l.hosts
          : c == 'n' ? &l.stored
          : c == 'h' ? &l.hanging
          : c == 'a' ? &l.answer
          : c == 'p' ? &l.pauses
          : c == 'r' ? &l.windows
                     : &l.timeout_ms) = n;
    }
    if (optind + 1 != argc) {
        die("wants a folder");
    }
    l.sink = webhook_sink_start();
    if (cd_loop_new(&l.loop, &why) != CD_OK) {
        die(why.msg);
    }
    atomic_store(&l.sink->answers_all, l.answer != 0);
    run_posts(&l);
    run_deliveries(&l, argv[optind]);
    cd_arena_fini(&l.mem);
    cd_loop_free(l.loop);
    webhook_sink_stop(l.sink);
    return 0;
}
