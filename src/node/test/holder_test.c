#include "node/front/holder.h"

#include "base/os/fileio.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_port(void **state)
{
    cd_holder h;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    u16 port = ntohs(at.sin_port);
    assert_false(cd_holder_of_port(&h, port)); /* bound, but nobody listens */
    assert_int_equal(listen(fd, 1), 0);
    assert_true(cd_holder_of_port(&h, port));
    assert_int_equal(h.pid, getpid());
    assert_non_null(strstr("node_holder_test", h.name));
    assert_int_equal(close(fd), 0);
    assert_false(cd_holder_of_port(&h, port));
}

static void test_lock(void **state)
{
    cd_holder h;
    cd_dirlock lock;
    char dir[] = "/tmp/candela-holder-XXXXXX";
    char path[64];
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/LOCK", dir);
    assert_false(cd_holder_of_lock(&h, path)); /* no such file */
    assert_int_equal(cd_dirlock_take(cd_fs_real(), &lock, dir, NULL), CD_OK);
    if (!cd_holder_of_lock(&h, path)) {
        print_message("SKIP the kernel shows no locks here\n");
    } else {
        assert_int_equal(h.pid, getpid());
    }
    cd_dirlock_release(&lock);
    assert_false(cd_holder_of_lock(&h, path));
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), dir, NULL), CD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port),
        cmocka_unit_test(test_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
