#include "base/args/args.h"
#include "base/mem/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define OPTIONS(X)                                                                                                     \
    X(OPT_PORT, .name = "http-port", .type = CD_ARG_U64, .dflt = "9630", .max = 65535, .meta = "PORT",                 \
      .help = "where the API listens", .group = "API")                                                                 \
    X(OPT_HOST, .name = "http-host", .type = CD_ARG_STR, .dflt = "127.0.0.1", .meta = "HOST",                          \
      .help = "address to listen on")                                                                                  \
    X(OPT_QUORUM, .name = "consensus-quorum-size", .type = CD_ARG_U64, .dflt = "14", .min = 11, .max = 20,             \
      .help = "nodes that have to agree in one poll before it counts for anything")                                    \
    X(OPT_LEVEL, .name = "log-level", .type = CD_ARG_STR, .dflt = "info", .choices = "debug|info|off",                 \
      .meta = "LEVEL", .help = "what is logged", .group = "Logs")                                                      \
    X(OPT_ADMIN, .name = "api-admin-enabled", .type = CD_ARG_BOOL, .dflt = "false", .help = "serve the admin API")     \
    X(OPT_DIR, .name = "data-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela")                                      \
    X(OPT_DB, .name = "db-dir", .type = CD_ARG_PATH, .dflt = "${CANDELA_DATA_DIR}/db")                                 \
    X(OPT_IPS, .name = "bootstrap-ips", .type = CD_ARG_LIST)                                                           \
    X(OPT_WAIT, .name = "http-read-timeout", .type = CD_ARG_DURATION, .dflt = "30s")                                   \
    X(OPT_CACHE, .name = "cache-size", .type = CD_ARG_SIZE, .dflt = "64MiB")                                           \
    X(OPT_SHIFT, .name = "shift", .type = CD_ARG_I64, .min = (u64)-5, .max = 5, .alias = "offset")                     \
    X(OPT_SHARE, .name = "share", .type = CD_ARG_F64, .dflt = "0.5", .max = 2)                                         \
    X(OPT_RATE, .name = "rate", .type = CD_ARG_F64)                                                                    \
    X(OPT_BIG, .name = "big", .type = CD_ARG_U64)

enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

/* A fake environment: NAME=value strings. */
static const char *env_of(void *ctx, const char *name)
{
    usize n = strlen(name);
    for (const char *const *e = ctx; *e != NULL; e++) {
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') {
            return *e + n + 1;
        }
    }
    return NULL;
}

static cd_args *args_new_of(const cd_arg_def *defs, const char *const *env, u32 words)
{
    static const char *none[] = {NULL};
    cd_args_info info = {
        .program = "candela",
        .help_word = "help",
        .purpose = "runs a node",
        .usage = "  candela [flags]    run the node",
        .example = "candela --network-id=dev",
        .env = env_of,
        .env_ctx = (void *)(uintptr_t)(env == NULL ? none : env),
        .words_max = words,
    };
    return cd_args_new(&info, defs, OPT_CNT);
}

static cd_args *args_new(const char *const *env, u32 words)
{
    return args_new_of(options, env, words);
}

#define PARSE(a, why, ...)                                                                                             \
    cd_args_parse((a), (int)CD_COUNT(((const char *[]){"x", __VA_ARGS__})),                                            \
                  (char *const *)(uintptr_t)(const char *[]){"x", __VA_ARGS__, NULL}, (why))

static void test_values(void **state)
{
    (void)state;
    cd_args *a = args_new((const char *[]){"HOME=/home/me", NULL}, 2);
    cd_errinfo why = {0};
    const char *const *list;
    assert_int_equal(PARSE(a, &why, "--http-port=8545", "run", "--http-host", "::1", "--api-admin-enabled", "--shift",
                           "-3", "--bootstrap-ips=a:1, b:2", "--bootstrap-ips", "c:3,", "--http-read-timeout=1m30s",
                           "--cache-size=1GB", "--rate=1.5e+12", "--", "--odd"),
                     CD_OK);
    assert_int_equal(cd_args_u64(a, OPT_PORT), 8545);
    assert_string_equal(cd_args_str(a, OPT_HOST), "::1");
    assert_true(cd_args_bool(a, OPT_ADMIN));
    assert_int_equal(cd_args_i64(a, OPT_SHIFT), -3);
    assert_int_equal(cd_args_list(a, OPT_IPS, &list), 3);
    assert_string_equal(list[0], "a:1");
    assert_string_equal(list[1], "b:2");
    assert_string_equal(list[2], "c:3");
    assert_int_equal(cd_args_u64(a, OPT_WAIT), 90000000000ull);
    assert_int_equal(cd_args_u64(a, OPT_CACHE), 1000000000);
    assert_int_equal(cd_args_u64(a, OPT_QUORUM), 14);
    assert_int_equal(cd_args_u64(a, OPT_BIG), 0);
    assert_int_equal(cd_args_source(a, OPT_QUORUM), CD_ARG_FROM_DEFAULT);
    assert_true(cd_args_f64(a, OPT_SHARE) == 0.5 && cd_args_f64(a, OPT_RATE) == 1.5e12);
    assert_int_equal(cd_args_words(a, &list), 2);
    assert_string_equal(list[0], "run");
    assert_string_equal(list[1], "--odd");
    cd_arena mem = {0};
    assert_string_equal(cd_args_path(a, &mem, OPT_DIR), "/home/me/.candela");
    assert_string_equal(cd_args_path(a, &mem, OPT_DB), "/home/me/.candela/db");
    cd_arena_fini(&mem);
    cd_args_free(a);
    cd_args_free(NULL);
}

static void test_precedence(void **state)
{
    (void)state;
    static const char *const env[] = {"AVAGO_HTTP_PORT=1",   "LUXD_HTTP_PORT=2",
                                      "CANDELA_HTTP_PORT=3", "AVAGO_HTTP_HOST=h1",
                                      "LUXD_HTTP_HOST=h2",   "AVAGO_API_ADMIN_ENABLED=true",
                                      "CANDELA_SHIFT=4",     NULL};
    cd_args *a = args_new(env, 0);
    cd_errinfo why = {0};
    /* A file value may come before the flags or after them. */
    assert_int_equal(cd_args_file_value(a, "shift", cd_bytes_str("1"), &why), CD_OK);
    assert_int_equal(cd_args_file_value(a, "big", cd_bytes_str("5"), &why), CD_OK);
    assert_int_equal(PARSE(a, &why, "--shift=2", "--api-admin-enabled=false"), CD_OK);
    assert_int_equal(cd_args_file_value(a, "http-port", cd_bytes_str("9"), &why), CD_OK);
    assert_int_equal(cd_args_file_value(a, "cache-size", cd_bytes_str("9"), &why), CD_OK);
    assert_int_equal(cd_args_file_value(a, "offset", cd_bytes_str("3"), &why), CD_OK);
    assert_int_equal(cd_args_file_value(a, "unheard-of", cd_bytes_str("3"), &why), CD_ENOENT);
    assert_int_equal(cd_args_i64(a, OPT_SHIFT), 2);
    assert_int_equal(cd_args_source(a, OPT_SHIFT), CD_ARG_FROM_FLAG);
    assert_false(cd_args_bool(a, OPT_ADMIN));
    assert_int_equal(cd_args_u64(a, OPT_PORT), 3);
    assert_int_equal(cd_args_source(a, OPT_PORT), CD_ARG_FROM_ENV);
    assert_string_equal(cd_args_str(a, OPT_HOST), "h2");
    assert_int_equal(cd_args_u64(a, OPT_CACHE), 9);
    assert_int_equal(cd_args_source(a, OPT_CACHE), CD_ARG_FROM_FILE);
    assert_int_equal(cd_args_u64(a, OPT_BIG), 5);
    cd_args_free(a);
}

static void check_refused(const char *arg, const char *value, const char *msg)
{
    cd_args *a = args_new(NULL, 0);
    cd_errinfo why = {0};
    cd_err err = value == NULL ? PARSE(a, &why, arg) : PARSE(a, &why, arg, value);
    assert_int_equal(err, CD_EINVAL);
    assert_string_equal(why.msg, msg);
    cd_args_free(a);
}

/* The form of the terminal samples; the program writes "error: " in front. */
static void test_messages(void **state)
{
    (void)state;
    check_refused("--htp-port=9630", NULL,
                  "unknown flag --htp-port\n       did you mean --http-port?\n"
                  "       all flags: candela help");
    check_refused("--http-prot", "1",
                  "unknown flag --http-prot\n       did you mean --http-port?\n"
                  "       all flags: candela help");
    check_refused("--zzzzzzzz", NULL, "unknown flag --zzzzzzzz\n       all flags: candela help");
    check_refused("-x", NULL, "unknown flag --x\n       all flags: candela help");
    check_refused("--consensus-quorum-size=25", NULL, "--consensus-quorum-size must be between 11 and 20, got 25");
    check_refused("--http-port", "70000", "--http-port must be between 0 and 65535, got 70000");
    check_refused("--http-port", "-1", "--http-port must be a whole number, got \"-1\"");
    check_refused("--http-port=", NULL, "--http-port must be a whole number, got \"\"");
    check_refused("--http-port", NULL, "--http-port needs a value");
    check_refused("--big=18446744073709551616", NULL, "--big is too large: 18446744073709551616");
    check_refused("--shift=-6", NULL, "--shift must be between -5 and 5, got -6");
    check_refused("--log-level=loud", NULL, "--log-level must be one of debug, info, off, got \"loud\"");
    check_refused("--log-level=debug|info", NULL, "--log-level must be one of debug, info, off, got \"debug|info\"");
    check_refused("--api-admin-enabled=maybe", NULL, "--api-admin-enabled must be true or false, got \"maybe\"");
    check_refused("--http-read-timeout=30", NULL,
                  "--http-read-timeout must be a duration such as 30s or 2m, got \"30\"");
    check_refused("--cache-size=lots", NULL, "--cache-size must be a size such as 64MiB or 10GB, got \"lots\"");
    check_refused("--share=2.1", NULL, "--share must be between 0 and 2, got 2.1");
    check_refused("--rate=1e999", NULL, "--rate is too large: 1e999");
    for (const char *const *bad = (const char *const[]){"", "-1", "nan", "inf", "0x10", "1.2.3", "1 ", NULL};
         *bad != NULL; bad++) {
        char text[64];
        (void)snprintf(text, sizeof text, "--rate must be a number such as 0.8, got \"%s\"", *bad);
        check_refused("--rate", *bad, text);
    }
    check_refused("word", NULL, "unexpected argument \"word\"\n       all flags: candela help");

    cd_errinfo why = {0};
    cd_args *a = args_new((const char *[]){"LUXD_HTTP_PORT=x", NULL}, 0);
    assert_int_equal(cd_args_parse(a, 0, NULL, &why), CD_EINVAL);
    assert_string_equal(why.msg, "LUXD_HTTP_PORT must be a whole number, got \"x\"");
    cd_args *tool = cd_args_new(&(cd_args_info){.program = "tool run"}, NULL, 0);
    assert_int_equal(PARSE(tool, &why, "-x"), CD_EINVAL);
    assert_string_equal(why.msg, "unknown flag --x\n       all flags: tool run --help");
    cd_args_free(tool);
    assert_int_equal(cd_args_file_value(a, "consensus-quorum-size", cd_bytes_str("25"), &why), CD_EINVAL);
    assert_string_equal(why.msg, "\"consensus-quorum-size\" must be between 11 and 20, got 25");
    assert_int_equal(cd_args_u64(a, OPT_QUORUM), 14);
    cd_args_free(a);

    static char huge[100000];
    memset(huge, 'x', sizeof huge - 1);
    huge[0] = '-';
    huge[1] = '-';
    a = args_new(NULL, 0);
    assert_int_equal(PARSE(a, &why, huge), CD_EINVAL);
    cd_args_free(a);
}

/* The table of options ends where it ends: nothing behind it is looked at. */
static void test_help_of_a_table(void **state)
{
    (void)state;
    cd_arg_def *defs = cd_alloc(sizeof options);
    cd_buf b = {0};
    memcpy(defs, options, sizeof options);
    cd_args *a = args_new_of(defs, NULL, 0);
    cd_args_help(a, &b, 60);
    assert_non_null(strstr(cd_buf_cstr(&b), "--http-port"));
    cd_args_free(a);
    cd_free(defs);
    cd_buf_fini(&b);
}

static void test_help(void **state)
{
    (void)state;
    cd_args *a = args_new(NULL, 0);
    cd_buf b = {0};
    assert_int_equal(PARSE(a, NULL, "--help", "--version"), CD_OK);
    assert_true(cd_args_wants_help(a));
    assert_true(cd_args_wants_version(a));
    cd_args_help(a, &b, 60);
    assert_string_equal(cd_buf_cstr(&b), "candela: runs a node\n"
                                         "\n"
                                         "  candela [flags]    run the node\n"
                                         "\n"
                                         "API\n"
                                         "  --http-port PORT     where the API listens [9630]\n"
                                         "  --http-host HOST     address to listen on [127.0.0.1]\n"
                                         "  --consensus-quorum-size VALUE\n"
                                         "                       nodes that have to agree in one poll\n"
                                         "                       before it counts for anything [14]\n"
                                         "\n"
                                         "Logs\n"
                                         "  --log-level LEVEL    what is logged: debug, info, off\n"
                                         "                       [info]\n"
                                         "  --api-admin-enabled  serve the admin API [false]\n"
                                         "\n"
                                         "Example: candela --network-id=dev\n"
                                         "Environment: CANDELA_HTTP_PORT and so on\n");
    for (u32 width = 0; width < 120; width++) {
        cd_buf_clear(&b);
        cd_args_help(a, &b, width);
        usize line = 0;
        for (usize i = 0; i < b.n; i++) {
            line = b.p[i] == '\n' ? 0 : line + 1;
            assert_true(line <= (width < 40 ? 42 : width > 42 ? width : 42));
        }
    }
    cd_buf_fini(&b);
    cd_args_free(a);
}

static void test_suggest(void **state)
{
    (void)state;
    static const char *const names[] = {"status", "start", "stop", "earnings", "state"};
    cd_buf b = {0};
    assert_true(cd_args_suggest(&b, "", "statsu", names, CD_COUNT(names)));
    assert_string_equal(cd_buf_cstr(&b), "did you mean status or state?");
    cd_buf_clear(&b);
    assert_true(cd_args_suggest(&b, "", "stat", names, CD_COUNT(names)));
    assert_string_equal(cd_buf_cstr(&b), "did you mean start, state or status?");
    cd_buf_clear(&b);
    assert_false(cd_args_suggest(&b, "", "completely", names, CD_COUNT(names)));
    assert_int_equal(b.n, 0);
    cd_buf_fini(&b);
}

/* Services: variables are called as the flags are. */
static void test_plain_env(void **state)
{
    (void)state;
    static const char *const env[] = {"CONSENSUS_QUORUM_SIZE=12", "OFFSET=-3", "CACHE_SIZE=", "CANDELA_BIG=7", NULL};
    const cd_args_info info = {
        .program = "candela", .env = env_of, .env_ctx = (void *)(uintptr_t)env, .is_plain_env = true};
    cd_errinfo why = {0};
    cd_args *a = cd_args_new(&info, options, OPT_CNT);
    char *argv[] = {"candela", NULL};
    assert_int_equal(cd_args_parse(a, 1, argv, &why), CD_OK);
    assert_int_equal(cd_args_u64(a, OPT_QUORUM), 12);
    assert_int_equal(cd_args_i64(a, OPT_SHIFT), -3);
    assert_int_equal(cd_args_u64(a, OPT_CACHE), 64 << 20); /* empty: not set */
    assert_int_equal(cd_args_u64(a, OPT_BIG), 0);
    cd_args_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),          cmocka_unit_test(test_precedence), cmocka_unit_test(test_messages),
        cmocka_unit_test(test_help_of_a_table), cmocka_unit_test(test_help),       cmocka_unit_test(test_plain_env),
        cmocka_unit_test(test_suggest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
