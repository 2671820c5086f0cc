/* Texts that are kept: found again by what they show, forgotten when there are too many bytes, never under
 * somebody's eyes. */
#include "chains/evmchain/rpc/rendered.h"

#include "base/thread/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { KEPT = 1000, ROUNDS = 2000, THREADS = 3 };

static cd_hash32 hash_of(u8 n)
{
    return (cd_hash32){.b = {n}};
}

static cd_shared *text_of(u8 c, usize n)
{
    cd_buf b = {0};
    cd_buf_fill(&b, c, n);
    return cd_shared_take(&b);
}

static void put(cd__rendered *r, u8 block, cd__shown what, usize n)
{
    cd_hash32 hash = hash_of(block);
    cd_shared *s = text_of((u8)(block + (u8)what), n);
    cd__rendered_put(r, &hash, what, s);
    cd_shared_unref(s);
}

static cd_shared *get(cd__rendered *r, u8 block, cd__shown what)
{
    cd_hash32 hash = hash_of(block);
    return cd__rendered_get(r, &hash, what);
}

static void test_bound(void **state)
{
    (void)state;
    cd__rendered r;
    cd__rendered_init(&r, KEPT);
    put(&r, 1, CD__SHOWN_WHOLE, 400);
    put(&r, 1, CD__SHOWN_RECEIPTS, 400);
    assert_null(get(&r, 1, CD__SHOWN_HASHES));
    assert_null(get(&r, 2, CD__SHOWN_WHOLE));
    cd_shared *first = get(&r, 1, CD__SHOWN_WHOLE); /* and now the receipts were not asked for longest */
    assert_non_null(first);
    assert_int_equal(cd__rendered_bytes(&r), 800);
    put(&r, 2, CD__SHOWN_WHOLE, 300);
    assert_null(get(&r, 1, CD__SHOWN_RECEIPTS));
    assert_int_equal(cd__rendered_bytes(&r), 700);
    put(&r, 3, CD__SHOWN_WHOLE, KEPT + 1); /* too long for all of it */
    assert_null(get(&r, 3, CD__SHOWN_WHOLE));
    put(&r, 4, CD__SHOWN_WHOLE, KEPT);
    assert_null(get(&r, 1, CD__SHOWN_WHOLE));
    assert_int_equal(cd_shared_bytes(first).n, 400);
    assert_int_equal(cd_shared_bytes(first).p[399], 1 + CD__SHOWN_WHOLE);
    cd_shared_unref(first);
    cd__rendered_fini(&r);
}

static void use(void *arg)
{
    cd__rendered *r = arg;
    for (usize i = 0; i < ROUNDS; i++) {
        u8 block = (u8)(i % 7);
        cd_shared *s = get(r, block, CD__SHOWN_WHOLE);
        if (s == NULL) {
            put(r, block, CD__SHOWN_WHOLE, 300);
            continue;
        }
        assert_int_equal(cd_shared_bytes(s).p[i % 300], block + CD__SHOWN_WHOLE);
        cd_shared_unref(s);
    }
}

static void test_threads(void **state)
{
    (void)state;
    cd__rendered r;
    cd_thread threads[THREADS];
    cd__rendered_init(&r, KEPT);
    for (usize i = 0; i < THREADS; i++) {
        assert_int_equal(cd_thread_start(&threads[i], "reader", use, &r, NULL), CD_OK);
    }
    for (usize i = 0; i < THREADS; i++) {
        cd_thread_join(&threads[i]);
    }
    assert_true(cd__rendered_bytes(&r) <= KEPT);
    cd__rendered_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
