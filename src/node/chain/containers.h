/* node/chain/containers.h - what a chain accepted, in the order of accepting: a container for each block, found by
 * index and by id. With the wrapper of proposers they are its blocks, as everywhere in consensus.
 *
 *   commit door ── also: append ──► the batch that accepts the block ── landed ──► seen by readers
 *   opening ── catch_up ──► what was accepted while nobody kept them
 *
 * The first block behind the genesis is container 0. On a development network a rewind takes containers back with the
 * next block. Threading: append, landed and catch_up are confined to the chain's executor; the rest is shared.
 * [spec:node-api#10] */
#ifndef CD_NODE_CONTAINERS_H
#define CD_NODE_CONTAINERS_H

#include "base/log/log.h"
#include "store/kv.h"
#include "vm/vm.h"

typedef struct cd_containers cd_containers;

/* cd_containers_open reads how far those of a chain go. store and clock are borrowed. Errors: the store's. */
cd_err cd_containers_open(cd_containers **out, cd_kv *store, const cd_hash32 *chain, const cd_clock *clock) CD_CHECK;
void cd_containers_free(cd_containers *c); /* NULL is allowed */

/* cd_containers_append appends the container of b to a batch for the whole store; cd_containers_landed: the batch is in
 * the store. Without the second the first has not happened. Errors: the store's. */
cd_err cd_containers_append(cd_containers *c, cd_kv_batch *batch, const cd_vm_block *b) CD_CHECK;
void cd_containers_landed(cd_containers *c);

/* cd_containers_catch_up appends the accepted blocks of vm that are missing, dated by their own time. The log hears of
 * it when it takes long. Errors: the store's, those of the VM but for blocks that it does not have. */
cd_err cd_containers_catch_up(cd_containers *c, cd_vm *vm, cd_logger *log, cd_errinfo *why) CD_CHECK;

/* cd_containers_cnt counts those that readers see. */
u64 cd_containers_cnt(const cd_containers *c);

/* An accepted block or transaction, as the index has it; bytes lie in the arena that was given. */
typedef struct cd_container {
    u64 index;
    u64 accepted_ns; /* Unix time */
    u64 height;
    cd_hash32 id;
    cd_bytes bytes;
} cd_container;

/* cd_containers_get gives one; bytes lie in buf, whose contents are replaced. cd_containers_index_of finds one by its
 * id. Errors: CD_ENOENT, the store's, CD_ECORRUPT. */
cd_err cd_containers_get(const cd_containers *c, cd_container *out, cd_buf *buf, u64 index) CD_CHECK;
cd_err cd_containers_index_of(const cd_containers *c, u64 *index, const cd_hash32 *id) CD_CHECK;

#endif
