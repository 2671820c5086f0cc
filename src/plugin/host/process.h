/* plugin/host/process.h - a plugin's process: started with a bare environment, its words in our log, its end noticed.
 *
 *   start ─► watcher's thread: clone, exec ──► plugin          stdout, stderr ──► log, line by line
 *                                └ one of the pipes closes, or the process ends ─► SIGTERM, SIGKILL ─► ended (once)
 *
 * The process gets no arguments and, of our environment, what plugins are promised and nothing else. It is told to end
 * (SIGTERM) when we die. Its output is bounded in rate, so that it takes no other's place in the log. Threading:
 * shared, but for start and free. [spec:plugin#1] [spec:plugin#8] */
#ifndef CD_PLUGIN_HOST_PROCESS_H
#define CD_PLUGIN_HOST_PROCESS_H

#include "base/log/log.h"

typedef struct cd_plugin_process cd_plugin_process;

/* What to start, and who is told of its end. Borrowed until cd_plugin_process_free; path is copied. */
typedef struct cd_plugin_process_cfg {
    const char *path;
    const char *engine; /* address for the handshake: "127.0.0.1:PORT" */
    const char *name;   /* name of the chain, for the log */
    cd_logger *log;     /* NULL: its output is dropped */
    u32 term_ms;        /* between SIGTERM and SIGKILL; 0: 5000 */
    /* Called once, from another thread, when the process has ended; how: "signal 9", "exit status 1". NULL
     * allowed. */
    void (*ended)(void *ctx, const char *how);
    void *ctx;
} cd_plugin_process_cfg;

enum { CD_PLUGIN_HOW_MAX = 64 };

/* cd_plugin_process_start starts a process and returns when the program runs. Errors: CD_ENOENT, CD_EACCES (of the
 * file), CD_EUNSUPPORTED (no program for this machine), CD_EAGAIN and CD_EIO (of this machine). */
cd_err cd_plugin_process_start(cd_plugin_process **out, const cd_plugin_process_cfg *cfg, cd_errinfo *why) CD_CHECK;

/* cd_plugin_process_end sends SIGTERM and, after term_ms, SIGKILL; cd_plugin_process_kill sends SIGKILL. Neither waits
 * for the end. */
void cd_plugin_process_end(cd_plugin_process *p);
void cd_plugin_process_kill(cd_plugin_process *p);

/* cd_plugin_process_has_ended tells whether the process has ended, and then how. */
bool cd_plugin_process_has_ended(cd_plugin_process *p, char how[CD_PLUGIN_HOW_MAX]);

/* cd_plugin_process_pid gives its process ID, also after its end. */
i32 cd_plugin_process_pid(const cd_plugin_process *p);

/* cd_plugin_process_free ends the process, waits for its end and for `ended`, and frees p; NULL is allowed. */
void cd_plugin_process_free(cd_plugin_process *p);

#endif
