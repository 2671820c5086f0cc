#include "stamp.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "crypto/pq/mldsa.h"
#include "finality/keys.h"
#include "report.h"

enum { MODE = 0400, MODE_DIR = 0700 };

static cd_err make(const char *path, u8 seed[CD_MLDSA_SEED], cd_arena *mem, cd_errinfo *why)
{
    cd_rng rng = cd_rng_os();
    const char *slash = strrchr(path, '/');
    cd_rng_fill(&rng, seed, CD_MLDSA_SEED);
    if (slash != NULL && slash != path) {
        const char *dir = cd_arena_str(mem, cd_bytes_of(path, (usize)(slash - path)));
        CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, MODE_DIR, why));
    }
    return cd_fs_replace_file(cd_fs_real(), path, cd_bytes_of(seed, CD_MLDSA_SEED), MODE, why);
}

static cd_secret stamp;
static cd_secret share; /* these two last as long as the process */
static cd_fin_group *group;

static const char *beside(const char *path, const char *name, cd_arena *mem)
{
    const char *slash = strrchr(path, '/');
    usize n = slash == NULL ? 0 : (usize)(slash + 1 - path);
    return cd_arena_fmt(mem, "%.*s%s", (int)n, path, name);
}

/* A key that was dealt lies beside that of the stamps: finality.group for everybody, finality.share for this node. */
static cd_err load_dealt(const char *path, cd_arena *mem, const cd_node_id *self, cd_errinfo *why)
{
    cd_buf file = {0};
    const char *name = beside(path, "finality.group", mem);
    cd_err e = cd_fs_read_file(cd_fs_real(), &file, name, CD_FIN_GROUP_FILE_MAX, why);
    if (e == CD_ENOENT) {
        return CD_OK;
    }
    if (e == CD_OK) {
        group = cd_new(cd_fin_group);
        e = cd_fin_group_read(group, cd_buf_bytes(&file));
        e = e == CD_OK ? e : cd_fail(why, e, "%s is not the file of a threshold key: %s", name, cd_err_str(e));
    }
    cd_buf_clear(&file);
    name = beside(path, "finality.share", mem);
    e = e == CD_OK ? cd_fs_read_file(cd_fs_real(), &file, name, CD_FIN_SHARE_FILE_MAX, why) : e;
    if (e == CD_ENOENT) {
        e = CD_OK; /* who has no share verifies with the rest */
    } else if (e == CD_OK) {
        e = cd_fin_share_read(&share, cd_buf_bytes(&file), group, self);
        e = e == CD_OK ? e
                       : cd_fail(why, e, "%s is not this node's share of the threshold key: %s", name, cd_err_str(e));
    }
    cd_wipe(file.p, file.n);
    cd_buf_fini(&file);
    return e;
}

static cd_err load(const char *path, cd_arena *mem, cd_errinfo *why)
{
    cd_buf file = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &file, path, CD_MLDSA_SEED, why);
    if (e == CD_ENOENT) {
        e = make(path, stamp.p, mem, why);
    } else if (e == CD_OK && file.n != CD_MLDSA_SEED) {
        e = cd_fail(why, CD_EFORMAT, "%s has %zu bytes, the key that stamps final blocks has %d", path, file.n,
                    CD_MLDSA_SEED);
    } else if (e == CD_OK) {
        memcpy(stamp.p, file.p, CD_MLDSA_SEED);
    }
    cd_wipe(file.p, file.n);
    cd_buf_fini(&file);
    return e;
}

bool cd__stamp_load(cd_node_cfg *out, const cd_args *a, cd_arena *mem, bool is_kept)
{
    cd_errinfo why = {0};
    cd_rng rng = cd_rng_os();
    cd_err e = CD_OK;
    out->makes_final = cd_args_bool(a, OPT_FINALITY) && !out->network->is_dev;
    if (!out->makes_final) {
        return true;
    }
    out->wants_threshold = cd_args_bool(a, OPT_FINALITY_THRESHOLD);
    cd_secret_init(&stamp, CD_MLDSA_SEED);
    if (is_kept) {
        const char *path = cd_args_path(a, mem, OPT_MLDSA_KEY);
        e = load(path, mem, &why);
        e = e == CD_OK ? load_dealt(path, mem, &out->node_id, &why) : e;
    } else {
        cd_rng_fill(&rng, stamp.p, CD_MLDSA_SEED);
    }
    out->mldsa_seed = stamp.p;
    out->group = group;
    out->share = (const cd_rt_share *)(const void *)share.p;
    if (e != CD_OK) {
        cd__report("error", NULL, why.msg, "another place: --finality-mldsa-key-file");
    }
    return e == CD_OK;
}

void cd__stamp_forget(void)
{
    cd_secret_fini(&stamp);
    stamp = (cd_secret){0};
}
