/* A whole VM in few lines: a block holds one number that is not zero. It keeps the contract of vm/vm.h, or breaks it at
 * one place of choice, so that the test of the contract can be tested. */
#ifndef CD_VM_TEST_TOY_VM_H
#define CD_VM_TEST_TOY_VM_H

#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"
#include "vm/blocks.h"

/* What a toy does wrong. */
typedef enum toy_fault {
    TOY_IS_GOOD,
    TOY_PARSE_MAKES_ANOTHER, /* a second parse of a block gives a second object, not verified */
    TOY_GET_FINDS_ACCEPTED_ONLY,
    TOY_BUILDS_ON_HEAD,
    TOY_ACCEPTS_UNVERIFIED,
    TOY_MOVES_BEFORE_COMMIT, /* accept moves the head, committed or not */
    TOY_WRITES_HALF,         /* the head's record is missing in the batch */
    TOY_KEEPS_REJECTED,      /* a rejected block can be preferred */
    TOY_TAKES_ANY_PARENT,    /* a block on an unknown parent is fine */
    TOY_FAULTS,
} toy_fault;

enum { TOY_SIZE = 48, TOY_GENESIS = 1 };

typedef struct toy_block {
    cd_vm_block pub; /* first */
    u8 bytes[TOY_SIZE];
} toy_block;

typedef struct toy {
    cd_vm vm; /* first */
    cd_kv *kv;
    cd_blocks blocks;
    toy_fault fault;
    u64 wanted; /* the number in the next block; 0: no block is wanted */
    u64 now;
} toy;

CD_INLINE toy *toy_of(void *owner)
{
    return owner;
}

/* Writes a block: parent, height, number. */
CD_INLINE void toy_enc(u8 out[TOY_SIZE], const cd_hash32 *parent, u64 height, u64 number)
{
    memcpy(out, parent->b, 32);
    cd_put_be64(out + 32, height);
    cd_put_be64(out + 40, number);
}

CD_INLINE cd_err toy_id_of(void *owner, cd_hash32 *out, cd_bytes bytes, cd_errinfo *why)
{
    (void)owner;
    if (bytes.n != TOY_SIZE) {
        return cd_fail(why, CD_EFORMAT, "a block has %d bytes", TOY_SIZE);
    }
    cd_sha256(out, bytes);
    return CD_OK;
}

CD_INLINE cd_err toy_decode(void *owner, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    cd_hash32 id;
    CD_TRY(toy_id_of(owner, &id, bytes, why));
    toy_block *b = cd_new(toy_block);
    memcpy(b->bytes, bytes.p, TOY_SIZE);
    b->pub.id = id;
    memcpy(b->pub.parent.b, b->bytes, 32);
    b->pub.height = cd_be64(b->bytes + 32);
    b->pub.time = b->pub.height;
    b->pub.bytes = cd_bytes_of(b->bytes, TOY_SIZE);
    *out = &b->pub;
    return CD_OK;
}

CD_INLINE cd_bytes toy_key(u8 key[33], u8 table, const void *rest, usize n)
{
    key[0] = table;
    memcpy(key + 1, rest, n);
    return cd_bytes_of(key, 1 + n);
}

CD_INLINE cd_err toy_load(void *owner, cd_vm_block **out, const cd_hash32 *id)
{
    u8 key[33];
    cd_buf v = {0};
    cd_err e = cd_kv_get(toy_of(owner)->kv, &v, toy_key(key, 'b', id->b, 32));
    if (e == CD_OK) {
        e = toy_decode(owner, out, cd_buf_bytes(&v), NULL);
    }
    cd_buf_fini(&v);
    return e;
}

CD_INLINE cd_err toy_at(void *owner, cd_hash32 *id, u64 height)
{
    u8 key[33];
    u8 be[8];
    cd_buf v = {0};
    cd_put_be64(be, height);
    cd_err e = cd_kv_get(toy_of(owner)->kv, &v, toy_key(key, 'h', be, 8));
    if (e == CD_OK) {
        memcpy(id->b, v.p, 32);
    }
    cd_buf_fini(&v);
    return e;
}

CD_INLINE void toy_free(void *owner, cd_vm_block *b)
{
    (void)owner;
    cd_free(b);
}

CD_INLINE cd_err toy_check(void *owner, cd_vm_block *b, cd_vm_block *parent, const cd_vm_block_ctx *ctx,
                           cd_errinfo *why)
{
    (void)owner;
    (void)parent;
    (void)ctx;
    return cd_be64(b->bytes.p + 40) != 0 ? CD_OK : cd_fail(why, CD_EINVAL, "zero is no number");
}

CD_INLINE cd_err toy_put(void *owner, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    u8 key[33];
    u8 be[8];
    toy *t = owner;
    (void)why;
    cd_put_be64(be, b->height);
    cd_kv_batch_put(batch, toy_key(key, 'b', b->id.b, 32), b->bytes);
    cd_kv_batch_put(batch, toy_key(key, 'h', be, 8), cd_bytes_of(b->id.b, 32));
    if (t->fault != TOY_WRITES_HALF) {
        cd_kv_batch_put(batch, cd_bytes_str("L"), cd_bytes_of(b->id.b, 32));
    }
    if (t->fault == TOY_MOVES_BEFORE_COMMIT) {
        t->blocks.last = b->id;
        t->blocks.last_height = b->height;
    }
    return CD_OK;
}

CD_INLINE cd_err toy_landed(void *owner, cd_vm_block *b, cd_errinfo *why)
{
    (void)owner;
    (void)b;
    (void)why;
    return CD_OK;
}

CD_INLINE void toy_forget(void *owner, cd_vm_block *b)
{
    (void)owner;
    (void)b;
}

static const cd_blocks_ops toy_blocks_ops = {
    .id_of = toy_id_of,
    .decode = toy_decode,
    .load = toy_load,
    .id_at_height = toy_at,
    .free = toy_free,
    .verify = toy_check,
    .accept = toy_put,
    .accepted = toy_landed,
    .reject = toy_forget,
};

/* --- the contract --- */

CD_INLINE cd_err toy_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    (void)vm;
    (void)state;
    (void)why;
    return CD_OK;
}

CD_INLINE cd_err toy_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    toy *t = (toy *)(void *)vm;
    u8 bytes[TOY_SIZE];
    (void)ctx;
    if (t->wanted == 0) {
        return cd_fail(why, CD_ENOENT, "nothing is wanted");
    }
    const cd_vm_block *p = t->fault == TOY_BUILDS_ON_HEAD ? NULL : cd_blocks_preferred(&t->blocks);
    toy_enc(bytes, p == NULL ? &t->blocks.last : &p->id, (p == NULL ? t->blocks.last_height : p->height) + 1,
            t->wanted);
    t->wanted = 0;
    cd_vm_block *b;
    CD_TRY(toy_decode(t, &b, cd_bytes_of(bytes, TOY_SIZE), why));
    cd_blocks_add(&t->blocks, out, b, false);
    return CD_OK;
}

CD_INLINE cd_err toy_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    toy *t = (toy *)(void *)vm;
    if (t->fault == TOY_PARSE_MAKES_ANOTHER && bytes.n == TOY_SIZE) {
        CD_TRY(toy_decode(t, out, bytes, why));
        (*out)->span = 1;
        (*out)->own.refs = UINT32_MAX; /* not in the map: release frees it */
        return CD_OK;
    }
    return cd_blocks_parse(&t->blocks, out, bytes, why);
}

CD_INLINE cd_err toy_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    toy *t = (toy *)(void *)vm;
    if (t->fault == TOY_GET_FINDS_ACCEPTED_ONLY) {
        const cd_vm_block *b = cd_blocks_find(&t->blocks, id);
        if (b != NULL && b->status != CD_VM_ACCEPTED) {
            return CD_ENOENT;
        }
    }
    return cd_blocks_get(&t->blocks, out, id);
}

CD_INLINE void toy_release(cd_vm *vm, cd_vm_block *b)
{
    toy *t = (toy *)(void *)vm;
    if (b->own.refs == UINT32_MAX) {
        cd_free(b);
    } else {
        cd_blocks_release(&t->blocks, b);
    }
}

CD_INLINE cd_err toy_verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    toy *t = (toy *)(void *)vm;
    if (t->fault == TOY_TAKES_ANY_PARENT && cd_blocks_find(&t->blocks, &b->parent) == NULL) {
        return CD_OK;
    }
    if (b->own.refs == UINT32_MAX) {
        return cd_hash32_eq(&b->parent, &t->blocks.last) ? CD_OK : CD_ENOENT;
    }
    return cd_blocks_verify(&t->blocks, b, ctx, why);
}

CD_INLINE cd_err toy_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    toy *t = (toy *)(void *)vm;
    if (t->fault == TOY_ACCEPTS_UNVERIFIED && b->status == CD_VM_UNKNOWN) {
        return CD_OK;
    }
    return cd_blocks_accept(&t->blocks, b, batch, why);
}

CD_INLINE cd_err toy_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    toy *t = (toy *)(void *)vm;
    if (t->fault == TOY_MOVES_BEFORE_COMMIT) {
        t->blocks.last = b->parent;
        t->blocks.last_height = b->height - 1;
    }
    return cd_blocks_accepted(&t->blocks, b, why);
}

CD_INLINE cd_err toy_reject(cd_vm *vm, cd_vm_block *b)
{
    return cd_blocks_reject(&((toy *)(void *)vm)->blocks, b);
}

CD_INLINE cd_err toy_prefer(cd_vm *vm, const cd_hash32 *id)
{
    toy *t = (toy *)(void *)vm;
    const cd_vm_block *b = cd_blocks_find(&t->blocks, id);
    if (t->fault == TOY_KEEPS_REJECTED && b != NULL && b->status == CD_VM_REJECTED) {
        return CD_OK;
    }
    return cd_blocks_prefer(&t->blocks, id);
}

CD_INLINE void toy_last(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    const toy *t = (toy *)(void *)vm;
    *id = t->blocks.last;
    *height = t->blocks.last_height;
}

CD_INLINE cd_err toy_id_at(cd_vm *vm, cd_hash32 *id, u64 height)
{
    return toy_at(vm, id, height);
}

CD_INLINE const cd_vm_handler *toy_handlers(cd_vm *vm, usize *cnt)
{
    (void)vm;
    *cnt = 0;
    return NULL;
}

CD_INLINE const char *toy_version(cd_vm *vm)
{
    (void)vm;
    return "toy/1";
}

CD_INLINE void toy_close(cd_vm *vm)
{
    toy *t = (toy *)(void *)vm;
    cd_blocks_fini(&t->blocks);
    cd_free(t);
}

static const cd_vm_ops toy_ops = {
    .name = "toy",
    .set_state = toy_set_state,
    .build = toy_build,
    .parse = toy_parse,
    .get = toy_get,
    .release = toy_release,
    .verify = toy_verify,
    .accept = toy_accept,
    .accepted = toy_accepted,
    .reject = toy_reject,
    .set_preference = toy_prefer,
    .last_accepted = toy_last,
    .id_at_height = toy_id_at,
    .handlers = toy_handlers,
    .version = toy_version,
    .close = toy_close,
};

/* Opens a toy on kv, or begins one there. */
CD_INLINE cd_vm *toy_open(cd_kv *kv, toy_fault fault)
{
    toy *t = cd_new(toy);
    u8 bytes[TOY_SIZE];
    u8 key[33];
    cd_buf v = {0};
    cd_vm_block *b = NULL;
    t->vm.ops = &toy_ops;
    t->kv = kv;
    t->fault = fault;
    cd_hash32 last;
    if (cd_kv_get(kv, &v, cd_bytes_str("L")) != CD_OK) {
        cd_kv_batch batch = {0};
        cd_kv_batch_for(&batch, kv);
        toy_enc(bytes, &(cd_hash32){0}, 0, TOY_GENESIS);
        CD_ASSERT(toy_decode(t, &b, cd_bytes_of(bytes, TOY_SIZE), NULL) == CD_OK);
        u8 be[8] = {0};
        cd_kv_batch_put(&batch, toy_key(key, 'b', b->id.b, 32), b->bytes);
        cd_kv_batch_put(&batch, toy_key(key, 'h', be, 8), cd_bytes_of(b->id.b, 32));
        cd_kv_batch_put(&batch, cd_bytes_str("L"), cd_bytes_of(b->id.b, 32));
        CD_ASSERT(cd_kv_commit(kv, &batch, CD_KV_SYNC, NULL) == CD_OK);
        cd_kv_batch_fini(&batch);
    } else {
        memcpy(last.b, v.p, 32);
        CD_ASSERT(toy_load(t, &b, &last) == CD_OK);
    }
    cd_blocks_init(&t->blocks, &toy_blocks_ops, t, &b->id, b->height);
    cd_free(b);
    cd_buf_fini(&v);
    return &t->vm;
}

#endif
