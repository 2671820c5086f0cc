#include "options.h"

#include "report.h"

const cd_arg_def cd__options[OPT_CNT] = {
#define X CD_ARG_ROW
#include "options.def"
#define X CD_ARG_ROW
#include "tuning.def"
#define X(id_, kind_, reason_, ...) [id_] = {__VA_ARGS__},
#include "elsewhere.def"
};

enum { UNNEEDED, REFUSED };

static const struct {
    bool is_refused;
    const char *reason;
} elsewhere[] = {
#define X(id_, kind_, reason_, ...) {.is_refused = (kind_) == REFUSED, .reason = (reason_)},
#include "elsewhere.def"
};

/* Whether the flag was given with another value than its default. */
static bool is_given(const cd_args *a, usize id)
{
    const cd_arg_def *d = &cd__options[id];
    if (cd_args_source(a, id) == CD_ARG_FROM_DEFAULT) {
        return false;
    }
    return d->type == CD_ARG_BOOL ? cd_args_bool(a, id) != (strcmp(d->dflt, "true") == 0)
                                  : strcmp(cd_args_str(a, id), d->dflt) != 0;
}

bool cd__elsewhere_ok(const cd_args *a, cd_arena *mem)
{
    for (usize i = 0; i < CD_COUNT(elsewhere); i++) {
        usize id = OPT_SHOWN + i;
        if (elsewhere[i].is_refused && cd_args_source(a, id) > CD_ARG_FROM_FILE && is_given(a, id)) {
            cd__report("error", NULL,
                       cd_arena_fmt(mem, "--%s has no effect here: %s", cd__options[id].name, elsewhere[i].reason),
                       "leave it out; all flags: candela help");
            return false;
        }
    }
    return true;
}

void cd__elsewhere_tell(const cd_args *a, cd_logger *log)
{
    for (usize i = 0; i < CD_COUNT(elsewhere); i++) {
        if (is_given(a, OPT_SHOWN + i)) {
            cd_log_warn(log, "a flag of other nodes has no effect here", CD_F("flag", cd__options[OPT_SHOWN + i].name),
                        CD_F("why", elsewhere[i].reason));
        }
    }
}

const char *cd__elsewhere_reason(cd_bytes name)
{
    for (usize i = 0; i < CD_COUNT(elsewhere); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(cd__options[OPT_SHOWN + i].name))) {
            return elsewhere[i].reason;
        }
    }
    return NULL;
}
