/* platform.* on arbitrary bytes: the first says what the rest is, a request to a service over a genesis, a genesis
 * file, or genesis bytes. Every answer is JSON; what is read as genesis is written back to the byte. */
#include "chains/platform/genesis/genesis.h"
#include "chains/platform/service/service.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* One chain for all inputs: reading changes nothing. */
static struct {
    cd_arena arena;
    cd_network net;
    cd_pgenesis genesis;
    cd_kv *kv;
    cd_clock_virtual clock;
    cd_sets *sets;
    cd_uptime *uptime;
    cd_l1_fee_config l1_fee;
    cd_platform_service *service;
} rig;

static void rig_init(void)
{
    cd_pgenesis_config c;
    const cd_reward_cfg rewards = {
        .max_rate = 120000, .min_rate = 100000, .period_s = 31536000, .cap = 720000000000000000};
    rig.net = cd_network_of(12345);
    cd_pgenesis_config_builtin(&c, &rig.arena, &rig.net, 0, (cd_bytes){0});
    cd_err e = cd_pgenesis_build(&rig.genesis, &rig.arena, &c, &rig.net, NULL);
    rig.kv = cd_kv_mem_open();
    e = e != CD_OK ? e : cd_pgenesis_apply(&rig.genesis, &(cd_pstate){.kv = rig.kv}, &rewards, NULL);
    CD_ASSERT(e == CD_OK);
    cd_clock_virtual_init(&rig.clock, 1721016100 * CD_NS_PER_SEC);
    rig.sets = cd_sets_new(rig.kv, &rig.clock.clock);
    rig.uptime = cd_uptime_new(rig.kv, &rig.clock.clock);
    rig.l1_fee = (cd_l1_fee_config){.capacity = 20000, .target = 10000, .min_price = 1, .k = 865617};
    const cd_platform_cfg cfg = {.network = &rig.net,
                                 .asset_id = rig.genesis.asset_id,
                                 .base = rig.kv,
                                 .validators = cd_sets_validators(rig.sets),
                                 .uptime = rig.uptime,
                                 .clock = &rig.clock.clock,
                                 .gas = &cd_gas_config_default,
                                 .l1_fee = &rig.l1_fee};
    rig.service = cd_platform_service_new(&cfg);
}

static void as_request(cd_bytes in)
{
    cd_arena a = {0};
    cd_buf reply = {0};
    cd_json v;
    cd_rpc_serve(cd_platform_service_rpc(rig.service), &reply, in);
    CD_ASSERT(reply.n == 0 || cd_json_parse(&v, &a, cd_buf_bytes(&reply), 0, NULL) == CD_OK);
    cd_buf_fini(&reply);
    cd_arena_fini(&a);
}

static void as_genesis(cd_bytes in)
{
    cd_arena a = {0};
    cd_pgenesis g;
    cd_errinfo why;
    if (cd_pgenesis_read(&g, &a, in, &why) == CD_OK) {
        cd_buf out = {0};
        cd_linear_put(&out, &cd_pgenesis_table, &g.state);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
        cd_buf_fini(&out);
    }
    cd_arena_fini(&a);
}

static void as_file(cd_bytes in)
{
    cd_arena a = {0};
    cd_pgenesis_config c;
    cd_pgenesis g;
    cd_errinfo why;
    if (cd_pgenesis_config_parse(&c, &a, in, &rig.net, &why) == CD_OK) {
        (void)!cd_pgenesis_build(&g, &a, &c, &rig.net, &why);
    }
    cd_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (rig.kv == NULL) {
        rig_init();
    }
    if (size == 0) {
        return 0;
    }
    cd_bytes rest = cd_bytes_of(data + 1, size - 1);
    switch (data[0]) {
    case 'g':
        as_genesis(rest);
        return 0;
    case 'f':
        as_file(rest);
        return 0;
    default:
        as_request(rest);
        return 0;
    }
}
