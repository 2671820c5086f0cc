/* Bodies of variant A: one flat object [spec:webhooks#3]. */
#include "services/webhook/core/chain/payload.h"
#include "services/webhook/core/names.h"

/* Who gave how much to whom: of a transfer its parties, else those of the transaction. */
static void put_move(cd__wh_body *b)
{
    const cd_wh_hit *hit = b->hit;
    bool is_part = hit->part != NULL;
    cd__wh_put_hash(b, "txHash", &hit->tx->hash);
    cd__wh_put_addr(b, "from", is_part ? &hit->log->from : &hit->tx->from);
    cd__wh_put_addr(b, "to", is_part ? &hit->log->to : cd__wh_tx_to(hit->tx));
    cd__wh_put_dec(b, "value", is_part ? &hit->part->value : &hit->tx->moved);
}

static void put_coin(cd__wh_body *b)
{
    cd__wh_put_str(b, "symbol", b->token->symbol);
    cd_json_w_key(&b->w, "decimals");
    if (b->token->decimals < 0) {
        cd_json_w_null(&b->w);
    } else {
        cd_json_w_i64(&b->w, b->token->decimals);
    }
}

static void put_log(cd__wh_body *b, const cd_wh_log *log)
{
    cd_wh_type type = b->hit->type;
    cd__wh_put_addr(b, "contract", &log->contract);
    cd__wh_put_u64(b, "logIndex", log->index);
    if (type == CD_WH_A_ERC20) {
        put_coin(b);
    } else if (type == CD_WH_A_CONTRACT) {
        cd__wh_put_topics(b, log);
    } else if (type == CD_WH_A_ERC1155) {
        cd__wh_put_u64(b, "batchIndex", (u64)(b->hit->part - log->parts));
        cd__wh_put_addr(b, "operator", &log->operator);
    }
    if (type == CD_WH_A_ERC721 || type == CD_WH_A_ERC1155) {
        cd__wh_put_dec(b, "tokenId", &b->hit->part->id);
    }
}

static void put_block(cd__wh_body *b)
{
    const cd_wh_facts *f = b->facts;
    cd__wh_put_hash(b, "blockHash", &f->hash);
    cd__wh_put_hash(b, "parentHash", &f->parent);
    cd__wh_put_u64_str(b, "gasUsed", f->gas_used);
    cd__wh_put_u64_str(b, "gasLimit", f->gas_limit);
    cd__wh_put_dec(b, "baseFeePerGas", f->has_base_fee ? &f->base_fee : NULL);
    cd__wh_put_u64(b, "transactionCount", f->txs_cnt);
}

void cd__wh_a_body(cd__wh_body *b)
{
    const cd_wh_hit *hit = b->hit;
    cd_wh_type type = hit->type;
    cd_json_w_obj(&b->w);
    cd__wh_put_str(b, "id", b->id);
    cd__wh_put_str(b, "event", cd_wh_type_name(type));
    cd__wh_put_str(b, "chain", b->chain->name);
    cd__wh_put_u64(b, "blockNumber", b->facts->number);
    cd__wh_put_finality(b);
    if (type != CD_WH_A_BLOCK) {
        put_move(b);
    }
    cd__wh_put_str(b, "timestamp", b->time);
    if (hit->log != NULL) {
        put_log(b, hit->log);
    }
    if (type == CD_WH_A_BLOCK) {
        put_block(b);
    }
    if (b->is_test) {
        cd_json_w_key(&b->w, "test");
        cd_json_w_bool(&b->w, true);
    }
    cd_json_w_obj_end(&b->w);
}
