#include "base/args/program.h"

#include "base/args/args.h"
#include "base/mem/mem.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>

static int name_width(const cd_program *p)
{
    usize width = strlen("version");
    for (usize i = 0; i < p->command_cnt; i++) {
        usize n = strlen(p->commands[i].name);
        width = n > width ? n : width;
    }
    return (int)width;
}

static void help(const cd_program *p, FILE *to)
{
    int width = name_width(p);
    const char *first_end = strchr(p->examples, '\n');
    bool has_several = first_end != NULL && first_end[1] != '\0';
    (void)fprintf(to, "%s: %s\n\nCommands\n", p->name, p->purpose);
    for (usize i = 0; i < p->command_cnt; i++) {
        (void)fprintf(to, "  %-*s %s\n", width, p->commands[i].name, p->commands[i].text);
    }
    (void)fprintf(to, "  %-*s print the version\n  %-*s this text; COMMAND --help for more\n\nExample%s\n%s", width,
                  "version", width, "help", has_several ? "s" : "", p->examples);
}

static int unknown(const cd_program *p, const char *word)
{
    cd_buf text = {0};
    const char **names = cd_alloc_array(p->command_cnt + 2, sizeof *names);
    for (usize i = 0; i < p->command_cnt; i++) {
        names[i] = p->commands[i].name;
    }
    names[p->command_cnt] = "version";
    names[p->command_cnt + 1] = "help";
    cd_buf_fmt(&text, "%s: error: unknown command \"%.60s\"; ", p->name, word);
    if (!cd_args_suggest(&text, "", word, names, p->command_cnt + 2)) {
        cd_buf_fmt(&text, "all commands: %s help", p->name);
    }
    (void)fprintf(stderr, "%s\n", cd_buf_cstr(&text));
    cd_free((void *)names);
    cd_buf_fini(&text);
    return 2;
}

static bool is_word(const char *word, const char *plain, const char *flag)
{
    return strcmp(word, plain) == 0 || strcmp(word, flag) == 0;
}

int cd_program_main(const cd_program *p, int argc, char **argv)
{
    const char *slash = argc < 1 ? NULL : strrchr(argv[0], '/');
    const char *self = argc < 1 ? "" : slash == NULL ? argv[0] : slash + 1;
    const char *word = argc < 2 ? "" : argv[1];
    for (usize i = 0; i < p->command_cnt; i++) {
        if (p->commands[i].link != NULL && strcmp(self, p->commands[i].link) == 0) {
            return p->commands[i].run(argc, argv);
        }
    }
    for (usize i = 0; i < p->command_cnt; i++) {
        if (strcmp(word, p->commands[i].name) == 0) {
            return p->commands[i].run(argc - 1, argv + 1);
        }
    }
    if (is_word(word, "version", "--version")) {
        (void)printf("%s/%s\n", p->name, CD_VERSION);
        return 0;
    }
    bool is_asked = is_word(word, "help", "--help");
    if (word[0] == '\0' || is_asked) {
        int status = is_asked ? 0 : p->bare_status;
        help(p, status == 0 ? stdout : stderr);
        return status;
    }
    return unknown(p, word);
}
