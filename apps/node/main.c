/* candela - the node: its commands and options. */
#include "base/os/term.h"
#include "base/version.h"
#include "commands.h"
#include "options.h"
#include "report.h"

#include <stdio.h>
#include <unistd.h>

#define VERSION_LINE "candela/" CD_VERSION " [database=v1.4.5, rpcchainvm=42]"

static int unknown_command(const char *word)
{
    static const char *const names[] = {"help", "version", "genesis", "config", "du", "top", "sim", "replay"};
    cd_buf advice = {0};
    char message[120];
    (void)snprintf(message, sizeof message, "unknown command \"%.60s\"", word);
    if (cd_args_suggest(&advice, "", word, names, CD_COUNT(names))) {
        cd_buf_str(&advice, "\n       ");
    }
    cd_buf_str(&advice, "all commands and flags: candela help");
    cd__report("error", NULL, message, cd_buf_cstr(&advice));
    cd_buf_fini(&advice);
    return 2;
}

static int wrong_usage(const char *usage)
{
    char message[100];
    (void)snprintf(message, sizeof message, "that command goes: %s", usage);
    cd__report("error", NULL, message, "");
    return 2;
}

static int command(cd_args *a, cd_arena *mem, const char *const *words, usize cnt)
{
    bool has_check = cnt >= 2 && strcmp(words[1], "check") == 0;
    if (strcmp(words[0], "genesis") == 0) {
        return has_check && cnt == 3 ? cd__genesis_check_cmd(words[2]) : wrong_usage("candela genesis check FILE");
    }
    if (strcmp(words[0], "config") == 0) {
        return has_check && cnt <= 3 ? cd__config_check_cmd(a, cnt == 3 ? words[2] : NULL)
                                     : wrong_usage("candela config check [FILE]");
    }
    bool is_du = strcmp(words[0], "du") == 0;
    if ((is_du || strcmp(words[0], "top") == 0) && cnt == 1) {
        const cd_network *net = cd__config_load(a, mem) ? cd__network_of(a) : NULL;
        bool has_port = cd_args_source(a, OPT_HTTP_PORT) != CD_ARG_FROM_DEFAULT;
        if (net == NULL) {
            return 1;
        }
        return is_du ? cd__du_cmd(cd_arena_fmt(mem, "%s/%s", cd_args_path(a, mem, OPT_DATA_DIR), net->name))
                     : cd__top_cmd(cd_args_str(a, OPT_HTTP_HOST),
                                   has_port ? (u16)cd_args_u64(a, OPT_HTTP_PORT) : net->http_port);
    }
    return unknown_command(words[0]);
}

/* Are there neither arguments nor variables of the environment? */
static bool is_bare(const cd_args *a, int argc)
{
    bool is_bare = argc == 1;
    for (usize i = 0; is_bare && i < OPT_CNT; i++) {
        is_bare = cd_args_source(a, i) == CD_ARG_FROM_DEFAULT;
    }
    return is_bare;
}

static int explain(void)
{
    (void)fputs("candela runs a node; say of which network:\n\n"
                "  candela --network-id=dev              a chain to develop with, port 8545, kept in ~/.candela/dev\n"
                "  candela --network-id=dev --in-memory  the same, and nothing is kept\n"
                "  candela --network-id=testnet          a node of a network of many\n\n"
                "  candela help                          all commands and flags\n",
                stderr);
    return 2;
}

static const cd_args_info info = {
    .program = "candela",
    .help_word = "help",
    .purpose = "runs a node",
    .usage = "candela [flags]\n"
             "candela genesis check FILE     is it good, and what is its hash\n"
             "candela config check [FILE]    configuration of node or VM, upgrade file\n"
             "candela du                     what the network's data takes on disk\n"
             "candela top                    what the running node does\n"
             "candela sim [flags]            a network in a virtual world (candela sim --help)\n"
             "candela replay FILE            steps through what nodes did, in a browser\n"
             "candela help\n"
             "candela help tuning            flags about peers and voting\n"
             "candela version",
    .example = "candela --network-id=dev --in-memory",
    .words_max = 3,
};

/* The flags about peers and voting are a page of their own. */
static void help(bool is_tuning)
{
    static const cd_args_info tuning = {
        .program = "candela", .help_word = "help", .purpose = "flags about peers and voting"};
    cd_args *a = is_tuning ? cd_args_new(&tuning, cd__options + OPT_TUNING, OPT_SHOWN - OPT_TUNING)
                           : cd_args_new(&info, cd__options, OPT_TUNING);
    cd_buf text = {0};
    cd_args_help(a, &text, cd_term_width(STDOUT_FILENO));
    (void)fputs(cd_buf_cstr(&text), stdout);
    cd_buf_fini(&text);
    cd_args_free(a);
}

static int main_with(cd_args *a, cd_arena *mem, int argc, char **argv)
{
    cd_errinfo why = {0};
    if (argc > 1 && strcmp(argv[1], "sim") == 0) {
        return cd__sim_cmd(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "replay") == 0) {
        return cd__replay_cmd(argc - 1, argv + 1);
    }
    if (cd_args_parse(a, argc, argv, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
        return 2;
    }
    const char *const *words;
    usize cnt = cd_args_words(a, &words);
    if (cd_args_bool(a, OPT_VERSION_JSON)) {
        (void)printf("{\n  \"application\": \"candela/%s\",\n  \"database\": \"v1.4.5\",\n"
                     "  \"rpcchainvm\": 42\n}\n",
                     CD_VERSION);
        return 0;
    }
    if (cd_args_wants_version(a) || (cnt != 0 && strcmp(words[0], "version") == 0)) {
        (void)printf("%s\n", VERSION_LINE);
        return 0;
    }
    if (cd_args_wants_help(a) || (cnt != 0 && strcmp(words[0], "help") == 0)) {
        help(cnt > 1 && strcmp(words[1], "tuning") == 0);
        return 0;
    }
    if (!cd__elsewhere_ok(a, mem)) {
        return 2;
    }
    if (cnt != 0) {
        return command(a, mem, words, cnt);
    }
    if (is_bare(a, argc)) {
        return explain();
    }
    return cd__config_load(a, mem) ? cd__node_cmd(a, mem) : 1;
}

int main(int argc, char **argv)
{
    cd_args *a = cd_args_new(&info, cd__options, OPT_CNT);
    cd_arena mem = {0};
    int code = main_with(a, &mem, argc, argv);
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}
