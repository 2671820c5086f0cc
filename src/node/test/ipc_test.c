/* Streams of accepted containers: whole and in order, whoever reads slowly, talks, or stays away. [spec:node-api#10] */
#include "node/ipc.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const cd_hash32 A = {{1}}, B = {{2}};

/* A loop on a thread of its own, sockets in a folder of their own. */
typedef struct rig {
    cd_loop *loop;
    cd_thread thread;
    cd_ipc *ipc;
    char dir[40];
} rig;

/* Something that is done on the loop, and waited for. */
typedef struct job {
    cd_loop_task task;
    rig *r;
    void (*fn)(rig *r);
    cd_mutex lock;
    cd_cond done;
    bool is_done;
} job;

static void on_job(cd_loop_task *t)
{
    job *j = (job *)(void *)t;
    j->fn(j->r);
    cd_mutex_lock(&j->lock);
    j->is_done = true;
    cd_cond_wake_all(&j->done);
    cd_mutex_unlock(&j->lock);
}

static void on_loop(rig *r, void (*fn)(rig *r))
{
    job j = {.task.fn = on_job, .r = r, .fn = fn};
    cd_mutex_init(&j.lock);
    cd_cond_init(&j.done);
    cd_loop_post(r->loop, &j.task);
    cd_mutex_lock(&j.lock);
    while (!j.is_done) {
        cd_cond_wait(&j.done, &j.lock);
    }
    cd_mutex_unlock(&j.lock);
    cd_cond_fini(&j.done);
    cd_mutex_fini(&j.lock);
}

static void run(void *arg)
{
    cd_loop_run(((rig *)arg)->loop);
}

static void publish(rig *r)
{
    assert_int_equal(cd_ipc_publish(r->ipc, &A, NULL), CD_OK);
    assert_int_equal(cd_ipc_publish(r->ipc, &A, NULL), CD_OK); /* again is nothing */
    assert_int_equal(cd_ipc_publish(r->ipc, &B, NULL), CD_OK);
}

static int begin(void **state)
{
    rig *r = calloc(1, sizeof *r);
    (void)snprintf(r->dir, sizeof r->dir, "%s", "/tmp/ipc-test-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    assert_int_equal(cd_loop_new(&r->loop, NULL), CD_OK);
    r->ipc = cd_ipc_new(&(cd_ipc_cfg){.loop = r->loop, .dir = r->dir, .network_id = 1337});
    publish(r);
    assert_int_equal(cd_thread_start(&r->thread, "loop", run, r, NULL), CD_OK);
    *state = r;
    return 0;
}

static int end(void **state)
{
    rig *r = *state;
    cd_loop_stop(r->loop);
    cd_thread_join(&r->thread);
    cd_ipc_free(r->ipc);
    cd_loop_free(r->loop);
    assert_int_equal(rmdir(r->dir), 0); /* the sockets are gone */
    free(r);
    return 0;
}

static cd_ipc_paths paths_of(rig *r, const cd_hash32 *chain)
{
    cd_ipc_paths p;
    assert_int_equal(cd_ipc_paths_of(r->ipc, &p, chain, NULL), CD_OK);
    return p;
}

static int dial(const char *path)
{
    const struct timeval limit = {.tv_sec = 60}; /* of a test that has failed */
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void nothing(rig *r)
{
    (void)r;
}

/* The loop knows what happened to its sockets before: it takes no more than a few tasks one behind the other. */
static void settle(rig *r)
{
    for (u32 i = 0; i < 20; i++) {
        on_loop(r, nothing);
    }
}

static int join(rig *r, const char *path)
{
    int fd = dial(path);
    settle(r);
    return fd;
}

static bool get(int fd, void *out, usize n)
{
    u8 *at = out;
    while (n != 0) {
        ssize_t got = recv(fd, at, n, 0);
        if (got <= 0) {
            return false; /* the end, or it was cut off */
        }
        at += got;
        n -= (usize)got;
    }
    return true;
}

/* The next frame; false: there comes none. */
static bool next(int fd, cd_buf *out)
{
    u8 len[8];
    cd_buf_clear(out);
    if (!get(fd, len, sizeof len)) {
        return false;
    }
    assert_in_range(cd_be64(len), 1, 2 << 20);
    return get(fd, cd_buf_extend(out, (usize)cd_be64(len)), (usize)cd_be64(len));
}

static void accept_one(rig *r, const cd_hash32 *chain, u32 number, usize size)
{
    cd_buf b = {0};
    cd_buf_fill(&b, (u8)number, size);
    cd_put_be32(b.p, number);
    cd_ipc_accepted(r->ipc, chain, cd_buf_bytes(&b));
    cd_buf_fini(&b);
}

static void expect(int fd, u32 number, usize size)
{
    cd_buf b = {0};
    assert_true(next(fd, &b));
    assert_int_equal(b.n, size);
    assert_int_equal(cd_be32(b.p), number);
    assert_int_equal(b.p[size - 1], (u8)number);
    cd_buf_fini(&b);
}

static bool is_cut(int fd)
{
    cd_buf b = {0};
    while (next(fd, &b)) {
    }
    bool is_late = errno == EAGAIN;
    cd_buf_fini(&b);
    return !is_late;
}

/* The names of the original, its frames, rights for this user alone; what a chain accepts its own readers hear. */
static void test_stream(void **state)
{
    rig *r = *state;
    struct stat st;
    cd_ipc_paths a = paths_of(r, &A);
    cd_ipc_paths b = paths_of(r, &B);
    char want[CD_IPC_PATH_MAX];
    cd_buf id = {0};
    cd_id_put(&id, &A);
    (void)snprintf(want, sizeof want, "%s/1337-%s-consensus", r->dir, cd_buf_cstr(&id));
    assert_string_equal(a.consensus, want);
    cd_buf_fini(&id);
    assert_int_equal(stat(a.decisions, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    accept_one(r, &A, 1, 100); /* nobody is there */
    int x = join(r, a.consensus);
    int y = join(r, a.decisions);
    int z = join(r, b.consensus);
    for (u32 i = 2; i < 200; i++) {
        accept_one(r, &A, i, 100 + i);
        accept_one(r, &B, 1000 + i, 10 + i);
    }
    for (u32 i = 2; i < 200; i++) {
        expect(x, i, 100 + i);
        expect(y, i, 100 + i);
        expect(z, 1000 + i, 10 + i);
    }
    const cd_hash32 other = {{9}};
    accept_one(r, &other, 1, 100);
    accept_one(r, &A, 7, 1 << 20); /* more than a socket takes at once */
    expect(x, 7, 1 << 20);
    expect(y, 7, 1 << 20);
    (void)close(x);
    (void)close(y);
    (void)close(z);
}

/* One who does not read is cut off in the middle, and the other hears everything. */
static void test_slow(void **state)
{
    enum { CNT = 3000, SIZE = 20000 };
    rig *r = *state;
    cd_ipc_paths a = paths_of(r, &A);
    int slow = join(r, a.consensus);
    int fast = join(r, a.decisions);
    for (u32 i = 0; i < CNT; i++) {
        accept_one(r, &A, i, SIZE);
        expect(fast, i, SIZE);
    }
    cd_buf b = {0};
    u32 got = 0;
    while (next(slow, &b)) {
        assert_int_equal(cd_be32(b.p), got++); /* no gap before the end */
    }
    assert_int_not_equal(errno, EAGAIN);
    assert_in_range(got, 1, CNT / 2);
    int again = join(r, a.consensus); /* and its place is free */
    accept_one(r, &A, 5, 50);
    expect(again, 5, 50);
    expect(fast, 5, 50);
    (void)close(slow);
    (void)close(again);
    (void)close(fast);
    cd_buf_fini(&b);
}

/* Frames are bounded by number, too. */
static void test_many_small(void **state)
{
    rig *r = *state;
    cd_ipc_paths a = paths_of(r, &A);
    int slow = join(r, a.consensus);
    for (u32 i = 0; i < 200; i++) { /* its socket is full, so frames are kept for it */
        accept_one(r, &A, i, 20000);
    }
    for (u32 i = 0; i < CD_IPC_FRAMES_MAX + 200; i++) {
        accept_one(r, &A, i, 4);
    }
    on_loop(r, nothing);
    assert_true(is_cut(slow));
    (void)close(slow);
}

static void talk(int fd)
{
    static const u8 word[65536];
    (void)send(fd, word, sizeof word, MSG_NOSIGNAL);
}

/* Who talks is cut off; who comes when all places are taken too; places are free again when their readers leave. */
static void test_bad_readers(void **state)
{
    rig *r = *state;
    cd_ipc_paths a = paths_of(r, &A);
    int fds[CD_IPC_READERS_MAX];
    int loud = join(r, a.consensus);
    talk(loud);
    assert_true(is_cut(loud));
    (void)close(loud);
    for (usize i = 0; i < CD_COUNT(fds); i++) {
        fds[i] = join(r, i % 2 == 0 ? a.consensus : a.decisions);
    }
    int late = join(r, a.consensus);
    assert_true(is_cut(late));
    (void)close(late);
    (void)close(fds[0]);
    settle(r);
    fds[0] = join(r, a.decisions);
    accept_one(r, &A, 3, 30);
    for (usize i = 0; i < CD_COUNT(fds); i++) {
        expect(fds[i], 3, 30);
        (void)close(fds[i]);
    }
}

static void flood(rig *r)
{
    for (u32 i = 0; i < 20; i++) { /* the loop is busy with this, so it takes none of them */
        accept_one(r, &A, i, 1 << 20);
    }
    accept_one(r, &B, 1, 64);
}

/* What executors leave for the loop is bounded: readers lose the connection rather than a block. */
static void test_flood(void **state)
{
    rig *r = *state;
    cd_ipc_paths a = paths_of(r, &A);
    int x = join(r, a.consensus);
    on_loop(r, flood);
    assert_true(is_cut(x));
    (void)close(x);
    x = join(r, a.consensus);
    accept_one(r, &A, 9, 90);
    expect(x, 9, 90);
    (void)close(x);
}

static void unpublish(rig *r)
{
    cd_hash32 ids[CD_IPC_CHAINS_MAX];
    assert_int_equal(cd_ipc_list(r->ipc, ids), 2);
    cd_ipc_unpublish(r->ipc, &A);
    cd_ipc_unpublish(r->ipc, &A);
    assert_int_equal(cd_ipc_list(r->ipc, ids), 1);
    assert_true(cd_hash32_eq(&ids[0], &B));
}

static void publish_most(rig *r)
{
    cd_errinfo why = {0};
    cd_hash32 id = {{3}};
    for (usize i = 1; i < CD_IPC_CHAINS_MAX; i++, id.b[0]++) {
        assert_int_equal(cd_ipc_publish(r->ipc, &id, NULL), CD_OK);
    }
    assert_int_equal(cd_ipc_publish(r->ipc, &id, &why), CD_ELIMIT);
    assert_non_null(strstr(why.msg, "16 chains"));
}

/* Readers of a chain that is not published any more are told by the end; the number of chains is bounded. */
static void test_unpublish(void **state)
{
    rig *r = *state;
    cd_ipc_paths a = paths_of(r, &A);
    int x = join(r, a.consensus);
    on_loop(r, unpublish);
    assert_true(is_cut(x));
    (void)close(x);
    assert_int_equal(access(a.consensus, F_OK), -1);
    assert_int_equal(access(a.decisions, F_OK), -1);
    accept_one(r, &A, 1, 10);
    on_loop(r, publish_most);
}

/* A socket that a killed process has left is taken over; one that lives, a file and a link are not. */
static void test_places(void **state)
{
    rig *r = *state;
    cd_errinfo why = {0};
    cd_ipc_paths a = paths_of(r, &A);
    cd_loop *loop = NULL;
    assert_int_equal(cd_loop_new(&loop, NULL), CD_OK);
    cd_ipc *other = cd_ipc_new(&(cd_ipc_cfg){.loop = loop, .dir = r->dir, .network_id = 1337});
    assert_int_equal(cd_ipc_publish(other, &A, &why), CD_EADDRINUSE);
    assert_non_null(strstr(why.msg, "another process does"));
    assert_int_equal(access(a.consensus, F_OK), 0);
    const cd_hash32 c = {{7}};
    cd_ipc_paths p = paths_of(r, &c);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", p.consensus);
    int left = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(left, (const struct sockaddr *)&at, sizeof at), 0);
    (void)close(left);
    assert_int_equal(symlink(a.consensus, p.decisions), 0);
    assert_int_equal(cd_ipc_publish(other, &c, &why), CD_EEXIST);
    assert_non_null(strstr(why.msg, "something else"));
    assert_int_equal(unlink(p.decisions), 0);
    assert_int_equal(cd_ipc_publish(other, &c, &why), CD_OK);
    cd_ipc_free(other);
    cd_ipc *nowhere = cd_ipc_new(&(cd_ipc_cfg){.loop = loop, .dir = "/nowhere/at/all", .network_id = 1});
    assert_int_not_equal(cd_ipc_publish(nowhere, &A, &why), CD_OK);
    cd_ipc_free(nowhere);
    static const char deep[] = "/a/folder/that/lies/deeper/than/the/paths/of/sockets/go/on/this/system";
    cd_ipc *far = cd_ipc_new(&(cd_ipc_cfg){.loop = loop, .dir = deep, .network_id = 1});
    assert_int_equal(cd_ipc_publish(far, &A, &why), CD_ELIMIT);
    cd_ipc_free(far);
    cd_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stream, begin, end),
        cmocka_unit_test_setup_teardown(test_slow, begin, end),
        cmocka_unit_test_setup_teardown(test_many_small, begin, end),
        cmocka_unit_test_setup_teardown(test_bad_readers, begin, end),
        cmocka_unit_test_setup_teardown(test_flood, begin, end),
        cmocka_unit_test_setup_teardown(test_unpublish, begin, end),
        cmocka_unit_test_setup_teardown(test_places, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
