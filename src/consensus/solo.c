#include "consensus/solo.h"

#include "base/mem/mem.h"

typedef struct solo {
    cd_engine engine; /* first */
    cd_solo_cfg cfg;
    cd_vm *vm;
    cd_kv_batch batch;
    bool is_due;  /* the VM wants a block */
    bool is_busy; /* inside produce or rewind, neither of which may be called again then */
} solo;

static void prefer_last(solo *s)
{
    cd_hash32 last;
    u64 height;
    s->vm->ops->last_accepted(s->vm, &last, &height);
    cd_err e = s->vm->ops->set_preference(s->vm, &last);
    CD_ASSERT(e == CD_OK);
}

static cd_err solo_start(cd_engine *e, cd_vm *vm, cd_errinfo *why)
{
    solo *s = (solo *)(void *)e;
    s->vm = vm;
    /* A single node has nobody to catch up with. */
    CD_TRY(vm->ops->set_state(vm, CD_VM_BOOTSTRAPPING, why));
    CD_TRY(vm->ops->set_state(vm, CD_VM_NORMAL, why));
    prefer_last(s);
    return CD_OK;
}

static void solo_notify(cd_engine *e, cd_vm_event event)
{
    if (event == CD_VM_WANTS_BLOCK) {
        ((solo *)(void *)e)->is_due = true;
    }
}

/* Takes a block that was just built to its decision. */
static cd_err decide(solo *s, cd_vm_block *b, cd_errinfo *why)
{
    cd_vm *vm = s->vm;
    cd_engine_stats *stats = &s->engine.stats;
    const cd_vm_block_ctx ctx = {.pchain_height = 0};
    bool is_in = false;
    CD_TRY(vm->ops->verify(vm, b, &ctx, why));
    stats->verified++;
    cd_err e = vm->ops->set_preference(vm, &b->id);
    if (e == CD_OK) {
        e = cd_commit_door_accept(&s->cfg.door, vm, b, &s->batch, &is_in, why);
    }
    if (is_in) {
        stats->accepted += b->span;
    } else {
        (void)!vm->ops->reject(vm, b);
        stats->rejected++;
    }
    prefer_last(s);
    return e;
}

/* The option that the VM prefers, when the last accepted block has options; a single node follows that preference.
 * Needed also after a crash between a block and its option. Errors: CD_ENOENT when it has no options. */
static cd_err take_option(solo *s, cd_vm_block **out)
{
    const cd_vm_ops *ops = s->vm->ops;
    cd_vm_block *last;
    cd_vm_block *options[2];
    cd_hash32 id;
    u64 height;
    if (ops->options == NULL) {
        return CD_ENOENT;
    }
    ops->last_accepted(s->vm, &id, &height);
    CD_TRY(ops->get(s->vm, &last, &id));
    cd_err e = ops->options(s->vm, options, last, NULL);
    ops->release(s->vm, last);
    if (e == CD_OK) {
        ops->release(s->vm, options[1]);
        *out = options[0];
    }
    return e;
}

static cd_err next_block(solo *s, cd_vm_block **out, cd_errinfo *why)
{
    const cd_vm_block_ctx ctx = {.pchain_height = 0};
    cd_err e = take_option(s, out);
    return e == CD_ENOENT ? s->vm->ops->build(s->vm, out, &ctx, why) : e;
}

static cd_err solo_produce(cd_engine *e, cd_errinfo *why)
{
    solo *s = (solo *)(void *)e;
    cd_vm_block *b = NULL;
    if (s->is_busy) {
        return cd_fail(why, CD_EBUSY, "a block is being made");
    }
    s->is_busy = true;
    cd_err err = next_block(s, &b, why);
    if (err == CD_OK) {
        s->engine.stats.built++;
        err = decide(s, b, why);
        s->vm->ops->release(s->vm, b);
    }
    s->is_busy = false;
    return err;
}

static cd_err solo_rewind(cd_engine *e, cd_err (*job)(void *arg, cd_errinfo *why), void *arg, cd_errinfo *why)
{
    solo *s = (solo *)(void *)e;
    if (s->is_busy) {
        return cd_fail(why, CD_EBUSY, "a block is being made");
    }
    s->is_busy = true;
    cd_err err = job(arg, why);
    prefer_last(s);
    s->engine.stats.rewound++;
    s->is_busy = false;
    return err;
}

static bool solo_step(cd_engine *e)
{
    solo *s = (solo *)(void *)e;
    cd_errinfo why = {0};
    if (!s->is_due) {
        return false;
    }
    cd_err err = solo_produce(e, &why);
    s->is_due = err == CD_OK;
    cd_engine_no_block(s->cfg.log, s->cfg.name, err, &why);
    return s->is_due;
}

static void solo_stop(cd_engine *e)
{
    ((solo *)(void *)e)->vm = NULL;
}

static const cd_engine_ops ops = {
    .start = solo_start,
    .notify = solo_notify,
    .produce = solo_produce,
    .rewind = solo_rewind,
    .step = solo_step,
    .stop = solo_stop,
};

cd_engine *cd_solo_new(const cd_solo_cfg *cfg)
{
    solo *s = cd_new(solo);
    s->engine.ops = &ops;
    s->cfg = *cfg;
    return &s->engine;
}

void cd_solo_free(cd_engine *e)
{
    solo *s = (solo *)(void *)e;
    if (s != NULL) {
        cd_kv_batch_fini(&s->batch);
        cd_free(s);
    }
}
