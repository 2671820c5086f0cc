#include "network/network_track.h"

#include "base/os/fileio.h"

#include <errno.h>
#include <unistd.h>

enum { DIR_MODE = 0700 };

/* CB58 of "subnetevm" and zeros: chains of the EVM on other nets have this VM everywhere. */
static const char evm_id[] = "srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy";

static const char *folder_of(const cd__net *n)
{
    return cd_arena_fmt(n->mem, "%s/plugins", n->dir);
}

const char *cd__net_plugins(const cd__net *n)
{
    const char *folder = folder_of(n);
    return access(folder, F_OK) == 0 ? folder : NULL;
}

/* A link, so that a program that is built anew is the one that runs. Without it the operator puts plugins there. */
static cd_err offer_evm(const cd__net *n, cd_errinfo *why)
{
    const char *slash = strrchr(n->program, '/');
    const char *evm = cd_arena_fmt(n->mem, "%.*s/candela-evm", slash == NULL ? 1 : (int)(slash - n->program),
                                   slash == NULL ? "." : n->program);
    const char *link = cd_arena_fmt(n->mem, "%s/%s", folder_of(n), evm_id);
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), folder_of(n), DIR_MODE, why));
    if (access(evm, X_OK) == 0 && symlink(evm, link) != 0 && errno != EEXIST) {
        return cd_fail(why, CD_EIO, "%.200s cannot be made", link);
    }
    return CD_OK;
}

static bool has(const char *list, const char *net)
{
    usize n = strlen(net);
    for (const char *at = list; *at != '\0';) {
        usize len = strcspn(at, ",");
        if (len == n && memcmp(at, net, n) == 0) {
            return true;
        }
        at += len + (at[len] == ',');
    }
    return false;
}

static void add(cd__net *n, cd__net_node *x, const char *net)
{
    if (!has(x->tracks, net)) {
        x->tracks = cd_arena_fmt(n->mem, "%s%s%s", x->tracks, x->tracks[0] == '\0' ? "" : ",", net);
    }
}

cd_err cd__net_track(cd__net *n, const char *net, const char *const *names, usize cnt, cd_errinfo *why)
{
    cd_hash32 id;
    if (cd_id_parse(&id, cd_bytes_str(net), NULL) != CD_OK || cd_hash32_is_zero(&id)) {
        return cd_fail(why, CD_EINVAL, "%.80s: the ID of a net is needed, as create-net answers it", net);
    }
    for (usize i = 0; i < cnt; i++) {
        cd__net_node *x;
        CD_TRY(cd__net_find(n, &x, names[i], why));
        add(n, x, net);
    }
    for (usize i = 0; i < n->cnt && cnt == 0; i++) {
        add(n, &n->nodes[i], net);
    }
    CD_TRY(offer_evm(n, why));
    return cd__net_save(n, why);
}
