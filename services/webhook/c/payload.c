/* Bodies of variant C: an envelope with data in camelCase [spec:webhooks#3]. */
#include "services/webhook/core/chain/payload.h"
#include "services/webhook/core/names.h"

/* Decimals of the chain's own coin. */
enum { COIN_DECIMALS = 18 };

static void put_null(cd__wh_body *b, const char *key)
{
    cd__wh_put_str(b, key, NULL);
}

static void put_token(cd__wh_body *b)
{
    cd_json_w_key(&b->w, "token");
    cd_json_w_obj(&b->w);
    cd__wh_put_addr(b, "address", &b->hit->log->contract);
    cd__wh_put_str(b, "symbol", b->token->symbol);
    if (b->token->decimals < 0) {
        put_null(b, "decimals");
    } else {
        cd__wh_put_u64(b, "decimals", (u64)b->token->decimals);
    }
    cd_json_w_obj_end(&b->w);
}

static void put_selector(cd__wh_body *b, const cd_wh_tx *tx)
{
    u8 bytes[4];
    cd_json_w_key(&b->w, "functionSelector");
    if (tx->has_selector) {
        cd_put_be32(bytes, tx->selector);
        cd_json_w_hex(&b->w, cd_bytes_of(bytes, 4));
    } else {
        cd_json_w_null(&b->w);
    }
}

static void put_activity_tx(cd__wh_body *b)
{
    const cd_wh_tx *tx = b->hit->tx;
    bool is_plain = tx->has_to && !tx->has_selector;
    cd__wh_put_addr(b, "from", &tx->from);
    cd__wh_put_addr(b, "to", cd__wh_tx_to(tx));
    cd__wh_put_dec(b, "value", &tx->moved);
    cd__wh_put_units(b, "valueFormatted", &tx->moved, COIN_DECIMALS);
    cd__wh_put_str(b, "asset", b->chain->symbol);
    cd__wh_put_str(b, "category", is_plain || !cd_u256_is_zero(&tx->moved) ? "native" : "contract");
    cd__wh_put_str(b, "direction", b->hit->is_outgoing ? "outgoing" : "incoming");
    put_null(b, "logIndex");
    put_null(b, "token");
    put_selector(b, tx);
}

static void put_activity_log(cd__wh_body *b)
{
    const cd_wh_log *log = b->hit->log;
    cd__wh_put_addr(b, "from", &log->from);
    cd__wh_put_addr(b, "to", &log->to);
    cd__wh_put_dec(b, "value", &b->hit->part->value);
    cd__wh_put_units(b, "valueFormatted", &b->hit->part->value, b->token->decimals);
    cd__wh_put_str(b, "asset", b->token->symbol);
    cd__wh_put_str(b, "category", "erc20");
    cd__wh_put_str(b, "direction", b->hit->is_outgoing ? "outgoing" : "incoming");
    cd__wh_put_u64(b, "logIndex", log->index);
    put_token(b);
    put_null(b, "functionSelector");
}

static void put_transfer(cd__wh_body *b)
{
    const cd_wh_log *log = b->hit->log;
    cd__wh_put_u64(b, "logIndex", log->index);
    cd__wh_put_addr(b, "from", &log->from);
    cd__wh_put_addr(b, "to", &log->to);
    put_token(b);
    cd__wh_put_dec(b, "value", &b->hit->part->value);
    cd__wh_put_units(b, "valueFormatted", &b->hit->part->value, b->token->decimals);
}

static void put_nft(cd__wh_body *b)
{
    const cd_wh_log *log = b->hit->log;
    bool is_mint = cd_addr20_is_zero(&log->from);
    bool is_burn = !is_mint && cd_addr20_is_zero(&log->to);
    cd__wh_put_u64(b, "logIndex", log->index);
    cd__wh_put_addr(b, "from", &log->from);
    cd__wh_put_addr(b, "to", &log->to);
    cd__wh_put_addr(b, "contract", &log->contract);
    cd__wh_put_dec(b, "tokenId", &b->hit->part->id);
    cd__wh_put_str(b, "standard", log->move == CD_WH_MOVE_ERC721 ? "ERC721" : "ERC1155");
    cd__wh_put_dec(b, "quantity", &b->hit->part->value);
    cd__wh_put_str(b, "action", is_mint ? "mint" : is_burn ? "burn" : "transfer");
    cd_json_w_key(&b->w, "metadata");
    if (b->token->name == NULL && b->token->symbol == NULL && b->uri == NULL) {
        cd_json_w_null(&b->w);
        return;
    }
    cd_json_w_obj(&b->w);
    cd__wh_put_str(b, "name", b->token->name);
    cd__wh_put_str(b, "symbol", b->token->symbol);
    cd__wh_put_str(b, "tokenURI", b->uri);
    cd_json_w_obj_end(&b->w);
}

static void put_mined(cd__wh_body *b)
{
    const cd_wh_tx *tx = b->hit->tx;
    cd__wh_put_u64(b, "blockNumber", b->facts->number);
    cd__wh_put_hash(b, "blockHash", &b->facts->hash);
    cd__wh_put_hash(b, "transactionHash", &tx->hash);
    cd__wh_put_u64(b, "transactionIndex", tx->index);
    cd__wh_put_addr(b, "from", &tx->from);
    cd__wh_put_addr(b, "to", cd__wh_tx_to(tx));
    cd__wh_put_dec(b, "value", &tx->value);
    cd__wh_put_str(b, "status", tx->is_ok ? "success" : "reverted");
    cd__wh_put_u64_str(b, "gasUsed", tx->gas_used);
    cd__wh_put_dec(b, "effectiveGasPrice", &tx->gas_price);
    cd__wh_put_addr(b, "contractAddress", tx->has_created ? &tx->created : NULL);
}

static void put_inner(cd__wh_body *b)
{
    const cd_wh_inner *in = b->hit->inner;
    cd_json_w_key(&b->w, "traceAddress");
    cd_json_w_arr(&b->w);
    for (u32 i = 0; i < in->depth; i++) {
        cd_json_w_u64(&b->w, in->path[i]);
    }
    cd_json_w_arr_end(&b->w);
    cd__wh_put_str(b, "callType", in->call);
    cd__wh_put_addr(b, "from", &in->from);
    cd__wh_put_addr(b, "to", &in->to);
    cd__wh_put_dec(b, "value", &in->value);
    cd__wh_put_units(b, "valueFormatted", &in->value, COIN_DECIMALS);
    cd__wh_put_u64(b, "depth", in->depth);
}

static void put_block(cd__wh_body *b)
{
    const cd_wh_facts *f = b->facts;
    cd__wh_put_u64(b, "blockNumber", f->number);
    cd__wh_put_hash(b, "blockHash", &f->hash);
    cd__wh_put_hash(b, "parentHash", &f->parent);
    cd__wh_put_str(b, "timestamp", b->time);
    cd__wh_put_u64_str(b, "gasUsed", f->gas_used);
    cd__wh_put_u64_str(b, "gasLimit", f->gas_limit);
    cd__wh_put_dec(b, "baseFeePerGas", f->has_base_fee ? &f->base_fee : NULL);
    cd__wh_put_u64(b, "transactionCount", f->txs_cnt);
}

static void put_pending(cd__wh_body *b)
{
    const cd_wh_tx *tx = b->hit->tx;
    cd__wh_put_hash(b, "transactionHash", &tx->hash);
    cd__wh_put_addr(b, "from", &tx->from);
    cd__wh_put_addr(b, "to", cd__wh_tx_to(tx));
    cd__wh_put_dec(b, "value", &tx->value);
    cd__wh_put_u64(b, "nonce", tx->nonce);
    cd__wh_put_u64_str(b, "gas", tx->gas);
    /* One price is both what is paid at most and what the tip may be. */
    cd__wh_put_dec(b, "maxFeePerGas", tx->has_fees ? &tx->max_fee : &tx->gas_price);
    cd__wh_put_dec(b, "maxPriorityFeePerGas", tx->has_fees ? &tx->max_tip : &tx->gas_price);
    put_selector(b, tx);
    cd__wh_put_str(b, "firstSeenAt", b->time_ms);
}

static void put_data(cd__wh_body *b)
{
    cd_wh_type type = b->hit->type;
    if (type == CD_WH_C_MINED) {
        put_mined(b);
    } else if (type == CD_WH_C_BLOCK) {
        put_block(b);
    } else if (type == CD_WH_C_PENDING) {
        put_pending(b);
    } else {
        cd__wh_put_u64(b, "blockNumber", b->facts->number);
        cd__wh_put_hash(b, "transactionHash", &b->hit->tx->hash);
        if (type == CD_WH_C_TOKEN) {
            put_transfer(b);
        } else if (type == CD_WH_C_NFT) {
            put_nft(b);
        } else if (type == CD_WH_C_INTERNAL) {
            put_inner(b);
        } else if (b->hit->log != NULL) {
            put_activity_log(b);
        } else {
            put_activity_tx(b);
        }
    }
}

void cd__wh_c_body(cd__wh_body *b)
{
    cd_json_w_obj(&b->w);
    cd__wh_put_str(b, "id", b->id);
    cd__wh_put_str(b, "type", cd_wh_type_name(b->hit->type));
    cd__wh_put_str(b, "createdAt", b->time_ms);
    cd__wh_put_str(b, "chain", b->chain->name);
    cd__wh_put_u64(b, "chainId", b->chain->id);
    if (b->hit->type != CD_WH_C_PENDING) {
        cd__wh_put_finality(b);
    }
    cd_json_w_key(&b->w, "data");
    cd_json_w_obj(&b->w);
    put_data(b);
    cd_json_w_obj_end(&b->w);
    if (b->is_test) {
        cd_json_w_key(&b->w, "test");
        cd_json_w_bool(&b->w, true);
    }
    cd_json_w_obj_end(&b->w);
}
