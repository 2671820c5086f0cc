/* Which network the flags name. */
#include "commands.h"
#include "options.h"
#include "report.h"

const cd_network *cd__network_of(const cd_args *a)
{
    static cd_network_any any;
    cd_errinfo why = {0};
    const char *name = cd_args_bool(a, OPT_DEV) ? "dev" : cd_args_str(a, OPT_NETWORK);
    if (cd_network_parse(&any, name, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "for trying things out: candela --network-id=dev");
        return NULL;
    }
    const char *profile = cd_args_str(a, OPT_PROFILE);
    if (profile[0] != '\0' && cd_network_profile(&any.network, profile, &why) != CD_OK) {
        cd__report("error", NULL, why.msg, "");
        return NULL;
    }
    return &any.network;
}
