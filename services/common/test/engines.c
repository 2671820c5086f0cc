#include "services/common/test/engines.h"

#include "base/os/fileio.h"

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
void engines_dir(char dir[64])
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
    char *run[] = {postgres, "-D", data, "-k", server.dir, "-c", "listen_addresses=", "-c", "fsync=off", NULL};
    server.pid = start(run);
}

static void start_server(void)
{
    int status = 0;
    char url[256];
    engines_dir(server.dir);
    const struct passwd *p = getpwnam("nobody");
    if (geteuid() == 0 && p != NULL) {
        assert_int_equal(chown(server.dir, p->pw_uid, p->pw_gid), 0);
    }
    char data[80];
    (void)snprintf(data, sizeof data, "%s/data", server.dir);
    char *init[] = {initdb, "-D", data, "-U", "rig", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", NULL};
    assert_true(waitpid(start(init), &status, 0) > 0);
    assert_int_equal(status, 0);
    run_server();
    assert_true(can_connect(url));
}

void engines_server_stop(void)
{
    (void)kill(server.pid, SIGQUIT);
    (void)waitpid(server.pid, NULL, 0);
}

void engines_server_start(void)
{
    run_server();
}

usize engines_count(void)
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

void engines_end(void)
{
    if (server.pid > 0) {
        engines_server_stop();
        server.pid = 0;
        engines_ok(cd_fs_remove_tree(cd_fs_real(), server.dir, why));
    }
}

int engines_group_end(void **state)
{
    (void)state;
    engines_end();
    return 0;
}

static void make_schema(char url[256])
{
    cd_sql *q = NULL;
    assert_true(can_connect(url));
    engines_ok(cd_sql_open(&q, &(cd_sql_cfg){.url = url, .may_write = true}, why));
    char text[64];
    (void)snprintf(text, sizeof text, "CREATE SCHEMA rig%u", ++server.schemas);
    engines_ok(cd_sql_exec(q, text, why));
    cd_sql_close(q);
    usize n = strlen(url);
    (void)snprintf(url + n, 256 - n, "&options=-csearch_path%%3Drig%u", server.schemas);
}

void engines_url(char url[256], usize engine, const char *dir)
{
    if (engine == 0) {
        (void)snprintf(url, 256, "sqlite:%s/store.db", dir);
    } else {
        make_schema(url);
    }
}
