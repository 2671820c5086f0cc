#define _GNU_SOURCE
#include "base/log/log.h"

#include "base/mem/buf.h"
#include "base/thread/thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A log into a memory file, under a clock that stands still. */
typedef struct rig {
    int fd;
    cd_clock_virtual clock;
    cd_logger *log;
    cd_buf text;
} rig;

static void rig_open(rig *r, cd_log_form form, cd_log_level level, usize queue)
{
    *r = (rig){.fd = memfd_create("log", MFD_CLOEXEC)};
    assert_true(r->fd >= 0);
    cd_clock_virtual_init(&r->clock, 1795269902118000000ull);
    cd_log_cfg cfg = {.fd = r->fd, .level = level, .form = form, .clock = &r->clock.clock, .queue = queue};
    assert_int_equal(cd_log_open(&r->log, &cfg, NULL), CD_OK);
}

static const char *rig_close(rig *r)
{
    cd_log_close(r->log);
    off_t n = lseek(r->fd, 0, SEEK_END);
    assert_int_equal(pread(r->fd, cd_buf_extend(&r->text, (usize)n), (usize)n, 0), n);
    (void)close(r->fd);
    return cd_buf_cstr(&r->text);
}

static void test_json(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, CD_LOG_AUTO, CD_LOG_INFO, 0); /* no terminal: JSON */
    u8 raw[] = {1, 0xff};
    cd_log_info(r.log, "ready", CD_F("version", "candela/0.1.0"), CD_F("network_id", 1337), CD_F_BOOL("ok", 1 < 2),
                CD_F("neg", -5), CD_F("big", UINT64_MAX), CD_F("f", 0.5), CD_F("small", (u8)7),
                CD_F_HEX("hash", cd_bytes_of(raw, 2)), CD_F_ERR("err", CD_ENOENT), CD_F("part", cd_bytes_of("abc", 2)));
    cd_log_debug(r.log, "not written", CD_F("x", 1));
    cd_log_error(r.log, "bare");
    assert_string_equal(rig_close(&r), "{\"ts\":\"2026-11-21T14:05:02.118Z\",\"level\":\"info\",\"msg\":\"ready\","
                                       "\"version\":\"candela/0.1.0\",\"network_id\":1337,\"ok\":true,\"neg\":-5,"
                                       "\"big\":18446744073709551615,\"f\":0.5,\"small\":7,\"hash\":\"0x01ff\","
                                       "\"err\":\"not found\",\"part\":\"ab\"}\n"
                                       "{\"ts\":\"2026-11-21T14:05:02.118Z\",\"level\":\"error\",\"msg\":\"bare\"}\n");
    cd_buf_fini(&r.text);
}

static void test_escapes(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, CD_LOG_JSON, CD_LOG_INFO, 0);
    cd_log_info(r.log, "m", CD_F("a", "q\" b\\ n\n t\t e\x1b[31m"),
                CD_F("ok", "\xc3\xa9\xe2\x82\xac\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
                CD_F("bad", "\xff\xc0\x80\xed\xa0\x80\xc3"), CD_F("c1", "\xc2\x9b"), CD_F("nan", __builtin_nan("")));
    assert_string_equal(rig_close(&r), "{\"ts\":\"2026-11-21T14:05:02.118Z\",\"level\":\"info\",\"msg\":\"m\","
                                       "\"a\":\"q\\\" b\\\\ n\\n t\\u0009 e\\u001b[31m\","
                                       "\"ok\":\"\xc3\xa9\xe2\x82\xac\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\","
                                       "\"bad\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                                       "\xef\xbf\xbd\xef\xbf\xbd\",\"c1\":\"\\u009b\",\"nan\":\"NaN\"}\n");
    cd_buf_fini(&r.text);
}

static void test_text(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, CD_LOG_PLAIN, CD_LOG_TRACE, 0);
    cd_log_info(r.log, "block accepted", CD_F("chain", "C"), CD_F("height", 1));
    cd_log_warn(r.log, "odd", CD_F("path", "a b=\"c\""), CD_F("none", ""));
    cd_log_trace(r.log, "forged\nline");
    assert_string_equal(rig_close(&r), "14:05:02.118  info   block accepted  chain=C height=1\n"
                                       "14:05:02.118  warn   odd  path=\"a b=\\\"c\\\"\" none=\"\"\n"
                                       "14:05:02.118  trace  forged\\nline\n");
    cd_buf_fini(&r.text);
    rig_open(&r, CD_LOG_COLORS, CD_LOG_TRACE, 0);
    cd_log_error(r.log, "disk", CD_F("n", 1));
    assert_string_equal(rig_close(&r), "\x1b[2m14:05:02.118\x1b[0m  \x1b[31merror\x1b[0m  disk  "
                                       "\x1b[2mn=\x1b[0m1\n");
    cd_buf_fini(&r.text);
}

/* cd_log_tell writes the text alone for a person, message and fields for a program. */
static void test_tell(void **state)
{
    (void)state;
    static const struct {
        cd_log_form form;
        const char *want;
    } rows[] = {
        {CD_LOG_PLAIN, "14:05:02  C 1   1 tx\n          more\n"},
        {CD_LOG_COLORS, "\x1b[2m14:05:02\x1b[0m  C 1   1 tx\n          more\n"},
        {CD_LOG_JSON, "{\"ts\":\"2026-11-21T14:05:02.118Z\",\"level\":\"info\",\"msg\":"
                      "\"block accepted\",\"height\":1}\n"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        rig r;
        cd_log_field field = CD_F("height", 1);
        cd_bytes text = cd_bytes_str("C 1   1 tx\n          more");
        rig_open(&r, rows[i].form, CD_LOG_INFO, 0);
        cd_log_tell(r.log, CD_LOG_INFO, text, "block accepted", &field, 1);
        cd_log_tell(r.log, CD_LOG_DEBUG, text, "below the level", &field, 1);
        assert_string_equal(rig_close(&r), rows[i].want);
        cd_buf_fini(&r.text);
    }
}

static void test_secrets(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, CD_LOG_JSON, CD_LOG_INFO, 0);
    cd_log_info(r.log, "m", CD_F("Password", "hunter2"), CD_F("staking-private-key", "hunter2"),
                CD_F_HEX("mnemonic_hash", cd_bytes_str("hunter2")), CD_F("JWT", "hunter2"), CD_F("token", "0xabc"));
    const char *s = rig_close(&r);
    assert_null(strstr(s, "hunter2"));
    assert_null(strstr(s, "68756e746572"));
    assert_non_null(strstr(s, "\"Password\":\"[secret]\""));
    assert_non_null(strstr(s, "\"token\":\"0xabc\""));
    cd_buf_fini(&r.text);
}

static void test_limits(void **state)
{
    (void)state;
    static char big[100000];
    memset(big, 'x', sizeof big - 1);
    static char rude[2000];
    memset(rude, 1, sizeof rude - 1);
    for (cd_log_form form = CD_LOG_PLAIN; form <= CD_LOG_JSON; form++) {
        rig r;
        rig_open(&r, form, CD_LOG_INFO, 0);
        cd_log_info(r.log, big, CD_F("a", big), CD_F("b", big));
        cd_log_info(r.log, "m", CD_F("a", rude), CD_F("b", rude), CD_F("c", rude));
        cd_log_info(r.log, "m", CD_F_HEX("h", cd_bytes_of(big, sizeof big)));
        cd_log_info(r.log, "m", CD_F(big, 1));
        const char *s = rig_close(&r);
        for (u32 lines = 0; lines < 4; lines++) {
            const char *end = strchr(s, '\n');
            assert_non_null(end);
            assert_true(end - s < CD_LOG_LINE_MAX);
            if (lines == 1) {
                assert_non_null(strstr(s, form == CD_LOG_JSON ? "\"cut\":true}" : "cut=true"));
            }
            s = end + 1;
        }
        assert_string_equal(s, "");
        cd_buf_fini(&r.text);
    }
}

static int counted;

static int count(void)
{
    return ++counted;
}

static void test_levels(void **state)
{
    (void)state;
    rig r;
    rig_open(&r, CD_LOG_JSON, CD_LOG_ERROR, 0);
    counted = 0;
    cd_log_warn(r.log, "m", CD_F("n", count()));
    assert_int_equal(counted, 0); /* fields of a silent line are not evaluated */
    cd_log_set_level(r.log, CD_LOG_WARN);
    cd_log_warn(r.log, "m", CD_F("n", count()));
    assert_int_equal(counted, 1);
    cd_log_set_level(r.log, CD_LOG_OFF);
    cd_log_error(r.log, "m", CD_F("n", count()));
    assert_int_equal(counted, 1);
    cd_log_info((cd_logger *)NULL, "m", CD_F("n", count()));
    assert_int_equal(counted, 1);
    (void)rig_close(&r);
    cd_buf_fini(&r.text);

    cd_log_level level = CD_LOG_OFF;
    assert_int_equal(cd_log_level_parse(&level, cd_bytes_str("debug")), CD_OK);
    assert_int_equal(level, CD_LOG_DEBUG);
    assert_int_equal(cd_log_level_parse(&level, cd_bytes_str("verbo")), CD_OK);
    assert_int_equal(level, CD_LOG_TRACE);
    assert_int_equal(cd_log_level_parse(&level, cd_bytes_str("Error")), CD_OK);
    assert_int_equal(level, CD_LOG_ERROR);
    assert_string_equal(cd_log_level_name(level), "error");
    assert_int_equal(cd_log_level_parse(&level, cd_bytes_str("loud")), CD_EFORMAT);
    assert_int_equal(cd_log_levels_get(NULL).shown, CD_LOG_OFF);
    cd_log_form form = CD_LOG_AUTO;
    assert_int_equal(cd_log_form_parse(&form, cd_bytes_str("colors")), CD_OK);
    assert_int_equal(form, CD_LOG_COLORS);
    assert_int_equal(cd_log_form_parse(&form, cd_bytes_str("xml")), CD_EFORMAT);
}

enum { THREADS = 3, LINES = 2000, LINES_ALL = THREADS * LINES };

static void thread_main(void *arg)
{
    cd_logger *log = arg;
    for (u32 i = 0; i < LINES; i++) {
        cd_log_info(log, "a line of some length", CD_F("i", i), CD_F("pad", "0123456789"));
    }
}

/* Every line is whole, and none is lost but those that the log itself counts. */
static void run_threads(usize queue)
{
    rig r;
    cd_thread t[THREADS];
    rig_open(&r, CD_LOG_PLAIN, CD_LOG_INFO, queue);
    for (u32 i = 0; i < THREADS; i++) {
        assert_int_equal(cd_thread_start(&t[i], "t", thread_main, r.log, NULL), CD_OK);
    }
    for (u32 i = 0; i < THREADS; i++) {
        cd_thread_join(&t[i]);
    }
    const char *s = rig_close(&r);
    u64 lines = 0;
    for (; *s != '\0'; s = strchr(s, '\n') + 1) {
        unsigned i;
        char end[8] = "";
        unsigned dropped;
        if (sscanf(s, "14:05:02.118  info   a line of some length  i=%u pad=012345678%1[9]\n", &i, end) == 2) {
            lines++;
        } else {
            assert_int_equal(sscanf(s, "14:05:02.118  warn   log lines dropped  lines=%u\n", &dropped), 1);
            assert_true(queue != 0);
            lines += dropped;
        }
    }
    /* The log does not count lines that were dropped after the last one written. */
    assert_true(queue != 0 ? lines <= LINES_ALL : lines == LINES_ALL);
    assert_true(lines > 0);
    cd_buf_fini(&r.text);
}

static void test_threads(void **state)
{
    (void)state;
    run_threads(0);
    run_threads(4);
    run_threads(LINES_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),   cmocka_unit_test(test_escapes), cmocka_unit_test(test_text),
        cmocka_unit_test(test_tell),   cmocka_unit_test(test_secrets), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_levels), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
