#include "base/hex.h"
#include "chains/platform/genesis/config.h"

/* --- who has what --- */

typedef struct share {
    const char *addr;
    u64 x_tokens;
    u64 p_tokens;
    u64 p_locked_tokens; /* until LOCKED_UNTIL */
} share;

enum { LOCKED_UNTIL = 1633824000, STAKE_S = 31536000, OFFSET_S = 5400 };

/* The first has staked what it has; the second is the key "ewoq". */
static const share shares[] = {
    {"46a9c04f4bf783aa69daabd519dcf36978168b66", 0, 0, 10000000},
    {"3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c", 300000000, 20000000, 10000000},
    {"e0cfe8cae22827d032805ded484e393ce51cbedb", 10000000, 0, 10000000},
};
static const char eth_addr[] = "b3d82b1367d362de99ab59a658165aff520cbd4d";

static const struct {
    const char *node_id;
    u32 fee;
    const char *key;
    const char *proof;
} stakers[] = {
#define X(node_id_, fee_, key_, proof_) {.node_id = (node_id_), .fee = (fee_), .key = (key_), .proof = (proof_)},
#include "chains/platform/genesis/local_stakers.def"
#undef X
};

/* The C-Chain of the upstream-compatible local network. */
static const char upstream_c[] =
    "{\"config\":{\"chainId\":43112,\"homesteadBlock\":0,\"daoForkBlock\":0,\"daoForkSupport\":true,\"ei"
    "p150Block\":0,\"eip150Hash\":\"0x2086799aeebeae135c246c65021c82b4e15a2c451340993aacfd2751886"
    "514f0\",\"eip155Block\":0,\"eip158Block\":0,\"byzantiumBlock\":0,\"constantinopleBlock\":0,\"peter"
    "sburgBlock\":0,\"istanbulBlock\":0,\"muirGlacierBlock\":0,\"apricotPhase1BlockTimestamp\":0,\"ap"
    "ricotPhase2BlockTimestamp\":0},\"nonce\":\"0x0\",\"timestamp\":\"0x5FCB13D0\",\"extraData\":\"0x00\","
    "\"gasLimit\":\"0x5f5e100\",\"difficulty\":\"0x0\",\"mixHash\":\"0x000000000000000000000000000000000"
    "0000000000000000000000000000000\",\"coinbase\":\"0x0000000000000000000000000000000000000000\""
    ",\"alloc\":{\"8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC\":{\"balance\":\"0x295BE96E6406697200000"
    "0\"}},\"number\":\"0x0\",\"gasUsed\":\"0x0\",\"parentHash\":\"0x000000000000000000000000000000000000"
    "0000000000000000000000000000\"}";

/* That of the product's networks; left open are chain id and lowest base fee in wei. Warp is on from the
 * beginning, as everything is. [spec:decisions#D40] [spec:decisions#D5] */
static const char product_c[] =
    "{\"config\":{\"chainId\":%llu,\"homesteadBlock\":0,\"eip150Block\":0,\"eip155Block\":0,\"eip158Block\":0,"
    "\"byzantiumBlock\":0,\"constantinopleBlock\":0,\"petersburgBlock\":0,\"istanbulBlock\":0,\"muirGlacierBlock\":0,"
    "\"berlinBlock\":0,\"londonBlock\":0,\"shanghaiTime\":0,\"cancunTime\":0,\"feeConfig\":{\"gasLimit\":8000000,"
    "\"targetBlockRate\":2,\"minBaseFee\":%llu,\"targetGas\":15000000,\"baseFeeChangeDenominator\":36,"
    "\"minBlockGasCost\":0,\"maxBlockGasCost\":1000000,\"blockGasCostStep\":200000},\"warpConfig\":{\"blockTimestamp\":"
    "0}},\"nonce\":\"0x0\","
    "\"timestamp\":\"0x5FCB13D0\",\"extraData\":\"0x00\",\"gasLimit\":\"0x7a1200\",\"difficulty\":\"0x0\","
    "\"alloc\":{\"8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC\":{\"balance\":\"0x295BE96E64066972000000\"}}}";

static cd_bytes c_genesis_of(cd_arena *a, const cd_network *net)
{
    return net->family->upstream_modules
               ? cd_bytes_str(upstream_c)
               : cd_bytes_str(cd_arena_fmt(a, product_c, (unsigned long long)net->evm_chain_id,
                                           (unsigned long long)net->economy->c_base_fee));
}

/* --- building --- */

static void hex(u8 *out, const char *text)
{
    cd_err e = cd_hex_parse(out, cd_bytes_str(text));
    CD_ASSERT(e == CD_OK);
}

static void allocate(cd_pgenesis_allocation *out, cd_arena *a, const share *s, const cd_network *net)
{
    *out = (cd_pgenesis_allocation){.initial_amount = cd_network_amount(net, s->x_tokens * 1000)};
    hex(out->addr.b, s->addr);
    hex(out->eth_addr.b, eth_addr);
    out->unlock = cd_arena_array(a, cd_pgenesis_unlock, 2);
    if (s->p_tokens != 0) {
        out->unlock[out->unlock_cnt++].amount = cd_network_amount(net, s->p_tokens * 1000);
    }
    out->unlock[out->unlock_cnt++] =
        (cd_pgenesis_unlock){.amount = cd_network_amount(net, s->p_locked_tokens * 1000), .locktime = LOCKED_UNTIL};
}

static void staker(cd_pgenesis_staker *out, usize i, const cd_addr20 *reward_addr)
{
    *out = (cd_pgenesis_staker){.reward_addr = *reward_addr, .delegation_fee = stakers[i].fee, .has_signer = true};
    cd_err e = cd_node_id_parse(&out->node_id, cd_bytes_str(stakers[i].node_id), NULL);
    CD_ASSERT(e == CD_OK);
    hex(out->key, stakers[i].key);
    hex(out->proof, stakers[i].proof);
}

/* The start of the step that now lies in. */
static u64 start_of(const cd_network *net, u64 now)
{
    u64 start = net->economy->genesis_start;
    u64 step = net->economy->genesis_step_s;
    return step == 0 || now < start ? start : now - (now - start) % step;
}

void cd_pgenesis_config_builtin(cd_pgenesis_config *out, cd_arena *a, const cd_network *net, u64 now,
                                cd_bytes c_genesis)
{
    cd_pgenesis_config c = {
        .network_id = net->id,
        .allocations = cd_arena_array(a, cd_pgenesis_allocation, CD_COUNT(shares)),
        .allocation_cnt = CD_COUNT(shares),
        .start_time = start_of(net, now),
        .stake_duration_s = STAKE_S,
        .stake_offset_s = OFFSET_S,
        .staked = cd_arena_array(a, cd_addr20, 1),
        .staked_cnt = 1,
        .stakers = cd_arena_array(a, cd_pgenesis_staker, CD_COUNT(stakers)),
        .staker_cnt = CD_COUNT(stakers),
        .c_genesis = c_genesis.n != 0 ? c_genesis : c_genesis_of(a, net),
        .message = cd_bytes_str("{{ fun_quote }}"),
    };
    for (usize i = 0; i < CD_COUNT(shares); i++) {
        allocate(&c.allocations[i], a, &shares[i], net);
    }
    c.staked[0] = c.allocations[0].addr;
    for (usize i = 0; i < CD_COUNT(stakers); i++) {
        staker(&c.stakers[i], i, &c.allocations[1].addr);
    }
    *out = c;
}

bool cd_pgenesis_is_public_staker(const cd_node_id *id, const u8 key[48])
{
    bool is_public = false;
    for (usize i = 0; i < CD_COUNT(stakers); i++) {
        cd_pgenesis_staker s;
        staker(&s, i, &(cd_addr20){0});
        is_public = is_public || memcmp(s.node_id.b, id->b, sizeof id->b) == 0 || memcmp(s.key, key, sizeof s.key) == 0;
    }
    return is_public;
}
