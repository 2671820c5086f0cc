#include "chains/evmchain/final.h"

#include "base/log/log.h"
#include "chains/evmchain/feed/feed.h"
#include "finality/messages.h"
#include "p2p/sdk.h"

static void rise(cd_api *api, u64 height)
{
    if (height + 1 > atomic_load(&api->final)) { /* the executor alone writes it */
        atomic_store(&api->final, height + 1);
        cd_feed_news(api->final_feed);
        cd_log_debug(api->log, "a block is final", CD_F("height", height));
    }
}

bool cd_evm_final_hear(cd_api *api, const cd_vm_ctx *ctx, const cd_node_id *from, cd_bytes message)
{
    u64 handler;
    cd_bytes body;
    cd_fin_says says;
    cd_fin_cert cert;
    cd_arena a = {0};
    cd_block b;
    if (cd_p2p_app_split(&handler, &body, message) != CD_OK || handler != CD_FIN_HANDLER ||
        memcmp(from->b, ctx->node_id.b, sizeof from->b) != 0) {
        return false;
    }
    bool is_good = cd_fin_says_read(&says, body) == CD_OK && says.kind == CD_FIN_SAYS_CERT &&
                   cd_fin_cert_parse(&cert, says.bytes) == CD_FLAW_NONE && cd_fin_is_final(cert.type) &&
                   cd_hash32_eq(&cert.chain, &ctx->chain_id);
    if (is_good && cd_chain_block_by_hash(api->chain, &b, NULL, &a, &cert.msg.block) == CD_OK) {
        rise(api, b.header.number);
    }
    cd_arena_fini(&a);
    return true;
}
