#include "l1/l1_genesis.h"

#include "codec/json.h"

enum { WORD = 32, GAS_LIMIT = 15000000 };

const cd_addr20 cd__l1_manager_at = {{0x0f, 0xee, 0xdc, 0x0d, 0xe0}};

/* Keys of the settings in the managers' storage: the first variables of ValidatorManager.sol, and behind its last one
 * those of the contracts that build on it. */
enum { SLOT_WARP = 0, SLOT_CHURN_PERIOD = 1, SLOT_CHURN_PERCENT = 2, SLOT_OWN = 9 };

static const char *hex_key(cd_arena *mem, cd_bytes b)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_json_w_hex(&w, b);
    const char *kept = cd_arena_str(mem, cd_bytes_of(text.p + 1, text.n - 2)); /* without its quotes */
    cd_buf_fini(&text);
    return kept;
}

static void put_slot(cd_json_w *w, cd_arena *mem, u64 slot, const cd_u256 *v)
{
    const cd_u256 n = cd_u256_from_u64(slot);
    const cd_hash32 key = cd_u256_to_hash(&n);
    const cd_hash32 word = cd_u256_to_hash(v);
    cd_json_put_hash(w, hex_key(mem, cd_bytes_of(key.b, WORD)), &word);
}

static void put_number(cd_json_w *w, cd_arena *mem, u64 slot, u64 v)
{
    const cd_u256 n = cd_u256_from_u64(v);
    put_slot(w, mem, slot, &n);
}

static void put_addr(cd_json_w *w, cd_arena *mem, u64 slot, const cd_addr20 *a)
{
    const cd_u256 n = cd_u256_from_addr(a);
    put_slot(w, mem, slot, &n);
}

static void put_manager(cd_json_w *w, cd_arena *mem, const cd__l1_genesis *g)
{
    cd_json_w_key(w, hex_key(mem, cd_bytes_of(cd__l1_manager_at.b, sizeof cd__l1_manager_at.b)));
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "balance", "0x0");
    cd_json_put_cstr(w, "nonce", "0x1");
    cd_json_put_hex(w, "code", g->is_pos ? cd__l1_pos : cd__l1_poa);
    cd_json_w_key(w, "storage");
    cd_json_w_obj(w);
    put_addr(w, mem, SLOT_WARP, &g->warp);
    put_number(w, mem, SLOT_CHURN_PERIOD, g->churn_s);
    put_number(w, mem, SLOT_CHURN_PERCENT, g->churn_percent);
    put_addr(w, mem, SLOT_OWN, &g->owner);
    if (g->is_pos) {
        put_slot(w, mem, SLOT_OWN + 1, &g->stake_min);
        put_slot(w, mem, SLOT_OWN + 2, &g->weight_unit);
        put_number(w, mem, SLOT_OWN + 3, g->stake_s);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static void put_config(cd_json_w *w, const cd__l1_genesis *g)
{
    static const char *const forks[] = {"homesteadBlock",  "eip150Block",    "eip155Block",
                                        "eip158Block",     "byzantiumBlock", "constantinopleBlock",
                                        "petersburgBlock", "istanbulBlock",  "muirGlacierBlock"};
    static const struct {
        const char *name;
        u64 v;
    } fees[] = {{"gasLimit", GAS_LIMIT},       {"targetBlockRate", 2},           {"minBaseFee", 1000000000},
                {"targetGas", 100000000},      {"baseFeeChangeDenominator", 48}, {"minBlockGasCost", 0},
                {"maxBlockGasCost", 10000000}, {"blockGasCostStep", 500000}};
    cd_json_w_key(w, "config");
    cd_json_w_obj(w);
    cd_json_put_u64(w, "chainId", g->chain_id);
    for (usize i = 0; i < CD_COUNT(forks); i++) {
        cd_json_put_u64(w, forks[i], 0);
    }
    cd_json_w_key(w, "feeConfig");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(fees); i++) {
        cd_json_put_u64(w, fees[i].name, fees[i].v);
    }
    cd_json_w_obj_end(w);
    cd_json_w_key(w, "warpConfig");
    cd_json_w_obj(w);
    cd_json_put_u64(w, "blockTimestamp", g->time);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

void cd__l1_genesis_put(cd_buf *out, cd_arena *mem, const cd__l1_genesis *g)
{
    cd_json_w w = {.out = out};
    static const cd_hash32 zeros;
    static const cd_addr20 nobody;
    cd_json_w_obj(&w);
    put_config(&w, g);
    cd_json_w_key(&w, "alloc");
    cd_json_w_obj(&w);
    put_manager(&w, mem, g);
    for (usize i = 0; i < g->alloc_cnt; i++) {
        cd_json_w_key(&w, hex_key(mem, cd_bytes_of(g->allocs[i].account.b, sizeof g->allocs[i].account.b)));
        cd_json_w_obj(&w);
        cd_json_put_qty_u256(&w, "balance", &g->allocs[i].wei);
        cd_json_w_obj_end(&w);
    }
    cd_json_w_obj_end(&w);
    cd_json_put_cstr(&w, "nonce", "0x0");
    cd_json_put_qty(&w, "timestamp", g->time);
    cd_json_put_cstr(&w, "extraData", "0x");
    cd_json_put_qty(&w, "gasLimit", GAS_LIMIT);
    cd_json_put_cstr(&w, "difficulty", "0x0");
    cd_json_put_hash(&w, "mixHash", &zeros);
    cd_json_put_hex(&w, "coinbase", cd_bytes_of(nobody.b, sizeof nobody.b));
    cd_json_put_cstr(&w, "number", "0x0");
    cd_json_put_cstr(&w, "gasUsed", "0x0");
    cd_json_put_hash(&w, "parentHash", &zeros);
    cd_json_w_obj_end(&w);
}
