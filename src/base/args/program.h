/* base/args/program.h - a program of several commands: `PROGRAM COMMAND [flags]`, its help, its version, and advice for
 * a mistyped word. Each command parses its own flags (args.h). Threading: pure. */
#ifndef CD_BASE_ARGS_PROGRAM_H
#define CD_BASE_ARGS_PROGRAM_H

#include "base/base.h"

/* One command. run gets the arguments from the command's own name on and gives the exit status. */
typedef struct cd_command {
    const char *name;
    const char *link; /* a name of the program's file that means this command; NULL: there is none */
    int (*run)(int argc, char **argv);
    const char *text; /* one line for the help */
} cd_command;

/* What the help and the messages say. */
typedef struct cd_program {
    const char *name;     /* "candela-cli" */
    const char *purpose;  /* what the help prints behind the name and ": ", such as "keys, and what the chains write" */
    const char *examples; /* whole lines, each beginning with two spaces */
    const cd_command *commands;
    usize command_cnt;
    int bare_status; /* without an argument, which shows the help */
} cd_program;

/* cd_program_main runs the command that the file's name or the first argument selects, and gives its status. `help` and
 * `version` (also as flags) are known without a row and give 0; the help goes to stderr where bare_status is not 0 and
 * nobody asked. An unknown word gives 2. */
int cd_program_main(const cd_program *p, int argc, char **argv);

#endif
