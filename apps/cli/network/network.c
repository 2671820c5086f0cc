#include "base/os/fileio.h"
#include "codec/json.h"
#include "commands.h"
#include "network/network_make.h"
#include "network/network_run.h"
#include "network/network_show.h"
#include "network/network_snapshot.h"
#include "network/network_track.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define USAGE                                                                                                          \
    "candela-cli network up [--nodes=N] [--go=N --go-program=FILE]   make it, or start what is down\n"                 \
    "candela-cli network status\n"                                                                                     \
    "candela-cli network add [--nodes=N]            nodes more, which do not validate\n"                               \
    "candela-cli network track NET-ID [NODE …]      run the chains of a net; all nodes when none is named\n"         \
    "candela-cli network kill|start|pause|resume NODE\n"                                                               \
    "candela-cli network partition NODE,NODE NODE,NODE…    who is not named is with the first; heal: join them\n"    \
    "candela-cli network snapshot|restore NAME      of all nodes; snapshots: their names\n"                            \
    "candela-cli network down [--remove]"

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(OPT_DIR, .name = "dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/local-network", .meta = "DIR",              \
      .help = "where the network is: keys, genesis, data and logs")                                                    \
    X(OPT_NODES, .name = "nodes", .type = CD_ARG_U64, .dflt = "5", .max = CD__NET_NODES_MAX, .meta = "N",              \
      .help = "how many nodes; they all validate, with equal stakes. add: one when not given")                         \
    X(OPT_PROGRAM, .name = "program", .type = CD_ARG_PATH, .meta = "FILE",                                             \
      .help = "the node; candela beside this program when not given")                                                  \
    X(OPT_PROFILE, .name = "network-profile", .type = CD_ARG_STR, .choices = "product|upstream", .meta = "FAMILY",     \
      .help = "units and words of the network; product when not given, upstream with --go")                            \
    X(OPT_GO, .name = "go", .type = CD_ARG_U64, .dflt = "0", .max = CD__NET_NODES_MAX, .meta = "N",                    \
      .help = "so many of the nodes run the original's program")                                                       \
    X(OPT_GO_PROGRAM, .name = "go-program", .type = CD_ARG_PATH, .meta = "FILE",                                       \
      .help = "that program: avalanchego 1.13")                                                                        \
    X(OPT_REMOVE, .name = "remove", .type = CD_ARG_BOOL, .help = "down: remove the folder too, snapshots included")    \
    X(OPT_JSON, .name = "json", .type = CD_ARG_BOOL, .help = "one line of JSON, errors too")
// clang-format on

enum { OPTIONS(CD_ARG_ID) OPT_CNT, STEP_MS = 20, WORDS_MAX = 1 + CD__NET_NODES_MAX };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

/* The arguments, the network and the output of a command. */
typedef struct job {
    const cd_args *args;
    cd_arena *mem;
    cd__net net;
    const char *const *words; /* words behind the command's name */
    usize word_cnt;
    cd_json_w *w;
} job;

/* --- up --- */

static cd_err put_status(job *j)
{
    cd__net_put_status(j->w, &j->net);
    return CD_OK;
}

static cd_err up(job *j, cd_errinfo *why)
{
    CD_TRY(cd__net_start_all(&j->net, why));
    CD_TRY(cd__net_await(&j->net, why));
    return put_status(j);
}

/* --- the other commands --- */

static cd_err add(job *j, cd_errinfo *why)
{
    u64 cnt = cd_args_source(j->args, OPT_NODES) == CD_ARG_FROM_DEFAULT ? 1 : cd_args_u64(j->args, OPT_NODES);
    CD_TRY(cd__net_grow(&j->net, cnt, false, false, why));
    CD_TRY(cd__net_save(&j->net, why));
    return up(j, why);
}

static cd_err kill_node(job *j, cd__net_node *x, cd_errinfo *why)
{
    CD_TRY(cd__net_signal(&j->net, x, SIGKILL, why));
    while (cd__net_life_of(&j->net, x) != CD__NET_DOWN) {
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000l}, NULL);
    }
    x->pid = 0;
    return cd__net_save(&j->net, why);
}

static cd_err start_node(job *j, cd__net_node *x, cd_errinfo *why)
{
    if (cd__net_life_of(&j->net, x) != CD__NET_DOWN) {
        return cd_fail(why, CD_EINVAL, "%s runs", x->name);
    }
    CD_TRY(cd__net_start(&j->net, x, why));
    return cd__net_await(&j->net, why);
}

static cd_err on_node(job *j, const char *verb, cd_errinfo *why)
{
    cd__net_node *x;
    if (j->word_cnt != 1) {
        return cd_fail(why, CD_EINVAL, "candela-cli network %s NODE", verb);
    }
    CD_TRY(cd__net_find(&j->net, &x, j->words[0], why));
    cd_err e = strcmp(verb, "kill") == 0    ? kill_node(j, x, why)
               : strcmp(verb, "start") == 0 ? start_node(j, x, why)
                                            : cd__net_signal(&j->net, x, verb[0] == 'p' ? SIGSTOP : SIGCONT, why);
    return e == CD_OK ? put_status(j) : e;
}

/* Nodes learn what they track at their start. */
static cd_err track(job *j, cd_errinfo *why)
{
    if (j->word_cnt < 1) {
        return cd_fail(why, CD_EINVAL, "candela-cli network track NET-ID [NODE …]");
    }
    CD_TRY(cd__net_track(&j->net, j->words[0], j->words + 1, j->word_cnt - 1, why));
    CD_TRY(cd__net_stop(&j->net, why));
    return up(j, why);
}

/* Puts the nodes of "node1,node2" into a group. */
static cd_err set_group(cd__net *n, const char *names, u32 group, cd_errinfo *why)
{
    while (names[0] != '\0') {
        cd__net_node *x;
        usize len = strcspn(names, ",");
        CD_TRY(cd__net_find(n, &x, cd_arena_str(n->mem, cd_bytes_of(names, len)), why));
        x->group = group;
        names += len + (names[len] == ',');
    }
    return CD_OK;
}

static cd_err partition(job *j, cd_errinfo *why)
{
    if (j->word_cnt < 1) {
        return cd_fail(why, CD_EINVAL, "candela-cli network partition NODE,NODE NODE,NODE…");
    }
    for (usize i = 0; i < j->net.cnt; i++) {
        j->net.nodes[i].group = 1;
    }
    for (usize i = 0; i < j->word_cnt; i++) {
        CD_TRY(set_group(&j->net, j->words[i], j->word_cnt == 1 ? 2 : (u32)i + 1, why));
    }
    CD_TRY(cd__net_part(&j->net, why));
    CD_TRY(cd__net_save(&j->net, why));
    return put_status(j);
}

static cd_err heal(job *j, cd_errinfo *why)
{
    for (usize i = 0; i < j->net.cnt; i++) {
        j->net.nodes[i].group = 0;
    }
    CD_TRY(cd__net_part(&j->net, why));
    CD_TRY(cd__net_save(&j->net, why));
    CD_TRY(cd__net_await(&j->net, why));
    return put_status(j);
}

/* Makes or restores a snapshot; nodes that run are stopped for it, and started again. */
static cd_err snapshot(job *j, bool is_restore, cd_errinfo *why)
{
    if (j->word_cnt != 1) {
        return cd_fail(why, CD_EINVAL, "candela-cli network %s NAME", is_restore ? "restore" : "snapshot");
    }
    CD_TRY(cd__net_stop(&j->net, why));
    cd_err e = is_restore ? cd__net_restore(&j->net, j->words[0], why) : cd__net_snapshot(&j->net, j->words[0], why);
    cd_err started = cd__net_start_all(&j->net, e == CD_OK ? why : NULL);
    CD_TRY(e);
    CD_TRY(started);
    CD_TRY(cd__net_await(&j->net, why));
    return put_status(j);
}

static void put_name(void *ctx, const char *name)
{
    cd_json_w_cstr(ctx, name);
}

static cd_err list_snapshots(job *j, cd_errinfo *why)
{
    cd_json_w_arr(j->w);
    CD_TRY(cd__net_snapshots(&j->net, put_name, j->w, why));
    cd_json_w_arr_end(j->w);
    return CD_OK;
}

static cd_err down(job *j, cd_errinfo *why)
{
    CD_TRY(cd__net_stop(&j->net, why));
    if (cd_args_bool(j->args, OPT_REMOVE)) {
        CD_TRY(cd_fs_remove_tree(cd_fs_real(), j->net.dir, why));
        cd_json_w_obj(j->w);
        cd_json_put_cstr(j->w, "removed", j->net.dir);
        cd_json_w_obj_end(j->w);
        return CD_OK;
    }
    return put_status(j);
}

static cd_err do_verb(job *j, const char *verb, cd_errinfo *why)
{
    static const char *const node_verbs[] = {"kill", "start", "pause", "resume"};
    for (usize i = 0; i < CD_COUNT(node_verbs); i++) {
        if (strcmp(verb, node_verbs[i]) == 0) {
            return on_node(j, verb, why);
        }
    }
    return strcmp(verb, "status") == 0      ? put_status(j)
           : strcmp(verb, "add") == 0       ? add(j, why)
           : strcmp(verb, "track") == 0     ? track(j, why)
           : strcmp(verb, "partition") == 0 ? partition(j, why)
           : strcmp(verb, "heal") == 0      ? heal(j, why)
           : strcmp(verb, "snapshot") == 0  ? snapshot(j, false, why)
           : strcmp(verb, "restore") == 0   ? snapshot(j, true, why)
           : strcmp(verb, "snapshots") == 0 ? list_snapshots(j, why)
           : strcmp(verb, "down") == 0      ? down(j, why)
                                            : cd_fail(why, CD_EINVAL, "network: unknown command \"%.40s\"", verb);
}

/* up makes the network when there is none; every other command needs one. */
static cd_err run(job *j, cd_errinfo *why)
{
    const char *dir = cd_args_path(j->args, j->mem, OPT_DIR);
    const char *const *words;
    usize cnt = cd_args_words(j->args, &words);
    if (cnt == 0) {
        return cd_fail(why, CD_EINVAL,
                       "network: up, status, add, track, kill, start, pause, resume, partition, heal, "
                       "snapshot, restore, snapshots or down?");
    }
    const char *verb = words[0];
    j->words = words + 1;
    j->word_cnt = cnt - 1;
    bool is_up = strcmp(verb, "up") == 0;
    char *real = realpath(dir, NULL);
    if (real != NULL) {
        dir = cd_arena_str(j->mem, cd_bytes_str(real));
        free(real);
    }
    cd_err e = cd__net_load(&j->net, j->mem, dir, why);
    if (is_up && e == CD_ENOENT) {
        const cd__net_wish wish = {.nodes = cd_args_u64(j->args, OPT_NODES),
                                   .go = cd_args_u64(j->args, OPT_GO),
                                   .program = cd_args_path(j->args, j->mem, OPT_PROGRAM),
                                   .go_program = cd_args_path(j->args, j->mem, OPT_GO_PROGRAM),
                                   .profile = cd_args_str(j->args, OPT_PROFILE)};
        e = cd__net_make(&j->net, j->mem, dir, &wish, why);
    }
    CD_TRY(e);
    return is_up ? up(j, why) : do_verb(j, verb, why);
}

int cd__network_cmd(int argc, char **argv)
{
    static const cd__cmd cmd = {
        .program = "candela-cli network",
        .purpose = "runs a network of several nodes on this machine",
        .usage = USAGE,
        .example = "candela-cli network up --nodes=5",
        .options = options,
        .option_cnt = OPT_CNT,
        .json = OPT_JSON,
        .words_max = WORDS_MAX,
    };
    cd_errinfo why = {0};
    cd_arena mem = {0};
    cd_buf json = {0};
    cd_json_w w = {.out = &json};
    int code = 0;
    cd_args *a = cd__cmd_args(&cmd, &code, argc, argv);
    if (a == NULL) {
        return code;
    }
    job *j = cd_arena_zalloc(&mem, sizeof *j);
    j->args = a;
    j->mem = &mem;
    j->w = &w;
    cd_err e = run(j, &why);
    if (e == CD_OK) {
        cd__print_json(&json, cd_args_bool(a, OPT_JSON));
    } else {
        code = cd__cmd_fail(&why, cd_args_bool(a, OPT_JSON), e == CD_EINVAL ? 2 : 1);
    }
    cd_buf_fini(&json);
    cd_arena_fini(&mem);
    cd_args_free(a);
    return code;
}
