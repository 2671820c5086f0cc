#include "services/common/service.h"

#include "base/mem/buf.h"
#include "base/os/process.h"
#include "base/os/term.h"
#include "base/version.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, KEEP_MAX = 256 * 1024 };

typedef struct life {
    const cd_service_def *def;
    cd_service service;
    cd_signal *signals[2];
    void *app;
    u32 grace_ms;
    bool is_draining;
} life;

static void complain(const cd_service_def *def, const cd_errinfo *why)
{
    (void)fprintf(stderr, "%s: error: %s\n", def->program, why->msg);
}

static void on_drained(void *ctx)
{
    cd_loop_stop(((life *)ctx)->service.loop);
}

static void on_signal(void *ctx, int signum)
{
    life *l = ctx;
    if (l->is_draining) {
        _exit(128 + signum);
    }
    l->is_draining = true;
    cd_log_info(l->service.log, "stopping", CD_F("signal", signum));
    l->def->drain(l->app, l->grace_ms, on_drained, l);
}

static cd_err run(life *l, cd_errinfo *why)
{
    static const int stops[] = {SIGTERM, SIGINT};
    CD_TRY(l->def->open(&l->app, &l->service, why));
    cd_err err = CD_OK;
    for (usize i = 0; i < CD_COUNT(stops) && err == CD_OK; i++) {
        err = cd_signal_open(&l->signals[i], l->service.loop, stops[i], on_signal, l, why);
    }
    if (err == CD_OK) {
        cd_process_trim();
        cd_loop_run(l->service.loop);
    }
    for (usize i = 0; i < CD_COUNT(stops); i++) {
        cd_signal_close(l->signals[i]);
    }
    l->def->close(l->app);
    return err;
}

static cd_err serve(const cd_service_def *def, const cd_args *args, cd_arena *mem, cd_errinfo *why)
{
    life l = {.def = def, .service = {.args = args, .mem = mem}};
    cd_log_cfg log = {.fd = STDOUT_FILENO};
    const char *level = cd_args_str(args, def->log_level);
    const char *form = cd_args_str(args, def->log_level + 1);
    l.grace_ms = (u32)(cd_args_u64(args, def->log_level + 2) / CD_NS_PER_MS);
    CD_TRY(cd_log_level_parse(&log.level, cd_bytes_str(level)));
    CD_TRY(cd_log_form_parse(&log.form, cd_bytes_str(form)));
    CD_TRY(cd_log_open(&l.service.log, &log, why));
    (void)cd_process_files_max();
    l.service.metrics = cd_metrics_new(def->metrics_prefix);
    cd_process_metrics_open(l.service.metrics);
    cd_err err = cd_loop_new(&l.service.loop, why);
    if (err == CD_OK) {
        err = run(&l, why);
        cd_loop_free(l.service.loop);
    }
    cd_metrics_free(l.service.metrics);
    cd_log_close(l.service.log);
    return err;
}

int cd_service_main(const cd_service_def *def, int argc, char **argv)
{
    const cd_args_info info = {
        .program = def->program, .purpose = def->purpose, .example = def->example, .is_plain_env = true};
    cd_errinfo why = {0};
    cd_arena mem = {0};
    int code = 0;
    /* Services answer for years: large buffers go back to the system at once, and threads share one heap. */
    (void)mallopt(M_MMAP_THRESHOLD, KEEP_MAX);
    (void)mallopt(M_TRIM_THRESHOLD, KEEP_MAX);
    (void)mallopt(M_ARENA_MAX, 1);
    cd_args *args = cd_args_new(&info, def->options, def->options_cnt);
    if (cd_args_parse(args, argc, argv, &why) != CD_OK) {
        complain(def, &why);
        code = EXIT_USAGE;
    } else if (cd_args_wants_version(args)) {
        (void)printf("%.*s/%s\n", (int)strcspn(def->program, " "), def->program, CD_VERSION);
    } else if (cd_args_wants_help(args)) {
        cd_buf text = {0};
        cd_args_help(args, &text, cd_term_width(STDOUT_FILENO));
        (void)fputs(cd_buf_cstr(&text), stdout);
        cd_buf_fini(&text);
    } else if (serve(def, args, &mem, &why) != CD_OK) {
        complain(def, &why);
        code = EXIT_FAILED;
    }
    cd_arena_fini(&mem);
    cd_args_free(args);
    return code;
}
