#include "node/api/info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool find_chain(void *ctx, cd_info_chain *out, cd_bytes name)
{
    (void)ctx;
    *out = (cd_info_chain){.is_bootstrapped = cd_bytes_eq(name, cd_bytes_str("P"))};
    return out->is_bootstrapped || cd_bytes_eq(name, cd_bytes_str("X"));
}

static usize find_peers(void *ctx, cd_json_w *w, const cd_node_id *ids, usize cnt)
{
    (void)ctx;
    (void)ids;
    if (cnt == 0) {
        cd_json_w_cstr(w, "a peer");
    }
    return cnt == 0;
}

static bool has_uptime;

static bool tell_uptime(void *ctx, cd_info_uptime *out)
{
    (void)ctx;
    *out = (cd_info_uptime){.rewarding = 999999, .average = 123456};
    return has_uptime;
}

static void ask(const cd_info_api *api, const char *method, const char *params, const char *want)
{
    cd_buf body = {0};
    cd_buf reply = {0};
    cd_buf_fmt(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"info.%s\",\"params\":%s}", method, params);
    cd_rpc_serve(cd_info_api_service(api), &reply, cd_buf_bytes(&body));
    if (strstr(cd_buf_cstr(&reply), want) == NULL) {
        fail_msg("%s: \"%s\" is not in %s", method, want, cd_buf_cstr(&reply));
    }
    cd_buf_fini(&body);
    cd_buf_fini(&reply);
}

static const u8 key[2] = {0xab, 0xcd};

static cd_info_cfg cfg_of(const char *network)
{
    return (cd_info_cfg){
        .network = cd_network_find(network),
        .bls_key = cd_bytes_of(key, 2),
        .bls_pop = cd_bytes_of(key, 1),
        .address = "127.0.0.1:9631",
        .commit = "c0ffee",
        .chain = find_chain,
        .peers = find_peers,
    };
}

static void names_of_the_upstream_family(void **state)
{
    (void)state;
    cd_info_cfg cfg = cfg_of("local");
    cd_info_api *api = cd_info_api_new(&cfg);
    ask(api, "getNetworkID", "{}", "{\"networkID\":\"12345\"}");
    ask(api, "getNetworkName", "{}", "{\"networkName\":\"local\"}");
    ask(api, "getNodeVersion", "{}",
        "\"databaseVersion\":\"v1.4.5\",\"rpcProtocolVersion\":\"42\",\"gitCommit\":\"c0ffee\"");
    ask(api, "getNodeVersion", "{}", "\"vmVersions\":{\"avm\":");
    ask(api, "getVMs", "{}", "{\"vms\":{\"jvYyfQTxGMJLuGWa55kdP2p2zSUYsQ5Raupu4TW34ZAUBAbtq\":[\"avm\"],");
    ask(api, "getTxFee", "{}",
        "{\"txFee\":\"1000000\",\"createAssetTxFee\":\"1000000\",\"createSubnetTxFee\":\"100000000\","
        "\"transformSubnetTxFee\":\"100000000\",\"createBlockchainTxFee\":\"100000000\","
        "\"addPrimaryNetworkValidatorFee\":\"0\",\"addPrimaryNetworkDelegatorFee\":\"0\","
        "\"addSubnetValidatorFee\":\"1000000\",\"addSubnetDelegatorFee\":\"1000000\"}");
    ask(api, "acps", "{}", "{\"acps\":{}}");
    ask(api, "upgrades", "{}", "\"fortunaTime\":\"2020-12-05T05:00:00Z\",\"graniteTime\":\"9999-12-01T00:00:00Z\"");
    cd_info_api_free(api);
}

static void names_of_the_product(void **state)
{
    (void)state;
    cd_info_cfg cfg = cfg_of("mainnet");
    cd_info_api *api = cd_info_api_new(&cfg);
    ask(api, "getTxFee", "{}", "\"createNetTxFee\":\"1000000\",\"transformNetTxFee\":\"10000000\"");
    ask(api, "getNodeVersion", "{}", "\"xvm\":");
    ask(api, "lps", "{}", "{\"lps\":{}}");
    ask(api, "getNodeID", "{}", "\"nodePOP\":{\"publicKey\":\"0xabcd\",\"proofOfPossession\":\"0xab\"}");
    ask(api, "getNodeIP", "{}", "{\"ip\":\"127.0.0.1:9631\"}");
    cd_info_api_free(api);
}

static void chains_and_peers(void **state)
{
    (void)state;
    cd_info_cfg cfg = cfg_of("custom");
    cd_info_api *api = cd_info_api_new(&cfg);
    ask(api, "getBlockchainID", "{\"alias\":\"P\"}", "\"11111111111111111111111111111111LpoYY\"");
    ask(api, "getBlockchainID", "{\"alias\":\"nope\"}", "there is no ID with alias: nope\"");
    ask(api, "getBlockchainID", "{}", "there is no ID with alias: \"");
    ask(api, "isBootstrapped", "{\"chain\":\"P\"}", "\"isBootstrapped\":true");
    ask(api, "isBootstrapped", "{\"chain\":\"X\"}", "\"isBootstrapped\":false");
    ask(api, "isBootstrapped", "{\"chain\":\"nope\"}", "there is no chain with alias/ID 'nope'");
    ask(api, "isBootstrapped", "{}", "argument 'chain' not given");
    ask(api, "peers", "{}", "{\"numPeers\":\"1\",\"peers\":[\"a peer\"]}");
    ask(api, "peers", "{\"nodeIDs\":[\"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg\"]}",
        "{\"numPeers\":\"0\",\"peers\":[]}");
    ask(api, "peers", "{\"nodeIDs\":[\"bad\"]}", "couldn't unmarshal an argument");
    ask(api, "uptime", "{}", "{\"rewardingStakePercentage\":\"100.0000\",\"weightedAveragePercentage\":\"100.0000\"}");
    cd_info_api_free(api);
    cfg.uptime = tell_uptime;
    api = cd_info_api_new(&cfg);
    ask(api, "uptime", "{}", "couldn't get node uptime: error while fetching local validator start time not found");
    has_uptime = true;
    ask(api, "uptime", "{}", "{\"rewardingStakePercentage\":\"99.9999\",\"weightedAveragePercentage\":\"12.3456\"}");
    cd_info_api_free(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_upstream_family),
        cmocka_unit_test(names_of_the_product),
        cmocka_unit_test(chains_and_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
