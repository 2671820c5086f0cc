/* services/common/service.h - the life of a service process: options, log, signals, an orderly end.
 *
 *   main ─► options ─► log ─► open ─► loop … SIGTERM or SIGINT ─► drain ─► loop ends ─► close ─► exit code
 *
 * A service fills in a cd_service_def; what it is comes from its callbacks. Options come from flags, then from
 * environment variables without a prefix (PORT), and their table has at least the rows of CD_SERVICE_OPTIONS. What is
 * wrong at the start is one line on standard error, and exit status 2 for wrong usage, 1 for the rest. A second signal
 * ends the process at once. Threading: the main thread. */
#ifndef CD_SERVICES_COMMON_SERVICE_H
#define CD_SERVICES_COMMON_SERVICE_H

#include "base/args/args.h"
#include "base/log/log.h"
#include "base/log/metrics.h"
#include "net/loop.h"

/* Rows that every service's table ends with, OPT_LOG_LEVEL first. */
#define CD_SERVICE_OPTIONS(X)                                                                                          \
    X(OPT_LOG_LEVEL, .name = "log-level", .type = CD_ARG_STR, .dflt = "info",                                          \
      .choices = "trace|debug|info|warn|error|off", .meta = "LEVEL", .group = "Process",                               \
      .help = "what is logged, on standard output")                                                                    \
    X(OPT_LOG_FORMAT, .name = "log-format", .type = CD_ARG_STR, .dflt = "auto", .choices = "auto|plain|colors|json",   \
      .meta = "FORM", .help = "auto: colours on a terminal, else JSON")                                                \
    X(OPT_DRAIN, .name = "drain-timeout", .type = CD_ARG_DURATION, .dflt = "10s", .max = 3600 * CD_NS_PER_SEC,         \
      .meta = "TIME", .help = "how long running requests may take after the signal to stop")

/* What callbacks get. */
typedef struct cd_service {
    const cd_args *args;
    cd_arena *mem; /* lives as long as the process */
    cd_loop *loop;
    cd_logger *log;
    cd_metrics *metrics; /* cd_process_metrics brings those of the process up to date */
} cd_service;

/* What a service is. */
typedef struct cd_service_def {
    const char *program; /* "candela-pricing" */
    const char *purpose; /* behind "candela-pricing: " in the help */
    const char *example; /* one command */
    const char *metrics_prefix;
    const cd_arg_def *options; /* static */
    usize options_cnt;
    usize log_level; /* the id of OPT_LOG_LEVEL; the other rows follow */

    /* open starts the service; on failure it leaves nothing behind, and why is told to the user. drain ends what runs
     * within grace_ms, then calls done once. close releases the rest; the loop does not run any more. */
    cd_err (*open)(void **app, const cd_service *s, cd_errinfo *why);
    void (*drain)(void *app, u32 grace_ms, void (*done)(void *ctx), void *ctx);
    void (*close)(void *app);
} cd_service_def;

/* cd_service_main runs a service and gives the exit code. */
int cd_service_main(const cd_service_def *def, int argc, char **argv);

#endif
