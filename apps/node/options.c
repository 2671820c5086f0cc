#include "options.h"

const cd_arg_def cd__options[OPT_CNT] = {
#define X CD_ARG_ROW
#include "options.def"
#undef X
};

bool cd__flag_is_later(cd_bytes name)
{
    static const char *const names[] = {
#define X(name) name,
#include "later.def"
#undef X
    };
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(names[i]))) {
            return true;
        }
    }
    return false;
}

const char *cd__later_of_args(usize *n, int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *name = argv[i] + strspn(argv[i], "-");
        usize len = strcspn(name, "=");
        if (name != argv[i] && cd__flag_is_later(cd_bytes_of(name, len))) {
            *n = len;
            return name;
        }
    }
    return NULL;
}
