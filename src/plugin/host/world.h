/* plugin/host/world.h - what a plugin may ask about the network, and how it sends messages: aliases of chains,
 * validator sets, signatures of this node, messages to peers.
 *
 * What it sends is handed on as words: they wait for the chain's executor, in a mailbox that is bounded.
 * Threading: serve as service.h; the mailbox is shared. [spec:plugin#5] */
#ifndef CD_PLUGIN_HOST_WORLD_H
#define CD_PLUGIN_HOST_WORLD_H

#include "plugin/host/service.h"
#include "vm/sender.h"
#include "vm/validators.h"

/* Names of chains; the node knows them. Any thread. */
typedef struct cd_plugin_names {
    /* find gives the chain of an alias or id. Errors: CD_ENOENT. */
    cd_err (*find)(void *ctx, cd_hash32 *chain, cd_bytes name);
    /* list gives the aliases of a chain, the first one first, in the arena. */
    void (*list)(void *ctx, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *chain);
    void *ctx;
} cd_plugin_names;

/* How this node signs Warp messages. Any thread. Errors: those of signing. sign NULL: the node signs nothing. */
typedef struct cd_plugin_signer {
    cd_err (*sign)(void *ctx, u8 out[96], cd_bytes msg, cd_errinfo *why);
    void *ctx;
} cd_plugin_signer;

/* Kinds of messages that a plugin sends. */
typedef enum cd_plugin_word_kind {
    CD_PLUGIN_REQUEST,
    CD_PLUGIN_RESPONSE,
    CD_PLUGIN_REFUSAL,
    CD_PLUGIN_GOSSIP,
} cd_plugin_word_kind;

/* A message on its way; one piece of memory with all that it points to (cd_free). */
typedef struct cd_plugin_word {
    struct cd_plugin_word *next;
    cd_plugin_word_kind kind;
    u32 request_id;
    i32 code;           /* error code of a refusal */
    cd_vm_gossip_to to; /* nodes are for all kinds, the numbers for gossip only */
    cd_bytes msg;
    usize bytes; /* bytes of memory that the word takes */
} cd_plugin_word;

/* Most words that may wait, most bytes of them, and most nodes of a word. */
enum { CD_PLUGIN_WORDS_MAX = 1024, CD_PLUGIN_WORD_BYTES_MAX = 32 << 20, CD_PLUGIN_WORD_NODES_MAX = 4096 };

typedef struct cd_plugin_world cd_plugin_world;

/* What the world is made of; borrowed. */
typedef struct cd_plugin_world_cfg {
    u32 network_id;
    cd_hash32 chain_id;
    const cd_vm_validators *validators; /* NULL: nobody knows who validates */
    cd_plugin_names names;
    cd_plugin_signer signer;
    void (*waiting)(void *ctx); /* called on the plugin's loop when a word waits to be taken */
    void *ctx;
} cd_plugin_world_cfg;

/* cd_plugin_world_new copies cfg; cd_plugin_world_free: when no call runs any more; NULL is allowed. */
cd_plugin_world *cd_plugin_world_new(const cd_plugin_world_cfg *cfg);
void cd_plugin_world_free(cd_plugin_world *w);

/* cd_plugin_world_methods gives the rows; their context is the world. */
const cd_plugin_method *cd_plugin_world_methods(usize *cnt);

/* cd_plugin_world_take gives the words that wait, oldest first, for the caller to free; NULL: none wait. */
cd_plugin_word *cd_plugin_world_take(cd_plugin_world *w);

#endif
