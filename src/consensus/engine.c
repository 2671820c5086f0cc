#include "consensus/engine.h"

cd_err cd_commit_door_accept(const cd_commit_door *d, cd_vm *vm, cd_vm_block *b, cd_kv_batch *batch, bool *is_in,
                             cd_errinfo *why)
{
    *is_in = false;
    cd_kv_batch_for(batch, d->chain);
    CD_TRY(vm->ops->accept(vm, b, batch, why));
    cd_kv_batch_widen(batch);
    if (d->also != NULL) {
        CD_TRY(d->also(d->ctx, batch, b, why));
    }
    CD_TRY(cd_kv_commit(d->store, batch, d->sync, why));
    *is_in = true;
    if (d->landed != NULL) {
        d->landed(d->ctx, b);
    }
    return vm->ops->accepted(vm, b, why);
}

void cd_engine_no_block(cd_logger *log, const char *chain, cd_err err, const cd_errinfo *why)
{
    if (err != CD_OK && err != CD_ENOENT) {
        cd_log_at(log, err == CD_EAGAIN ? CD_LOG_DEBUG : CD_LOG_ERROR, "no block made", CD_F("chain", chain),
                  CD_F("error", why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(err)));
    }
}
