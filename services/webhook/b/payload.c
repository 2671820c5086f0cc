/* Bodies of variant B: an envelope with data in snake_case [spec:webhooks#3]. */
#include "services/webhook/core/chain/payload.h"
#include "num/u256_text.h"
#include "services/webhook/core/names.h"

/* B's fields are never null: what a token does not say is empty and zero. */
static const char *symbol_of(const cd__wh_body *b)
{
    return b->token->symbol == NULL ? "" : b->token->symbol;
}

static void put_activity(cd__wh_body *b)
{
    const cd_wh_hit *hit = b->hit;
    const cd_wh_log *log = hit->log;
    cd__wh_put_addr(b, "from", log != NULL ? &log->from : &hit->tx->from);
    cd__wh_put_addr(b, "to", log != NULL ? &log->to : cd__wh_tx_to(hit->tx));
    cd__wh_put_dec(b, "value", log != NULL ? &hit->part->value : &hit->tx->moved);
    cd__wh_put_str(b, "asset", log != NULL ? symbol_of(b) : b->chain->symbol);
    cd__wh_put_addr(b, "contract", log != NULL ? &log->contract : NULL);
    cd__wh_put_str(b, "direction", hit->is_outgoing ? "outgoing" : "incoming");
}

static void put_token(cd__wh_body *b)
{
    cd__wh_put_addr(b, "contract", &b->hit->log->contract);
    cd__wh_put_addr(b, "from", &b->hit->log->from);
    cd__wh_put_addr(b, "to", &b->hit->log->to);
    cd__wh_put_dec(b, "value", &b->hit->part->value);
    cd__wh_put_str(b, "symbol", symbol_of(b));
    cd__wh_put_u64(b, "decimals", b->token->decimals < 0 ? 0 : (u64)b->token->decimals);
}

static void put_nft(cd__wh_body *b)
{
    char quantity[CD_U256_TEXT_MAX];
    const cd_wh_log *log = b->hit->log;
    cd__wh_put_addr(b, "contract", &log->contract);
    cd__wh_put_addr(b, "from", &log->from);
    cd__wh_put_addr(b, "to", &log->to);
    cd__wh_put_dec(b, "token_id", &b->hit->part->id);
    cd__wh_put_str(b, "standard", log->move == CD_WH_MOVE_ERC721 ? "ERC721" : "ERC1155");
    cd_json_w_key(&b->w, "quantity");
    cd_json_w_raw(&b->w, cd_bytes_of(quantity, cd_u256_fmt_dec(quantity, &b->hit->part->value)));
}

static void put_mined(cd__wh_body *b)
{
    const cd_wh_tx *tx = b->hit->tx;
    cd__wh_put_hash(b, "block_hash", &b->facts->hash);
    cd__wh_put_hash(b, "tx_hash", &tx->hash);
    cd__wh_put_u64(b, "transaction_index", tx->index);
    cd__wh_put_addr(b, "from", &tx->from);
    cd__wh_put_addr(b, "to", cd__wh_tx_to(tx));
    cd__wh_put_dec(b, "value", &tx->value);
    cd__wh_put_str(b, "status", tx->is_ok ? "success" : "reverted");
    cd__wh_put_u64(b, "gas_used", tx->gas_used);
    cd__wh_put_dec(b, "effective_gas_price", &tx->gas_price);
    cd__wh_put_addr(b, "contract_address", tx->has_created ? &tx->created : NULL);
}

static void put_log(cd__wh_body *b)
{
    cd__wh_put_u64(b, "log_index", b->hit->log->index);
    cd__wh_put_addr(b, "contract", &b->hit->log->contract);
    cd__wh_put_topics(b, b->hit->log);
}

void cd__wh_b_body(cd__wh_body *b)
{
    cd_wh_type type = b->hit->type;
    cd_json_w_obj(&b->w);
    cd__wh_put_str(b, "id", b->id);
    cd__wh_put_str(b, "event_type", cd_wh_type_name(type));
    cd__wh_put_str(b, "webhook_id", b->hit->hook_id);
    cd__wh_put_str(b, "created_at", b->time);
    cd_json_w_key(&b->w, "data");
    cd_json_w_obj(&b->w);
    cd__wh_put_str(b, "chain", b->chain->name);
    cd__wh_put_u64(b, "block_number", b->facts->number);
    cd__wh_put_finality(b);
    if (type == CD_WH_B_MINED) {
        put_mined(b);
    } else {
        cd__wh_put_hash(b, "tx_hash", &b->hit->tx->hash);
        if (type == CD_WH_B_ADDRESS) {
            put_activity(b);
        } else if (type == CD_WH_B_TOKEN) {
            put_token(b);
        } else if (type == CD_WH_B_NFT) {
            put_nft(b);
        } else {
            put_log(b);
        }
    }
    cd_json_w_obj_end(&b->w);
    if (b->is_test) {
        cd_json_w_key(&b->w, "test");
        cd_json_w_bool(&b->w, true);
    }
    cd_json_w_obj_end(&b->w);
}
