/* What follows when the head has changed, and what the next block goes by. */
#include "chains/evmchain/feed/feed.h"
#include "chains/evmchain/rpc/api.h"

void cd_api_next(const cd_api *e, cd_build_cfg *out)
{
    if (e->dev != NULL) {
        e->dev->ops->next(e->dev, out);
    } else {
        u64 head = cd_chain_head(e->chain)->header.time;
        *out = (cd_build_cfg){.wish.time = cd_max_u64(cd_clock_wall_s(e->clock), head)};
    }
}

cd_err cd_api_follow(cd_api *e)
{
    const cd_chain_rules *r = cd_chain_rules_of(e->chain);
    cd_build_cfg cfg;
    cd_arena a = {0};
    cd_header next;
    cd_child_rules child;
    cd_api_next(e, &cfg);
    cd_err err = cd_chain_child(e->chain, &child);
    if (err == CD_OK) {
        err = cd_chain_next_header_as(e->chain, &next, &a, &cfg.wish, NULL);
    }
    if (err == CD_OK) {
        /* On the dev network somebody may choose a base fee of zero: what is too low for the next block is told
         * there. */
        cd_u256 least = e->is_dev ? cd_u256_zero() : child.fee.min_base_fee;
        cd_txpool_head head = {
            .fork = cd_chain_rules_fork(r, next.number, next.time),
            .chain_id = r->chain_id,
            .gas_limit = next.gas_limit,
            .min_fee_cap = least,
            .base_fee = next.base_fee,
            .schedule = r->schedule,
            .time = next.time,
        };
        cd_txpool_set_head(e->pool, &head, &e->head.world.src);
        err = cd_txpool_recheck(e->pool);
    }
    cd_arena_fini(&a);
    cd_feed_news(e->feed);
    cd_feed_news(e->final_feed);
    if (e->news != NULL) {
        e->news(e->news_ctx);
    }
    return err;
}
