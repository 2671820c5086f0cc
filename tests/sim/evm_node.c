/* A whole node with two EVM chains in a virtual world: its clock moves when it is told, its store is in memory, it has
 * no threads. The same seed lives the same life twice, to the last byte of its log. [spec:architecture#9] */
#include "chains/evmchain/dev/genesis.h"
#include "chains/evmchain/evm_vm.h"
#include "node/node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { START = 1700000000 };

/* One chain of the node, and the id that its transactions are signed for. */
typedef struct chain_of {
    const char *name;
    u64 chain_id;
} chain_of;

static const chain_of both[2] = {{"C", 1337}, {"B", 4242}};

static cd_err make_genesis(void *ctx, cd_buf *out, u64 now, cd_errinfo *why)
{
    (void)why;
    return cd_dev_genesis(out, ((const chain_of *)ctx)->chain_id, now);
}

typedef struct world {
    cd_clock_virtual clock;
    cd_kv *disk;
    cd_node_chain_cfg chains[2];
    cd_node_cfg cfg;
    cd_node *node;
    FILE *log_file;
    cd_buf answers;
} world;

static void world_open(world *w, u64 seed)
{
    cd_errinfo why = {0};
    cd_logger *log;
    *w = (world){.disk = cd_kv_mem_open(), .log_file = tmpfile()};
    assert_non_null(w->log_file);
    cd_clock_virtual_init(&w->clock, START * CD_NS_PER_SEC);
    cd_log_cfg log_cfg = {
        .fd = fileno(w->log_file),
        .level = CD_LOG_DEBUG,
        .form = CD_LOG_JSON,
        .clock = &w->clock.clock,
    };
    assert_int_equal(cd_log_open(&log, &log_cfg, &why), CD_OK);
    for (usize i = 0; i < 2; i++) {
        w->chains[i] = (cd_node_chain_cfg){
            .aliases = &both[i].name,
            .alias_cnt = 1,
            .prefix = i == 0 ? 'C' : 0,
            .vm = cd_evm_vm_open,
            .genesis = make_genesis,
            .genesis_ctx = (void *)(usize)&both[i],
        };
    }
    w->cfg = (cd_node_cfg){
        .network = cd_network_find("dev"),
        .kv = w->disk,
        .clock = &w->clock.clock,
        .seed = seed,
        .is_stepped = true,
        .has_health = true,
        .memory = (u64)256 << 20,
        .log = log,
        .chains = w->chains,
        .chain_cnt = 2,
    };
}

static void node_open(world *w)
{
    cd_errinfo why = {0};
    if (cd_node_open(&w->node, &w->cfg, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
}

/* Lets ns pass, in which everything that is due happens when it is due. */
static void pass(world *w, u64 ns)
{
    u64 end = w->clock.mono + ns;
    for (;;) {
        u64 next = cd_node_step(w->node);
        if (next >= end) {
            cd_clock_virtual_advance(&w->clock, end - w->clock.mono);
            return;
        }
        cd_clock_virtual_advance(&w->clock, cd_max_u64(next, w->clock.mono + 1) - w->clock.mono);
    }
}

/* The answer is kept with the others. */
static const char *ask(world *w, const char *chain, const char *method, const char *params)
{
    cd_buf body = {0};
    usize from = w->answers.n;
    cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
    assert_int_equal(cd_node_ask(w->node, chain, "/rpc", &w->answers, cd_buf_bytes(&body)), CD_OK);
    cd_buf_fini(&body);
    return cd_buf_cstr(&w->answers) + from;
}

static void must(world *w, const char *chain, const char *method, const char *params, const char *part)
{
    const char *answer = ask(w, chain, method, params);
    if (strstr(answer, part) == NULL) {
        fail_msg("%s %s: %s", method, params, answer);
    }
}

static void pay(world *w, const char *chain, u64 amount)
{
    char params[256];
    (void)snprintf(params, sizeof params,
                   "[{\"from\":\"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266\","
                   "\"to\":\"0x70997970c51812dc3a010c7d01b50e0d17dc79c8\",\"gas\":\"0x5208\",\"value\":\"0x%llx\"}]",
                   (unsigned long long)amount);
    must(w, chain, "eth_sendTransaction", params, "\"result\":\"0x");
}

static void told_well(void *ctx, cd_err err, const cd_errinfo *why)
{
    (void)why;
    assert_int_equal(err, CD_OK);
    *(bool *)ctx = true;
}

static void closes_and_opens(world *w)
{
    bool is_told = false;
    cd_node_close_chain(w->node, "B", told_well, &is_told);
    assert_true(is_told);
    cd_buf none = {0};
    assert_int_equal(cd_node_ask(w->node, "B", "/rpc", &none, cd_bytes_str("{}")), CD_ENOENT);
    cd_buf_fini(&none);
    pay(w, "C", 1000); /* which goes on */
    pass(w, CD_NS_PER_SEC);
    is_told = false;
    cd_node_open_chain(w->node, &w->chains[1], told_well, &is_told);
    assert_true(is_told);
}

/* Two lives of a node on one disk; what it answered and logged goes to out. */
static void live(cd_buf *out, u64 seed)
{
    world w;
    world_open(&w, seed);
    cd_rng dice = cd_rng_seeded(seed);
    for (u32 life = 0; life < 2; life++) {
        node_open(&w);
        must(&w, "C", "eth_chainId", "[]", "\"0x539\"");
        must(&w, "B", "eth_chainId", "[]", "\"0x1092\"");
        must(&w, "C", "evm_setIntervalMining", "[3000]", "true");
        for (u32 i = 0; i < 40; i++) {
            pay(&w, both[cd_rng_below(&dice, 2)].name, 1 + cd_rng_below(&dice, 1000));
            pass(&w, (1 + cd_rng_below(&dice, 5000)) * CD_NS_PER_MS);
            if (i == 20) {
                closes_and_opens(&w);
            }
        }
        must(&w, "B", "hardhat_mine", "[\"0x100\"]", "true");
        for (usize i = 0; i < 2; i++) {
            must(&w, both[i].name, "eth_getBlockByNumber", "[\"latest\",true]", "stateRoot");
        }
        cd_buf health = {0};
        assert_true(cd_node_health(w.node, &health));
        cd_buf_put(&w.answers, cd_buf_bytes(&health));
        cd_buf_fini(&health);
        (void)cd_node_close(w.node);
    }
    cd_log_close(w.cfg.log);
    rewind(w.log_file);
    char line[4096];
    while (fgets(line, sizeof line, w.log_file) != NULL) {
        cd_buf_str(out, line);
    }
    cd_buf_put(out, cd_buf_bytes(&w.answers));
    cd_buf_fini(&w.answers);
    (void)fclose(w.log_file);
    cd_kv_close(w.disk);
}

static void same_seed_same_life(void **state)
{
    (void)state;
    cd_buf lives[3] = {{0}};
    live(&lives[0], 7);
    live(&lives[1], 7);
    live(&lives[2], 8);
    assert_true(lives[0].n > 20000);
    assert_string_equal(cd_buf_cstr(&lives[0]), cd_buf_cstr(&lives[1]));
    assert_string_not_equal(cd_buf_cstr(&lives[0]), cd_buf_cstr(&lives[2]));
    for (usize i = 0; i < CD_COUNT(lives); i++) {
        cd_buf_fini(&lives[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_seed_same_life)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
