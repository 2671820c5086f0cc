#include "services/webhook/test/store_rig.h"

#include "base/fileio.h"
#include "crypto/sha2.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char initdb[] = "/usr/lib/postgresql/15/bin/initdb";
static char postgres[] = "/usr/lib/postgresql/15/bin/postgres";

/* The server of this process: started when first asked for, in a temporary folder, by an ordinary user, without TCP. */
static struct {
    bool was_tried;
    pid_t pid;
    char dir[64];
    u32 schemas;
} server;

/* In memory where the system has such a place: nothing here is about the speed of disks. */
static void make_dir(char dir[64])
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(dir, 64, "%s/cd_store_XXXXXX", base);
    assert_non_null(mkdtemp(dir));
}

/* In the child: what the tests start ends with them, and is not root. */
static void become_ordinary(void)
{
    const struct passwd *p = getpwnam("nobody");
    if (geteuid() == 0 && p != NULL && (setgid(p->pw_gid) != 0 || setuid(p->pw_uid) != 0)) {
        _exit(1);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
    int null = open("/dev/null", O_RDWR);
    (void)dup2(null, 1);
    (void)dup2(null, 2);
}

static pid_t start(char *const *argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        become_ordinary();
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static bool can_connect(char url[256])
{
    cd_sql *q = NULL;
    (void)snprintf(url, 256, "postgresql:///postgres?host=%s&user=rig", server.dir);
    for (int i = 0; i < 400; i++) {
        if (cd_sql_open(&q, &(cd_sql_cfg){.url = url, .may_write = true}, NULL) == CD_OK) {
            cd_sql_close(q);
            return true;
        }
        (void)usleep(50000);
    }
    return false;
}

static void run_server(void)
{
    char data[80];
    (void)snprintf(data, sizeof data, "%s/data", server.dir);
    char *run[] = {
        postgres, "-D", data, "-k", server.dir, "-c", "listen_addresses=", "-c", "fsync=off", NULL};
    server.pid = start(run);
}

static void start_server(void)
{
    int status = 0;
    char url[256];
    make_dir(server.dir);
    const struct passwd *p = getpwnam("nobody");
    if (geteuid() == 0 && p != NULL) {
        assert_int_equal(chown(server.dir, p->pw_uid, p->pw_gid), 0);
    }
    char data[80];
    (void)snprintf(data, sizeof data, "%s/data", server.dir);
    char *init[] = {initdb,  "-D", data,   "-U",         "rig",       "-A",
                    "trust", "-E", "UTF8", "--locale=C", "--no-sync", NULL};
    assert_true(waitpid(start(init), &status, 0) > 0);
    assert_int_equal(status, 0);
    run_server();
    assert_true(can_connect(url));
}

void rig_server_stop(void)
{
    (void)kill(server.pid, SIGQUIT);
    (void)waitpid(server.pid, NULL, 0);
}

void rig_server_start(void)
{
    run_server();
}

usize rig_engines(void)
{
    if (!server.was_tried) {
        server.was_tried = true;
        if (access(postgres, X_OK) == 0) {
            start_server();
        } else {
            const char *ci = getenv("CI");
            print_message("SKIP PostgreSQL is not installed\n");
            assert_true(ci == NULL || strcmp(ci, "true") != 0);
        }
    }
    return server.pid > 0 ? 2 : 1;
}

void rig_engines_end(void)
{
    if (server.pid > 0) {
        rig_server_stop();
        server.pid = 0;
        rig_ok(cd_fs_remove_tree(cd_fs_real(), server.dir, why));
    }
}

/* Every rig has a schema of its own. */
static void make_schema(char url[256])
{
    cd_sql *q = NULL;
    assert_true(can_connect(url));
    rig_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = url, .may_write = true}, why));
    char text[64];
    (void)snprintf(text, sizeof text, "CREATE SCHEMA rig%u", ++server.schemas);
    rig_ok(cd_sql_exec(q, text, why));
    cd_sql_close(q);
    usize n = strlen(url);
    (void)snprintf(url + n, 256 - n, "&options=-csearch_path%%3Drig%u", server.schemas);
}

static cd_wh_store_cfg cfg_of(rig *r, const char *worker)
{
    return (cd_wh_store_cfg){.url = r->url,
                             .worker = worker,
                             .master_key = r->master_key,
                             .clock = &r->clock.clock,
                             .lease_ms = 60000,
                             .ahead = 4};
}

void rig_open(rig *r, usize engine)
{
    memset(r, 0, sizeof *r);
    cd_clock_virtual_init(&r->clock, RIG_T0 * CD_NS_PER_MS);
    make_dir(r->dir);
    if (engine == 0) {
        (void)snprintf(r->url, sizeof r->url, "sqlite:%s/store.db", r->dir);
    } else {
        make_schema(r->url);
    }
    memset(r->master_key, 7, sizeof r->master_key);
    const cd_wh_store_cfg cfg = cfg_of(r, "one");
    rig_ok(cd__wh_store_open(&r->s, &cfg, true, why));
}

void rig_again(rig *r)
{
    const cd_wh_store_cfg cfg = cfg_of(r, "one");
    cd__wh_store_close(r->s);
    r->s = NULL;
    r->in_tx = false;
    rig_ok(cd__wh_store_open(&r->s, &cfg, true, why));
}

cd_wh_store *rig_another(rig *r, const char *worker)
{
    const cd_wh_store_cfg cfg = cfg_of(r, worker);
    cd_wh_store *s = NULL;
    rig_ok(cd__wh_store_open(&s, &cfg, true, why));
    return s;
}

void rig_close(rig *r)
{
    cd__wh_store_close(r->s);
    cd_arena_fini(&r->mem);
    rig_ok(cd_fs_remove_tree(cd_fs_real(), r->dir, why));
}

void rig_begin(rig *r)
{
    rig_ok(cd__wh_begin(r->s, true, why));
}

void rig_commit(rig *r)
{
    rig_ok(cd__wh_commit(r->s, why));
}

i64 rig_hook(rig *r, u32 n, bool is_strict)
{
    static const u32 selector = 0xa9059cbb;
    cd_wh_project p = {.id = "p", .name = "Project", .tier = "free", .email = "a@b.example"};
    cd_wh_hook h = {
        .id = cd_arena_fmt(&r->mem, "wh_%u", n),
        .project = "p",
        .face = CD_WH_B,
        .name = "",
        .url = "https://receiver.example/hook",
        .chain = "lux",
        .network = "",
        .types = 1u << CD_WH_B_ADDRESS,
        .config = cd_bytes_str("{\"addresses\":[]}"),
        .settings = cd_bytes_str("{}"),
        .secret = cd_bytes_str("whsec_k7m9p2q4r6s8t0v2w4x6y8z0"),
        .created_ms = rig_now(r),
        .updated_ms = rig_now(r),
        .is_strict = is_strict,
        .filter = {.selectors = &selector, .selectors_cnt = 1},
    };
    rig_ok(cd_wh_project_put(r->s, &p, why));
    rig_ok(cd_wh_hook_add(r->s, &h, 0, why));
    return h.key;
}

cd_wh_event rig_event(rig *r, i64 hook, u64 block, u32 n)
{
    cd_wh_event e = {.hook = hook, .type = CD_WH_B_ADDRESS, .block = block, .time_ms = RIG_T0};
    u64 parts[3] = {(u64)hook, block, n};
    cd_hash32 h;
    cd_sha256(&h, cd_bytes_of(parts, sizeof parts));
    memcpy(e.h, h.b, sizeof e.h);
    (void)snprintf(e.id, sizeof e.id, "evt_%llu_%llu_%u", (unsigned long long)hook,
                   (unsigned long long)block, n);
    e.body = cd_bytes_str(cd_arena_fmt(&r->mem, "{\"id\":\"%s\"}", e.id));
    return e;
}

void rig_wait(rig *r, u64 ms)
{
    cd_clock_virtual_advance(&r->clock, ms * CD_NS_PER_MS);
}

u64 rig_now(const rig *r)
{
    return cd_clock_wall_ns(&r->clock.clock) / CD_NS_PER_MS;
}
