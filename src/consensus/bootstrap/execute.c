/* Takes blocks from the store into the chain, the lowest first. */
#include "consensus/bootstrap/bootstrap_priv.h"

/* Executed blocks are deleted after every DROP_EVERY of them; after blocks that do not verify SPOILT_NS are waited. */
enum { DROP_EVERY = 1024 };
#define SPOILT_NS (10 * CD_NS_PER_SEC)

/* Ends a pass. When it executed few blocks the chain has caught up; when many, it looks for those that came
 * meanwhile. */
static void end_pass(bootstrap *s, u64 last)
{
    cd_errinfo why = {0};
    cd_err e = cd_fetched_drop(&s->blocks, last, CD_KV_SYNC, &why);
    if (e != CD_OK) {
        cd__boot_halt(s, "executed blocks cannot be let go of", e, &why);
        return;
    }
    u64 before = s->last_executed;
    s->last_executed = s->pass_executed;
    bool has_gap = s->blocks.cnt != 0; /* blocks are left above: a gap, since there were too many runs at a time */
    if (has_gap || (s->pass_executed > 0 && s->pass_executed < before / 2)) {
        cd__boot_again(s, has_gap ? BOOT_RETRY_NS : 0);
        return;
    }
    cd__boot_step(s, CD_BOOTSTRAP_SYNCED);
    s->cfg.synced(s->cfg.ctx);
}

/* The blocks that the beacons agreed on do not verify: all fetched blocks are dropped, and the next agreement may
 * differ. */
static void spoil(bootstrap *s, const cd_errinfo *why, cd_err e, u64 height)
{
    cd_errinfo own = {0};
    cd_log_error(s->cfg.log, "a block that the network has accepted does not verify", CD_F("chain", s->cfg.name),
                 CD_F("height", height), CD_F("error", why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(e)));
    e = cd_fetched_clear(&s->blocks, &own);
    if (e != CD_OK) {
        cd__boot_halt(s, "fetched blocks cannot be let go of", e, &own);
        return;
    }
    cd__boot_again(s, SPOILT_NS);
}

/* Verifies and accepts a block; *is_store: the error came from the store, not from the block. */
static cd_err accept_one(bootstrap *s, const cd_hash32 *last, u64 height, bool *is_store, cd_errinfo *why)
{
    const cd_vm_block_ctx ctx = {.pchain_height = 0};
    const cd_vm_ops *vm = s->vm->ops;
    cd_vm_block *b = NULL;
    bool is_in = false;
    *is_store = true;
    CD_TRY(cd_fetched_get(&s->blocks, &s->block, height));
    *is_store = false;
    CD_TRY(vm->parse(s->vm, &b, cd_buf_bytes(&s->block), why));
    cd_err e = b->height == height && cd_hash32_eq(&b->parent, last)
                   ? vm->verify(s->vm, b, &ctx, why)
                   : cd_fail(why, CD_EINVAL, "it does not follow the last accepted block");
    if (e == CD_OK) {
        *is_store = true;
        e = cd_commit_door_accept(&s->cfg.door, s->vm, b, &s->batch, &is_in, why);
    }
    vm->release(s->vm, b);
    return e;
}

bool cd__boot_execute(bootstrap *s)
{
    cd_hash32 last;
    u64 height;
    bool is_store;
    cd_errinfo why = {0};
    s->vm->ops->last_accepted(s->vm, &last, &height);
    if (!cd_fetched_has(&s->blocks, height + 1)) {
        end_pass(s, height);
        return s->step == CD_BOOTSTRAP_EXECUTES;
    }
    cd_err e = accept_one(s, &last, height + 1, &is_store, &why);
    if (e != CD_OK && is_store) {
        cd__boot_halt(s, "a block cannot be accepted: the chain halts", e, &why);
        return false;
    }
    if (e != CD_OK) {
        spoil(s, &why, e, height + 1);
        return false;
    }
    s->executed++;
    s->engine.stats.verified++;
    s->engine.stats.accepted++;
    if (++s->pass_executed % DROP_EVERY == 0) {
        e = cd_fetched_drop(&s->blocks, height, CD_KV_NOSYNC, &why);
        if (e != CD_OK) {
            cd__boot_halt(s, "executed blocks cannot be let go of", e, &why);
        }
    }
    return s->step == CD_BOOTSTRAP_EXECUTES;
}
