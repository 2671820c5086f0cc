#include "vm/gossip/asks.h"

#include "base/mem/mem.h"

typedef struct ask {
    cd_gossip_told *told;
    void *ctx;
    cd_node_id node;
} ask;

void cd_gossip_asks_init(cd_gossip_asks *a)
{
    cd_hmap_init(&a->open, CD_HASH_KEYED, sizeof(u32), sizeof(ask));
}

void cd_gossip_asks_fini(cd_gossip_asks *a)
{
    cd_hmap_fini(&a->open);
}

bool cd_gossip_asks_put(cd_gossip_asks *a, u32 request_id, const cd_node_id *node, cd_gossip_told *told, void *ctx)
{
    if (cd_hmap_cnt(&a->open) >= CD_GOSSIP_ASKS_OPEN_MAX) {
        return false;
    }
    ask *at = cd_hmap_put(&a->open, NULL, &request_id);
    *at = (ask){.told = told, .ctx = ctx, .node = *node};
    return true;
}

bool cd_gossip_asks_end(cd_gossip_asks *a, u32 request_id, const cd_node_id *node, i32 code, cd_bytes answer)
{
    const ask *at = cd_hmap_get(&a->open, &request_id);
    if (at == NULL || memcmp(&at->node, node, sizeof *node) != 0) {
        return false;
    }
    const ask one = *at;
    (void)cd_hmap_del(&a->open, &request_id);
    one.told(one.ctx, node, code, answer);
    return true;
}

void cd_gossip_asks_drop(cd_gossip_asks *a, const void *ctx)
{
    usize cnt = 0;
    const void *key;
    void *val;
    u32 *ids = cd_new_array(u32, cd_hmap_cnt(&a->open) + 1);
    for (usize it = 0; cd_hmap_next(&a->open, &it, &key, &val);) {
        if (((const ask *)val)->ctx == ctx) {
            ids[cnt++] = *(const u32 *)key;
        }
    }
    for (usize i = 0; i < cnt; i++) {
        (void)cd_hmap_del(&a->open, &ids[i]);
    }
    cd_free(ids);
}
