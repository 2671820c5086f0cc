#define _GNU_SOURCE
#include "plugin/host/process.h"

#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STACK = 64 * 1024, /* bytes of the child's stack, until it becomes another program */
    READ_STEP = 16 * 1024,
    LINE_MAX_LEN = CD_LOG_VALUE_MAX, /* a longer line is logged as several */
    LINES_PER_S = 200,
    LINES_BURST = 2000,
    DRAINS_MAX = 64, /* most reads of what an ended process has left in a pipe */
    TERM_MS = 5000,
    SILENT_MS = 200, /* from a closed pipe to SIGTERM: most often the process is about to end by itself */
    NO_WAIT = -1,
};

static const char *const addr_vars[] = {"LUX_VM_RUNTIME_ENGINE_ADDR", "AVALANCHE_VM_RUNTIME_ENGINE_ADDR"};
static const char *const passed_on[] = {"GRPC_", "GODEBUG"};

/* A pipe of the process, and the beginning of a line that is not complete yet. */
typedef struct outlet {
    int fd; /* -1: closed */
    const char *name;
    cd_buf line;
} outlet;

typedef enum stage {
    RUNNING,
    ASKED, /* SIGTERM was sent */
    KILLED,
} stage;

struct cd_plugin_process {
    cd_plugin_process_cfg cfg;
    char *path;
    pid_t pid;
    outlet outlets[2];
    int bell; /* an eventfd that wakes the watcher: a signal is to be sent */
    atomic_bool is_end_asked;
    atomic_bool is_kill_asked;
    cd_thread watcher;
    /* Used by the watcher alone. */
    stage stage;
    u64 asked_ns;
    u64 silent_ns; /* when a pipe was closed; 0: none is */
    u64 tokens_ns; /* the time up to which lines have used up the rate */
    u64 dropped;
    cd_mutex lock; /* protects the rest */
    cd_cond told;
    bool has_started; /* start_err and start_why are valid */
    cd_err start_err;
    cd_errinfo start_why;
    bool has_ended;
    char how[CD_PLUGIN_HOW_MAX];
};

/* --- the new process, until it is another program --- */

/* What the child needs. It uses our memory, so that none has to be copied, while the thread that made it waits. */
typedef struct birth {
    const char *path;
    char *const *argv;
    char *const *envp;
    int out;
    int err;
    int in;
    int fault; /* a pipe that exec closes; the child writes errno to it when exec fails */
    pid_t parent;
} birth;

/* The thread sanitizer cannot handle children that share memory with their parent. */
#ifdef __SANITIZE_THREAD__
enum { CLONE_FLAGS = SIGCHLD };
#else
enum { CLONE_FLAGS = CLONE_VM | CLONE_VFORK | SIGCHLD };
#endif

static bool is_good(int result)
{
    return result >= 0;
}

/* The action of a signal as the kernel takes it (rt_sigaction): glibc's own calls leave out signals 32 and 33, which
 * it uses for threads, so one that our parent ignored would stay ignored. All zero is the default. */
typedef struct kernel_action {
    u64 handler;
    u64 flags;
    u64 restorer;
    u64 mask;
} kernel_action;

/* The child's function. It makes system calls only and uses nothing of libc that has a lock or a buffer. */
static int be_born(void *arg)
{
    birth *b = arg;
    const kernel_action plain = {0};
    const u64 none = 0;
    /* What nohup or a shell's & lets us ignore must not be passed on; some signals can be neither set nor ignored. */
    for (int sig = 1; sig < NSIG; sig++) {
        (void)syscall(SYS_rt_sigaction, sig, &plain, NULL, sizeof none);
    }
    /* PDEATHSIG comes when the thread ends that made the child: that is the watcher, which outlives the child. */
    bool ok = is_good(prctl(PR_SET_PDEATHSIG, SIGTERM)) && getppid() == b->parent && is_good(dup2(b->in, 0)) &&
              is_good(dup2(b->out, 1)) && is_good(dup2(b->err, 2)) &&
              is_good(close_range(3, ~0U, CLOSE_RANGE_CLOEXEC)) &&
              is_good((int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none));
    if (ok) {
        (void)execve(b->path, b->argv, b->envp);
    }
    int failed = errno == 0 ? EIO : errno;
    (void)!write(b->fault, &failed, sizeof failed);
    _exit(127);
}

static bool is_passed_on(const char *var)
{
    for (usize i = 0; i < CD_COUNT(passed_on); i++) {
        if (strncmp(var, passed_on[i], strlen(passed_on[i])) == 0) {
            return true;
        }
    }
    return false;
}

static char *joined(const char *name, const char *value)
{
    cd_buf text = {0};
    cd_buf_fmt(&text, "%s=%s", name, value);
    char *s = memcpy(cd_alloc(text.n + 1), cd_buf_cstr(&text), text.n + 1);
    cd_buf_fini(&text);
    return s;
}

/* Makes the environment: the variables of addr_vars, which are allocated, then borrowed ones that are passed on. */
static char **make_env(const char *engine)
{
    usize n = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **env = cd_new_array(char *, n + CD_COUNT(addr_vars) + 1);
    usize cnt = 0;
    for (usize i = 0; i < CD_COUNT(addr_vars); i++) {
        env[cnt++] = joined(addr_vars[i], engine);
    }
    for (usize i = 0; i < n; i++) {
        if (is_passed_on(environ[i])) {
            env[cnt++] = environ[i];
        }
    }
    return env;
}

static void free_env(char **env)
{
    for (usize i = 0; i < CD_COUNT(addr_vars); i++) {
        cd_free(env[i]);
    }
    cd_free(env);
}

static cd_err err_of(int e)
{
    switch (e) {
    case ENOENT:
    case ENOTDIR:
        return CD_ENOENT;
    case EACCES:
    case EPERM:
        return CD_EACCES;
    case ENOEXEC:
    case ELIBBAD:
        return CD_EUNSUPPORTED;
    case EAGAIN:
    case ENOMEM:
        return CD_EAGAIN;
    default:
        return CD_EIO;
    }
}

static cd_err fail_errno(int e, const char *what, const char *path, cd_errinfo *why)
{
    char text[128] = "";
    const char *said = strerror_r(e, text, sizeof text);
    return cd_fail(why, err_of(e), "%s %s: %s", what, path, said);
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

/* Makes the child and gives its errno; 0: the program runs. */
static int bear(cd_plugin_process *p, birth *b, void *stack)
{
    int fault[2];
    int failed = 0;
    if (pipe2(fault, O_CLOEXEC) != 0) {
        return errno;
    }
    b->fault = fault[1];
    p->pid = clone(be_born, (u8 *)stack + STACK, CLONE_FLAGS, b);
    failed = p->pid < 0 ? errno : 0;
    close_fd(&fault[1]);
    ssize_t n;
    do {
        n = p->pid < 0 ? 0 : read(fault[0], &failed, sizeof failed);
    } while (n < 0 && errno == EINTR);
    close_fd(&fault[0]);
    if (p->pid >= 0 && failed != 0) {
        (void)waitpid(p->pid, NULL, 0);
    }
    return failed;
}

static cd_err clone_it(cd_plugin_process *p, int in, int out, int err, cd_errinfo *why)
{
    char *argv[] = {p->path, NULL};
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return fail_errno(errno, "cannot start", p->path, why);
    }
    char **env = make_env(p->cfg.engine);
    birth b = {.path = p->path, .argv = argv, .envp = env, .in = in, .out = out, .err = err, .parent = getpid()};
    int failed = bear(p, &b, stack);
    (void)munmap(stack, STACK);
    free_env(env);
    return failed == 0 ? CD_OK : fail_errno(failed, "cannot start", p->path, why);
}

static cd_err spawn(cd_plugin_process *p, cd_errinfo *why)
{
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cd_err e = CD_OK;
    if (in < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        e = fail_errno(errno, "no pipes for", p->path, why);
    }
    e = e != CD_OK ? e : clone_it(p, in, out[1], err[1], why);
    close_fd(&in);
    close_fd(&out[1]);
    close_fd(&err[1]);
    if (e != CD_OK) {
        close_fd(&out[0]);
        close_fd(&err[0]);
        return e;
    }
    const int fds[] = {out[0], err[0]};
    for (usize i = 0; i < CD_COUNT(fds); i++) {
        p->outlets[i].fd = fds[i];
        (void)fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    return CD_OK;
}

/* --- the output of the process --- */

/* Limits the rate of lines: each uses up a part of a second. false: the rate is used up, the line is dropped. */
static bool pay_for_line(cd_plugin_process *p)
{
    const u64 price = 1000 * CD_NS_PER_MS / LINES_PER_S;
    u64 now = cd_clock_mono_ns(cd_clock_real());
    u64 earliest = now < price * LINES_BURST ? 0 : now - price * LINES_BURST;
    p->tokens_ns = cd_max_u64(p->tokens_ns, earliest);
    if (p->tokens_ns + price > now) {
        p->dropped++;
        return false;
    }
    p->tokens_ns += price;
    return true;
}

static void say(cd_plugin_process *p, const outlet *o)
{
    if (o->line.n == 0 || !pay_for_line(p)) {
        return;
    }
    if (p->dropped != 0) {
        cd_log_warn(p->cfg.log, "the plugin says more than is written", CD_F("chain", p->cfg.name),
                    CD_F("lines_dropped", p->dropped));
        p->dropped = 0;
    }
    cd_log_info(p->cfg.log, "plugin", CD_F("chain", p->cfg.name), CD_F("from", o->name),
                CD_F("line", cd_buf_bytes(&o->line)));
}

static void take_text(cd_plugin_process *p, outlet *o, cd_bytes text)
{
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if (c != '\n' && c != '\r') {
            cd_buf_u8(&o->line, c);
        }
        if (c == '\n' || o->line.n == LINE_MAX_LEN) {
            say(p, o);
            cd_buf_clear(&o->line);
        }
    }
}

/* Reads from a pipe once; false: there is nothing more for now. */
static bool read_some(cd_plugin_process *p, outlet *o)
{
    u8 text[READ_STEP];
    ssize_t n = read(o->fd, text, sizeof text);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (n <= 0) {
        say(p, o);
        cd_buf_clear(&o->line);
        close_fd(&o->fd);
        return false;
    }
    take_text(p, o, cd_bytes_of(text, (usize)n));
    return true;
}

/* --- the end of the process --- */

static void put_how(char how[CD_PLUGIN_HOW_MAX], int status)
{
    if (WIFSIGNALED(status)) {
        (void)snprintf(how, CD_PLUGIN_HOW_MAX, "signal %d", WTERMSIG(status));
    } else {
        (void)snprintf(how, CD_PLUGIN_HOW_MAX, "exit status %d", WEXITSTATUS(status));
    }
}

static void note_end(cd_plugin_process *p, int status)
{
    for (usize i = 0; i < CD_COUNT(p->outlets); i++) {
        for (u32 k = 0; k < DRAINS_MAX && p->outlets[i].fd >= 0 && read_some(p, &p->outlets[i]); k++) {
        }
        close_fd(&p->outlets[i].fd);
    }
    cd_mutex_lock(&p->lock);
    p->has_ended = true;
    put_how(p->how, status);
    cd_mutex_unlock(&p->lock);
}

/* Sends signals that were ordered or are due. The pid is still the process's: only watch() waits for it, later. */
static void send_signals(cd_plugin_process *p)
{
    const u64 term_ns = (p->cfg.term_ms == 0 ? TERM_MS : p->cfg.term_ms) * CD_NS_PER_MS;
    u64 now = cd_clock_mono_ns(cd_clock_real());
    if (p->silent_ns == 0 && (p->outlets[0].fd < 0 || p->outlets[1].fd < 0)) {
        p->silent_ns = now;
    }
    bool is_silent = p->silent_ns != 0 && now - p->silent_ns >= SILENT_MS * CD_NS_PER_MS;
    if (p->stage == RUNNING && (is_silent || atomic_load(&p->is_end_asked))) {
        p->stage = ASKED;
        p->asked_ns = now;
        (void)kill(p->pid, SIGTERM);
    }
    bool is_late = p->stage == ASKED && now - p->asked_ns >= term_ns;
    if (p->stage != KILLED && (is_late || atomic_load(&p->is_kill_asked))) {
        p->stage = KILLED;
        (void)kill(p->pid, SIGKILL);
    }
}

/* Milliseconds for which nothing is due. After a pipe closed, the end is near, and nothing would wake us for it. */
static int idle_ms(const cd_plugin_process *p)
{
    enum { SOON = 10 };
    return p->stage == RUNNING && p->silent_ns == 0 ? NO_WAIT : SOON;
}

static void watch(cd_plugin_process *p)
{
    int status;
    for (;;) {
        send_signals(p);
        if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
            note_end(p, status);
            return;
        }
        struct pollfd fds[3] = {
            {.fd = p->outlets[0].fd, .events = POLLIN},
            {.fd = p->outlets[1].fd, .events = POLLIN},
            {.fd = p->bell, .events = POLLIN},
        };
        (void)poll(fds, CD_COUNT(fds), idle_ms(p));
        for (usize i = 0; i < CD_COUNT(p->outlets); i++) {
            if (fds[i].revents != 0) {
                (void)read_some(p, &p->outlets[i]);
            }
        }
        u64 rung;
        if (fds[2].revents != 0) {
            (void)!read(p->bell, &rung, sizeof rung);
        }
    }
}

static void run(void *arg)
{
    cd_plugin_process *p = arg;
    cd_errinfo why = {0};
    cd_err e = spawn(p, &why);
    cd_mutex_lock(&p->lock);
    p->start_err = e;
    p->start_why = why;
    p->has_started = true;
    cd_cond_wake_all(&p->told);
    cd_mutex_unlock(&p->lock);
    if (e != CD_OK) {
        return;
    }
    watch(p);
    if (p->cfg.ended != NULL) {
        p->cfg.ended(p->cfg.ctx, p->how);
    }
}

/* --- for others --- */

static cd_err await_start(cd_plugin_process *p, cd_errinfo *why)
{
    cd_mutex_lock(&p->lock);
    while (!p->has_started) {
        cd_cond_wait(&p->told, &p->lock);
    }
    cd_err e = p->start_err;
    if (e != CD_OK && why != NULL) {
        *why = p->start_why;
    }
    cd_mutex_unlock(&p->lock);
    return e;
}

static void forget(cd_plugin_process *p)
{
    close_fd(&p->bell);
    for (usize i = 0; i < CD_COUNT(p->outlets); i++) {
        close_fd(&p->outlets[i].fd);
        cd_buf_fini(&p->outlets[i].line);
    }
    cd_cond_fini(&p->told);
    cd_mutex_fini(&p->lock);
    cd_free(p->path);
    cd_free(p);
}

cd_err cd_plugin_process_start(cd_plugin_process **out, const cd_plugin_process_cfg *cfg, cd_errinfo *why)
{
    cd_plugin_process *p = cd_new(cd_plugin_process);
    usize n = strlen(cfg->path) + 1;
    p->cfg = *cfg;
    p->path = memcpy(cd_alloc(n), cfg->path, n);
    p->cfg.path = p->path;
    p->outlets[0] = (outlet){.fd = -1, .name = "stdout"};
    p->outlets[1] = (outlet){.fd = -1, .name = "stderr"};
    p->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cd_mutex_init(&p->lock);
    cd_cond_init(&p->told);
    cd_err e = p->bell < 0 ? fail_errno(errno, "cannot start", p->path, why)
                           : cd_thread_start(&p->watcher, "plugin", run, p, why);
    if (e == CD_OK) {
        e = await_start(p, why);
        if (e != CD_OK) {
            cd_thread_join(&p->watcher);
        }
    }
    if (e != CD_OK) {
        forget(p);
        return e;
    }
    *out = p;
    return CD_OK;
}

static void ring(const cd_plugin_process *p)
{
    const u64 one = 1;
    (void)!write(p->bell, &one, sizeof one);
}

void cd_plugin_process_end(cd_plugin_process *p)
{
    atomic_store(&p->is_end_asked, true);
    ring(p);
}

void cd_plugin_process_kill(cd_plugin_process *p)
{
    atomic_store(&p->is_kill_asked, true);
    ring(p);
}

bool cd_plugin_process_has_ended(cd_plugin_process *p, char how[CD_PLUGIN_HOW_MAX])
{
    cd_mutex_lock(&p->lock);
    bool has = p->has_ended;
    if (has) {
        memcpy(how, p->how, sizeof p->how);
    }
    cd_mutex_unlock(&p->lock);
    return has;
}

i32 cd_plugin_process_pid(const cd_plugin_process *p)
{
    return p->pid;
}

void cd_plugin_process_free(cd_plugin_process *p)
{
    if (p == NULL) {
        return;
    }
    cd_plugin_process_end(p);
    cd_thread_join(&p->watcher);
    forget(p);
}
