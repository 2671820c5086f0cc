#include "node/front/holder.h"

#include "base/bytes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 512, TCP_LISTEN = 10 };

static bool name_of(cd_holder *out, u64 pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%llu/comm", (unsigned long long)pid);
    FILE *f = fopen(path, "re");
    usize n = f == NULL ? 0 : fread(out->name, 1, sizeof out->name - 1, f);
    if (f != NULL) {
        (void)fclose(f);
    }
    n -= n != 0 && out->name[n - 1] == '\n';
    out->name[n] = '\0';
    for (usize i = 0; i < n; i++) {
        if ((u8)out->name[i] < 0x20 || out->name[i] == 0x7f) {
            out->name[i] = '?';
        }
    }
    out->pid = pid;
    return n != 0;
}

/* The inode of a socket that listens on port, from a table of /proc/net; 0 when there is none. */
static u64 listener_of(const char *table, u16 port)
{
    char line[LINE_MAX_LEN];
    u64 found = 0;
    FILE *f = fopen(table, "re");
    while (f != NULL && found == 0 && fgets(line, sizeof line, f) != NULL) {
        unsigned at;
        unsigned state;
        unsigned long long inode;
        if (sscanf(line, "%*u: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %llu", &at, &state, &inode) == 3 &&
            at == port && state == TCP_LISTEN) {
            found = inode;
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return found;
}

static bool has_open(u64 pid, const char *what)
{
    char path[300];
    char target[64];
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%llu/fd", (unsigned long long)pid);
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
        (void)snprintf(path, sizeof path, "/proc/%llu/fd/%.200s", (unsigned long long)pid, entry->d_name);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n > 0) {
            target[n] = '\0';
            found = strcmp(target, what) == 0;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return found;
}

bool cd_holder_of_port(cd_holder *out, u16 port)
{
    char socket[40];
    u64 inode = listener_of("/proc/net/tcp", port);
    inode = inode != 0 ? inode : listener_of("/proc/net/tcp6", port);
    DIR *proc = inode == 0 ? NULL : opendir("/proc");
    struct dirent *entry;
    bool found = false;
    (void)snprintf(socket, sizeof socket, "socket:[%llu]", (unsigned long long)inode);
    while (proc != NULL && !found && (entry = readdir(proc)) != NULL) {
        char *end;
        u64 pid = strtoull(entry->d_name, &end, 10);
        found = pid != 0 && *end == '\0' && has_open(pid, socket) && name_of(out, pid);
    }
    if (proc != NULL) {
        (void)closedir(proc);
    }
    return found;
}

bool cd_holder_of_lock(cd_holder *out, const char *path)
{
    struct stat st;
    char line[LINE_MAX_LEN];
    bool found = false;
    FILE *f = stat(path, &st) != 0 ? NULL : fopen("/proc/locks", "re");
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        unsigned long long pid;
        unsigned dev_major;
        unsigned dev_minor;
        unsigned long long inode;
        found = sscanf(line, "%*u: %*s %*s %*s %llu %x:%x:%llu", &pid, &dev_major, &dev_minor, &inode) == 4 &&
                inode == st.st_ino && dev_major == major(st.st_dev) && dev_minor == minor(st.st_dev) &&
                name_of(out, pid);
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return found;
}
