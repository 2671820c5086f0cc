/* The files an operator writes: genesis, VM configuration, upgrade file. Whatever they hold, every finding has a
 * message and lies within the text, and what the checks call good the parsers take. */
#include "chains/evmchain/core/config/check.h"
#include "chains/evmchain/core/config/vm_config.h"
#include "chains/evmchain/core/dev/dev_record.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void check(const cd_findings *f, cd_bytes text)
{
    CD_ASSERT(f->cnt <= CD_FINDINGS_MAX);
    for (usize i = 0; i < f->cnt; i++) {
        CD_ASSERT(f->items[i].message[0] != '\0');
        CD_ASSERT(f->items[i].line <= text.n + 1);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_bytes text = cd_bytes_of(data, size);
    cd_findings f = {0};
    cd_vm_config config;
    cd_upgrades upgrades;
    cd_dev_record record;
    cd_chain_cfg net = {.cache_bytes = 1 << 16, .network_id = 1337};

    cd_vm_config_check(&f, &a, text);
    check(&f, text);
    CD_ASSERT(f.errors != 0 || cd_vm_config_parse(&config, &a, text, NULL) == CD_OK);
    f = (cd_findings){0};
    cd_upgrades_check(&f, &a, text);
    check(&f, text);
    CD_ASSERT(f.errors != 0 || cd_upgrades_parse(&upgrades, &a, text, NULL) == CD_OK);
    f = (cd_findings){0};
    cd_genesis_check(&f, NULL, &a, text, &net);
    check(&f, text);

    if (cd_dev_record_dec(&record, &a, text) == CD_OK) {
        cd_buf enc = {0};
        cd_dev_record_enc(&enc, &record);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&enc), text));
        cd_buf_fini(&enc);
    }
    cd_arena_fini(&a);
    return 0;
}
