/* What a development network is asked for: files of its state, names for its log. */
#include "base/os/fileio.h"
#include "config.h"
#include "options.h"
#include "report.h"

#include <unistd.h>

enum { STATE_MAX = 1 << 30 };

/* Is there a folder for the file? Asked at the start, since the file is written only at the end. */
static bool has_folder(cd_arena *mem, const char *path)
{
    cd_fs_stat st;
    const char *slash = strrchr(path, '/');
    const char *folder = slash == NULL   ? "."
                         : slash == path ? "/"
                                         : cd_arena_str(mem, cd_bytes_of(path, (usize)(slash - path)));
    bool is_good = cd_fs_stat_get(cd_fs_real(), &st, folder, NULL) == CD_OK && st.kind == CD_FS_DIR;
    const char *what = "there is no folder to write the state to";
    if (is_good && access(folder, W_OK) != 0) {
        is_good = false;
        what = "the state cannot be written to this folder";
    }
    if (!is_good) {
        cd_errinfo why;
        (void)cd_fail(&why, CD_ENOENT, "%s: %.180s", what, folder);
        cd__report("error", NULL, why.msg, "make it, or name another file");
    }
    return is_good;
}

bool cd__dev_options_load(cd_dev_options *out, const cd_args *a, cd_arena *mem)
{
    cd__file state = {0};
    const char *both = cd_args_path(a, mem, OPT_STATE);
    const char *from = cd_args_path(a, mem, OPT_LOAD_STATE);
    const char *to = cd_args_path(a, mem, OPT_DUMP_STATE);
    bool is_both = both[0] != '\0';
    *out = (cd_dev_options){
        .dump_every_s = cd_args_u64(a, OPT_STATE_INTERVAL),
        .throws_on_revert = cd_args_bool(a, OPT_DEV_THROW),
    };
    out->abi_cnt = cd_args_list(a, OPT_ABI, &out->abis);
    if (is_both && (from[0] != '\0' || to[0] != '\0')) {
        cd__report("error", NULL, "--state is --load-state and --dump-state in one", "leave it out, or those two");
        return false;
    }
    from = is_both ? both : from;
    to = is_both ? both : to;
    if (out->dump_every_s != 0 && to[0] == '\0') {
        cd__report("error", NULL, "--state-interval needs a file to write the state to", "name one: --dump-state=FILE");
        return false;
    }
    if (from[0] != '\0' && !cd__file_read_max(&state, mem, from, is_both, STATE_MAX)) {
        return false;
    }
    if (to[0] != '\0' && !has_folder(mem, to)) {
        return false;
    }
    out->state_name = from;
    out->state = state.text;
    out->dump_file = to[0] != '\0' ? to : NULL;
    return true;
}
