/* candela-evm: the EVM as a plugin of a node, protocol 42. A node starts it, without arguments. */
#include "base/mem/mem.h"
#include "base/version.h"
#include "chains/evmchain/evm_vm.h"
#include "plugin/guest/guest.h"

#include <stdio.h>
#include <string.h>

/* Bytes for caches, requests and answers; the node has a budget of its own. */
#define MEMORY ((u64)1 << 30)

static int refuse(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("candela-evm/%s [rpcchainvm=42]\n", CD_VERSION);
        return 0;
    }
    (void)fprintf(stderr, "candela-evm is started by a node and takes no arguments: \"%s\"\n", argv[1]);
    return 2;
}

int main(int argc, char **argv)
{
    const cd_log_cfg log = {.fd = 2, .level = CD_LOG_INFO, .form = CD_LOG_PLAIN};
    cd_errinfo why = {0};
    bool is_upstream;
    if (argc > 1) {
        return refuse(argc, argv);
    }
    cd_guest_cfg cfg = {.vm = cd_evm_vm_open, .name = "evm", .memory = MEMORY};
    cfg.engine_addr = cd_guest_engine_addr(&is_upstream);
    if (cfg.engine_addr == NULL) {
        (void)fprintf(stderr, "required env var missing: \"LUX_VM_RUNTIME_ENGINE_ADDR\"\n");
        return 1;
    }
    cfg.family = is_upstream ? "upstream" : NULL;
    cd_mem_tune();
    if (cd_log_open(&cfg.log, &log, &why) != CD_OK) {
        (void)fprintf(stderr, "candela-evm: %s\n", why.msg);
        return 1;
    }
    int status = cd_guest_run(&cfg, &why);
    if (status != 0) {
        (void)fprintf(stderr, "%s\n", why.msg);
    }
    cd_log_close(cfg.log);
    return status;
}
