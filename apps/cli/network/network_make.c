#include "network/network_make.h"

#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "network/network_ask.h"
#include "network/network_run.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MEET_S = 120, STEP_MS = 50, DIR_MODE = 0700 };

static const char *own_program(cd_arena *mem)
{
    char path[4000];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    char *name = strrchr(path, '/');
    if (name == NULL) {
        return "candela";
    }
    *name = '\0';
    return cd_arena_fmt(mem, "%s/candela", path);
}

static cd_err check_program(const char *flag, const char *path, cd_errinfo *why)
{
    return access(path, X_OK) == 0 ? CD_OK : cd_fail(why, CD_EINVAL, "%s: %.200s is no program", flag, path);
}

/* Makes a path absolute: by the folder in its command line a node's process is known (network_process.c). */
static cd_err absolute(const char **out, cd_arena *mem, const char *path, cd_errinfo *why)
{
    char *real = realpath(path, NULL);
    if (real == NULL) {
        return cd_fail(why, CD_ENOENT, "there is no %.200s", path);
    }
    *out = cd_arena_str(mem, cd_bytes_str(real));
    free(real);
    return CD_OK;
}

static cd_err check(const cd__net_wish *wish, const cd__net *n, cd_errinfo *why)
{
    if (wish->nodes == 0 || wish->go > wish->nodes) {
        return cd_fail(why, CD_EINVAL, "--nodes: one at least, and as many as --go at least");
    }
    if (wish->go != 0 && strcmp(n->profile, "upstream") != 0) {
        return cd_fail(why, CD_EINVAL, "--go: the original's program knows only --network-profile=upstream");
    }
    CD_TRY(wish->go == wish->nodes ? CD_OK : check_program("--program", n->program, why));
    return wish->go == 0 ? CD_OK : check_program("--go-program", n->go_program, why);
}

cd_err cd__net_make(cd__net *out, cd_arena *mem, const char *dir, const cd__net_wish *wish, cd_errinfo *why)
{
    const char *fitting = wish->go != 0 ? "upstream" : "product";
    *out = (cd__net){.mem = mem,
                     .network = cd_network_of(CD__NET_ID),
                     .program = wish->program[0] != '\0' ? wish->program : own_program(mem),
                     .go_program = wish->go_program,
                     .profile = wish->profile[0] != '\0' ? wish->profile : fitting};
    CD_TRY(check(wish, out, why));
    CD_TRY(cd_network_profile(&out->network, out->profile, why));
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, DIR_MODE, why));
    CD_TRY(absolute(&out->dir, mem, dir, why));
    CD_TRY(cd__net_grow(out, wish->go, true, true, why));
    CD_TRY(cd__net_grow(out, wish->nodes - wish->go, false, true, why));
    CD_TRY(cd__net_genesis(out, why));
    return cd__net_save(out, why);
}

/* Is a node connected to the others, and do its chains answer? Health is that of the primary network, since an L1 whose
 * balances end may be tracked; it does not count for the original's program, where it is half a minute behind, nor
 * while nodes are missing. */
static bool has_met(const cd__net *n, const cd__net_node *x, usize running)
{
    cd__net_word word;
    if (cd__net_life_of(n, x) != CD__NET_RUNS || x->group != 0) {
        return true;
    }
    cd__net_ask(&word, n, x);
    bool is_well = word.primary_is_healthy || x->is_go || running < n->cnt;
    return word.has_peers && word.has_heights && is_well && (word.peers + 1 >= running || !x->validates);
}

static bool have_met(const cd__net *n)
{
    usize running = 0;
    bool have = true;
    for (usize i = 0; i < n->cnt; i++) {
        running += cd__net_life_of(n, &n->nodes[i]) == CD__NET_RUNS;
    }
    for (usize i = 0; i < n->cnt && have; i++) {
        have = has_met(n, &n->nodes[i], running);
    }
    return have;
}

static bool is_parted(const cd__net *n)
{
    bool is = false;
    for (usize i = 0; i < n->cnt; i++) {
        is = is || n->nodes[i].group != 0;
    }
    return is;
}

/* Waits until all nodes know each other and their chains answer; of a network that is parted they never will. */
cd_err cd__net_await(const cd__net *n, cd_errinfo *why)
{
    u64 start = cd_clock_mono_ns(cd_clock_real());
    while (!is_parted(n) && !have_met(n)) {
        if (cd_clock_mono_ns(cd_clock_real()) - start > MEET_S * CD_NS_PER_SEC) {
            return cd_fail(why, CD_ETIMEOUT, "the nodes have not met after %d s: candela-cli network status", MEET_S);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000l}, NULL);
    }
    return CD_OK;
}
