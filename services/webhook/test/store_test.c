#include "services/webhook/test/store_rig.h"

#include "base/os/fileio.h"
#include "crypto/hash/sha2.h"
#include "services/webhook/core/store/records.h"
#include "services/webhook/core/store/seal.h"

#include <stdio.h>
#include <sys/stat.h>

static const u8 block_hash[32] = {1, 2, 3};

static const cd_wh_attempt good = {.number = 1,
                                   .at_ms = RIG_T0,
                                   .ms = 12,
                                   .status = 200,
                                   .error = "",
                                   .request = "POST / HTTP/1.1\r\n",
                                   .response = "HTTP/1.1 200 OK\r\n"};
static const cd_wh_attempt bad = {
    .number = 1, .at_ms = RIG_T0, .ms = 3, .status = 500, .error = "", .request = "POST", .response = "HTTP/1.1 500"};

static void enqueue(rig *r, cd_wh_enqueued *out, i64 hook, u64 block, u32 cnt)
{
    cd_wh_event events[64];
    assert_true(cnt <= CD_COUNT(events));
    for (u32 i = 0; i < cnt; i++) {
        events[i] = rig_event(r, hook, block, i);
    }
    rig_begin(r);
    rig_ok(cd_wh_enqueue(r->s, out, &r->mem, events, cnt, "lux", block, block_hash, why));
    rig_commit(r);
}

static void settle(rig *r, const cd_wh_delivery *d, const cd_wh_attempt *a, cd_wh_state state, u64 next_ms)
{
    rig_begin(r);
    rig_ok(cd_wh_settle(r->s, d, a, state, next_ms, why));
    rig_commit(r);
}

static usize claim(rig *r, cd_wh_delivery **out, u32 max, u32 per_hook)
{
    usize cnt = 0;
    rig_begin(r);
    rig_ok(cd_wh_claim(r->s, out, &cnt, &r->mem, rig_now(r), 60000, max, per_hook, why));
    rig_commit(r);
    return cnt;
}

static cd_wh_delivery row(rig *r, i64 hook, i64 key, cd_wh_attempt **attempts, usize *cnt)
{
    cd_wh_attempt *list = NULL;
    usize n = 0;
    cd_wh_delivery d;
    rig_begin(r);
    rig_ok(cd_wh_delivery_get(r->s, &d, attempts == NULL ? &list : attempts, cnt == NULL ? &n : cnt, &r->mem, hook, key,
                              why));
    rig_commit(r);
    return d;
}

static void projects_and_keys(usize engine)
{
    rig r;
    cd_wh_project p = {.id = "acme", .name = "Acme", .tier = "free", .email = "x@y.example", .face = CD_WH_C};
    cd_wh_project got;
    cd_wh_key key;
    cd_wh_key *keys = NULL;
    usize cnt = 0;
    char text[48];
    rig_open(&r, engine);
    rig_begin(&r);
    rig_ok(cd_wh_project_put(r.s, &p, why));
    p.tier = "growth";
    rig_ok(cd_wh_project_put(r.s, &p, why));
    rig_ok(cd_wh_project_get(r.s, &got, &r.mem, "acme", why));
    assert_string_equal(got.tier, "growth");
    assert_int_equal(got.face, CD_WH_C);
    assert_int_equal(cd_wh_project_get(r.s, &got, &r.mem, "other", NULL), CD_ENOENT);
    const cd_wh_key init = {.project = "acme", .label = "ci", .may_write = true, .expires_ms = RIG_T0 + 5000};
    rig_ok(cd_wh_key_make(r.s, &key, text, &r.mem, &init, why));
    assert_int_equal(strlen(text), 43);
    assert_memory_equal(text, "sk_", 3);
    assert_string_equal(key.last4, text + 39);
    rig_ok(cd_wh_key_find(r.s, &key, &got, &r.mem, cd_bytes_str(text), why));
    assert_string_equal(got.id, "acme");
    assert_true(key.may_write);
    text[20] ^= 1;
    assert_int_equal(cd_wh_key_find(r.s, &key, &got, &r.mem, cd_bytes_str(text), NULL), CD_ENOENT);
    text[20] ^= 1;
    rig_wait(&r, 5000);
    assert_int_equal(cd_wh_key_find(r.s, &key, &got, &r.mem, cd_bytes_str(text), NULL), CD_ENOENT);
    const cd_wh_key forever = {.project = "acme", .label = "x"};
    rig_ok(cd_wh_key_make(r.s, &key, text, &r.mem, &forever, why));
    rig_ok(cd_wh_key_find(r.s, &key, &got, &r.mem, cd_bytes_str(text), why));
    rig_ok(cd_wh_key_used(r.s, key.id, 77, why));
    rig_ok(cd_wh_key_list(r.s, &keys, &cnt, &r.mem, "acme", why));
    assert_int_equal(cnt, 2);
    /* Neither by a project that is none, nor by another one. */
    const cd_wh_project other = {.id = "globex", .name = "Globex", .tier = "free", .email = ""};
    rig_ok(cd_wh_project_put(r.s, &other, why));
    assert_int_equal(cd_wh_key_revoke(r.s, "p", key.id, NULL), CD_ENOENT);
    assert_int_equal(cd_wh_key_revoke(r.s, "globex", key.id, NULL), CD_ENOENT);
    rig_ok(cd_wh_key_find(r.s, &key, &got, &r.mem, cd_bytes_str(text), why));
    rig_ok(cd_wh_key_revoke(r.s, "acme", key.id, why));
    assert_int_equal(cd_wh_key_find(r.s, &key, &got, &r.mem, cd_bytes_str(text), NULL), CD_ENOENT);
    rig_commit(&r);
    rig_close(&r);
}

static void hooks_are_kept(usize engine)
{
    rig r;
    cd_wh_hook h;
    cd_wh_hook *list = NULL;
    usize cnt = 0;
    u64 total = 0;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 first = rig_hook(&r, 1, false);
    i64 second = rig_hook(&r, 2, true);
    assert_true(second > first);
    rig_ok(cd_wh_hook_get(r.s, &h, &r.mem, "p", "wh_1", true, why));
    assert_int_equal(h.key, first);
    assert_true(cd_bytes_eq(h.secret, cd_bytes_str("whsec_k7m9p2q4r6s8t0v2w4x6y8z0")));
    assert_int_equal(h.filter.selectors_cnt, 1);
    assert_int_equal(h.filter.selectors[0], 0xa9059cbb);
    assert_int_equal(cd_wh_hook_get(r.s, &h, &r.mem, "q", "wh_1", true, NULL), CD_ENOENT);
    h.url = "https://elsewhere.example/100%_sure";
    h.secret_next = cd_bytes_str("next");
    h.is_strict = true;
    rig_ok(cd_wh_hook_save(r.s, &h, why));
    rig_ok(cd_wh_hook_by_key(r.s, &h, &r.mem, first, false, why));
    assert_string_equal(h.url, "https://elsewhere.example/100%_sure");
    assert_true(cd_bytes_eq(h.secret_next, cd_bytes_str("next")));
    assert_true(h.is_strict);
    cd_wh_hook_query q = {.project = "p", .status = -1, .limit = 10, .search = "ELSEWHERE"};
    rig_ok(cd_wh_hook_list(r.s, &list, &cnt, &total, &r.mem, &q, why));
    assert_int_equal(cnt, 1);
    q.search = "100%_S";
    rig_ok(cd_wh_hook_list(r.s, &list, &cnt, &total, &r.mem, &q, why));
    assert_int_equal(cnt, 1);
    q.search = "100__s";
    rig_ok(cd_wh_hook_list(r.s, &list, &cnt, &total, &r.mem, &q, why));
    assert_int_equal(cnt, 0);
    q = (cd_wh_hook_query){.project = "p", .chain = "lux", .status = 0, .types = 1u << CD_WH_B_ADDRESS, .limit = 1};
    rig_ok(cd_wh_hook_list(r.s, &list, &cnt, &total, &r.mem, &q, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(total, 2);
    assert_int_equal(list[0].key, second);
    q.before = second;
    rig_ok(cd_wh_hook_list(r.s, &list, &cnt, &total, &r.mem, &q, why));
    assert_int_equal(list[0].key, first);
    /* by an address that is watched: in the list, or elsewhere in the filter */
    static const cd_addr20 watched[] = {{.b = {1, 2, 3}}, {.b = {4, 5, 6}}, {.b = {7}}};
    rig_ok(cd_wh_hook_addresses(r.s, &cnt, second, (cd_wh_addrs){.p = watched, .n = 1}, (cd_wh_addrs){0}, why));
    h.filter.contracts = (cd_wh_addrs){.p = &watched[1], .n = 1};
    rig_ok(cd_wh_hook_save(r.s, &h, why));
    for (usize i = 0; i < 3; i++) {
        q = (cd_wh_hook_query){.project = "p", .status = -1, .watched = &watched[i], .limit = 9};
        rig_ok(cd_wh_hook_list(r.s, &list, &cnt, &total, &r.mem, &q, why));
        assert_int_equal(cnt, i < 2 ? 1 : 0);
        assert_int_equal(total, cnt);
        assert_true(cnt == 0 || list[0].key == (i == 0 ? second : first));
    }
    cd_wh_hook third = h;
    third.id = "wh_3";
    assert_int_equal(cd_wh_hook_add(r.s, &third, 2, NULL), CD_EFULL);
    third.id = "wh_2";
    assert_int_equal(cd_wh_hook_add(r.s, &third, 3, NULL), CD_EEXIST);
    rig_ok(cd_wh_hook_delete(r.s, first, why));
    assert_int_equal(cd_wh_hook_get(r.s, &h, &r.mem, "p", "wh_1", false, NULL), CD_ENOENT);
    assert_int_equal(cd_wh_hook_delete(r.s, first, NULL), CD_ENOENT);
    rig_commit(&r);
    rig_close(&r);
}

static cd_err count_hook(void *ctx, const cd_wh_hook *h)
{
    u64 *sum = ctx;
    *sum += h->filter.addresses.n;
    return CD_OK;
}

static void addresses(usize engine)
{
    enum { N = 10000 };
    rig r;
    usize cnt = 0;
    u64 sum = 0;
    cd_wh_hook h;
    static cd_addr20 a[N + 1];
    for (u32 i = 0; i <= N; i++) {
        cd_put_be32(a[i].b, i + 1);
    }
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_ok(cd_wh_hook_addresses(r.s, &cnt, hook, (cd_wh_addrs){a, N}, (cd_wh_addrs){0}, why));
    assert_int_equal(cnt, N);
    rig_ok(cd_wh_hook_addresses(r.s, &cnt, hook, (cd_wh_addrs){a + N - 1, 2}, (cd_wh_addrs){a + 5000, 1}, why));
    assert_int_equal(cnt, N);
    rig_ok(cd_wh_hook_by_key(r.s, &h, &r.mem, hook, true, why));
    assert_int_equal(h.filter.addresses.n, N);
    assert_memory_equal(&h.filter.addresses.p[4999], &a[4999], 20);
    assert_memory_equal(&h.filter.addresses.p[5000], &a[5001], 20);
    assert_memory_equal(&h.filter.addresses.p[N - 1], &a[N], 20);
    rig_ok(cd_wh_hook_each(r.s, count_hook, &sum, why));
    assert_int_equal(sum, N);
    rig_ok(cd_wh_hook_addresses(r.s, &cnt, hook, (cd_wh_addrs){0}, (cd_wh_addrs){a, N + 1}, why));
    assert_int_equal(cnt, 0);
    rig_ok(cd_wh_hook_by_key(r.s, &h, &r.mem, hook, true, why));
    assert_int_equal(h.filter.addresses.n, 0);
    rig_commit(&r);
    rig_close(&r);
}

static void chain_hash(u8 io[32], const cd_wh_event *e)
{
    u8 all[96];
    cd_hash32 body;
    cd_hash32 out;
    cd_sha256(&body, e->body);
    memcpy(all, io, 32);
    memcpy(all + 32, e->h, 32);
    memcpy(all + 64, body.b, 32);
    cd_sha256(&out, cd_bytes_of(all, 96));
    memcpy(io, out.b, 32);
}

static void a_delivery_goes_its_way(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    cd_wh_attempt *attempts = NULL;
    usize cnt = 0;
    u64 height = 0;
    u64 due = 0;
    u8 hash[32];
    u8 want[32] = {0};
    cd_wh_hook h;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_commit(&r);
    enqueue(&r, &made, hook, 10, 3);
    assert_int_equal(made.cnt, 3);
    for (u32 i = 0; i < 3; i++) {
        assert_int_equal(made.made[i].sequence, i + 1);
        assert_int_equal(made.made[i].state, CD_WH_DELIVERING);
        chain_hash(want, &made.made[i].event);
        assert_memory_equal(made.made[i].chain_hash, want, 32);
    }
    rig_begin(&r);
    rig_ok(cd_wh_cursor_get(r.s, &height, hash, "lux", why));
    assert_int_equal(height, 10);
    assert_memory_equal(hash, block_hash, 32);
    assert_int_equal(cd_wh_cursor_get(r.s, &height, hash, "other", NULL), CD_ENOENT);
    rig_commit(&r);

    /* The same block again is known. */
    cd_wh_enqueued again;
    enqueue(&r, &again, hook, 10, 3);
    assert_int_equal(again.cnt, 0);
    assert_int_equal(again.known, 3);

    settle(&r, &made.made[0], &good, CD_WH_DELIVERED, 0);
    cd_wh_delivery d = row(&r, hook, made.made[0].key, &attempts, &cnt);
    assert_int_equal(d.state, CD_WH_DELIVERED);
    assert_int_equal(d.attempts, 1);
    assert_int_equal(d.delivered_ms, rig_now(&r));
    assert_int_equal(cnt, 1);
    assert_int_equal(attempts[0].status, 200);
    assert_string_equal(attempts[0].request, "POST / HTTP/1.1\r\n");
    assert_true(cd_bytes_eq(d.event.body, made.made[0].event.body));

    settle(&r, &made.made[1], &bad, CD_WH_RETRYING, rig_now(&r) + 10000);
    rig_begin(&r);
    rig_ok(cd_wh_hook_by_key(r.s, &h, &r.mem, hook, false, why));
    assert_int_equal(h.failures, 1);
    rig_ok(cd_wh_next_due(r.s, &due, why));
    assert_true(due <= rig_now(&r) + 10000);
    rig_commit(&r);
    assert_int_equal(claim(&r, &got, 10, 8), 0);
    rig_wait(&r, 10000);
    assert_int_equal(claim(&r, &got, 10, 8), 1);
    assert_int_equal(got[0].key, made.made[1].key);
    assert_int_equal(got[0].attempts, 1);
    assert_true(cd_bytes_eq(got[0].event.body, made.made[1].event.body));
    assert_memory_equal(got[0].event.h, made.made[1].event.h, 32);
    cd_wh_attempt second = good;
    second.number = 2;
    settle(&r, &got[0], &second, CD_WH_DELIVERED, 0);
    (void)row(&r, hook, got[0].key, &attempts, &cnt);
    assert_int_equal(cnt, 2);
    assert_int_equal(attempts[1].number, 2);
    rig_begin(&r);
    rig_ok(cd_wh_hook_by_key(r.s, &h, &r.mem, hook, false, why));
    assert_int_equal(h.failures, 0);
    rig_commit(&r);

    /* The third one was in hand when the process died. */
    rig_again(&r);
    assert_int_equal(claim(&r, &got, 10, 8), 1);
    assert_int_equal(got[0].key, made.made[2].key);
    rig_close(&r);
}

static void pause_and_resume(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    bool changed = false;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_commit(&r);
    enqueue(&r, &made, hook, 10, 6); /* four are handed out, two wait */
    assert_int_equal(made.cnt, 4);
    assert_int_equal(made.waiting, 2);
    i64 first = made.made[0].key;
    settle(&r, &made.made[0], &bad, CD_WH_RETRYING, rig_now(&r) + 60000);
    rig_begin(&r);
    rig_ok(cd_wh_hook_pause(r.s, &changed, hook, CD_WH_PAUSED, why));
    assert_true(changed);
    rig_ok(cd_wh_hook_pause(r.s, &changed, hook, CD_WH_PAUSED, why));
    assert_false(changed);
    rig_commit(&r);
    assert_int_equal(row(&r, hook, first, NULL, NULL).state, CD_WH_HELD);
    assert_int_equal(row(&r, hook, first + 5, NULL, NULL).state, CD_WH_HELD);
    assert_int_equal(row(&r, hook, first + 1, NULL, NULL).state, CD_WH_DELIVERING);
    settle(&r, &made.made[1], &bad, CD_WH_RETRYING, rig_now(&r) + 60000);
    settle(&r, &made.made[2], &good, CD_WH_DELIVERED, 0);
    assert_int_equal(row(&r, hook, first + 1, NULL, NULL).state, CD_WH_HELD);
    assert_int_equal(row(&r, hook, first + 2, NULL, NULL).state, CD_WH_DELIVERED);
    enqueue(&r, &made, hook, 11, 2);
    assert_int_equal(made.cnt, 0);
    assert_int_equal(made.skipped, 2);
    assert_int_equal(row(&r, hook, first + 6, NULL, NULL).state, CD_WH_SKIPPED);
    assert_int_equal(row(&r, hook, first + 6, NULL, NULL).sequence, 7);
    rig_wait(&r, 100000); /* the lease of the fourth ends: it is held as well */
    assert_int_equal(claim(&r, &got, 10, 8), 0);
    assert_int_equal(row(&r, hook, first + 3, NULL, NULL).state, CD_WH_HELD);
    rig_begin(&r);
    rig_ok(cd_wh_hook_resume(r.s, &changed, hook, why));
    assert_true(changed);
    rig_commit(&r);
    assert_int_equal(claim(&r, &got, 10, 8), 5);
    assert_int_equal(row(&r, hook, first + 6, NULL, NULL).state, CD_WH_SKIPPED);

    /* Deleted: what waits is cancelled, what runs may finish. */
    settle(&r, &got[0], NULL, CD_WH_PENDING, rig_now(&r));
    rig_begin(&r);
    rig_ok(cd_wh_hook_delete(r.s, hook, why));
    rig_commit(&r);
    assert_int_equal(row(&r, hook, got[0].key, NULL, NULL).state, CD_WH_CANCELLED);
    settle(&r, &got[1], &good, CD_WH_DELIVERED, 0);
    assert_int_equal(row(&r, hook, got[1].key, NULL, NULL).state, CD_WH_DELIVERED);
    settle(&r, &got[2], &bad, CD_WH_RETRYING, rig_now(&r));
    assert_int_equal(row(&r, hook, got[2].key, NULL, NULL).state, CD_WH_CANCELLED);
    enqueue(&r, &made, hook, 12, 1);
    assert_int_equal(made.skipped, 1);
    rig_close(&r);
}

static void strict_order(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, true);
    rig_commit(&r);
    enqueue(&r, &made, hook, 10, 3);
    assert_int_equal(made.cnt, 1);
    assert_int_equal(made.made[0].sequence, 1);
    assert_int_equal(claim(&r, &got, 10, 8), 0);
    settle(&r, &made.made[0], &bad, CD_WH_RETRYING, rig_now(&r) + 10000);
    assert_int_equal(claim(&r, &got, 10, 8), 0); /* the others stand behind it */
    rig_wait(&r, 10000);
    assert_int_equal(claim(&r, &got, 10, 8), 1);
    assert_int_equal(got[0].sequence, 1);
    assert_int_equal(claim(&r, &got + 0, 10, 8), 0);
    cd_wh_delivery head = made.made[0];
    settle(&r, &head, &good, CD_WH_FAILED, 0);
    assert_int_equal(claim(&r, &got, 10, 8), 1);
    assert_int_equal(got[0].sequence, 2);
    enqueue(&r, &made, hook, 11, 1);
    assert_int_equal(made.cnt, 0);
    settle(&r, &got[0], &good, CD_WH_DELIVERED, 0);
    assert_int_equal(claim(&r, &got, 10, 8), 1);
    assert_int_equal(got[0].sequence, 3);
    settle(&r, &got[0], &good, CD_WH_DELIVERED, 0);
    assert_int_equal(claim(&r, &got, 10, 8), 1);
    assert_int_equal(got[0].sequence, 4);
    rig_close(&r);
}

static void lists_and_replay(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    usize cnt = 0;
    u64 queued = 0;
    i64 key = 0;
    cd_wh_block_row *blocks = NULL;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    i64 other = rig_hook(&r, 2, false);
    rig_commit(&r);
    for (u32 b = 1; b <= 50; b++) {
        enqueue(&r, &made, hook, b, 3);
        settle(&r, &made.made[0], &good, CD_WH_DELIVERED, 0);
        settle(&r, &made.made[1], &good, CD_WH_DELIVERED, 0);
        settle(&r, &made.made[2], &bad, CD_WH_FAILED, 0);
        enqueue(&r, &made, other, b, 1);
        settle(&r, &made.made[0], &good, CD_WH_DELIVERED, 0);
        rig_wait(&r, 1000);
    }
    rig_begin(&r);
    cd_wh_delivery_query q = {.hook = hook, .limit = 40, .with_body = true};
    u64 below = 151;
    for (usize page = 0; page < 4; page++) {
        rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
        assert_int_equal(cnt, page < 3 ? 40 : 30);
        for (usize i = 0; i < cnt; i++) {
            assert_int_equal(got[i].hook, hook);
            assert_int_equal(got[i].sequence, --below);
            assert_true(got[i].event.body.n > 0);
        }
        q.before = got[cnt - 1].key;
    }
    q = (cd_wh_delivery_query){.hook = hook, .states = 1u << CD_WH_FAILED, .limit = 100};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 50);
    q = (cd_wh_delivery_query){.project = "p", .states = 1u << CD_WH_FAILED, .limit = 7};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 7);
    assert_int_equal(got[0].event.block, 50);
    q = (cd_wh_delivery_query){.project = "p", .limit = 300};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 200);
    q = (cd_wh_delivery_query){.project = "q", .limit = 300};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 0);
    q = (cd_wh_delivery_query){.hook = hook, .from_ms = RIG_T0 + 9000, .to_ms = RIG_T0 + 19999, .limit = 300};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 33);
    assert_int_equal(got[0].event.block, 20);
    assert_int_equal(got[32].event.block, 10);
    q = (cd_wh_delivery_query){.hook = hook, .event_id = "evt_1_7_2", .limit = 3};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 1);
    u64 next = 1;
    rig_ok(cd_wh_ledger(r.s, &blocks, &cnt, &next, &r.mem, hook, 5, 9, 2, why));
    assert_int_equal(cnt, 2);
    assert_int_equal(next, 7);
    rig_ok(cd_wh_ledger(r.s, &blocks, &cnt, &next, &r.mem, hook, 5, 9, 100, why));
    assert_int_equal(cnt, 5);
    assert_int_equal(next, 0);
    assert_int_equal(blocks[0].block, 5);
    assert_int_equal(blocks[0].matches, 3);
    assert_int_equal(blocks[0].first_sequence, 13);
    assert_int_equal(blocks[0].last_sequence, 15);
    assert_int_equal(blocks[0].states[CD_WH_DELIVERED], 2);
    assert_int_equal(blocks[0].states[CD_WH_FAILED], 1);
    rig_ok(cd_wh_ledger_events(r.s, &got, &cnt, &r.mem, 5, why));
    assert_int_equal(cnt, 4);

    q = (cd_wh_delivery_query){.hook = hook, .states = 1u << CD_WH_FAILED, .from_block = 41};
    rig_ok(cd_wh_replay(r.s, &queued, &q, why));
    assert_int_equal(queued, 10);
    rig_commit(&r);
    assert_int_equal(claim(&r, &got, 100, 8), 8);
    assert_true(got[0].is_replay);
    assert_int_equal(got[0].event.block, 41);
    assert_int_equal(got[0].sequence, 123);
    assert_int_equal(got[0].attempts, 0);
    cd_wh_event first = rig_event(&r, hook, 41, 2);
    assert_true(cd_bytes_eq(got[0].event.body, first.body));
    assert_string_equal(got[0].event.id, first.id);
    rig_begin(&r);
    assert_int_equal(cd_wh_replay_one(r.s, &key, hook, got[0].key, NULL), CD_EEXIST);
    assert_int_equal(cd_wh_replay_one(r.s, &key, other, got[0].key, NULL), CD_ENOENT);
    q = (cd_wh_delivery_query){.hook = hook, .limit = 300, .events_only = true};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 150);
    rig_commit(&r);
    rig_close(&r);
}

static void quotas_and_numbers(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_project p = {.id = "p",
                       .name = "P",
                       .tier = "free",
                       .email = "",
                       .face = CD_WH_C,
                       .quota_period = CD_WH_PER_DAY,
                       .quota = 10};
    cd_wh_stat *stats = NULL;
    cd_wh_backlog backlog;
    u64 events = 0;
    usize cnt = 0;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_ok(cd_wh_project_put(r.s, &p, why));
    rig_commit(&r);
    enqueue(&r, &made, hook, 1, 7);
    assert_int_equal(made.notes_cnt, 0);
    enqueue(&r, &made, hook, 2, 1);
    assert_int_equal(made.notes_cnt, 1);
    assert_int_equal(made.notes[0].percent, 80);
    enqueue(&r, &made, hook, 3, 4);
    assert_int_equal(made.skipped, 2);
    assert_int_equal(made.notes_cnt, 1);
    assert_int_equal(made.notes[0].percent, 100);
    rig_begin(&r);
    rig_ok(cd_wh_usage(r.s, &events, "p", rig_now(&r), why));
    assert_int_equal(events, 10);
    rig_commit(&r);
    rig_wait(&r, 86400000);
    enqueue(&r, &made, hook, 4, 1);
    assert_int_equal(made.waiting, 1); /* behind those of yesterday, which nobody has sent */
    p.quota_period = CD_WH_PER_MONTH;  /* January 2026 */
    rig_begin(&r);
    rig_ok(cd_wh_project_put(r.s, &p, why));
    rig_ok(cd_wh_usage(r.s, &events, "p", rig_now(&r), why));
    assert_int_equal(events, 11);
    rig_ok(cd_wh_usage(r.s, &events, "p", rig_now(&r) + 31 * (u64)86400000, why));
    assert_int_equal(events, 0);
    rig_ok(cd_wh_backlog_get(r.s, &backlog, rig_now(&r), why));
    assert_int_equal(backlog.in_hand, 4);
    assert_int_equal(backlog.waiting, 7);
    assert_int_equal(backlog.overdue_ms, 86400000);
    assert_int_equal(backlog.paused, 0);
    /* All of it is one project's, and nothing another's. */
    cd_wh_backlog own;
    rig_ok(cd_wh_backlog_of(r.s, &own, "p", rig_now(&r), why));
    assert_int_equal(own.waiting, backlog.waiting);
    assert_int_equal(own.in_hand, backlog.in_hand);
    assert_int_equal(own.overdue_ms, backlog.overdue_ms);
    const cd_wh_project other = {.id = "p2", .name = "p2", .tier = "free", .email = ""};
    rig_ok(cd_wh_project_put(r.s, &other, why));
    rig_ok(cd_wh_backlog_of(r.s, &own, "p2", rig_now(&r), why));
    assert_int_equal(own.waiting + own.in_hand + own.overdue_ms, 0);
    rig_commit(&r);

    cd_wh_delivery *got = NULL;
    assert_int_equal(claim(&r, &got, 10, 8), 4); /* and four whose leases have ended */
    settle(&r, &got[0], &good, CD_WH_DELIVERED, 0);
    settle(&r, &got[1], &bad, CD_WH_RETRYING, rig_now(&r) + 1000);
    rig_begin(&r);
    assert_true(cd__wh_stats_due(r.s, true));
    rig_ok(cd__wh_stats_write(r.s, why));
    cd__wh_stats_written(r.s);
    rig_ok(cd_wh_stats(r.s, &stats, &cnt, &r.mem, 0, "p", 0, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(stats[0].hour, rig_now(&r) / 3600000);
    assert_int_equal(stats[0].attempts, 2);
    assert_int_equal(stats[0].delivered, 1);
    assert_int_equal(stats[0].retried, 1);
    assert_int_equal(cd_wh_stat_percentile(&stats[0], 50), 4);
    assert_int_equal(cd_wh_stat_percentile(&stats[0], 95), 16);
    rig_wait(&r, 89 * (u64)86400000);
    bool more = false;
    rig_ok(cd_wh_retain(r.s, &more, 0, 0, 10, why));
    rig_ok(cd_wh_stats(r.s, &stats, &cnt, &r.mem, hook, NULL, 0, why));
    assert_int_equal(cnt, 1);
    rig_wait(&r, 2 * (u64)86400000);
    rig_ok(cd_wh_retain(r.s, &more, 0, 0, 10, why));
    rig_ok(cd_wh_stats(r.s, &stats, &cnt, &r.mem, hook, NULL, 0, why));
    assert_int_equal(cnt, 0);
    rig_commit(&r);
    rig_close(&r);
}

/* Exactly as large as may be: it is sent. */
static void body_at_the_limit(usize engine)
{
    static u8 large[CD_WH_BODY_MAX];
    rig r;
    cd_wh_enqueued made;
    rig_open(&r, engine);
    rig_begin(&r);
    cd_wh_event e = rig_event(&r, rig_hook(&r, 1, false), 5, 0);
    e.body = cd_bytes_of(large, sizeof large);
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, &e, 1, NULL, 0, NULL, why));
    assert_int_equal(made.skipped, 0);
    assert_int_equal(made.cnt, 1);
    rig_commit(&r);
    rig_close(&r);
}

static void too_large_tests_and_pending(usize engine)
{
    static u8 large[CD_WH_BODY_MAX + 1];
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery d;
    cd_wh_delivery *got = NULL;
    cd_wh_attempt *attempts = NULL;
    usize cnt = 0;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    cd_wh_event e = rig_event(&r, hook, 5, 0);
    e.body = cd_bytes_of(large, sizeof large);
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, &e, 1, NULL, 0, NULL, why));
    assert_int_equal(made.skipped, 1);
    rig_ok(cd_wh_delivery_get(r.s, &d, &attempts, &cnt, &r.mem, hook, 1, why));
    assert_int_equal(d.state, CD_WH_FAILED);
    assert_int_equal(d.sequence, 1);
    assert_int_equal(cnt, 1);
    assert_string_equal(attempts[0].error, "payload_too_large");

    /* Of no block: known for 72 hours. */
    e = rig_event(&r, hook, 0, 1);
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, &e, 1, NULL, 0, NULL, why));
    assert_int_equal(made.cnt, 1);
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, &e, 1, NULL, 0, NULL, why));
    assert_int_equal(made.known, 1);
    e = rig_event(&r, hook, 0, 2);
    rig_ok(cd_wh_enqueue_test(r.s, &d, &e, why));
    assert_true(d.is_test);
    rig_commit(&r);
    settle(&r, &d, &bad, CD_WH_FAILED, 0);
    rig_begin(&r);
    cd_wh_hook h;
    rig_ok(cd_wh_hook_by_key(r.s, &h, &r.mem, hook, false, why));
    assert_int_equal(h.failures, 0);
    rig_ok(cd_wh_enqueue_test(r.s, &d, &e, why));
    rig_commit(&r);
    rig_wait(&r, 60000);
    assert_int_equal(claim(&r, &got, 10, 8), 1); /* the pending one; a test is not sent again */
    assert_int_equal(row(&r, hook, d.key, NULL, NULL).state, CD_WH_FAILED);
    enqueue(&r, &made, hook, 6, 1);
    assert_int_equal(made.made[0].sequence, 3);
    rig_close(&r);
}

static void old_rows_go(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery d;
    cd_wh_attempt *attempts = NULL;
    usize cnt = 0;
    bool more = false;
    bool changed = false;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    i64 other = rig_hook(&r, 2, false);
    rig_commit(&r);
    for (u32 b = 1; b <= 10; b++) {
        enqueue(&r, &made, hook, b, 2);
        settle(&r, &made.made[0], &good, CD_WH_DELIVERED, 0);
        settle(&r, &made.made[1], &good, CD_WH_DELIVERED, 0);
    }
    enqueue(&r, &made, other, 10, 1);
    settle(&r, &made.made[0], &bad, CD_WH_RETRYING, rig_now(&r) + 1);
    rig_begin(&r);
    rig_ok(cd_wh_hook_pause(r.s, &changed, other, CD_WH_PAUSED, why));
    rig_commit(&r);
    rig_wait(&r, (u64)40 * 86400000);
    enqueue(&r, &made, hook, 11, 1);
    u64 day = 86400000;
    u32 bites = 0;
    do {
        rig_begin(&r);
        rig_ok(cd_wh_retain(r.s, &more, rig_now(&r) - 30 * day, 0, 5, why));
        rig_commit(&r);
        bites++;
    } while (more);
    assert_int_equal(bites, 5);
    rig_begin(&r);
    rig_ok(cd_wh_delivery_get(r.s, &d, &attempts, &cnt, &r.mem, hook, 1, why));
    assert_int_equal(d.event.body.n, 0);
    assert_int_equal(cnt, 0);
    rig_ok(cd_wh_delivery_get(r.s, &d, &attempts, &cnt, &r.mem, other, 21, why));
    assert_true(d.event.body.n > 0); /* held */
    rig_ok(cd_wh_delivery_get(r.s, &d, &attempts, &cnt, &r.mem, hook, 22, why));
    assert_true(d.event.body.n > 0);
    i64 key = 0;
    assert_int_equal(cd_wh_replay_one(r.s, &key, hook, 1, NULL), CD_ENOENT);
    do {
        rig_ok(cd_wh_retain(r.s, &more, 0, rig_now(&r) - 30 * day, 7, why));
    } while (more);
    assert_int_equal(cd_wh_delivery_get(r.s, &d, &attempts, &cnt, &r.mem, hook, 20, NULL), CD_ENOENT);
    rig_ok(cd_wh_delivery_get(r.s, &d, &attempts, &cnt, &r.mem, other, 21, why));
    cd_wh_delivery *got = NULL;
    cd_wh_delivery_query q = {.hook = hook, .limit = 100};
    rig_ok(cd_wh_delivery_list(r.s, &got, &cnt, &r.mem, &q, why));
    assert_int_equal(cnt, 1);
    rig_commit(&r);
    rig_close(&r);
}

static void small_tables(usize engine)
{
    rig r;
    cd_wh_kept kept = {.request = {1}, .status = 201, .body = cd_bytes_str("{\"secret\":1}"), .at_ms = RIG_T0};
    cd_wh_kept got;
    cd_wh_audit *log = NULL;
    cd_letter *mails = NULL;
    cd_wh_token token = {.symbol = "USDC", .decimals = 6};
    cd_addr20 address = {{9}};
    cd_bytes value;
    usize cnt = 0;
    rig_open(&r, engine);
    rig_begin(&r);
    rig_ok(cd_wh_kept_put(r.s, &kept, "p", cd_bytes_str("k1"), why));
    assert_int_equal(cd_wh_kept_put(r.s, &kept, "p", cd_bytes_str("k1"), NULL), CD_EEXIST);
    rig_ok(cd_wh_kept_get(r.s, &got, &r.mem, "p", cd_bytes_str("k1"), why));
    assert_true(cd_bytes_eq(got.body, kept.body));
    assert_int_equal(got.status, 201);
    assert_int_equal(cd_wh_kept_get(r.s, &got, &r.mem, "q", cd_bytes_str("k1"), NULL), CD_ENOENT);
    rig_wait(&r, 86400001);
    assert_int_equal(cd_wh_kept_get(r.s, &got, &r.mem, "p", cd_bytes_str("k1"), NULL), CD_ENOENT);
    kept.at_ms = rig_now(&r);
    rig_ok(cd_wh_kept_put(r.s, &kept, "p", cd_bytes_str("k1"), why));

    for (u64 i = 0; i < 5; i++) {
        const cd_wh_audit a = {
            .at_ms = i, .project = "p", .actor = "key_1", .action = "create", .target = "wh_1", .address = "127.0.0.1"};
        rig_ok(cd_wh_audit_add(r.s, &a, why));
    }
    rig_ok(cd_wh_audit_list(r.s, &log, &cnt, &r.mem, "p", 0, 3, why));
    assert_int_equal(cnt, 3);
    assert_int_equal(log[0].at_ms, 4);
    rig_ok(cd_wh_audit_list(r.s, &log, &cnt, &r.mem, "p", log[2].key, 3, why));
    assert_int_equal(cnt, 2);

    const cd_letter mail = {.to = "a@b",
                            .subject = "s",
                            .body = "b",
                            .once = "pause:1:7",
                            .next_ms = rig_now(&r),
                            .created_ms = rig_now(&r)};
    rig_ok(cd_wh_mail_put(r.s, &mail, why));
    assert_int_equal(cd_wh_mail_put(r.s, &mail, NULL), CD_EEXIST);
    rig_ok(cd_wh_mail_claim(r.s, &mails, &cnt, &r.mem, rig_now(&r), 1000, 5, why));
    assert_int_equal(cnt, 1);
    assert_string_equal(mails[0].once, "pause:1:7");
    i64 key = mails[0].key;
    rig_ok(cd_wh_mail_claim(r.s, &mails, &cnt, &r.mem, rig_now(&r), 1000, 5, why));
    assert_int_equal(cnt, 0);
    rig_ok(cd_wh_mail_claim(r.s, &mails, &cnt, &r.mem, rig_now(&r) + 1000, 1000, 5, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(mails[0].attempts, 1);
    rig_ok(cd_wh_mail_settle(r.s, key, 0, why));
    rig_ok(cd_wh_mail_claim(r.s, &mails, &cnt, &r.mem, rig_now(&r) + 100000, 1000, 5, why));
    assert_int_equal(cnt, 0);

    assert_int_equal(cd_wh_token_get(r.s, &token, &r.mem, "lux", &address, NULL), CD_ENOENT);
    rig_ok(cd_wh_token_put(r.s, &token, "lux", &address, why));
    rig_ok(cd_wh_token_get(r.s, &token, &r.mem, "lux", &address, why));
    assert_string_equal(token.symbol, "USDC");
    assert_null(token.name);
    assert_int_equal(token.decimals, 6);

    assert_int_equal(cd_wh_setting_get(r.s, &value, &r.mem, "p", "mails", NULL), CD_ENOENT);
    rig_ok(cd_wh_setting_put(r.s, cd_bytes_str("on"), "p", "mails", why));
    rig_ok(cd_wh_setting_put(r.s, cd_bytes_str("off"), "p", "mails", why));
    rig_ok(cd_wh_setting_get(r.s, &value, &r.mem, "p", "mails", why));
    assert_true(cd_bytes_eq(value, cd_bytes_str("off")));
    rig_commit(&r);

    /* Another master key opens nothing. */
    cd_wh_hook h;
    rig_begin(&r);
    (void)rig_hook(&r, 1, false);
    rig_commit(&r);
    memset(r.s->master_key, 8, sizeof r.s->master_key);
    rig_begin(&r);
    assert_int_equal(cd_wh_hook_get(r.s, &h, &r.mem, "p", "wh_1", false, NULL), CD_ECORRUPT);
    rig_commit(&r);
    cd_wh_store *none = NULL;
    const u8 other[32] = {8};
    const cd_wh_store_cfg cfg = {.url = r.url, .master_key = other, .clock = cd_clock_real()};
    assert_int_equal(cd__wh_store_open(&none, &cfg, true, NULL), CD_EACCES);
    assert_null(none);
    rig_close(&r);
}

static void every_engine(void (*test)(usize engine))
{
    for (usize i = 0; i < engines_count(); i++) {
        test(i);
    }
}

static void test_sealing(void **state)
{
    rig r;
    u8 key[32];
    u8 again[32];
    char path[96];
    cd_bytes text;
    struct stat st;
    (void)state;
    rig_open(&r, 0);
    (void)snprintf(path, sizeof path, "%s/master.key", r.dir);
    rig_ok(cd_wh_master_key(key, path, why));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    rig_ok(cd_wh_master_key(again, path, why));
    assert_memory_equal(key, again, sizeof key);
    cd_bytes sealed = cd_wh_seal(&r.mem, key, cd_bytes_str("whsec_1"), "secret of wh_1");
    cd_bytes other = cd_wh_seal(&r.mem, key, cd_bytes_str("whsec_1"), "secret of wh_1");
    assert_false(cd_bytes_eq(sealed, other));
    rig_ok(cd_wh_unseal(&text, &r.mem, key, sealed, "secret of wh_1", why));
    assert_true(cd_bytes_eq(text, cd_bytes_str("whsec_1")));
    assert_int_equal(cd_wh_unseal(&text, &r.mem, key, sealed, "secret of wh_2", NULL), CD_ECORRUPT);
    for (usize i = 0; i < sealed.n; i++) {
        cd_bytes cut = cd_arena_dup(&r.mem, sealed);
        ((u8 *)(uintptr_t)cut.p)[i] ^= 1;
        assert_int_equal(cd_wh_unseal(&text, &r.mem, key, cut, "secret of wh_1", NULL), CD_ECORRUPT);
        cut.n = i;
        assert_int_equal(cd_wh_unseal(&text, &r.mem, key, cut, "secret of wh_1", NULL), CD_ECORRUPT);
    }
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(cd_wh_master_key(again, path, NULL), CD_EACCES);
    rig_ok(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str("too short"), 0600, why));
    assert_int_equal(cd_wh_master_key(again, path, NULL), CD_EFORMAT);
    rig_close(&r);
}

/* A turn of the deliverer: what it settles frees hands for what it claims, and a part that fails leaves no trace. */
static void settle_then_claim(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    usize cnt = 0;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_commit(&r);
    enqueue(&r, &made, hook, 1, 12);
    assert_int_equal(made.cnt, 4);
    rig_begin(&r);
    rig_ok(cd_wh_settle(r.s, &made.made[0], &good, CD_WH_DELIVERED, 0, why));
    rig_ok(cd__wh_save(r.s, why));
    rig_ok(cd_wh_settle(r.s, &made.made[1], &good, CD_WH_DELIVERED, 0, why));
    rig_ok(cd_wh_claim(r.s, &got, &cnt, &r.mem, rig_now(&r), 60000, 10, 4, why));
    assert_int_equal(cnt, 2);
    rig_ok(cd__wh_undo(r.s, why));
    rig_ok(cd__wh_save(r.s, why));
    rig_ok(cd_wh_claim(r.s, &got, &cnt, &r.mem, rig_now(&r), 60000, 10, 4, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(got[0].sequence, 5);
    rig_ok(cd__wh_keep(r.s, why));
    rig_commit(&r);
    assert_int_equal(row(&r, hook, made.made[0].key, NULL, NULL).state, CD_WH_DELIVERED);
    assert_int_equal(row(&r, hook, made.made[1].key, NULL, NULL).state, CD_WH_DELIVERING);
    rig_close(&r);
}

static void set_slow(rig *r, i64 hook, bool is_slow)
{
    rig_begin(r);
    rig_ok(cd_wh_slow_set(r->s, hook, is_slow, why));
    rig_commit(r);
}

/* Webhooks that hang: nothing goes out at once, and claims take one of each, as far as there is room, in turn. */
static void slow_ones_wait(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    i64 slow[3];
    rig_open(&r, engine);
    rig_begin(&r);
    i64 quick = rig_hook(&r, 1, false);
    for (u32 i = 0; i < CD_COUNT(slow); i++) {
        slow[i] = rig_hook(&r, i + 2, i == 2); /* one is strict */
    }
    rig_commit(&r);
    for (u32 i = 0; i < CD_COUNT(slow); i++) {
        set_slow(&r, slow[i], true);
        enqueue(&r, &made, slow[i], i + 1, 3);
        assert_true(made.cnt == 0 && made.waiting == 3);
        rig_wait(&r, 1);
    }
    enqueue(&r, &made, quick, 9, 3);
    assert_int_equal(made.cnt, 3);
    settle(&r, &made.made[2], NULL, CD_WH_PENDING, made.made[2].next_ms); /* given back */
    assert_int_equal(claim(&r, &got, 100, 4), 1);                         /* no room */
    assert_int_equal(got[0].hook, quick);
    assert_int_equal(cd_wh_slow_waiting(r.s), 3);
    cd_wh_slow_room(r.s, 2);
    assert_int_equal(claim(&r, &got, 100, 4), 2);
    assert_true(got[0].hook == slow[0] && got[0].sequence == 1);
    assert_true(got[1].hook == slow[1] && got[1].sequence == 1);
    cd_wh_delivery first = got[0];
    /* More of them changes nothing, and when a hand is free the others come first. */
    enqueue(&r, &made, slow[0], 10, 1);
    assert_int_equal(made.waiting, 1);
    settle(&r, &first, &bad, CD_WH_RETRYING, rig_now(&r) + 1000);
    cd_wh_slow_room(r.s, 1);
    assert_int_equal(claim(&r, &got, 100, 4), 1);
    assert_int_equal(got[0].hook, slow[2]);
    cd_wh_slow_room(r.s, 5);
    assert_int_equal(claim(&r, &got, 100, 4), 1);
    assert_true(got[0].hook == slow[0] && got[0].sequence == 2);
    /* What is given back keeps its place. */
    settle(&r, &got[0], NULL, CD_WH_PENDING, got[0].next_ms);
    cd_wh_slow_room(r.s, 5);
    assert_int_equal(claim(&r, &got, 100, 4), 1);
    assert_int_equal(got[0].sequence, 2);
    /* It answers: all that waits may go, and is known to be due. */
    cd_wh_slow_room(r.s, 0);
    settle(&r, &got[0], &good, CD_WH_DELIVERED, 0);
    assert_int_equal(claim(&r, &got, 100, 4), 0);
    set_slow(&r, slow[0], false);
    assert_int_equal(cd_wh_slow_waiting(r.s), 1); /* that is found when there is room */
    assert_int_equal(claim(&r, &got, 100, 4), 2);
    assert_true(got[0].sequence == 3 && got[1].sequence == 4);
    enqueue(&r, &made, slow[0], 11, 1);
    assert_int_equal(made.cnt, 1);
    rig_close(&r);
}

/* One that is put off is due by itself too: memory may be lost. */
static void slow_ones_are_not_lost(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *got = NULL;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    rig_commit(&r);
    set_slow(&r, hook, true);
    enqueue(&r, &made, hook, 1, 3);
    assert_int_equal(claim(&r, &got, 100, 4), 0);
    rig_again(&r);
    rig_wait(&r, 250000);
    assert_int_equal(claim(&r, &got, 100, 4), 3);
    rig_close(&r);
}

static void two_workers(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *mine = NULL;
    cd_wh_delivery *got = NULL;
    usize cnt = 0;
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    i64 other = rig_hook(&r, 2, false);
    rig_commit(&r);
    cd_wh_store *two = rig_another(&r, "two");
    enqueue(&r, &made, hook, 1, 6);
    enqueue(&r, &made, other, 2, 6);
    /* The second worker has nothing to do until leases end: every webhook has four in hand. */
    rig_ok(cd__wh_begin(two, true, why));
    rig_ok(cd_wh_claim(two, &got, &cnt, &r.mem, rig_now(&r), 60000, 100, 4, why));
    rig_ok(cd__wh_commit(two, why));
    assert_int_equal(cnt, 0);
    rig_wait(&r, 60000);
    if (engine == 1) { /* while the first one has a webhook, the second goes round it */
        usize n = 0;
        rig_begin(&r);
        rig_ok(cd_wh_claim(r.s, &mine, &n, &r.mem, rig_now(&r), 60000, 1, 4, why));
        assert_int_equal(n, 1);
        rig_ok(cd__wh_begin(two, true, why));
        rig_ok(cd_wh_claim(two, &got, &cnt, &r.mem, rig_now(&r), 60000, 100, 4, why));
        rig_ok(cd__wh_commit(two, why));
        rig_commit(&r);
        assert_int_equal(cnt, 4);
        for (usize i = 0; i < cnt; i++) {
            assert_int_not_equal(got[i].hook, mine[0].hook);
        }
        rig_wait(&r, 60000);
    }
    rig_ok(cd__wh_begin(two, true, why));
    rig_ok(cd_wh_claim(two, &got, &cnt, &r.mem, rig_now(&r), 60000, 100, 4, why));
    rig_ok(cd__wh_commit(two, why));
    assert_int_equal(cnt, 8);
    /* What the second one has is not the first one's when that comes back. */
    rig_again(&r);
    assert_int_equal(claim(&r, &mine, 100, 4), 0);
    cd__wh_store_close(two);
    rig_close(&r);
}

/* No statement may read its way through a table that grows: that is what makes others slow after a million rows. */
/* What a worker has in hand, were it forgotten. */
static void in_hand(usize engine)
{
    rig r;
    cd_wh_enqueued made;
    cd_wh_delivery *rows = NULL;
    usize cnt = 0;
    static const u8 hash[32];
    const cd_wh_attempt a = {.number = 1, .status = 200, .error = "", .request = "", .response = ""};
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    const cd_wh_event events[] = {rig_event(&r, hook, 1, 0), rig_event(&r, hook, 1, 1), rig_event(&r, hook, 1, 2)};
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, events, 3, "lux", 1, hash, why));
    rig_ok(cd_wh_settle(r.s, &made.made[1], &a, CD_WH_DELIVERED, 0, why));
    rig_ok(cd_wh_worker_rows(r.s, &rows, &cnt, &r.mem, why));
    assert_int_equal(cnt, 2);
    assert_int_equal(rows[0].key, made.made[0].key);
    assert_int_equal(rows[1].key, made.made[2].key);
    assert_int_equal(rows[1].state, CD_WH_DELIVERING);
    assert_int_equal(rows[1].event.body.n, events[2].body.n);
    rig_commit(&r);
    cd_wh_store *other = rig_another(&r, "two");
    rig_ok(cd__wh_begin(other, true, why));
    rig_ok(cd_wh_worker_rows(other, &rows, &cnt, &r.mem, why));
    assert_int_equal(cnt, 0);
    cd__wh_rollback(other);
    cd__wh_store_close(other);
    rig_close(&r);
}

static void test_in_hand(void **state)
{
    (void)state;
    for (usize i = 0; i < engines_count(); i++) {
        in_hand(i);
    }
}

/* A ledger of which most is other webhooks' is looked through in parts. */
static void ledger_parts(usize engine)
{
    static const char others[] = "INSERT INTO delivery (key, hook, seq, block, state, attempts, created, next, due, "
                                 "delivered, worker, kind, prev) "
                                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999) "
                                 "SELECT 1000000 + i, 999, i, 1000 + i / 100, 2, 1, 0, 0, NULL, 0, 0, 0, 0 FROM n";
    rig r;
    cd_wh_enqueued made;
    cd_wh_block_row *rows = NULL;
    usize cnt = 0;
    u64 next = 0;
    static const u8 hash[32];
    rig_open(&r, engine);
    rig_begin(&r);
    i64 hook = rig_hook(&r, 1, false);
    const cd_wh_event events[] = {rig_event(&r, hook, 1000, 0), rig_event(&r, hook, 1590, 0)};
    rig_ok(cd_wh_enqueue(r.s, &made, &r.mem, events, 2, "lux", 1590, hash, why));
    rig_ok(cd_sql_exec(r.s->q, others, why));
    rig_ok(cd_wh_ledger(r.s, &rows, &cnt, &next, &r.mem, hook, 0, INT64_MAX, 500, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(rows[0].block, 1000);
    assert_true(next > 1400 && next < 1590);
    rig_ok(cd_wh_ledger(r.s, &rows, &cnt, &next, &r.mem, hook, next, INT64_MAX, 500, why));
    assert_int_equal(cnt, 1);
    assert_int_equal(rows[0].block, 1590);
    assert_int_equal(next, 0);
    rig_commit(&r);
    rig_close(&r);
}

static void test_ledger_parts(void **state)
{
    (void)state;
    for (usize i = 0; i < engines_count(); i++) {
        ledger_parts(i);
    }
}

static void test_no_scans(void **state)
{
    static const struct {
        const char *name, *text;
    } statements[] = {
#define X(name, text) {#name, text},
#include "services/webhook/core/store/store_sql.def"
#undef X
    };
    rig r;
    (void)state;
    rig_open(&r, 0);
    for (usize i = 0; i < CD_COUNT(statements); i++) {
        cd_sql_stmt *st = NULL;
        cd_sql_val nothing[32] = {0};
        usize vals = 0;
        for (const char *p = statements[i].text; *p != '\0'; p++) {
            if (*p == '?') {
                usize n = 0;
                for (p++; *p >= '0' && *p <= '9'; p++) {
                    n = 10 * n + (usize)(*p - '0');
                }
                p--;
                vals = n > vals ? n : vals;
            }
        }
        rig_ok(cd_sql_prepare(r.s->q, &st, cd_arena_fmt(&r.mem, "EXPLAIN QUERY PLAN %s", statements[i].text), why));
        rig_ok(cd_sql_query_n(st, nothing, vals, why));
        for (bool is_row = true;;) {
            rig_ok(cd_sql_next(st, &is_row, why));
            if (!is_row) {
                break;
            }
            const char *line = cd_sql_col_str(st, 3, &r.mem);
            static const char *const grow[] = {"SCAN d",       "SCAN delivery", "SCAN e", "SCAN event",
                                               "SCAN attempt", "SCAN hook",     "SCAN h", "SCAN queue",
                                               "SCAN l",       "SCAN stat",     "SCAN t", "SCAN seen"};
            for (usize k = 0; k < CD_COUNT(grow); k++) {
                usize len = strlen(grow[k]);
                if (strncmp(line, grow[k], len) == 0 && (line[len] == ' ' || line[len] == '\0') &&
                    strstr(line, "USING") == NULL &&
                    strcmp(statements[i].name, "QUEUES_IN_HAND") != 0) { /* once, at the start */
                    fail_msg("%s: %s", statements[i].name, line);
                }
            }
        }
        cd_sql_drop(st);
    }
    rig_close(&r);
}

#define ON_ALL(name)                                                                                                   \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        every_engine(name);                                                                                            \
    }
ON_ALL(projects_and_keys)
ON_ALL(hooks_are_kept)
ON_ALL(addresses)
ON_ALL(a_delivery_goes_its_way)
ON_ALL(pause_and_resume)
ON_ALL(strict_order)
ON_ALL(lists_and_replay)
ON_ALL(quotas_and_numbers)
ON_ALL(too_large_tests_and_pending)
ON_ALL(body_at_the_limit)
ON_ALL(old_rows_go)
ON_ALL(small_tables)
ON_ALL(settle_then_claim)
ON_ALL(slow_ones_wait)
ON_ALL(slow_ones_are_not_lost)
ON_ALL(two_workers)

/* A database of an earlier program is brought up to date with what is in it. */
static void test_upgrade(void **state)
{
    (void)state;
    for (usize i = 0; i < engines_count(); i++) {
        rig r = {0};
        cd_sql *q = NULL;
        cd_sql_stmt *st = NULL;
        engines_dir(r.dir);
        engines_url(r.url, i, r.dir);
        rig_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = r.url, .may_write = true}, why));
        rig_ok(cd_sql_migrate(q, cd__wh_schema, 2, why));
        rig_ok(cd_sql_exec(q,
                           "INSERT INTO lane (hook, project, status, is_strict, seq, chain_hash, tail, in_hand, "
                           "is_behind, failures, last_ms) VALUES (7, 1, 1, 0, 42, '', 0, 0, 0, 0, 0)",
                           why));
        cd_sql_close(q);
        const cd_wh_store_cfg cfg = {
            .url = r.url, .worker = "one", .master_key = r.master_key, .clock = cd_clock_real()};
        rig_ok(cd__wh_store_open(&r.s, &cfg, true, why));
        rig_ok(cd_sql_prepare(r.s->q, &st, "SELECT seq FROM queue WHERE hook = 7 AND status = 1", why));
        rig_ok(cd_sql_query_n(st, NULL, 0, why));
        rig_ok(cd_sql_one(st, why));
        assert_int_equal(cd_sql_col_i(st, 0), 42);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upgrade),
        cmocka_unit_test(test_projects_and_keys),
        cmocka_unit_test(test_hooks_are_kept),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_a_delivery_goes_its_way),
        cmocka_unit_test(test_pause_and_resume),
        cmocka_unit_test(test_strict_order),
        cmocka_unit_test(test_lists_and_replay),
        cmocka_unit_test(test_quotas_and_numbers),
        cmocka_unit_test(test_too_large_tests_and_pending),
        cmocka_unit_test(test_body_at_the_limit),
        cmocka_unit_test(test_old_rows_go),
        cmocka_unit_test(test_small_tables),
        cmocka_unit_test(test_settle_then_claim),
        cmocka_unit_test(test_slow_ones_wait),
        cmocka_unit_test(test_slow_ones_are_not_lost),
        cmocka_unit_test(test_two_workers),
        cmocka_unit_test(test_ledger_parts),
        cmocka_unit_test(test_in_hand),
        cmocka_unit_test(test_no_scans),
        cmocka_unit_test(test_sealing),
    };
    return cmocka_run_group_tests(tests, NULL, engines_group_end);
}
