/* Any document as configuration and upgrade file of a chain: {"config": …, "upgrades": …}. A schedule that
 * is accepted must be written as JSON that reads back the same, give its changes in order, agree with its own
 * answers about what is in force, and be compatible with itself. */
#include "evm/test/empty_source.h"
#include "precompile/policy.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static const cd_chain_config chain = {
    .durango = {.is_set = true, .at = 10},
    .shanghai = {.is_set = true, .at = 10},
    .cancun = {.is_set = true, .at = 20},
    .fee =
        {
            .gas_limit = {.w = {8000000}},
            .target_block_rate = 2,
            .target_gas = {.w = {15000000}},
            .base_fee_change_denominator = {.w = {36}},
        },
};

static void reads_back(const cd_module_config *c, cd_arena *a)
{
    cd_buf text = {0};
    cd_json v;
    cd_module_config again;
    cd_module_config_json(&(cd_json_w){.out = &text}, c);
    cd_err e = cd_json_parse(&v, a, cd_buf_bytes(&text), 0, NULL);
    CD_ASSERT(e == CD_OK);
    e = cd_module_config_parse(&again, a, c->module, v, NULL);
    CD_ASSERT(e == CD_OK && cd_module_config_eq(c, &again));
    cd_buf_fini(&text);
}

static void check(const cd_schedule *s, cd_arena *a)
{
    u64 latest = 0;
    const cd_addr20 *addr = NULL;
    const cd_module_config *before = NULL;
    cd_schedule_it it = cd_schedule_changes(s, NULL, UINT64_MAX);
    while (cd_schedule_next(&it)) {
        int order = addr == NULL ? -1 : memcmp(addr->b, it.addr->b, 20);
        CD_ASSERT(order < 0 || (order == 0 && before->at.at < it.config->at.at));
        const cd_module_config *active = cd_schedule_active(s, it.config->module, it.config->at.at);
        CD_ASSERT(active == (it.config->disable ? NULL : it.config));
        CD_ASSERT((cd_precompile_find(cd_schedule_table(s, it.config->at.at), it.addr) != NULL) == !it.config->disable);
        reads_back(it.config, a);
        latest = cd_max_u64(latest, it.config->at.at);
        addr = it.addr;
        before = it.config;
    }
    cd_err e = cd_schedule_compatible(s, s, latest, NULL);
    CD_ASSERT(e == CD_OK);

    cd_state *st = cd_state_new(&nothing);
    cd_schedule_apply(s, st, NULL, UINT64_MAX, 1);
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        const cd_acct *acct = cd_state_acct(st, cd_schedule_addr(s, (cd_module_id)i));
        bool is_on = cd_schedule_active(s, (cd_module_id)i, UINT64_MAX) != NULL;
        CD_ASSERT(is_on == (acct->nonce == 1));
    }
    cd_state_free(st);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    enum { SIZE_MAX_IN = 1 << 16 }; /* lists of addresses are checked pair by pair */
    cd_arena a = {0};
    cd_json doc;
    cd_schedule *s = NULL;
    cd_errinfo why = {0};
    if (cd_json_parse(&doc, &a, cd_bytes_of(data, size), SIZE_MAX_IN, NULL) == CD_OK) {
        cd_err e = cd_schedule_new(&s,
                                   &(cd_schedule_cfg){
                                       .chain = &chain,
                                       .config = cd_json_get(doc, "config"),
                                       .upgrades = cd_json_get(doc, "upgrades"),
                                   },
                                   &why);
        CD_ASSERT((e == CD_OK) == (s != NULL));
        if (e == CD_OK) {
            check(s, &a);
        }
    }
    cd_schedule_free(s);
    cd_arena_fini(&a);
    return 0;
}
