#include "network/network_process.h"

#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "codec/json.h"
#include "network/network_track.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { START_S = 120, STOP_S = 30, STEP_MS = 20, ARGS_MAX = 40, FILE_MAX = 1 << 16, TAIL = 160 };

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000l}, NULL);
}

static bool is_late(u64 since_ns, u64 seconds)
{
    return cd_clock_mono_ns(cd_clock_real()) - since_ns > seconds * CD_NS_PER_SEC;
}

/* --- starting --- */

typedef struct line {
    cd_arena *mem;
    const char *words[ARGS_MAX];
    usize cnt;
} line;

__attribute__((format(printf, 2, 3))) static void add(line *l, const char *fmt, ...)
{
    char text[4200];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CD_ASSERT(l->cnt + 1 < ARGS_MAX);
    l->words[l->cnt++] = cd_arena_str(l->mem, cd_bytes_str(text));
    l->words[l->cnt] = NULL;
}

static void add_beacon(line *l, const cd__net_node *beacon)
{
    cd_buf id = {0};
    if (beacon != NULL) {
        cd_node_id_put(&id, &beacon->id);
        add(l, "--bootstrap-ips=127.0.0.1:%u", beacon->staking_port);
        add(l, "--bootstrap-ids=%s", cd_buf_cstr(&id));
    } else {
        add(l, "--bootstrap-ips=");
        add(l, "--bootstrap-ids=");
    }
    cd_buf_fini(&id);
}

static void command_of(line *l, const cd__net *n, const cd__net_node *x, const cd__net_node *beacon)
{
    *l = (line){.mem = n->mem};
    add(l, "%s", x->is_go ? n->go_program : n->program);
    add(l, "--data-dir=%s", cd__net_path(n, x, ""));
    add(l, "--process-context-file=%s", cd__net_path(n, x, "process.json"));
    add(l, "--network-id=%u", n->network.id);
    add(l, "--genesis-file=%s/genesis.json", n->dir);
    add(l, "--http-port=%u", x->http_port);
    add(l, "--staking-port=%u", x->staking_port);
    add(l, "--public-ip=127.0.0.1");
    add(l, "--staking-tls-cert-file=%s", cd__net_path(n, x, "staking/staker.crt"));
    add(l, "--staking-tls-key-file=%s", cd__net_path(n, x, "staking/staker.key"));
    add(l, "--staking-signer-key-file=%s", cd__net_path(n, x, "staking/signer.key"));
    add(l, "--index-enabled=true");
    if (x->tracks[0] != '\0') {
        add(l, "--track-subnets=%s", x->tracks);
    }
    if (cd__net_plugins(n) != NULL) {
        add(l, "--plugin-dir=%s", cd__net_plugins(n));
    }
    add_beacon(l, beacon);
    if (x->is_go) {
        add(l, "--fd-limit=4096");
        add(l, "--log-display-level=info");
    } else {
        add(l, "--network-profile=%s", n->profile);
        add(l, "--staking-host=127.0.0.1");
        add(l, "--network-health-min-conn-peers=%d", n->cnt > 1 ? 1 : 0);
        add(l, "--explorer=%s", x == cd__net_shown(n) ? "on" : "off");
        add(l, "--log-format=json");
        add(l, "--network-blocked-peers-file=%s", cd__net_path(n, x, "blocked-peers"));
    }
}

static bool port_of(u16 *out, cd_json v, const char *key)
{
    cd_bytes text;
    u64 port = 0;
    if (cd_json_str(&text, cd_json_get(v, key), NULL) != CD_OK) {
        return false;
    }
    usize at = text.n;
    while (at > 0 && text.p[at - 1] != ':') {
        at--;
    }
    for (usize i = at; i < text.n && port <= UINT16_MAX; i++) {
        bool is_digit = text.p[i] >= '0' && text.p[i] <= '9';
        port = is_digit ? port * 10 + (u64)(text.p[i] - '0') : UINT16_MAX + 1ull;
    }
    *out = (u16)port;
    return at != 0 && at != text.n && port != 0 && port <= UINT16_MAX;
}

/* Reads the ports out of process.json; false: the process of this start has not written it yet. */
static bool reads_ports(const cd__net *n, cd__net_node *x)
{
    cd_buf text = {0};
    cd_json v;
    u64 pid = 0;
    bool is_good = cd_fs_read_file(cd_fs_real(), &text, cd__net_path(n, x, "process.json"), FILE_MAX, NULL) == CD_OK &&
                   cd_json_parse(&v, n->mem, cd_arena_dup(n->mem, cd_buf_bytes(&text)), 0, NULL) == CD_OK &&
                   cd_json_u64(&pid, cd_json_get(v, "pid"), NULL) == CD_OK && pid == x->pid &&
                   port_of(&x->http_port, v, "uri") && port_of(&x->staking_port, v, "stakingAddress");
    cd_buf_fini(&text);
    return is_good;
}

/* The end of a log. */
static const char *tail_of(cd_arena *mem, const char *log)
{
    cd_buf text = {0};
    (void)!cd_fs_read_file(cd_fs_real(), &text, log, 64 << 20, NULL);
    cd_bytes all = cd_buf_bytes(&text);
    while (all.n != 0 && all.p[all.n - 1] == '\n') {
        all.n--;
    }
    usize n = cd_min_u64(all.n, TAIL);
    const char *tail = cd_arena_str(mem, cd_bytes_sub(all, all.n - n, n));
    cd_buf_fini(&text);
    return tail;
}

/* Has the system wait for children, whose exit status nobody asks for. */
static void wait_for_children(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
}

static cd_err write_blocked(const cd__net *n, const cd__net_node *x, cd_errinfo *why)
{
    cd_buf text = {0};
    for (usize i = 0; i < n->cnt; i++) {
        if (n->nodes[i].group != x->group) {
            cd_node_id_put(&text, &n->nodes[i].id);
            cd_buf_str(&text, "\n");
        }
    }
    const char *path = cd__net_path(n, x, "blocked-peers");
    cd_err e = cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&text), 0600, why);
    cd_buf_fini(&text);
    return e;
}

/* Finds a running node of the same group, from which x learns of the others; NULL: none runs. */
static const cd__net_node *beacon_for(const cd__net *n, const cd__net_node *x)
{
    for (usize i = 0; i < n->cnt; i++) {
        const cd__net_node *y = &n->nodes[i];
        if (y != x && y->group == x->group && cd__net_life_of(n, y) == CD__NET_RUNS) {
            return y;
        }
    }
    return NULL;
}

cd_err cd__net_start(cd__net *n, cd__net_node *x, cd_errinfo *why)
{
    line l;
    const char *log = cd__net_path(n, x, "out.log");
    u64 start = cd_clock_mono_ns(cd_clock_real());
    wait_for_children();
    CD_TRY(write_blocked(n, x, why));
    command_of(&l, n, x, beacon_for(n, x));
    CD_TRY(cd__process_spawn(&x->pid, l.words, log, why));
    CD_TRY(cd__net_save(n, why)); /* at once, so that the process can be found if this program ends */
    while (!reads_ports(n, x)) {
        if (!cd__process_is_there(x->pid)) {
            x->pid = 0;
            return cd_fail(why, CD_EIO, "%s has ended: %s", x->name, tail_of(n->mem, log));
        }
        if (is_late(start, START_S)) {
            return cd_fail(why, CD_ETIMEOUT, "%s does not serve after %d s; its log: %.120s", x->name, START_S, log);
        }
        nap();
    }
    return cd__net_save(n, why);
}

cd_err cd__net_start_all(cd__net *n, cd_errinfo *why)
{
    for (usize i = 0; i < n->cnt; i++) {
        if (cd__net_life_of(n, &n->nodes[i]) == CD__NET_DOWN) {
            CD_TRY(cd__net_start(n, &n->nodes[i], why));
        }
    }
    return CD_OK;
}

/* --- signals --- */

cd_err cd__net_signal(const cd__net *n, const cd__net_node *x, int signum, cd_errinfo *why)
{
    if (cd__net_life_of(n, x) == CD__NET_DOWN) {
        return cd_fail(why, CD_EINVAL, "%s does not run", x->name);
    }
    return kill((pid_t)x->pid, signum) == 0 ? CD_OK : cd_fail(why, CD_EIO, "%s: %s", x->name, strerror(errno));
}

static bool are_down(const cd__net *n)
{
    bool are = true;
    for (usize i = 0; i < n->cnt; i++) {
        are = are && cd__net_life_of(n, &n->nodes[i]) == CD__NET_DOWN;
    }
    return are;
}

static void signal_all(const cd__net *n, int signum)
{
    for (usize i = 0; i < n->cnt; i++) {
        (void)!cd__net_signal(n, &n->nodes[i], signum, NULL);
    }
}

cd_err cd__net_stop(cd__net *n, cd_errinfo *why)
{
    u64 start = cd_clock_mono_ns(cd_clock_real());
    bool was_patient = true;
    signal_all(n, SIGTERM);
    signal_all(n, SIGCONT); /* so that paused nodes end, too */
    while (!are_down(n)) {
        if (is_late(start, STOP_S) && was_patient) {
            was_patient = false;
            signal_all(n, SIGKILL);
        }
        if (is_late(start, 2ull * STOP_S)) {
            return cd_fail(why, CD_ETIMEOUT, "not all nodes have ended after %d s", 2 * STOP_S);
        }
        nap();
    }
    for (usize i = 0; i < n->cnt; i++) {
        n->nodes[i].pid = 0;
    }
    return cd__net_save(n, why);
}

cd_err cd__net_part(const cd__net *n, cd_errinfo *why)
{
    for (usize i = 0; i < n->cnt; i++) {
        for (usize k = 0; k < i; k++) {
            const cd__net_node *a = &n->nodes[i];
            const cd__net_node *b = &n->nodes[k];
            if (a->is_go && b->is_go && a->group != b->group) {
                return cd_fail(why, CD_EUNSUPPORTED, "%s and %s run the original's program, which cannot be parted",
                               b->name, a->name);
            }
        }
    }
    for (usize i = 0; i < n->cnt; i++) {
        CD_TRY(write_blocked(n, &n->nodes[i], why));
        if (!n->nodes[i].is_go && cd__net_life_of(n, &n->nodes[i]) != CD__NET_DOWN) {
            CD_TRY(cd__net_signal(n, &n->nodes[i], SIGHUP, why));
        }
    }
    return CD_OK;
}
