#include "base/thread/mbox.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <sched.h>
#include <stdatomic.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct msg {
    u32 sender;
    u32 seq;
    u64 check;
} msg;

static msg msg_make(u32 sender, u32 seq)
{
    return (msg){.sender = sender, .seq = seq, .check = (u64)sender * 1000003 + seq};
}

static void test_full_and_order(void **state)
{
    (void)state;
    cd_mbox *m = cd_mbox_new(5, sizeof(u32));
    u32 v;
    assert_int_equal(cd_mbox_try_recv(m, &v), CD_EAGAIN);
    assert_int_equal(cd_mbox_recv(m, &v, 0), CD_ETIMEOUT);
    assert_int_equal(cd_mbox_recv(m, &v, 5), CD_ETIMEOUT);
    for (u32 round = 0; round < 10; round++) {
        for (u32 i = 0; i < 8; i++) { /* 5 is rounded up to 8 */
            assert_int_equal(cd_mbox_send(m, &i), CD_OK);
        }
        assert_int_equal(cd_mbox_send(m, &v), CD_EFULL);
        assert_int_equal(cd_mbox_cnt(m), 8);
        for (u32 i = 0; i < 8; i++) {
            assert_int_equal(cd_mbox_recv(m, &v, -1), CD_OK);
            assert_int_equal(v, i);
        }
        assert_int_equal(cd_mbox_cnt(m), 0);
    }
    u32 last = 77;
    assert_int_equal(cd_mbox_send(m, &last), CD_OK);
    cd_mbox_close(m);
    cd_mbox_close(m);
    assert_int_equal(cd_mbox_send(m, &last), CD_ECLOSED);
    assert_int_equal(cd_mbox_cnt(m), 1);
    assert_int_equal(cd_mbox_recv(m, &v, -1), CD_OK);
    assert_int_equal(v, 77);
    assert_int_equal(cd_mbox_recv(m, &v, -1), CD_ECLOSED);
    assert_int_equal(cd_mbox_try_recv(m, &v), CD_ECLOSED);
    cd_mbox_free(m);
    cd_mbox_free(NULL);
}

enum { SENDERS = 3, PER_SENDER = 30000 };

typedef struct sender {
    cd_mbox *m;
    u32 id;
    u32 sent; /* accepted before the box was closed */
    bool until_closed;
} sender;

static void sender_main(void *arg)
{
    sender *s = arg;
    for (u32 i = 0; s->until_closed || i < PER_SENDER;) {
        msg x = msg_make(s->id, i);
        cd_err err = cd_mbox_send(s->m, &x);
        if (err == CD_ECLOSED) {
            return;
        }
        if (err == CD_OK) {
            i++;
            s->sent = i;
        } else {
            sched_yield();
        }
    }
}

static void run_senders(usize cap, u32 close_after)
{
    cd_mbox *m = cd_mbox_new(cap, sizeof(msg));
    sender s[SENDERS];
    cd_thread t[SENDERS];
    u32 next[SENDERS] = {0};
    u32 got = 0;
    for (u32 i = 0; i < SENDERS; i++) {
        s[i] = (sender){.m = m, .id = i, .until_closed = close_after != 0};
        assert_int_equal(cd_thread_start(&t[i], "sender", sender_main, &s[i], NULL), CD_OK);
    }
    for (;;) {
        msg x;
        if (got == (close_after != 0 ? close_after : SENDERS * PER_SENDER)) {
            cd_mbox_close(m);
        }
        cd_err err = cd_mbox_recv(m, &x, -1);
        if (err != CD_OK) {
            assert_int_equal(err, CD_ECLOSED);
            break;
        }
        assert_true(x.sender < SENDERS);
        assert_int_equal(x.seq, next[x.sender]);
        assert_int_equal(x.check, msg_make(x.sender, x.seq).check);
        next[x.sender]++;
        got++;
    }
    for (u32 i = 0; i < SENDERS; i++) {
        cd_thread_join(&t[i]);
        assert_int_equal(next[i], s[i].sent); /* nothing accepted was lost */
    }
    cd_mbox_free(m);
}

static void test_threads(void **state)
{
    (void)state;
    run_senders(2, 0);
    run_senders(1024, 0);
}

static void test_close_race(void **state)
{
    (void)state;
    for (u32 i = 1; i <= 100; i++) {
        run_senders(16, i * 7);
    }
}

typedef struct late {
    cd_mbox *m;
    _Atomic u32 phase;
} late;

static void late_main(void *arg)
{
    late *l = arg;
    for (u32 i = 0; i < 1000; i++) {
        while (atomic_load(&l->phase) != i) {
            sched_yield();
        }
        assert_int_equal(cd_mbox_send(l->m, &i), CD_OK);
    }
}

/* The receiver sleeps before nearly every message: a lost wake-up would hang. */
static void test_wake(void **state)
{
    (void)state;
    late l = {.m = cd_mbox_new(2, sizeof(u32))};
    cd_thread t;
    assert_int_equal(cd_thread_start(&t, "late", late_main, &l, NULL), CD_OK);
    for (u32 i = 0; i < 1000; i++) {
        u32 v;
        atomic_store(&l.phase, i);
        assert_int_equal(cd_mbox_recv(l.m, &v, i % 2 == 0 ? -1 : 60000), CD_OK);
        assert_int_equal(v, i);
    }
    cd_thread_join(&t);
    cd_mbox_free(l.m);
}

typedef struct beside {
    cd_mbox *m; /* the mailbox that the thread sends to */
    atomic_uint go;
} beside;

static void send_each_time(void *arg)
{
    beside *b = arg;
    for (u32 i = 1; i <= 1000; i++) {
        while (atomic_load(&b->go) < i) {
            sched_yield();
        }
        assert_int_equal(cd_mbox_send(b->m, &i), CD_OK);
    }
}

/* A receiver that sleeps for two is woken by either; the end of one does not hide the other. */
static void test_beside(void **state)
{
    (void)state;
    u32 v;
    cd_thread t[2];
    beside b[2] = {{.m = cd_mbox_new(4, sizeof v)}};
    b[1].m = cd_mbox_new_beside(b[0].m, 4, sizeof v);
    assert_false(cd_mbox_wait(b[0].m, 0));
    assert_false(cd_mbox_wait(b[0].m, 5));
    for (usize i = 0; i < 2; i++) {
        assert_int_equal(cd_thread_start(&t[i], "sender", send_each_time, &b[i], NULL), CD_OK);
    }
    for (u32 i = 1; i <= 1000; i++) {
        for (usize k = 0; k < 2; k++) {
            atomic_store(&b[k].go, i);
            assert_true(cd_mbox_wait(b[0].m, i % 2 == 0 ? -1 : 60000));
            assert_int_equal(cd_mbox_try_recv(b[1 - k].m, &v), CD_EAGAIN);
            assert_int_equal(cd_mbox_try_recv(b[k].m, &v), CD_OK);
            assert_int_equal(v, i);
        }
    }
    cd_thread_join(&t[0]);
    cd_thread_join(&t[1]);
    cd_mbox_close(b[1].m);
    assert_true(cd_mbox_wait(b[0].m, -1));
    assert_int_equal(cd_mbox_try_recv(b[1].m, &v), CD_ECLOSED);
    assert_int_equal(cd_mbox_try_recv(b[0].m, &v), CD_EAGAIN);
    cd_mbox_free(b[1].m);
    cd_mbox_free(b[0].m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_and_order), cmocka_unit_test(test_threads), cmocka_unit_test(test_close_race),
        cmocka_unit_test(test_wake),           cmocka_unit_test(test_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
