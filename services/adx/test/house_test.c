/* The house on SQLite: phases, answers, replays, a store that fails, and kill -9 at any moment. */
#include "services/adx/auction/house.h"

#include "base/os/fileio.h"
#include "crypto/cipher/hpke.h"
#include "crypto/ec/ed25519.h"
#include "services/common/test/engines.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0: SQLite, 1: PostgreSQL. */
static usize engine;

typedef struct rig {
    char dir[64], url[256];
    cd_rng rng;
    cd_sql *q;
    cd_auction_sql *sql;
    cd_house_cfg cfg;
    cd_house *house;
    u8 receipt_public[32], envelope_public[32];
} rig;

static void rig_open(rig *r)
{
    cd_errinfo why = {0};
    r->cfg = (cd_house_cfg){
        .rng = &r->rng, .receipt_seed = {6}, .keys = {{.id = 1, .secret = {7}}}, .key_cnt = 1, .default_reserve = 100};
    cd_ed25519_public(r->receipt_public, r->cfg.receipt_seed);
    cd_x25519_public(r->envelope_public, r->cfg.keys[0].secret);
    if (cd_sql_open(&r->q, &(cd_sql_cfg){.url = r->url, .may_write = true}, &why) != CD_OK ||
        cd_auction_sql_open(&r->sql, r->q, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    r->cfg.store = cd_auction_sql_store(r->sql);
    if (cd_house_new(&r->house, &r->cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

static void rig_close(rig *r)
{
    cd_house_free(r->house);
    cd_auction_sql_close(r->sql);
    cd_sql_close(r->q);
}

static void rig_make(rig *r, u64 seed)
{
    *r = (rig){.rng = cd_rng_seeded(seed)};
    engines_dir(r->dir);
    engines_url(r->url, engine, r->dir);
    rig_open(r);
}

static void rig_end(rig *r)
{
    rig_close(r);
    engines_ok(cd_fs_remove_tree(cd_fs_real(), r->dir, why));
}

/* A bid with everything that belongs to it. */
typedef struct bid {
    cd_opening opening;
    u8 proof[CD_RANGEPROOF_SIZE_ONE];
    cd_buf envelope;
    cd_bid_ask ask;
} bid;

static void bid_make(bid *b, rig *r, const cd_hash32 *auction, const char *bidder, u64 value, bool has_envelope)
{
    static const cd_hash32 zero;
    u8 wide[64];
    cd_merlin t;
    cd_rng_fill(&r->rng, wide, sizeof wide);
    *b = (bid){.opening = {.value = value, .blinding = cd_scalar_wide(wide)}};
    const cd_hash32 *id = auction == NULL ? &zero : auction;
    cd_point c;
    cd_scalar v = cd_scalar_u64(value);
    cd_pedersen(&c, &v, &b->opening.blinding);
    cd_point_put(b->ask.commitment.b, &c);
    if (has_envelope) {
        u8 plain[CD_OPENING_SIZE];
        cd_put_le64(plain, value);
        cd_scalar_put(plain + 8, &b->opening.blinding);
        assert_int_equal(cd_envelope_seal(&b->envelope, CD_HPKE_CHACHA20_POLY1305, 1, r->envelope_public, id,
                                          cd_bytes_str(bidder), &b->ask.commitment, cd_bytes_of(plain, sizeof plain),
                                          wide),
                         CD_OK);
    }
    b->ask.auction = auction;
    b->ask.bidder = cd_bytes_str(bidder);
    b->ask.envelope = cd_buf_bytes(&b->envelope);
    cd_sealed_transcript(&t, id, b->ask.bidder, b->ask.envelope);
    cd_sealed_prove(&b->ask.commitment, b->proof, &t, &b->opening, &r->rng);
    b->ask.proof = cd_bytes_of(b->proof, sizeof b->proof);
}

static cd_house_answer send(rig *r, const bid *b, cd_bid_ack *ack, u64 now)
{
    cd_house_answer answer;
    assert_int_equal(cd_house_bid(r->house, &answer, ack, &b->ask, now, NULL), CD_OK);
    return answer;
}

static cd_house_answer reveal(rig *r, const cd_hash32 *auction, const char *bidder, const cd_opening *o, u64 now)
{
    cd_house_answer answer;
    assert_int_equal(cd_house_reveal(r->house, &answer, auction, cd_bytes_str(bidder), o, now, NULL), CD_OK);
    return answer;
}

static u64 tick(rig *r, u64 now)
{
    u64 next;
    assert_int_equal(cd_house_tick(r->house, &next, now, NULL), CD_OK);
    return next;
}

static cd_hash32 create(rig *r, u64 reserve, u64 now)
{
    cd_house_answer answer;
    cd_hash32 id;
    assert_int_equal(cd_house_create(r->house, &answer, &id, cd_bytes_str("slot"), reserve, 100, 1000, now, NULL),
                     CD_OK);
    assert_int_equal(answer, CD_HOUSE_DONE);
    return id;
}

/* The outcome of a settled auction, verified. */
static cd_outcome outcome(rig *r, cd_arena *mem, const cd_hash32 *id)
{
    cd_buf json = {0};
    cd_outcome o;
    cd_errinfo why = {0};
    assert_int_equal(cd_house_outcome(r->house, &json, id, NULL), CD_OK);
    if (cd_outcome_parse(&o, mem, cd_arena_dup(mem, cd_buf_bytes(&json)), &why) != CD_OK ||
        cd_outcome_verify(&o, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    cd_buf_fini(&json);
    return o;
}

/* One auction through all its phases: an envelope, an opening by hand, one who never opens, and a restart in every
 * phase. */
static void phases(void **state)
{
    (void)state;
    rig r;
    bid a;
    bid b;
    bid c;
    cd_bid_ack ack;
    cd_arena mem = {0};
    rig_make(&r, 1);
    cd_hash32 id = create(&r, 10, 1000);
    bid_make(&a, &r, &id, "alpha", 40, true);
    bid_make(&b, &r, &id, "beta", 50, false);
    bid_make(&c, &r, &id, "gamma", 99, false);
    assert_int_equal(send(&r, &a, &ack, 1000), CD_HOUSE_DONE);
    assert_int_equal(ack.bid_deadline_ms, 1100);
    assert_int_equal(ack.reveal_deadline_ms, 2100);
    cd_receipt first = ack.receipt;
    assert_int_equal(first.seq, 0);
    assert_int_equal(cd_receipt_verify(&first, r.receipt_public), CD_OK);
    assert_int_equal(send(&r, &b, &ack, 1050), CD_HOUSE_DONE);
    assert_int_equal(send(&r, &c, &ack, 1099), CD_HOUSE_DONE);
    assert_int_equal(reveal(&r, &id, "beta", &b.opening, 1099), CD_HOUSE_EARLY);
    rig_close(&r);
    rig_open(&r);
    assert_int_equal(tick(&r, 1099), 1100);
    assert_int_equal(tick(&r, 1100), 2100);
    cd_auction_view v;
    assert_true(cd_house_look(r.house, &v, &id, 1100));
    assert_true(v.is_revealing && v.cnt == 3 && v.is_open[0] && !v.is_open[1] && !v.is_open[2]);
    cd_opening wrong = b.opening;
    wrong.value++;
    assert_int_equal(reveal(&r, &id, "beta", &wrong, 1100), CD_HOUSE_INVALID_PROOF);
    assert_int_equal(reveal(&r, &id, "delta", &b.opening, 1100), CD_HOUSE_UNKNOWN);
    assert_int_equal(reveal(&r, &id, "beta", &b.opening, 2000), CD_HOUSE_DONE);
    rig_close(&r);
    rig_open(&r);
    cd_buf json = {0};
    assert_int_equal(cd_house_outcome(r.house, &json, &id, NULL), CD_EAGAIN);
    assert_int_equal(reveal(&r, &id, "gamma", &c.opening, 2100), CD_HOUSE_CLOSED);
    assert_int_equal(tick(&r, 2100), UINT64_MAX);
    cd_outcome o = outcome(&r, &mem, &id);
    assert_int_equal(o.winner, 1);
    assert_int_equal(o.price, 40);
    assert_int_equal(o.second, 0);
    assert_true(o.is_forfeited[2]);
    assert_int_equal(cd_outcome_holds(&o, &first, r.receipt_public, NULL), CD_OK);
    assert_int_equal(send(&r, &a, &ack, 5000), CD_HOUSE_REPLAYED);
    assert_memory_equal(&ack.receipt, &first, sizeof first);
    /* Openings and envelopes are gone. */
    cd_sql_stmt *st = NULL;
    assert_int_equal(cd_sql_prepare(r.q, &st,
                                    "SELECT COUNT(*) FROM sealed_bid WHERE value IS NOT NULL OR blinding IS"
                                    " NOT NULL OR envelope IS NOT NULL",
                                    NULL),
                     CD_OK);
    assert_int_equal(cd_sql_query_n(st, NULL, 0, NULL), CD_OK);
    assert_int_equal(cd_sql_one(st, NULL), CD_OK);
    assert_int_equal(cd_sql_col_i(st, 0), 0);
    cd_sql_drop(st);
    cd_buf_fini(&json);
    cd_buf_fini(&a.envelope);
    cd_arena_fini(&mem);
    rig_end(&r);
}

static void answers(void **state)
{
    (void)state;
    rig r;
    bid a;
    bid b;
    cd_bid_ack ack;
    cd_bid_ack again;
    rig_make(&r, 2);
    cd_hash32 id = create(&r, 10, 0);
    cd_hash32 other = create(&r, 10, 0);
    cd_hash32 unknown = {{1}};
    bid_make(&a, &r, &id, "alpha", 40, false);
    a.proof[5] ^= 1;
    assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_INVALID_PROOF);
    a.proof[5] ^= 1;
    a.ask.proof.n--;
    assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_MALFORMED);
    a.ask.proof.n++;
    assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_DONE);
    assert_int_equal(send(&r, &a, &again, 99), CD_HOUSE_REPLAYED);
    assert_memory_equal(&ack, &again, sizeof ack);
    a.ask.bidder = cd_bytes_str("thief");
    assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_DUPLICATE);
    a.ask.bidder = cd_bytes_str("alpha");
    a.ask.auction = &other;
    assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_DUPLICATE);
    bid_make(&b, &r, &id, "alpha", 60, false);
    assert_int_equal(send(&r, &b, &ack, 1), CD_HOUSE_DUPLICATE); /* one bid a bidder */
    bid_make(&b, &r, &unknown, "beta", 60, false);
    assert_int_equal(send(&r, &b, &ack, 1), CD_HOUSE_UNKNOWN);
    bid_make(&b, &r, &id, "beta", 60, false);
    assert_int_equal(send(&r, &b, &ack, 100), CD_HOUSE_CLOSED);
    (void)tick(&r, 5000);
    assert_int_equal(send(&r, &b, &ack, 5000), CD_HOUSE_CLOSED); /* settled: known, and closed */
    rig_end(&r);
}

/* One default auction after the other; bids without an id; what nobody bid in is nowhere. */
static void default_auctions(void **state)
{
    (void)state;
    rig r;
    bid a;
    bid b;
    cd_bid_ack ack;
    cd_auction_row first;
    cd_auction_row next;
    cd_arena mem = {0};
    rig_make(&r, 3);
    cd_house_current(r.house, &first, 0);
    cd_house_current(r.house, &next, 99);
    assert_true(cd_hash32_eq(&first.id, &next.id));
    cd_house_current(r.house, &next, 100);
    assert_false(cd_hash32_eq(&first.id, &next.id));
    cd_buf json = {0};
    assert_int_equal(cd_house_outcome(r.house, &json, &first.id, NULL), CD_ENOENT);
    bid_make(&a, &r, NULL, "alpha", 150, true);
    bid_make(&b, &r, &next.id, "beta", 120, true); /* who asked for its id may name it */
    assert_int_equal(send(&r, &a, &ack, 150), CD_HOUSE_DONE);
    assert_true(cd_hash32_eq(&ack.receipt.auction, &next.id));
    assert_int_equal(send(&r, &b, &ack, 150), CD_HOUSE_DONE);
    rig_close(&r);
    rig_open(&r);
    assert_int_equal(send(&r, &a, &ack, 400), CD_HOUSE_REPLAYED);
    assert_int_equal(tick(&r, 1200), UINT64_MAX);
    cd_outcome o = outcome(&r, &mem, &next.id);
    assert_int_equal(o.winner, 0);
    assert_int_equal(o.price, 120);
    cd_buf_fini(&json);
    cd_buf_fini(&a.envelope);
    cd_buf_fini(&b.envelope);
    cd_arena_fini(&mem);
    rig_end(&r);
}

/* Keys change daily: an envelope for the one before still opens, one for the one before that does not. */
static void keys_rotate(void **state)
{
    (void)state;
    rig r;
    bid a;
    cd_bid_ack ack;
    cd_auction_view v;
    rig_make(&r, 4);
    for (u32 turns = 1; turns <= 2; turns++) {
        cd_hash32 id = create(&r, 10, 0);
        bid_make(&a, &r, &id, "alpha", 40, true);
        assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_DONE);
        cd_house_rotate(r.house, &(cd_envelope_key){.id = 10 + turns, .secret = {(u8)turns, 9}});
        (void)tick(&r, 100);
        assert_true(cd_house_look(r.house, &v, &id, 100));
        assert_int_equal(v.is_open[0], turns == 1);
        cd_buf_fini(&a.envelope);
    }
    rig_end(&r);
}

static cd_err failing_add(void *ctx, const cd_auction_row *fresh, const cd_hash32 *auction, const cd_bid_row *b,
                          cd_bytes proof, cd_errinfo *why)
{
    (void)ctx, (void)fresh, (void)auction, (void)b, (void)proof;
    return cd_fail(why, CD_ENOSPC, "full");
}

/* What the store did not take was not acknowledged, and does not stand in the way of a second try. */
static void store_fails(void **state)
{
    (void)state;
    rig r;
    bid a;
    cd_bid_ack ack;
    cd_house_answer answer;
    rig_make(&r, 5);
    cd_hash32 id = create(&r, 10, 0);
    bid_make(&a, &r, &id, "alpha", 40, false);
    cd_house *whole = r.house;
    cd_house_cfg cfg = r.cfg;
    cfg.store.add = failing_add;
    assert_int_equal(cd_house_new(&r.house, &cfg, NULL), CD_OK);
    assert_int_equal(cd_house_bid(r.house, &answer, &ack, &a.ask, 1, NULL), CD_ENOSPC);
    cd_auction_view v;
    assert_true(cd_house_look(r.house, &v, &id, 1));
    assert_int_equal(v.cnt, 0);
    cd_house_free(r.house);
    r.house = whole;
    assert_int_equal(send(&r, &a, &ack, 1), CD_HOUSE_DONE);
    assert_int_equal(ack.receipt.seq, 0);
    rig_end(&r);
}

/* --- kill -9 --- */

enum { KILLS = 12 };

/* The child: bids until it is killed, telling what was acknowledged. The clock is the count of bids. */
static void bid_until_killed(rig *r, int fd, u32 turn)
{
    for (u32 i = 0;; i++) {
        char name[32];
        bid b;
        cd_bid_ack ack;
        u64 next;
        u64 now = (u64)turn * 1000000 + (u64)i * 30;
        (void)snprintf(name, sizeof name, "dsp-%u-%u", turn, i);
        bid_make(&b, r, NULL, name, 100 + i, true);
        cd_house_answer answer = CD_HOUSE_UNKNOWN;
        if (cd_house_bid(r->house, &answer, &ack, &b.ask, now, NULL) == CD_OK && answer == CD_HOUSE_DONE &&
            write(fd, &ack.receipt, sizeof ack.receipt) != (ssize_t)sizeof ack.receipt) {
            _exit(1);
        }
        if (cd_house_tick(r->house, &next, now, NULL) != CD_OK) {
            _exit(1);
        }
        cd_buf_fini(&b.envelope);
    }
}

static u32 read_receipts(cd_receipt *out, u32 max, int fd)
{
    u32 n = 0;
    while (n < max && read(fd, &out[n], sizeof out[n]) == (ssize_t)sizeof out[n]) {
        n++;
    }
    return n;
}

/* Every acknowledged bid stands where its receipt says, after any number of kills; every auction ends. */
static void nothing_acknowledged_is_lost(void **state)
{
    (void)state;
    static cd_receipt receipts[KILLS * 4096];
    u32 cnt = 0;
    rig r;
    cd_arena mem = {0};
    rig_make(&r, 6);
    for (u32 turn = 0; turn < KILLS; turn++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        rig_close(&r);
        r.rng = cd_rng_seeded(100 + turn);
        pid_t pid = fork();
        if (pid == 0) {
            rig_open(&r);
            bid_until_killed(&r, fds[1], turn);
        }
        (void)close(fds[1]);
        cd_rng any = cd_rng_os();
        (void)usleep((useconds_t)(100000 + cd_rng_below(&any, 200000)));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        cnt += read_receipts(receipts + cnt, 4096, fds[0]);
        (void)close(fds[0]);
        rig_open(&r);
    }
    assert_int_equal(tick(&r, UINT64_MAX), UINT64_MAX);
    assert_true(cnt > 0);
    for (u32 i = 0; i < cnt; i++) {
        cd_outcome o = outcome(&r, &mem, &receipts[i].auction);
        assert_int_equal(cd_outcome_holds(&o, &receipts[i], r.receipt_public, NULL), CD_OK);
        assert_false(o.is_forfeited[receipts[i].seq]);
        cd_arena_reset(&mem);
    }
    cd_arena_fini(&mem);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases),      cmocka_unit_test(answers),     cmocka_unit_test(default_auctions),
        cmocka_unit_test(keys_rotate), cmocka_unit_test(store_fails), cmocka_unit_test(nothing_acknowledged_is_lost),
    };
    int failed = 0;
    for (usize cnt = engines_count(); engine < cnt; engine++) {
        failed += cmocka_run_group_tests_name(engine == 0 ? "sqlite" : "postgresql", tests, NULL, NULL);
    }
    engines_end();
    return failed;
}
