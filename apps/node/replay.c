/* `candela replay FILE`: shows a trace, step by step, in a browser. */
#include "base/args/args.h"
#include "base/os/fileio.h"
#include "base/os/term.h"
#include "commands.h"
#include "report.h"
#include "sim/view.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { GRACE_MS = 200 };

#define FILE_MAX ((usize)4 << 30)

// clang-format off
#define OPTIONS(X)                                                                                                     \
    X(REPLAY_PORT, .name = "port", .type = CD_ARG_U64, .dflt = "0", .max = 65535, .meta = "PORT",                      \
      .help = "of the page, on this machine alone; 0: a free one")
// clang-format on
enum { OPTIONS(CD_ARG_ID) REPLAY_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct show {
    cd_loop *loop;
    cd_http_server *server;
    bool is_ending;
} show;

static void on_stopped(void *ctx)
{
    const show *s = ctx;
    cd_loop_stop(s->loop);
}

static void on_signal(void *ctx, int signum)
{
    show *s = ctx;
    (void)signum;
    if (!s->is_ending) {
        s->is_ending = true;
        cd_http_server_stop(s->server, GRACE_MS, on_stopped, s);
    }
}

static cd_err serve(cd_film *film, const char *name, u16 port, cd_errinfo *why)
{
    show s = {.loop = NULL};
    cd_signal *term = NULL;
    cd_signal *interrupt = NULL;
    const cd_http_cfg http = {.gzip = true};
    CD_TRY(cd_loop_new(&s.loop, why));
    s.server = cd_http_server_new(s.loop, &http);
    cd_film_pages *pages = cd_film_pages_new(s.server, film, name);
    cd_err e = cd_signal_open(&term, s.loop, SIGTERM, on_signal, &s, why);
    e = e != CD_OK ? e : cd_signal_open(&interrupt, s.loop, SIGINT, on_signal, &s, why);
    e = e != CD_OK ? e : cd_http_server_listen(s.server, "127.0.0.1", port, why);
    if (e == CD_OK) {
        (void)printf("http://127.0.0.1:%u/?at=%llu\n", cd_http_server_port(s.server),
                     (unsigned long long)cd_film_find(film, 0, true, "b!", CD_FILM_NONE));
        (void)fflush(stdout);
        cd_loop_run(s.loop);
    }
    cd_signal_close(term);
    cd_signal_close(interrupt);
    cd_http_server_free(s.server);
    cd_film_pages_free(pages);
    cd_loop_free(s.loop);
    return e;
}

static int replay(const char *path, u16 port)
{
    cd_buf text = {0};
    cd_film *film = NULL;
    cd_errinfo why = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, FILE_MAX, &why);
    e = e != CD_OK ? e : cd_film_open(&film, cd_buf_bytes(&text), &why);
    if (e == CD_OK) {
        (void)printf("%s: %llu lines, %u nodes, %u blocks", path, (unsigned long long)cd_film_steps(film),
                     cd_film_nodes(film), cd_film_blocks(film));
        if (cd_film_strange(film) != 0) {
            (void)printf("; %llu lines are not understood", (unsigned long long)cd_film_strange(film));
        }
        (void)printf("\n");
        e = serve(film, path, port, &why);
    }
    if (e != CD_OK) {
        cd__report("error", NULL, why.msg, "candela sim --trace FILE writes one");
    }
    cd_film_close(film);
    cd_buf_fini(&text);
    return e == CD_OK ? 0 : 1;
}

int cd__replay_cmd(int argc, char **argv)
{
    const cd_args_info info = {
        .program = "candela replay",
        .purpose = "steps through what nodes did, forwards and backwards, in a browser",
        .usage = "candela replay FILE [flags]",
        .example = "candela sim --duration 1m --trace t.txt && candela replay t.txt",
        .words_max = 1,
    };
    cd_args *a = cd_args_new(&info, options, CD_COUNT(options));
    cd_errinfo why = {0};
    const char *const *words;
    int code = 2;
    if (cd_args_parse(a, argc, argv, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
    } else if (cd_args_wants_help(a)) {
        cd_buf text = {0};
        cd_args_help(a, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
        code = 0;
    } else if (cd_args_words(a, &words) != 1) {
        cd__report("error", NULL, "that command goes: candela replay FILE", "");
    } else {
        code = replay(words[0], (u16)cd_args_u64(a, REPLAY_PORT));
    }
    cd_args_free(a);
    return code;
}
