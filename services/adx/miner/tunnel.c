#define _GNU_SOURCE // environ, memmem, pipe2
#include "services/adx/miner/tunnel.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BACK_OFF_MAX_S = 60,
    STEADY_S = 60, /* who ran so long begins with the shortest pause again */
    OUTPUT_MAX = 16 << 10,
    ARGS_MAX = 12,
    ENV_MAX = 8,
    KILL_MS = 2000,
    LOOK_MS = 500,
    NGROK_POLL_MS = 1000,
    API_MAX = 64 << 10,
};

static const char *const names[] = {
    [CD_TUNNEL_NONE] = "none",   [CD_TUNNEL_DIRECT] = "direct",         [CD_TUNNEL_LOCALXPOSE] = "localxpose",
    [CD_TUNNEL_NGROK] = "ngrok", [CD_TUNNEL_CLOUDFLARE] = "cloudflare", [CD_TUNNEL_TAILSCALE] = "tailscale"};

struct cd_tunnel {
    cd_tunnel_cfg cfg;
    cd_arena mem;
    const char *args[ARGS_MAX];
    const char *env[ENV_MAX]; /* beside our own */
    usize env_cnt;
    char url[CD_WIRE_URL_MAX + 1];
    const char *state;
    u32 restarts;
    cd_timer *poll;
    cd_http_call *asking;
    /* the thread */
    cd_thread thread;
    bool is_running;
    int stop[2];
    cd_mutex lock;
    char seen[CD_WIRE_URL_MAX + 1]; /* under the lock */
    bool is_up, is_alive;           /* under the lock */
    bool is_posted;                 /* under the lock */
    u32 starts;                     /* under the lock */
    cd_loop_task task;
};

bool cd_tunnel_kind_of(cd_tunnel_kind *out, cd_bytes text)
{
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(text, cd_bytes_str(names[i]))) {
            *out = (cd_tunnel_kind)i;
            return true;
        }
    }
    return false;
}

const char *cd_tunnel_kind_text(cd_tunnel_kind kind)
{
    return names[kind];
}

/* --- output --- */

static bool is_url_end(u8 c)
{
    return c <= ' ' || c >= 0x7f || strchr("\"'<>|,;()", c) != NULL;
}

/* Whose addresses a provider gives out; others in its output are help and news. */
static bool is_of_kind(cd_tunnel_kind kind, cd_bytes url)
{
    static const char *const parts[][3] = {
        [CD_TUNNEL_LOCALXPOSE] = {".loclx.io", NULL, NULL},
        [CD_TUNNEL_NGROK] = {".ngrok", NULL, NULL},
        [CD_TUNNEL_CLOUDFLARE] = {".trycloudflare.com", NULL, NULL},
        [CD_TUNNEL_TAILSCALE] = {".ts.net", NULL, NULL},
    };
    for (usize i = 0; i < 3 && parts[kind][i] != NULL; i++) {
        if (memmem(url.p, url.n, parts[kind][i], strlen(parts[kind][i])) != NULL) {
            return true;
        }
    }
    return false;
}

cd_err cd_tunnel_find_url(char out[CD_WIRE_URL_MAX + 1], cd_tunnel_kind kind, bool is_own, cd_bytes text)
{
    for (usize i = 0; i + 8 < text.n; i++) {
        cd_bytes rest = cd_bytes_sub(text, i, text.n - i);
        if (memcmp(rest.p, "http://", 7) != 0 && memcmp(rest.p, "https://", 8) != 0) {
            continue;
        }
        usize n = 0;
        while (n < rest.n && !is_url_end(rest.p[n])) {
            n++;
        }
        cd_bytes url = cd_bytes_sub(rest, 0, n);
        bool is_whole = n < rest.n; // else the rest of it may be on its way
        if (is_whole && (is_own || is_of_kind(kind, url)) && cd_wire_url(out, url) == CD_OK) {
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

/* --- the thread --- */

static void on_news(cd_loop_task *task);

static void tell(cd_tunnel *t, const char *url, bool is_alive)
{
    cd_mutex_lock(&t->lock);
    t->is_up = url != NULL;
    t->is_alive = is_alive;
    if (url != NULL) {
        memcpy(t->seen, url, strlen(url) + 1);
    }
    bool is_first = !t->is_posted;
    t->is_posted = true;
    cd_mutex_unlock(&t->lock);
    if (is_first) {
        t->task.fn = on_news;
        cd_loop_post(t->cfg.loop, &t->task);
    }
}

/* Waits for the word to stop; false when the time is up. */
static bool is_stopped(const cd_tunnel *t, int ms)
{
    struct pollfd p = {.fd = t->stop[0], .events = POLLIN};
    return poll(&p, 1, ms) > 0;
}

static pid_t start(const cd_tunnel *t, int *output)
{
    int ends[2];
    pid_t pid = -1;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none;
    usize own = 0;
    while (environ[own] != NULL) {
        own++;
    }
    char **env = cd_new_array(char *, own + t->env_cnt + 1);
    memcpy(env, t->env, t->env_cnt * sizeof *env);
    memcpy(env + t->env_cnt, environ, own * sizeof *env);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        cd_free(env);
        return -1;
    }
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&files);
    (void)posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    (void)posix_spawn_file_actions_adddup2(&files, ends[1], 2);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    int failed = posix_spawnp(&pid, t->args[0], &files, &attr, (char *const *)(uintptr_t)t->args, env);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)close(ends[1]);
    cd_free(env);
    if (failed != 0) {
        (void)close(ends[0]);
        return -1;
    }
    *output = ends[0];
    return pid;
}

/* Reads what the program prints until it ends (its children may hold its output for longer); true: we are to stop. */
static bool watch(cd_tunnel *t, pid_t pid, int output)
{
    char url[CD_WIRE_URL_MAX + 1];
    cd_buf text = {0};
    bool is_known = t->cfg.kind == CD_TUNNEL_NGROK && t->cfg.cmd == NULL; // its API tells
    bool is_over = false;
    bool stops = false;
    while (!is_over && !stops) {
        struct pollfd p[] = {{.fd = t->stop[0], .events = POLLIN}, {.fd = output, .events = POLLIN}};
        if (poll(p, 2, LOOK_MS) < 0 && errno != EINTR) {
            break;
        }
        stops = p[0].revents != 0;
        if (p[1].revents == 0) {
            is_over = waitpid(pid, NULL, WNOHANG) != 0;
            continue;
        }
        if (text.n >= OUTPUT_MAX) { // the last half is enough to find a URL in
            memmove(text.p, text.p + OUTPUT_MAX / 2, text.n - OUTPUT_MAX / 2);
            text.n -= OUTPUT_MAX / 2;
        }
        ssize_t n = read(output, cd_buf_reserve(&text, 4096), 4096);
        is_over = n == 0 || (n < 0 && errno != EINTR);
        text.n += n > 0 ? (usize)n : 0;
        if (!is_known && cd_tunnel_find_url(url, t->cfg.kind, t->cfg.cmd != NULL, cd_buf_bytes(&text)) == CD_OK) {
            is_known = true;
            tell(t, url, true);
        }
    }
    cd_buf_fini(&text);
    return stops;
}

/* Ends the program's whole group; politely first. */
static void reap(pid_t pid)
{
    (void)kill(-pid, SIGTERM);
    for (u32 waited = 0; waited < KILL_MS; waited += 20) {
        if (waitpid(pid, NULL, WNOHANG) != 0) {
            (void)kill(-pid, SIGKILL);
            return;
        }
        (void)poll(NULL, 0, 20);
    }
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void work(void *arg)
{
    cd_tunnel *t = arg;
    const cd_clock *clock = cd_clock_real();
    u32 pause_s = 1;
    for (;;) {
        int output = -1;
        u64 began = cd_clock_mono_ns(clock);
        pid_t pid = start(t, &output);
        cd_mutex_lock(&t->lock);
        t->starts++;
        cd_mutex_unlock(&t->lock);
        bool stops = false;
        if (pid > 0) {
            tell(t, NULL, true);
            stops = watch(t, pid, output);
            (void)close(output);
            reap(pid);
        }
        if (stops) {
            return; // nobody listens any more
        }
        tell(t, NULL, false);
        bool was_steady = cd_clock_mono_ns(clock) - began >= STEADY_S * CD_NS_PER_SEC;
        pause_s = was_steady ? 1 : pause_s;
        if (is_stopped(t, (int)pause_s * 1000)) {
            return;
        }
        pause_s = pause_s * 2 < BACK_OFF_MAX_S ? pause_s * 2 : BACK_OFF_MAX_S;
    }
}

/* --- the loop --- */

static void set(cd_tunnel *t, const char *state, const char *url)
{
    if (strcmp(t->state, state) == 0 && strcmp(t->url, url) == 0) {
        return;
    }
    t->state = state;
    memmove(t->url, url, strlen(url) + 1);
    cd_log_info(t->cfg.log, "tunnel", CD_F("state", state), CD_F("url", url));
    t->cfg.changed(t->cfg.ctx);
}

static void on_api(void *ctx, const cd_http_result *r)
{
    cd_tunnel *t = ctx;
    cd_arena mem = {0};
    cd_json doc;
    cd_bytes text = {0};
    char url[CD_WIRE_URL_MAX + 1];
    t->asking = NULL;
    bool is_told =
        r->err == CD_OK && r->status == 200 && cd_json_parse(&doc, &mem, r->body, 0, NULL) == CD_OK &&
        cd_json_str(&text, cd_json_get(cd_json_at(cd_json_get(doc, "tunnels"), 0), "public_url"), NULL) == CD_OK &&
        cd_wire_url(url, text) == CD_OK;
    cd_mutex_lock(&t->lock);
    bool is_alive = t->is_alive;
    cd_mutex_unlock(&t->lock);
    if (is_alive) {
        set(t, is_told ? "up" : "starting", is_told ? url : "");
    }
    cd_arena_fini(&mem);
}

static void on_poll(void *ctx)
{
    cd_tunnel *t = ctx;
    const cd_http_ask ask = {.url = t->cfg.ngrok_api, .timeout_ms = 2000, .body_max = API_MAX};
    if (t->asking == NULL) {
        t->asking = cd_http_client_call(t->cfg.http, &ask, on_api, t);
    }
}

static void on_news(cd_loop_task *task)
{
    cd_tunnel *t = (cd_tunnel *)(void *)((char *)task - offsetof(cd_tunnel, task));
    char url[CD_WIRE_URL_MAX + 1];
    bool polls = t->poll != NULL;
    cd_mutex_lock(&t->lock);
    t->is_posted = false;
    bool is_up = t->is_up;
    bool is_alive = t->is_alive;
    memcpy(url, t->seen, sizeof url);
    t->restarts = t->starts - 1;
    cd_mutex_unlock(&t->lock);
    if (!is_alive || !polls) {
        set(t, is_up ? "up" : is_alive ? "starting" : "down", is_up ? url : "");
    }
}

/* --- life --- */

static const char *keep(cd_tunnel *t, const char *s)
{
    return s == NULL || s[0] == '\0' ? NULL : cd_arena_str(&t->mem, cd_bytes_str(s));
}

static void add_env(cd_tunnel *t, const char *name, const char *value)
{
    if (value != NULL && t->env_cnt < ENV_MAX) {
        t->env[t->env_cnt++] = cd_arena_fmt(&t->mem, "%s=%s", name, value);
    }
}

static void name_command(cd_tunnel *t)
{
    const cd_tunnel_cfg *c = &t->cfg;
    const char *port = cd_arena_fmt(&t->mem, "%u", c->port);
    const char *here = cd_arena_fmt(&t->mem, "http://127.0.0.1:%u", c->port);
    usize n = 0;
    add_env(t, "PORT", port);
    if (c->cmd != NULL) {
        const char *const args[] = {"/bin/sh", "-c", c->cmd};
        memcpy(t->args, args, sizeof args);
        add_env(t, "TUNNEL_SUBDOMAIN", c->subdomain);
        add_env(t, "TUNNEL_AUTH_TOKEN", c->auth_token);
        return;
    }
    switch (c->kind) {
    case CD_TUNNEL_LOCALXPOSE: {
        const char *const args[] = {"loclx", "tunnel", "--raw-mode",
                                    "http",  "--to",   cd_arena_fmt(&t->mem, "127.0.0.1:%u", c->port)};
        memcpy(t->args, args, sizeof args);
        n = CD_COUNT(args);
        add_env(t, "ACCESS_TOKEN", c->auth_token);
        break;
    }
    case CD_TUNNEL_NGROK: {
        const char *const args[] = {"ngrok", "http", port, "--log=stderr"};
        memcpy(t->args, args, sizeof args);
        n = CD_COUNT(args);
        add_env(t, "NGROK_AUTHTOKEN", c->auth_token);
        break;
    }
    case CD_TUNNEL_CLOUDFLARE: {
        const char *const args[] = {"cloudflared", "tunnel", "--no-autoupdate", "--url", here};
        memcpy(t->args, args, sizeof args);
        add_env(t, "TUNNEL_TOKEN", c->cf_token);
        return;
    }
    case CD_TUNNEL_TAILSCALE: {
        const char *const args[] = {"tailscale", "funnel", port};
        memcpy(t->args, args, sizeof args);
        return;
    }
    case CD_TUNNEL_NONE:
    case CD_TUNNEL_DIRECT:
        return;
    }
    if (c->subdomain != NULL) {
        bool is_ngrok = c->kind == CD_TUNNEL_NGROK;
        t->args[n] = is_ngrok ? cd_arena_fmt(&t->mem, "--url=%s", c->subdomain)
                              : cd_arena_fmt(&t->mem, "--subdomain=%s", c->subdomain);
    }
}

static cd_err direct(cd_tunnel *t, cd_errinfo *why)
{
    char url[CD_WIRE_URL_MAX + 1];
    cd_buf text = {0};
    const char *ip = t->cfg.public_ip == NULL ? "" : t->cfg.public_ip;
    bool is_v6 = strchr(ip, ':') != NULL && ip[0] != '[';
    cd_buf_fmt(&text, is_v6 ? "http://[%s]:%u" : "http://%s:%u", ip, t->cfg.port);
    bool is_good = ip[0] != '\0' && cd_wire_url(url, cd_buf_bytes(&text)) == CD_OK;
    cd_buf_fini(&text);
    if (!is_good) {
        return cd_fail(why, CD_EINVAL, "--tunnel=direct wants --public-ip, the address players reach this machine at");
    }
    t->state = "up";
    memcpy(t->url, url, sizeof url);
    return CD_OK;
}

cd_err cd_tunnel_open(cd_tunnel **out, const cd_tunnel_cfg *cfg, cd_errinfo *why)
{
    cd_tunnel *t = cd_new(cd_tunnel);
    cd_err err = CD_OK;
    t->cfg = *cfg;
    t->cfg.cmd = keep(t, cfg->cmd);
    t->cfg.public_ip = keep(t, cfg->public_ip);
    t->cfg.subdomain = keep(t, cfg->subdomain);
    t->cfg.auth_token = keep(t, cfg->auth_token);
    t->cfg.cf_token = keep(t, cfg->cf_token);
    const char *api = keep(t, cfg->ngrok_api);
    t->cfg.ngrok_api = api != NULL ? api : "http://127.0.0.1:4040/api/tunnels";
    t->state = "none";
    t->stop[0] = t->stop[1] = -1;
    cd_mutex_init(&t->lock);
    bool runs = cfg->kind != CD_TUNNEL_NONE && cfg->kind != CD_TUNNEL_DIRECT;
    if (cfg->kind == CD_TUNNEL_DIRECT) {
        err = direct(t, why);
    } else if (runs) {
        t->state = "starting";
        name_command(t);
        if (cfg->kind == CD_TUNNEL_NGROK && t->cfg.cmd == NULL) {
            t->poll = cd_timer_new(cfg->loop, on_poll, t);
            cd_timer_start(t->poll, NGROK_POLL_MS, NGROK_POLL_MS);
        }
        err = pipe2(t->stop, O_CLOEXEC) == 0 ? CD_OK : cd_fail(why, CD_EIO, "no pipe for the tunnel");
        if (err == CD_OK) {
            err = cd_thread_start(&t->thread, "tunnel", work, t, why);
            t->is_running = err == CD_OK;
        }
    }
    if (err != CD_OK) {
        cd_tunnel_close(t);
        return err;
    }
    *out = t;
    return CD_OK;
}

static void no_news(cd_loop_task *task)
{
    cd_tunnel *t = (cd_tunnel *)(void *)((char *)task - offsetof(cd_tunnel, task));
    cd_arena_fini(&t->mem);
    cd_mutex_fini(&t->lock);
    cd_free(t);
}

void cd_tunnel_end(cd_tunnel *t)
{
    if (t->is_running) {
        t->is_running = false;
        (void)close(t->stop[1]);
        t->stop[1] = -1;
        cd_thread_join(&t->thread);
    }
}

void cd_tunnel_close(cd_tunnel *t)
{
    if (t == NULL) {
        return;
    }
    cd_tunnel_end(t);
    for (usize i = 0; i < 2; i++) {
        if (t->stop[i] >= 0) {
            (void)close(t->stop[i]);
        }
    }
    cd_timer_free(t->poll);
    if (t->asking != NULL) {
        cd_http_call_cancel(t->asking);
    }
    if (t->is_posted) {
        t->task.fn = no_news; // the loop still has it
        return;
    }
    no_news(&t->task);
}

const char *cd_tunnel_url(const cd_tunnel *t)
{
    return t->url;
}

const char *cd_tunnel_state(const cd_tunnel *t)
{
    return t->state;
}

u32 cd_tunnel_restarts(const cd_tunnel *t)
{
    return t->restarts;
}
