/* The notes as a plugin: put the program into a node's plugin directory, named by the id of the VM "notes". */
#include "notes.h"
#include "plugin/guest/guest.h"

#include <stdio.h>

int main(void)
{
    const cd_log_cfg log = {.fd = 2, .level = CD_LOG_INFO, .form = CD_LOG_PLAIN};
    cd_guest_cfg cfg = {.vm = notes_open, .name = "notes", .memory = (u64)64 << 20};
    cd_errinfo why = {0};
    bool is_upstream;
    cfg.engine_addr = cd_guest_engine_addr(&is_upstream);
    if (cfg.engine_addr == NULL) {
        (void)fprintf(stderr, "required env var missing: \"LUX_VM_RUNTIME_ENGINE_ADDR\"\n");
        return 1;
    }
    if (cd_log_open(&cfg.log, &log, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    int status = cd_guest_run(&cfg, &why);
    if (status != 0) {
        (void)fprintf(stderr, "%s\n", why.msg);
    }
    cd_log_close(cfg.log);
    return status;
}
