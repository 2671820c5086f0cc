/* A log's file: appended to, begun anew when it is full, earlier ones removed, opened again when somebody moved it. */
#include "base/log/log.h"
#include "base/log/log_file.h"
#include "base/os/fileio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static char path[128];
static cd_clock_virtual now;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/candela-log-XXXXXX");
    cd_clock_virtual_init(&now, 1700000000000000000);
    bool is_made = mkdtemp(dir) != NULL;
    (void)snprintf(path, sizeof path, "%s/logs/main.log", dir);
    return !is_made;
}

static int tear_down(void **state)
{
    (void)state;
    return cd_fs_remove_tree(cd_fs_real(), dir, NULL) != CD_OK;
}

static cd_log_file *open_file(u64 bytes_max, usize files_max, u64 age_max_s)
{
    cd_log_file *f = NULL;
    cd_errinfo why = {0};
    const cd_log_file_cfg cfg = {
        .path = path, .bytes_max = bytes_max, .files_max = files_max, .age_max_s = age_max_s, .clock = &now.clock};
    if (cd_log_file_open(&f, &cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    return f;
}

static cd_err put_name(void *ctx, const char *name, cd_fs_kind kind)
{
    (void)kind;
    cd_buf_fmt(ctx, "%s ", strrchr(name, '/') + 1);
    return CD_OK;
}

static void assert_names(const char *want)
{
    char logs[128];
    cd_buf names = {0};
    (void)snprintf(logs, sizeof logs, "%s/logs", dir);
    assert_int_equal(cd_fs_list(cd_fs_real(), logs, put_name, &names, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&names), want);
    cd_buf_fini(&names);
}

static void assert_text(const char *want)
{
    cd_buf text = {0};
    assert_int_equal(cd_fs_read_file(cd_fs_real(), &text, path, 1 << 20, NULL), CD_OK);
    assert_string_equal(cd_buf_cstr(&text), want);
    cd_buf_fini(&text);
}

static void put(cd_log_file *f, const char *line)
{
    cd_log_file_put(f, cd_bytes_str(line));
}

static void appends(void **state)
{
    (void)state;
    cd_log_file *f = open_file(0, 0, 0);
    put(f, "one\n");
    cd_log_file_close(f);
    f = open_file(0, 0, 0);
    put(f, "two\n");
    assert_text("one\ntwo\n");
    cd_log_file_close(f);
    assert_names("main.log ");
}

static void begins_anew(void **state)
{
    (void)state;
    cd_log_file *f = open_file(10, 2, 0);
    put(f, "a line of more than ten\n"); /* the first line of a file may be longer than the limit */
    assert_names("main.log ");
    for (int i = 0; i < 4; i++) {
        cd_clock_virtual_advance(&now, CD_NS_PER_SEC);
        put(f, "12345678\n");
    }
    assert_text("12345678\n");
    assert_names("main-2023-11-14T22-13-23.000.log main-2023-11-14T22-13-24.000.log main.log ");
    put(f, "x\n"); /* at the same time of the clock the new name is taken: the file goes on, and nothing is lost */
    assert_text("12345678\nx\n");
    cd_log_file_close(f);
}

static void forgets_the_old(void **state)
{
    (void)state;
    char other[160];
    cd_log_file *f = open_file(10, 0, 3600);
    (void)snprintf(other, sizeof other, "%s/logs/main-my-own-notes-of-a-day.log", dir);
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), other, cd_bytes_str(""), 0600, NULL), CD_OK);
    put(f, "12345678\n");
    cd_clock_virtual_set_wall(&now, cd_clock_wall_ns(cd_clock_real()) + 3000 * CD_NS_PER_SEC);
    put(f, "12345678\n");
    cd_clock_virtual_set_wall(&now, cd_clock_wall_ns(cd_clock_real()) + 7300 * CD_NS_PER_SEC);
    put(f, "12345678\n"); /* both earlier files were written long ago now */
    assert_names("main-my-own-notes-of-a-day.log main.log ");
    cd_log_file_close(f);
}

static void follows_who_moves_it(void **state)
{
    (void)state;
    char moved[160];
    cd_logger *log = NULL;
    cd_log_file *f = open_file(0, 0, 0);
    (void)snprintf(moved, sizeof moved, "%s.1", path);
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    const cd_log_cfg cfg = {.fd = fd[1],
                            .level = CD_LOG_ERROR,
                            .form = CD_LOG_PLAIN,
                            .clock = &now.clock,
                            .file = f,
                            .file_level = CD_LOG_INFO};
    assert_int_equal(cd_log_open(&log, &cfg, NULL), CD_OK);
    cd_log_info(log, "first", CD_F("n", 1));
    cd_log_debug(log, "nowhere");
    assert_text("{\"ts\":\"2023-11-14T22:13:20.000Z\",\"level\":\"info\",\"msg\":\"first\",\"n\":1}\n");
    assert_int_equal(rename(path, moved), 0);
    assert_true(cd_log_reopen(log));
    cd_log_error(log, "second");
    assert_text("{\"ts\":\"2023-11-14T22:13:20.000Z\",\"level\":\"error\",\"msg\":\"second\"}\n");
    cd_log_levels_set(log, (cd_log_levels){.shown = CD_LOG_ERROR, .kept = CD_LOG_DEBUG});
    assert_int_equal(cd_log_levels_get(log).shown, CD_LOG_ERROR);
    assert_int_equal(cd_log_levels_get(log).kept, CD_LOG_DEBUG);
    cd_log_debug(log, "kept");
    assert_text("{\"ts\":\"2023-11-14T22:13:20.000Z\",\"level\":\"error\",\"msg\":\"second\"}\n"
                "{\"ts\":\"2023-11-14T22:13:20.000Z\",\"level\":\"debug\",\"msg\":\"kept\"}\n");
    cd_log_set_level(log, CD_LOG_ERROR);
    cd_log_info(log, "nowhere");
    cd_log_tell(log, CD_LOG_ERROR, cd_bytes_str("told"), "third", NULL, 0);
    cd_log_close(log);
    char text[200] = {0};
    assert_true(read(fd[0], text, sizeof text - 1) > 0);
    assert_string_equal(text, "22:13:20.000  error  second\n22:13:20  told\n");
    assert_int_equal(close(fd[0]) | close(fd[1]), 0);
    assert_names("main.log main.log.1 ");
}

static void names_what_is_wrong(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_log_file *f;
    assert_int_equal(cd_log_file_open(&f, &(cd_log_file_cfg){.path = "x"}, &why), CD_EINVAL);
    assert_int_equal(cd_log_file_open(&f, &(cd_log_file_cfg){.path = "/proc/nowhere/main.log"}, &why), CD_ENOENT);
    assert_non_null(strstr(why.msg, "/proc/nowhere"));
    assert_false(cd_log_reopen(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(begins_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(forgets_the_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(follows_who_moves_it, set_up, tear_down),
        cmocka_unit_test(names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
