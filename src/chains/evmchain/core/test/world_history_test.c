/* The past of a world: random blocks, edits and ways back against a plain model of every version, with failures,
 * crashes and changes of what is to be kept; readers on other threads beside the one who accepts. */
#include "base/os/fileio.h"
#include "base/thread/thread.h"
#include "chains/evmchain/core/test/world_past.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* What the tables hold beside the state. */
static void check_tables(past *p)
{
    cd__world_marks m;
    u64 entries = 0;
    cd_kv_iter *it = NULL;
    assert_int_equal(cd__marks_get(p->kv, &m), CD_OK);
    assert_int_equal(m.head, p->states[p->cnt - 1].version);
    assert_true(m.pruned <= m.oldest && m.oldest <= m.head + 0xfffff);
    assert_int_equal(cd_kv_iter_new(&it, p->kv, &(cd_kv_range){.prefix = cd_bytes_str("X")}), CD_OK);
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        u64 version = cd_be64(key.p + key.n - 8);
        assert_true(version > m.pruned && version <= m.head);
        entries++;
    }
    cd_kv_iter_free(it);
    assert_int_equal(entries, m.entries);

    u64 stored = 0;
    bool has_stored;
    cd_hash32 root;
    cd__journal j;
    assert_int_equal(cd__stored_get(p->kv, &has_stored, &stored, &root), CD_OK);
    assert_true(stored <= m.head);
    assert_int_equal(cd__journal_open(&j, p->kv, 0), CD_OK);
    while (cd__journal_next(&j, UINT64_MAX)) {
        assert_true(j.version <= m.head);
        assert_true(!has_stored || j.version > stored || j.version > m.pruned);
    }
    assert_int_equal(cd__journal_close(&j), CD_OK);
}

/* Every version that is said to be kept reads as it was. */
static void check_past(past *p)
{
    cd_kv *frozen = NULL;
    u64 oldest;
    past_state *now = cd_new(past_state);
    assert_int_equal(cd_kv_snapshot(&frozen, p->kv), CD_OK);
    assert_int_equal(cd_world_oldest(frozen, &oldest), CD_OK);
    assert_true(oldest <= p->states[p->cnt - 1].head.height);
    for (usize i = 0; i < p->cnt; i++) {
        const past_state *s = &p->states[i];
        if (s->head.height < oldest) {
            continue;
        }
        bool is_last_of_height = i + 1 == p->cnt || p->states[i + 1].head.height != s->head.height;
        if (!is_last_of_height && s->head.height == oldest) {
            continue; /* of the oldest height only its end is promised */
        }
        cd_world_reader r;
        cd_world_reader_init(&r, frozen, p->cfg.form,
                             is_last_of_height ? cd_world_version_of(s->head.height) : s->version);
        assert_int_equal(past_read(now, &r.src), CD_OK);
        cd_world_reader_fini(&r);
        if (!past_eq(now, s)) {
            fail_msg("version %llx of %llx reads differently", (unsigned long long)s->version,
                     (unsigned long long)p->states[p->cnt - 1].version);
        }
    }
    cd_world_reader r;
    cd_world_reader_init(&r, frozen, p->cfg.form, CD_WORLD_NEWEST);
    assert_int_equal(past_read(now, &r.src), CD_OK);
    cd_world_reader_fini(&r);
    assert_true(past_eq(now, &p->states[p->cnt - 1]));
    cd_kv_close(frozen);
    cd_free(now);
}

static void check_root(past *p)
{
    cd_hash32 root;
    assert_int_equal(cd_flat_root(p->kv, &root, &p->why), CD_OK);
    assert_memory_equal(root.b, p->states[p->cnt - 1].head.root.b, 32);
}

static u64 random_history(past *p)
{
    static const u64 choice[] = {0, 1, 3, 8, UINT64_MAX};
    return choice[cd_rng_below(&p->rng, CD_COUNT(choice))];
}

static void must_open(past *p)
{
    cd_err e = past_open(p, 1 + cd_rng_below(&p->rng, 12), random_history(p));
    if (e != CD_OK) {
        fail_msg("open: %s", p->why.msg);
    }
}

/* Closes without a word and opens again, maybe with something else to keep. */
static void reopen(past *p)
{
    cd_world_close(p->world);
    must_open(p);
    cd_flat_head head;
    assert_true(cd_world_head(p->world, &head));
    assert_memory_equal(head.root.b, p->states[p->cnt - 1].head.root.b, 32);
    assert_int_equal(cd_world_version(p->world), p->states[p->cnt - 1].version);
}

static void one_step(past *p)
{
    const past_state *head = &p->states[p->cnt - 1];
    u64 what = cd_rng_below(&p->rng, 100);
    bool fails = cd_rng_below(&p->rng, 8) == 0;
    p->front.left = fails ? cd_rng_below(&p->rng, 3) : UINT64_MAX;
    cd_err e = CD_OK;
    if (what < 55) {
        u64 jump = cd_rng_below(&p->rng, 12) == 0 ? 5 : 1;
        e = past_accept(p, head->head.height + jump, cd_rng_below(&p->rng, 14));
    } else if (what < 75) {
        e = past_accept(p, head->head.height, 1 + cd_rng_below(&p->rng, 3));
    } else if (what < 88) {
        usize back = cd_rng_below(&p->rng, cd_min_u64(p->cnt, 9));
        usize at = p->cnt - 1 - back;
        cd_world_stats stats;
        cd_world_stats_get(p->world, &stats);
        u64 version = p->states[at].version;
        bool is_last = at + 1 == p->cnt || p->states[at + 1].head.height != p->states[at].head.height;
        if (is_last && cd_rng_below(&p->rng, 2) == 0) {
            version = cd_world_version_of(p->states[at].head.height);
        }
        e = past_truncate(p, at, version);
        if (version < stats.oldest) {
            assert_int_equal(e, CD_EMISSING);
            e = CD_OK;
        }
    } else if (what < 92) {
        e = cd_world_flush(p->world, &p->why);
    } else {
        p->front.left = UINT64_MAX;
        reopen(p);
    }
    assert_true(e == CD_OK || (fails && e == CD_EIO));
    p->front.left = UINT64_MAX;
    if (fails && cd_rng_below(&p->rng, 2) == 0) {
        reopen(p); /* the failure was the process's last */
    }
}

static void random_life(cd_kv *kv, u64 seed, int steps)
{
    past p;
    past_init(&p, kv, seed);
    must_open(&p);
    assert_int_equal(past_accept(&p, cd_rng_below(&p.rng, 3), 20), CD_OK);
    for (int i = 0; i < steps && p.cnt < PAST_VERSIONS; i++) {
        one_step(&p);
        check_tables(&p);
        check_past(&p);
        check_root(&p);
    }
    assert_int_equal(cd_world_flush(p.world, &p.why), CD_OK);
    assert_int_equal(cd_flat_check(p.kv, CD_TRIE_BY_PATH, &p.why), CD_OK);
    past_fini(&p);
}

static void random_lives_in_memory(void **state)
{
    (void)state;
    for (u64 seed = 1; seed <= 16; seed++) {
        cd_kv *kv = cd_kv_mem_open();
        random_life(kv, seed, 120);
        cd_kv_close(kv);
    }
}

static cd_kv *open_dir(char *dir, usize n)
{
    cd_kv *kv = NULL;
    cd_errinfo why = {0};
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, n, "%s/candela-world-%d", tmp == NULL ? "/tmp" : tmp, (int)getpid());
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, &why), CD_OK);
    assert_int_equal(cd_kv_rocksdb_open(&kv, &(cd_kv_cfg){.dir = dir, .layout = 1}, &why), CD_OK);
    return kv;
}

static void close_dir(cd_kv *kv, const char *dir)
{
    cd_errinfo why = {0};
    cd_kv_close(kv);
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, &why), CD_OK);
}

static void random_life_on_disk(void **state)
{
    (void)state;
    char dir[256];
    cd_kv *kv = open_dir(dir, sizeof dir);
    random_life(kv, 77, 120);
    close_dir(kv, dir);
}

static void the_window_is_what_was_asked_for(void **state)
{
    (void)state;
    past p;
    u64 oldest;
    cd_kv *kv = cd_kv_mem_open();
    past_init(&p, kv, 5);
    assert_int_equal(past_open(&p, 1000, 10), CD_OK);
    for (u64 h = 0; h <= 30; h++) {
        assert_int_equal(past_accept(&p, h, 10), CD_OK);
        assert_int_equal(cd_world_oldest(kv, &oldest), CD_OK);
        assert_int_equal(oldest, h < 10 ? 0 : h - 10);
    }
    /* Nothing is kept: the head alone can be read from the next block on. */
    cd_world_close(p.world);
    assert_int_equal(past_open(&p, 1000, 0), CD_OK);
    assert_int_equal(past_accept(&p, 31, 10), CD_OK);
    assert_int_equal(cd_world_oldest(kv, &oldest), CD_OK);
    assert_int_equal(oldest, 31);
    /* Everything is kept, from here on. */
    cd_world_close(p.world);
    assert_int_equal(past_open(&p, 1000, UINT64_MAX), CD_OK);
    for (u64 h = 32; h <= 90; h++) {
        assert_int_equal(past_accept(&p, h, 10), CD_OK);
        assert_int_equal(cd_world_oldest(kv, &oldest), CD_OK);
        assert_int_equal(oldest, 31);
    }
    check_tables(&p);
    check_past(&p);
    past_fini(&p);
    cd_kv_close(kv);
}

/* An archive that becomes a pruned store loses its excess in steps. */
static void an_archive_is_pruned_in_steps(void **state)
{
    (void)state;
    enum { BLOCKS = 60, SLOTS = 400, KEPT = 4 };
    cd_kv *kv = cd_kv_mem_open();
    cd_errinfo why = {0};
    cd_world *w = NULL;
    cd_world_cfg cfg = {.kv = kv, .cache_bytes = 1 << 20, .history = UINT64_MAX};
    assert_int_equal(cd_world_open(&w, &cfg, &why), CD_OK);
    u64 last_entries = 0;
    u64 oldest;
    for (u64 h = 0; h <= BLOCKS + 20; h++) {
        if (h == BLOCKS) {
            cd_world_close(w);
            cfg.history = KEPT;
            assert_int_equal(cd_world_open(&w, &cfg, &why), CD_OK);
        }
        cd_world_source src;
        cd_world_source_init(&src, w, NULL);
        cd_state *st = cd_state_new(&src.src);
        cd_state_begin_tx(st);
        cd_addr20 addr = world_addr(1);
        cd_acct *a = cd_state_acct(st, &addr);
        cd_state_set_nonce(st, a, h + 1);
        for (u64 k = 0; k < (h < BLOCKS ? SLOTS : 10); k++) {
            cd_u256 key = cd_u256_from_u64(k);
            cd_u256 v = cd_u256_from_u64(h + 1);
            cd_state_set_slot(st, cd_state_slot(st, a, &key), &v);
        }
        cd_state_end_tx(st, true);
        cd_world_view *view = NULL;
        cd_flat_head head = {.height = h};
        assert_int_equal(cd_world_apply(w, &view, &head.root, NULL, st, &why), CD_OK);
        assert_int_equal(cd_world_accept(w, view, NULL, &head, CD_KV_NOSYNC, &why), CD_OK);
        cd_state_free(st);
        cd_world_source_fini(&src);
        cd_world_stats stats;
        cd_world_stats_get(w, &stats);
        assert_int_equal(cd_world_oldest(kv, &oldest), CD_OK);
        if (h < BLOCKS) {
            assert_int_equal(oldest, 0);
        } else if (h == BLOCKS) {
            assert_true(oldest > 0 && oldest < BLOCKS - KEPT); /* not all at once */
            assert_true(last_entries - stats.history_entries < 6000);
        }
        /* The oldest state that is promised reads right. */
        cd_world_reader r;
        cd_u256 v;
        cd_u256 key = cd_u256_from_u64(3);
        cd_world_reader_init(&r, kv, cfg.form, cd_world_version_of(oldest));
        assert_int_equal(r.src.storage(&r.src, &v, &addr, &key), CD_OK);
        assert_int_equal(v.w[0], oldest + 1);
        cd_world_reader_fini(&r);
        last_entries = stats.history_entries;
    }
    assert_int_equal(oldest, BLOCKS + 20 - KEPT);
    assert_int_equal(last_entries, KEPT * 11);
    cd_world_close(w);
    cd_kv_close(kv);
}

/* The embedded engine is not instrumented: what it does inside is not looked at. */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:librocksdb\nrace:librocksdb\n";
}

/* --- readers beside the writer --- */

enum { READERS = 3, ROUNDS = 60 };

typedef struct reading {
    past *p;
    cd_kv *_Atomic newest; /* a snapshot, taken away by a reader */
    atomic_bool has_ended;
    const past_state *first;
    atomic_uint reads;
    atomic_uint wrong;
} reading;

static void read_on(void *arg)
{
    reading *r = arg;
    past_state *now = cd_new(past_state);
    while (!atomic_load(&r->has_ended)) {
        cd_kv *kv = atomic_exchange(&r->newest, NULL);
        if (kv == NULL) {
            continue;
        }
        cd_world_reader x;
        cd_world_reader_init(&x, kv, r->p->cfg.form, r->first->version);
        if (past_read(now, &x.src) != CD_OK || !past_eq(now, r->first)) {
            atomic_fetch_add(&r->wrong, 1);
        }
        atomic_fetch_add(&r->reads, 1);
        cd_world_reader_fini(&x);
        cd_kv_close(kv);
    }
    cd_free(now);
}

static void read_beside_writer(cd_kv *kv)
{
    past p;
    past_init(&p, kv, 9);
    assert_int_equal(past_open(&p, 7, UINT64_MAX), CD_OK);
    assert_int_equal(past_accept(&p, 0, 40), CD_OK);
    reading r = {.p = &p, .first = &p.states[0]};
    cd_thread threads[READERS];
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(cd_thread_start(&threads[i], "reader", read_on, &r, &p.why), CD_OK);
    }
    for (u64 h = 1; h <= ROUNDS; h++) {
        cd_kv *frozen = NULL;
        assert_int_equal(past_accept(&p, h, 8), CD_OK);
        assert_int_equal(cd_kv_snapshot(&frozen, kv), CD_OK);
        cd_kv_close(atomic_exchange(&r.newest, frozen));
    }
    while (atomic_load(&r.newest) != NULL) {
    }
    atomic_store(&r.has_ended, true);
    for (int i = 0; i < READERS; i++) {
        cd_thread_join(&threads[i]);
    }
    assert_int_equal(atomic_load(&r.wrong), 0);
    assert_true(atomic_load(&r.reads) > 0);
    past_fini(&p);
}

static void readers_in_memory(void **state)
{
    (void)state;
    cd_kv *kv = cd_kv_mem_open();
    read_beside_writer(kv);
    cd_kv_close(kv);
}

static void readers_on_disk(void **state)
{
    (void)state;
    char dir[256];
    cd_kv *kv = open_dir(dir, sizeof dir);
    read_beside_writer(kv);
    close_dir(kv, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives_in_memory),
        cmocka_unit_test(random_life_on_disk),
        cmocka_unit_test(the_window_is_what_was_asked_for),
        cmocka_unit_test(an_archive_is_pruned_in_steps),
        cmocka_unit_test(readers_in_memory),
        cmocka_unit_test(readers_on_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
