/* What the webhook service's store takes of one core: events written and deliveries settled in groups, in an empty
 * store and behind a million old rows. JSON lines as in spec/bench.md.
 *
 *   bench-store [sqlite:PATH | postgresql://…] [old rows]     default: a new file in /tmp, 1,000,000 */
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/fileio.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/core/store/store_priv.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOOKS = 1000, BLOCK = 500, ROUND = 20000, ROUNDS = 5, BODY = 420 };

typedef struct run {
    cd_wh_store *s;
    cd_arena mem;
    i64 hooks[HOOKS];
    u64 block;
    u64 enqueue_ns, settle_ns, enqueue_wall, settle_wall;
    u8 body[BODY];
} run;

static void must(cd_err err, const cd_errinfo *why)
{
    if (err != CD_OK) {
        (void)fprintf(stderr, "error: %s\n", why->msg);
        exit(1);
    }
}

static void make_hooks(run *r)
{
    cd_errinfo why = {0};
    const cd_wh_project p = {.id = "p", .name = "p", .tier = "enterprise", .email = ""};
    must(cd__wh_begin(r->s, true, &why), &why);
    must(cd_wh_project_put(r->s, &p, &why), &why);
    for (u32 i = 0; i < HOOKS; i++) {
        cd_wh_hook h = {.id = cd_arena_fmt(&r->mem, "wh_%u", i),
                        .project = "p",
                        .name = "",
                        .url = "https://receiver.example/",
                        .chain = "lux",
                        .network = ""};
        must(cd_wh_hook_add(r->s, &h, 0, &why), &why);
        r->hooks[i] = h.key;
    }
    must(cd__wh_commit(r->s, &why), &why);
}

/* One block: written, then settled as a group. */
static void one_block(run *r)
{
    static const char head[] = "POST /hook HTTP/1.1\r\nHost: receiver.example\r\nContent-Type: "
                               "application/json\r\nUser-Agent: "
                               "Svc-Webhooks/1.0\r\nX-Svc-Signature: "
                               "36ceeceb343ef1d92c08f8dbf2d5b983b6c76b6e135e5ffed2b36d03b59177ae\r\nX-Svc-Timestamp: "
                               "1768473322\r\n\r\n";
    const cd_wh_attempt a = {.number = 1,
                             .at_ms = 1768473322000,
                             .ms = 3,
                             .status = 200,
                             .error = "",
                             .request = head,
                             .response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    cd_errinfo why = {0};
    cd_wh_enqueued made;
    cd_wh_event *events = cd_arena_array(&r->mem, cd_wh_event, BLOCK);
    u8 hash[32] = {0};
    r->block++;
    for (u64 i = 0; i < BLOCK; i++) {
        cd_wh_event *e = &events[i];
        u64 parts[2] = {r->block, i};
        cd_hash32 h;
        *e = (cd_wh_event){.hook = r->hooks[(r->block * 37 + i * 7) % HOOKS],
                           .type = CD_WH_B_ADDRESS,
                           .block = r->block,
                           .time_ms = a.at_ms,
                           .body = cd_bytes_of(r->body, sizeof r->body)};
        cd_sha256(&h, cd_bytes_of(parts, sizeof parts));
        memcpy(e->h, h.b, sizeof e->h);
        (void)snprintf(e->id, sizeof e->id, "evt_%012llx", (unsigned long long)cd_be64(h.b) >> 16);
    }
    u64 cpu = cd_clock_thread_ns();
    u64 wall = cd_clock_mono_ns(cd_clock_real());
    must(cd__wh_begin(r->s, true, &why), &why);
    must(cd_wh_enqueue(r->s, &made, &r->mem, events, BLOCK, "lux", r->block, hash, &why), &why);
    must(cd__wh_commit(r->s, &why), &why);
    r->enqueue_ns += cd_clock_thread_ns() - cpu;
    r->enqueue_wall += cd_clock_mono_ns(cd_clock_real()) - wall;
    if (made.cnt != BLOCK) {
        (void)fprintf(stderr, "error: %zu of %d were handed out\n", made.cnt, BLOCK);
        exit(1);
    }
    cpu = cd_clock_thread_ns();
    wall = cd_clock_mono_ns(cd_clock_real());
    must(cd__wh_begin(r->s, true, &why), &why);
    for (usize i = 0; i < made.cnt; i++) {
        must(cd_wh_settle(r->s, &made.made[i], &a, CD_WH_DELIVERED, 0, &why), &why);
    }
    must(cd__wh_commit(r->s, &why), &why);
    r->settle_ns += cd_clock_thread_ns() - cpu;
    r->settle_wall += cd_clock_mono_ns(cd_clock_real()) - wall;
    cd_arena_reset(&r->mem);
}

static void rounds(run *r, u64 old)
{
    u64 best[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (u32 i = 0; i < ROUNDS; i++) {
        r->enqueue_ns = r->settle_ns = r->enqueue_wall = r->settle_wall = 0;
        for (u32 n = 0; n < ROUND; n += BLOCK) {
            one_block(r);
        }
        u64 now[4] = {r->enqueue_ns, r->settle_ns, r->enqueue_wall, r->settle_wall};
        for (u32 k = 0; k < 4; k++) {
            best[k] = cd_min_u64(best[k], now[k]);
        }
    }
    for (u32 k = 0; k < 2; k++) {
        (void)printf("{\"bench\":\"webhooks\",\"name\":\"store/%s/%llu\",\"impl\":\"c\",\"ns_per_op\":%llu,"
                     "\"wall_ns_per_op\":%llu,\"per_s\":%llu}\n",
                     k == 0 ? "enqueue" : "settle", (unsigned long long)old, (unsigned long long)(best[k] / ROUND),
                     (unsigned long long)(best[k + 2] / ROUND), (unsigned long long)(ROUND * 1000000000ull / best[k]));
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const u8 key[32] = {1};
    char dir[] = "/tmp/cd_bench_store_XXXXXX";
    char url[64];
    cd_errinfo why = {0};
    run r = {0};
    u64 old = 1000000;
    if (argc > 2) {
        must(cd_u64_parse(&old, cd_bytes_str(argv[2])), &why);
    }
    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    (void)snprintf(url, sizeof url, "sqlite:%s/store.db", dir);
    const cd_wh_store_cfg cfg = {
        .url = argc > 1 ? argv[1] : url, .worker = "bench", .master_key = key, .clock = cd_clock_real()};
    memset(r.body, 'x', sizeof r.body);
    must(cd__wh_store_open(&r.s, &cfg, true, &why), &why);
    make_hooks(&r);
    rounds(&r, 0);
    for (u64 n = 0; n < old; n += BLOCK) {
        one_block(&r);
    }
    if (old > 0) {
        rounds(&r, old);
    }
    cd__wh_store_close(r.s);
    cd_arena_fini(&r.mem);
    must(cd_fs_remove_tree(cd_fs_real(), dir, &why), &why);
    return 0;
}
