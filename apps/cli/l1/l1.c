/* `l1`: the commands of an L1's life. */
#include "l1/l1.h"

#include <stdio.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"create", cd__l1_create_cmd},
    {"list", cd__l1_list_cmd},
    {"join", cd__l1_join_cmd},
    {"add-validator", cd__l1_add_cmd},
    {"remove-validator", cd__l1_remove_cmd},
    {"set-weight", cd__l1_weigh_cmd},
    {"top-up", cd__l1_top_up_cmd},
    {"status", cd__l1_status_cmd},
    {"diagnose", cd__l1_diagnose_cmd},
};

int cd__l1_cmd(int argc, char **argv)
{
    for (usize i = 0; argc > 1 && i < CD_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    (void)fputs("that command goes: candela-cli l1 COMMAND [flags] …, --help after any of\n", stderr);
    for (usize i = 0; i < CD_COUNT(commands); i++) {
        (void)fprintf(stderr, "  candela-cli l1 %s\n", commands[i].name);
    }
    return 2;
}
