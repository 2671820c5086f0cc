/* services/adx/miner/vault.h - the cache on a thread of its own, so that disks keep nobody waiting.
 *
 *   loop ── job ──► thread: run(cache) ──► done on the loop
 *
 * Jobs run one after the other. How many may wait is bounded. Threading: posting from the loop only. [spec:adx#8] */
#ifndef CD_ADX_MINER_VAULT_H
#define CD_ADX_MINER_VAULT_H

#include "net/loop.h"
#include "services/adx/miner/cache.h"

typedef struct cd_vault cd_vault;

/* A member of the caller's struct; stays until done was called. */
typedef struct cd_vault_job {
    cd_err (*run)(struct cd_vault_job *job, cd_cache *c, cd_errinfo *why);
    void (*done)(struct cd_vault_job *job);
    cd_err err; /* for done */
    cd_errinfo why;
    cd_loop_task task; /* the vault's */
} cd_vault_job;

/* cd_vault_open opens the cache in dir and starts the thread. Errors: those of cd_cache_open. */
cd_err cd_vault_open(cd_vault **out, cd_loop *loop, const char *dir, u64 size, cd_errinfo *why) CD_CHECK;

/* cd_vault_post posts a job. Errors: CD_EFULL; then done is not called. */
cd_err cd_vault_post(cd_vault *v, cd_vault_job *job) CD_CHECK;

/* cd_vault_end takes no more jobs and runs those that were posted; done is called for them if the loop runs again.
 * cd_vault_free: after that, or alone. NULL is allowed for both. */
void cd_vault_end(cd_vault *v);
void cd_vault_free(cd_vault *v);

/* cd_vault_stats gives the figures after the last job. */
cd_cache_stats cd_vault_stats(const cd_vault *v);

#endif
