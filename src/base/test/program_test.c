#include "base/args/program.h"

#include "base/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char last[64]; /* which command ran, with how many arguments, and the first of them */

static int first(int argc, char **argv)
{
    (void)snprintf(last, sizeof last, "first %d %s", argc, argv[argc - 1]);
    return 7;
}

static int second(int argc, char **argv)
{
    (void)snprintf(last, sizeof last, "second %d %s", argc, argv[argc - 1]);
    return 8;
}

static const cd_command commands[] = {
    {"decode", NULL, first, "show what it says"},
    {"exchange", "adx-exchange", second, "take bids"},
};

static const cd_program program = {
    .name = "toy",
    .purpose = "for a test",
    .examples = "  toy decode FILE\n",
    .commands = commands,
    .command_cnt = 2,
    .bare_status = 3,
};

/* Runs the program, puts what it writes to fd (1: standard output, 2: standard error) into text, gives its status. */
static int run(int fd, char text[600], int argc, char **argv)
{
    FILE *into = tmpfile();
    FILE *stream = fd == 1 ? stdout : stderr;
    assert_non_null(into);
    last[0] = '\0';
    (void)fflush(stream);
    int kept = dup(fd);
    assert_int_equal(dup2(fileno(into), fd), fd);
    int code = cd_program_main(&program, argc, argv);
    (void)fflush(stream);
    assert_int_equal(dup2(kept, fd), fd);
    (void)close(kept);
    rewind(into);
    text[fread(text, 1, 599, into)] = '\0';
    (void)fclose(into);
    return code;
}

static void test_selects(void **state)
{
    char text[600];
    (void)state;
    assert_int_equal(run(1, text, 3, (char *[]){"/usr/bin/toy", "decode", "x", NULL}), 7);
    assert_string_equal(last, "first 2 x");
    assert_int_equal(run(1, text, 2, (char *[]){"toy", "exchange", NULL}), 8);
    assert_string_equal(last, "second 1 exchange");
    assert_int_equal(run(1, text, 2, (char *[]){"/opt/adx-exchange", "decode", NULL}), 8); /* the file's name wins */
    assert_string_equal(last, "second 2 decode");
}

static void test_says(void **state)
{
    char text[600];
    (void)state;
    assert_int_equal(run(1, text, 2, (char *[]){"toy", "--version", NULL}), 0);
    assert_string_equal(text, "toy/" CD_VERSION "\n");
    assert_int_equal(run(1, text, 2, (char *[]){"toy", "help", NULL}), 0);
    assert_string_equal(text, "toy: for a test\n\nCommands\n"
                              "  decode   show what it says\n"
                              "  exchange take bids\n"
                              "  version  print the version\n"
                              "  help     this text; COMMAND --help for more\n"
                              "\nExample\n  toy decode FILE\n");
    assert_int_equal(run(2, text, 1, (char *[]){"toy", NULL}), 3);
    assert_ptr_equal(strstr(text, "toy: for a test\n"), text);
    assert_int_equal(run(2, text, 0, (char *[]){NULL}), 3);
}

static void test_unknown(void **state)
{
    char text[600];
    (void)state;
    assert_int_equal(run(2, text, 2, (char *[]){"toy", "decod", NULL}), 2);
    assert_string_equal(text, "toy: error: unknown command \"decod\"; did you mean decode?\n");
    assert_int_equal(run(2, text, 2, (char *[]){"toy", "qqqq", NULL}), 2);
    assert_string_equal(text, "toy: error: unknown command \"qqqq\"; all commands: toy help\n");
    assert_string_equal(last, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selects),
        cmocka_unit_test(test_says),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
