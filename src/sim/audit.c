#include "sim/audit.h"

#include "base/mem/mem.h"

static cd_sim_audit *audit_of(cd_vm *vm)
{
    return (cd_sim_audit *)(void *)vm;
}

static void breaks(cd_sim_audit *a, const char *what)
{
    a->broken = a->broken == NULL ? what : a->broken;
}

/* --- what is undecided --- */

static u32 find(const cd_sim_audit *a, const cd_hash32 *id)
{
    u32 i = 0;
    while (i < a->undecided_cnt && !cd_hash32_eq(&a->undecided[i].id, id)) {
        i++;
    }
    return i;
}

static void add(cd_sim_audit *a, const cd_vm_block *b)
{
    if (find(a, &b->id) != a->undecided_cnt) {
        return;
    }
    if (a->undecided_cnt == CD_SIM_UNDECIDED_MAX) {
        breaks(a, "more blocks are undecided than a node should ever keep");
        return;
    }
    if (a->undecided_cnt == a->undecided_cap) {
        a->undecided_cap = a->undecided_cap == 0 ? 8 : a->undecided_cap * 2;
        a->undecided = cd_realloc(a->undecided, a->undecided_cap * sizeof *a->undecided);
    }
    a->undecided[a->undecided_cnt++] = (cd_sim_undecided){.id = b->id, .height = b->height};
}

static void drop(cd_sim_audit *a, const cd_hash32 *id)
{
    u32 at = find(a, id);
    if (at == a->undecided_cnt) {
        breaks(a, "a block is decided that was not verified, or twice");
        return;
    }
    a->undecided[at] = a->undecided[--a->undecided_cnt];
}

/* --- calls that mean something --- */

static cd_err audit_build(cd_vm *vm, cd_vm_block **out, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_sim_audit *a = audit_of(vm);
    a->changes++;
    CD_TRY(a->below->ops->build(a->below, out, ctx, why));
    if (a->witness.built != NULL) {
        a->witness.built(a->witness.ctx, *out);
    }
    return CD_OK;
}

static cd_err audit_verify(cd_vm *vm, cd_vm_block *b, const cd_vm_block_ctx *ctx, cd_errinfo *why)
{
    cd_sim_audit *a = audit_of(vm);
    cd_errinfo own = {0};
    bool is_new = b->status == CD_VM_UNKNOWN;
    a->changes++;
    cd_err e = a->below->ops->verify(a->below, b, ctx, &own);
    if (e != CD_OK) {
        if (why != NULL) {
            *why = own;
        }
        if (a->witness.refused != NULL) {
            a->witness.refused(a->witness.ctx, b, own.msg[0] != '\0' ? (const char *)own.msg : cd_err_str(e));
        }
        return e;
    }
    if (b->status == CD_VM_VERIFIED) {
        add(a, b);
    }
    if (is_new && a->witness.verified != NULL) {
        a->witness.verified(a->witness.ctx, b);
    }
    return CD_OK;
}

static cd_err audit_accept(cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, cd_errinfo *why)
{
    cd_sim_audit *a = audit_of(vm);
    if (b->height != a->last_height + 1 || !cd_hash32_eq(&b->parent, &a->last)) {
        breaks(a, "a block is accepted that does not stand on the last accepted one");
    }
    return a->below->ops->accept(a->below, b, batch, why);
}

/* Checks that the blocks that were accepted are those that the chain holds. */
static void look_at_chain(cd_sim_audit *a, const cd_vm_block *b)
{
    cd_hash32 id;
    u64 height = 0;
    a->below->ops->last_accepted(a->below, &id, &height);
    if (!cd_hash32_eq(&id, &b->id) || height != b->height) {
        breaks(a, "the VM's last accepted block is another one than was accepted");
    }
    if (a->below->ops->id_at_height(a->below, &id, b->height) != CD_OK || !cd_hash32_eq(&id, &b->id)) {
        breaks(a, "the accepted chain is not what the VM holds");
    }
}

static cd_err audit_accepted(cd_vm *vm, cd_vm_block *b, cd_errinfo *why)
{
    cd_sim_audit *a = audit_of(vm);
    cd_err e = a->below->ops->accepted(a->below, b, why);
    a->changes++;
    drop(a, &b->id);
    look_at_chain(a, b);
    a->last = b->id;
    a->last_height = b->height;
    if (a->witness.accepted != NULL) {
        a->witness.accepted(a->witness.ctx, b);
    }
    return e;
}

static cd_err audit_reject(cd_vm *vm, cd_vm_block *b)
{
    cd_sim_audit *a = audit_of(vm);
    cd_err e = a->below->ops->reject(a->below, b);
    a->changes++;
    if (e == CD_OK) {
        drop(a, &b->id);
    } else {
        breaks(a, "a block is rejected that was not verified");
    }
    if (a->witness.rejected != NULL) {
        a->witness.rejected(a->witness.ctx, b);
    }
    return e;
}

static cd_err audit_prefer(cd_vm *vm, const cd_hash32 *id)
{
    cd_sim_audit *a = audit_of(vm);
    cd_err e = a->below->ops->set_preference(a->below, id);
    a->changes += cd_hash32_eq(&a->preferred, id) ? 0 : 1;
    a->preferred = *id;
    if (e != CD_OK) {
        breaks(a, "a block is preferred that is neither verified nor the last accepted one");
    }
    return e;
}

/* --- calls that are handed on --- */

static cd_err audit_set_state(cd_vm *vm, cd_vm_state state, cd_errinfo *why)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->set_state(a->below, state, why);
}

static cd_err audit_parse(cd_vm *vm, cd_vm_block **out, cd_bytes bytes, cd_errinfo *why)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->parse(a->below, out, bytes, why);
}

static cd_err audit_get(cd_vm *vm, cd_vm_block **out, const cd_hash32 *id)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->get(a->below, out, id);
}

static void audit_release(cd_vm *vm, cd_vm_block *b)
{
    const cd_sim_audit *a = audit_of(vm);
    a->below->ops->release(a->below, b);
}

static void audit_last(cd_vm *vm, cd_hash32 *id, u64 *height)
{
    const cd_sim_audit *a = audit_of(vm);
    a->below->ops->last_accepted(a->below, id, height);
}

static cd_err audit_id_at(cd_vm *vm, cd_hash32 *id, u64 height)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->id_at_height(a->below, id, height);
}

static cd_err audit_options(cd_vm *vm, cd_vm_block *out[2], cd_vm_block *block, cd_errinfo *why)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->options(a->below, out, block, why);
}

static const cd_vm_handler *audit_handlers(cd_vm *vm, usize *cnt)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->handlers(a->below, cnt);
}

static const char *audit_version(cd_vm *vm)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->version(a->below);
}

static u64 audit_wake(cd_vm *vm)
{
    const cd_sim_audit *a = audit_of(vm);
    return a->below->ops->wake == NULL ? UINT64_MAX : a->below->ops->wake(a->below);
}

static void audit_close(cd_vm *vm)
{
    cd_sim_audit *a = audit_of(vm);
    a->below->ops->close(a->below);
    cd_free(a->undecided);
    a->undecided = NULL;
    a->below = NULL;
}

static const cd_vm_ops all_ops = {
    .name = "audit",
    .set_state = audit_set_state,
    .build = audit_build,
    .parse = audit_parse,
    .get = audit_get,
    .release = audit_release,
    .verify = audit_verify,
    .accept = audit_accept,
    .accepted = audit_accepted,
    .reject = audit_reject,
    .set_preference = audit_prefer,
    .last_accepted = audit_last,
    .id_at_height = audit_id_at,
    .handlers = audit_handlers,
    .version = audit_version,
    .wake = audit_wake,
    .close = audit_close,
};

void cd_sim_audit_open(cd_sim_audit *a, cd_vm *below, const cd_sim_witness *witness)
{
    *a = (cd_sim_audit){.ops = all_ops, .below = below, .witness = *witness};
    a->ops.options = below->ops->options == NULL ? NULL : audit_options;
    a->vm.ops = &a->ops;
    below->ops->last_accepted(below, &a->last, &a->last_height);
    a->preferred = a->last;
}

const char *cd_sim_audit_check(const cd_sim_audit *a)
{
    if (a->broken != NULL) {
        return a->broken;
    }
    for (u32 i = 0; i < a->undecided_cnt; i++) {
        if (a->undecided[i].height <= a->last_height) {
            return "a block is still undecided though its height is decided";
        }
    }
    return NULL;
}
