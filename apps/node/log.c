/* Where the node's log goes: the terminal, and a file that does not grow without end. */
#include "base/log/log_file.h"
#include "options.h"

#include <unistd.h>

cd_err cd__log_open(cd_logger **out, const cd_args *a, cd_arena *mem, cd_errinfo *why)
{
    enum { DAY_S = 24 * 3600, MB = 1000000 };
    cd_log_cfg cfg = {.fd = STDOUT_FILENO};
    const char *display = cd_args_str(a, OPT_LOG_DISPLAY);
    const char *level = cd_args_str(a, OPT_LOG_LEVEL);
    const char *dir = cd_args_path(a, mem, OPT_LOG_DIR);
    CD_TRY(cd_log_level_parse(&cfg.file_level, cd_bytes_str(level)));
    CD_TRY(cd_log_level_parse(&cfg.level, cd_bytes_str(display[0] != '\0' ? display : level)));
    CD_TRY(cd_log_form_parse(&cfg.form, cd_bytes_str(cd_args_str(a, OPT_LOG_FORMAT))));
    cfg.file_form = cfg.form == CD_LOG_COLORS ? CD_LOG_PLAIN : cfg.form;
    if (dir[0] != '\0') {
        const cd_log_file_cfg file = {
            .path = cd_arena_fmt(mem, "%s/main.log", dir),
            .bytes_max = cd_args_u64(a, OPT_LOG_SIZE) * MB,
            .files_max = cd_args_u64(a, OPT_LOG_FILES),
            .age_max_s = cd_args_u64(a, OPT_LOG_AGE) * DAY_S,
        };
        CD_TRY(cd_log_file_open(&cfg.file, &file, why));
    }
    CD_TRY(cd_log_open(out, &cfg, why));
    cd__elsewhere_tell(a, *out);
    return CD_OK;
}
