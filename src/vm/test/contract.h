/* The contract of vm/vm.h as a test that every VM must pass. It drives two VMs of one genesis: a maker, whose blocks
 * come to the other one as bytes, as those of a peer do.
 *
 *   const char *broken = contract_check(&rig);      NULL, or the sentence of the contract that does not hold */
#ifndef CD_VM_TEST_CONTRACT_H
#define CD_VM_TEST_CONTRACT_H

#include "vm/blocks.h"

typedef struct contract_rig {
    /* open opens the VM on kv, or begins its chain there; the same genesis each time. It is closed by its ops. */
    cd_vm *(*open)(void *ctx, cd_kv *kv);
    /* want lets the next build have something new to put into a block. */
    void (*want)(void *ctx, cd_vm *vm);
    void *ctx;
} contract_rig;

/* A VM under test, on a store of its own. */
typedef struct contract_vm {
    const contract_rig *rig;
    cd_kv *kv;
    cd_vm *vm;
} contract_vm;

#define CONTRACT(holds, words)                                                                                         \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            return words;                                                                                              \
        }                                                                                                              \
    } while (0)

/* Blocks of the maker as bytes:   G ── A ── B ── D        C: B's sibling
 *                                      └─── C                                 */
typedef struct contract_bytes {
    cd_buf a, b, c, d;
} contract_bytes;

static const cd_vm_block_ctx contract_no_ctx = {0};

CD_INLINE void contract_open(contract_vm *v, const contract_rig *rig)
{
    *v = (contract_vm){.rig = rig, .kv = cd_kv_mem_open()};
    v->vm = rig->open(rig->ctx, v->kv);
    CD_ASSERT(v->vm->ops->set_state(v->vm, CD_VM_NORMAL, NULL) == CD_OK);
}

/* Closes the VM and opens it again: closing saves nothing, so this is like a crash. */
CD_INLINE void contract_reopen(contract_vm *v)
{
    v->vm->ops->close(v->vm);
    v->vm = v->rig->open(v->rig->ctx, v->kv);
    CD_ASSERT(v->vm->ops->set_state(v->vm, CD_VM_NORMAL, NULL) == CD_OK);
}

CD_INLINE void contract_close(contract_vm *v)
{
    v->vm->ops->close(v->vm);
    cd_kv_close(v->kv);
}

CD_INLINE cd_vm_block *contract_parse(contract_vm *v, const cd_buf *bytes)
{
    cd_vm_block *b = NULL;
    CD_ASSERT(v->vm->ops->parse(v->vm, &b, cd_buf_bytes(bytes), NULL) == CD_OK);
    return b;
}

CD_INLINE cd_err contract_verify(contract_vm *v, cd_vm_block *b)
{
    return v->vm->ops->verify(v->vm, b, &contract_no_ctx, NULL);
}

CD_INLINE cd_err contract_accept(contract_vm *v, cd_vm_block *b)
{
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, v->kv);
    cd_err e = v->vm->ops->accept(v->vm, b, &batch, NULL);
    e = e != CD_OK ? e : cd_kv_commit(v->kv, &batch, CD_KV_SYNC, NULL);
    e = e != CD_OK ? e : v->vm->ops->accepted(v->vm, b, NULL);
    cd_kv_batch_fini(&batch);
    return e;
}

CD_INLINE bool contract_is_last(contract_vm *v, const cd_hash32 *id)
{
    cd_hash32 last;
    u64 height;
    v->vm->ops->last_accepted(v->vm, &last, &height);
    return cd_hash32_eq(&last, id);
}

CD_INLINE void contract_drop(contract_vm *v, cd_vm_block *b)
{
    if (b != NULL) {
        v->vm->ops->release(v->vm, b);
    }
}

/* Builds a block on the preferred one, and verifies it. */
CD_INLINE cd_vm_block *contract_make(contract_vm *v, cd_buf *bytes)
{
    cd_vm_block *b = NULL;
    cd_errinfo why = {0};
    v->rig->want(v->rig->ctx, v->vm);
    cd_err e = v->vm->ops->build(v->vm, &b, &contract_no_ctx, &why);
    CD_ASSERT(e == CD_OK);
    CD_ASSERT(v->vm->ops->verify(v->vm, b, &contract_no_ctx, &why) == CD_OK);
    cd_buf_put(bytes, b->bytes);
    return b;
}

/* --- sentences --- */

CD_INLINE const char *contract_make_all(contract_vm *m, contract_bytes *out)
{
    cd_vm_block *a = contract_make(m, &out->a);
    CONTRACT(contract_is_last(m, &a->parent),
             "a block is built on the last accepted one when nothing else is preferred");
    CONTRACT(m->vm->ops->set_preference(m->vm, &a->id) == CD_OK, "a verified block can be preferred");
    cd_vm_block *b = contract_make(m, &out->b);
    CONTRACT(cd_hash32_eq(&b->parent, &a->id) && b->height == a->height + 1, "a block is built on the preferred one");
    cd_vm_block *c = contract_make(m, &out->c);
    CONTRACT(cd_hash32_eq(&c->parent, &a->id) && !cd_hash32_eq(&c->id, &b->id), "siblings can be built");
    CONTRACT(m->vm->ops->set_preference(m->vm, &b->id) == CD_OK, "a verified block can be preferred");
    cd_vm_block *d = contract_make(m, &out->d);
    CONTRACT(cd_hash32_eq(&d->parent, &b->id), "a block is built on the preferred one, two above the last accepted");
    contract_drop(m, a);
    contract_drop(m, b);
    contract_drop(m, c);
    contract_drop(m, d);
    return NULL;
}

/* One object for one id, however often a block comes. */
CD_INLINE const char *contract_one_object(contract_vm *v, const contract_bytes *x)
{
    cd_vm_block *a = contract_parse(v, &x->a);
    cd_vm_block *again = contract_parse(v, &x->a);
    bool is_same = a == again;
    bool is_child_first = true;
    cd_vm_block *b = contract_parse(v, &x->b);
    is_child_first = contract_verify(v, b) == CD_ENOENT;
    contract_drop(v, again);
    cd_err verified = contract_verify(v, a);
    again = contract_parse(v, &x->a);
    is_same = is_same && a == again && a->status == CD_VM_VERIFIED;
    contract_drop(v, again);
    cd_err on_it = contract_verify(v, b);
    again = contract_parse(v, &x->b);
    is_same = is_same && again == b;
    contract_drop(v, again);
    cd_err twice = contract_verify(v, b);
    /* A verified block stays when nobody holds it. */
    cd_hash32 id = b->id;
    contract_drop(v, b);
    b = NULL;
    cd_err got = v->vm->ops->get(v->vm, &b, &id);
    bool is_kept = got == CD_OK && b->status == CD_VM_VERIFIED;
    cd_err accepted = verified == CD_OK ? contract_accept(v, a) : CD_EINVAL;
    again = contract_parse(v, &x->a);
    is_same = is_same && again->status == CD_VM_ACCEPTED;
    contract_drop(v, again);
    cd_err late = is_kept ? contract_accept(v, b) : CD_EINVAL;
    contract_drop(v, a);
    contract_drop(v, b);
    CONTRACT(is_child_first, "a block whose parent is not known does not verify");
    CONTRACT(verified == CD_OK && on_it == CD_OK,
             "a block verifies on a verified one, whatever was parsed again between");
    CONTRACT(twice == CD_OK, "a verified block verifies again");
    CONTRACT(is_same, "there is one object for an id");
    CONTRACT(is_kept, "get finds a verified block that nobody holds");
    CONTRACT(accepted == CD_OK && late == CD_OK, "verified blocks are accepted in order");
    return NULL;
}

/* Of two branches one is accepted, and the other is rejected. */
CD_INLINE const char *contract_branches(contract_vm *v, const contract_bytes *x)
{
    const cd_vm_ops *ops = v->vm->ops;
    cd_vm_block *a = contract_parse(v, &x->a);
    cd_vm_block *b = contract_parse(v, &x->b);
    cd_vm_block *c = contract_parse(v, &x->c);
    cd_vm_block *d = contract_parse(v, &x->d);
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, v->kv);
    bool refuses_unverified = ops->accept(v->vm, a, &batch, NULL) != CD_OK;
    bool verified = contract_verify(v, a) == CD_OK && contract_verify(v, b) == CD_OK &&
                    contract_verify(v, c) == CD_OK && contract_verify(v, d) == CD_OK;
    bool in_order = ops->accept(v->vm, b, &batch, NULL) == CD_EBUSY;
    bool a_in = contract_accept(v, a) == CD_OK;
    bool once = ops->accept(v->vm, a, &batch, NULL) == CD_EBUSY && ops->reject(v->vm, a) == CD_EBUSY;
    bool prefers = ops->set_preference(v->vm, &d->id) == CD_OK;
    bool c_in = contract_accept(v, c) == CD_OK;
    bool out = ops->reject(v->vm, b) == CD_OK && ops->reject(v->vm, d) == CD_OK;
    bool is_over = ops->set_preference(v->vm, &d->id) == CD_ENOENT && ops->set_preference(v->vm, &b->id) == CD_ENOENT &&
                   contract_verify(v, b) != CD_OK && contract_accept(v, b) == CD_EBUSY;
    bool is_last = contract_is_last(v, &c->id);
    cd_hash32 gone = b->id;
    cd_hash32 id_a = a->id;
    cd_hash32 at;
    bool is_indexed = ops->id_at_height(v->vm, &at, a->height) == CD_OK && cd_hash32_eq(&at, &a->id) &&
                      ops->id_at_height(v->vm, &at, c->height) == CD_OK && cd_hash32_eq(&at, &c->id) &&
                      ops->id_at_height(v->vm, &at, c->height + 1) == CD_ENOENT;
    contract_drop(v, a);
    contract_drop(v, b);
    contract_drop(v, c);
    contract_drop(v, d);
    cd_vm_block *none = NULL;
    bool is_gone = ops->get(v->vm, &none, &gone) == CD_ENOENT;
    bool is_there = ops->get(v->vm, &a, &id_a) == CD_OK && a->status == CD_VM_ACCEPTED &&
                    cd_bytes_eq(a->bytes, cd_buf_bytes(&x->a));
    contract_drop(v, is_there ? a : NULL);
    cd_kv_batch_fini(&batch);
    CONTRACT(refuses_unverified, "a block that is not verified is not accepted");
    CONTRACT(verified, "two branches can be verified");
    CONTRACT(in_order, "a block is accepted behind its parent");
    CONTRACT(a_in && c_in, "a block on the last accepted one is accepted");
    CONTRACT(once, "a block is decided once");
    CONTRACT(prefers, "a verified block can be preferred");
    CONTRACT(out, "verified blocks of the other branch are rejected");
    CONTRACT(is_over, "a rejected block is neither preferred, verified nor accepted");
    CONTRACT(is_last, "last_accepted is the block that was accepted last");
    CONTRACT(is_indexed, "id_at_height knows accepted blocks and no others");
    CONTRACT(is_gone, "a rejected block that nobody holds is gone");
    CONTRACT(is_there, "get gives an accepted block with its bytes");
    return NULL;
}

/* A crash between each two steps, and a write that fails. */
CD_INLINE const char *contract_crashes(contract_vm *v, const contract_bytes *x)
{
    cd_vm_block *a = contract_parse(v, &x->a);
    cd_hash32 genesis = a->parent;
    cd_hash32 id = a->id;
    bool verified = contract_verify(v, a) == CD_OK;
    contract_drop(v, a);
    contract_reopen(v);
    bool is_old = contract_is_last(v, &genesis);
    a = contract_parse(v, &x->a);
    verified = verified && a->status == CD_VM_UNKNOWN && contract_verify(v, a) == CD_OK;
    cd_kv_batch batch = {0};
    cd_kv_batch_for(&batch, v->kv);
    bool put = v->vm->ops->accept(v->vm, a, &batch, NULL) == CD_OK;
    bool is_unmoved = contract_is_last(v, &genesis);
    /* The batch could not be written: the block is as before, and its child still verifies. */
    cd_vm_block *b = contract_parse(v, &x->b);
    bool goes_on = contract_verify(v, b) == CD_OK && a->status == CD_VM_VERIFIED;
    contract_drop(v, b);
    contract_drop(v, a);
    contract_reopen(v);
    bool is_still = contract_is_last(v, &genesis);
    /* Written, and the process ends before it is told. */
    a = contract_parse(v, &x->a);
    bool again = contract_verify(v, a) == CD_OK;
    cd_kv_batch_for(&batch, v->kv);
    put = put && v->vm->ops->accept(v->vm, a, &batch, NULL) == CD_OK &&
          cd_kv_commit(v->kv, &batch, CD_KV_SYNC, NULL) == CD_OK;
    contract_drop(v, a);
    contract_reopen(v);
    bool is_new = contract_is_last(v, &id);
    cd_hash32 at;
    is_new = is_new && v->vm->ops->id_at_height(v->vm, &at, 1) == CD_OK && cd_hash32_eq(&at, &id);
    b = contract_parse(v, &x->b);
    bool child = contract_verify(v, b) == CD_OK && contract_accept(v, b) == CD_OK;
    contract_drop(v, b);
    cd_kv_batch_fini(&batch);
    CONTRACT(verified && again, "a block that was forgotten in a crash verifies again");
    CONTRACT(is_old && is_still, "nothing is accepted before its batch is written");
    CONTRACT(put, "a verified block on the last accepted one gives its batch");
    CONTRACT(is_unmoved && goes_on, "accept changes nothing before accepted");
    CONTRACT(is_new, "a batch that is written makes the block the last accepted one, told or not");
    CONTRACT(child, "the chain goes on after a crash");
    return NULL;
}

/* Calls that make no sense are refused. */
CD_INLINE const char *contract_nonsense(contract_vm *v, const contract_bytes *x)
{
    const cd_vm_ops *ops = v->vm->ops;
    cd_vm_block *b = NULL;
    cd_hash32 nobody = {.b = {1, 2, 3}};
    cd_hash32 genesis;
    cd_hash32 at;
    u64 height;
    ops->last_accepted(v->vm, &genesis, &height);
    bool get = ops->get(v->vm, &b, &nobody) == CD_ENOENT && b == NULL;
    bool prefer = ops->set_preference(v->vm, &nobody) == CD_ENOENT && ops->set_preference(v->vm, &genesis) == CD_OK;
    bool parse = true;
    for (usize n = 0; n < x->a.n; n += 1 + n / 8) {
        parse = parse && ops->parse(v->vm, &b, cd_bytes_of(x->a.p, n), NULL) != CD_OK && b == NULL;
    }
    b = contract_parse(v, &x->d);
    bool verify = contract_verify(v, b) == CD_ENOENT;
    bool reject = ops->reject(v->vm, b) == CD_EBUSY;
    contract_drop(v, b);
    cd_err first = ops->get(v->vm, &b, &genesis);
    bool has_genesis = height == 0 && first == CD_OK && b->status == CD_VM_ACCEPTED && contract_verify(v, b) == CD_OK &&
                       ops->id_at_height(v->vm, &at, 0) == CD_OK && cd_hash32_eq(&at, &genesis);
    contract_drop(v, first == CD_OK ? b : NULL);
    cd_vm_block *children[2];
    b = contract_parse(v, &x->a);
    bool is_plain =
        contract_verify(v, b) == CD_OK && (ops->options == NULL || ops->options(v->vm, children, b, NULL) == CD_ENOENT);
    contract_drop(v, b);
    CONTRACT(get, "get of an unknown id is CD_ENOENT");
    CONTRACT(prefer, "only what is verified or last accepted can be preferred");
    CONTRACT(parse, "the beginning of a block is no block");
    CONTRACT(verify, "a block on an unknown parent does not verify");
    CONTRACT(reject, "a block that is not verified is not rejected");
    CONTRACT(has_genesis, "the first block is accepted, found and indexed");
    CONTRACT(is_plain, "a block without options says so");
    return NULL;
}

/* contract_check runs everything; it gives NULL, or the first sentence that does not hold. */
CD_INLINE const char *contract_check(const contract_rig *rig)
{
    static const char *(*const parts[])(contract_vm * v, const contract_bytes *x) = {
        contract_one_object,
        contract_branches,
        contract_crashes,
        contract_nonsense,
    };
    contract_bytes x = {0};
    contract_vm maker;
    contract_open(&maker, rig);
    const char *broken = contract_make_all(&maker, &x);
    contract_close(&maker);
    for (usize i = 0; i < CD_COUNT(parts) && broken == NULL; i++) {
        contract_vm v;
        contract_open(&v, rig);
        broken = parts[i](&v, &x);
        contract_close(&v);
    }
    cd_buf_fini(&x.a);
    cd_buf_fini(&x.b);
    cd_buf_fini(&x.c);
    cd_buf_fini(&x.d);
    return broken;
}

#endif
