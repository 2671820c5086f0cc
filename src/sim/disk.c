#include "sim/disk.h"

static cd_sim_disk *disk_of(cd_kv *kv)
{
    return (cd_sim_disk *)(void *)kv;
}

static void disk_close(cd_kv *kv)
{
    (void)kv; /* the disk's owner closes it */
}

static cd_err disk_get(cd_kv *kv, cd_buf *out, cd_bytes key)
{
    return cd_kv_get(disk_of(kv)->mem, out, key);
}

static void disk_get_many(cd_kv *kv, cd_buf *out, cd_err *err, const cd_bytes *keys, usize cnt)
{
    cd_kv_get_many(disk_of(kv)->mem, out, err, keys, cnt);
}

static cd_err disk_has(cd_kv *kv, bool *found, cd_bytes key)
{
    return cd_kv_has(disk_of(kv)->mem, found, key);
}

static cd_err disk_commit(cd_kv *kv, const cd_kv_batch *b, cd_kv_sync sync, cd_errinfo *why)
{
    cd_sim_disk *d = disk_of(kv);
    cd_sim_fault fault = d->fault;
    d->fault = fault == CD_SIM_DISK_FULL ? fault : CD_SIM_DISK_IS_GOOD;
    d->has_failed = d->has_failed || fault != CD_SIM_DISK_IS_GOOD;
    switch (fault) {
    case CD_SIM_DISK_IS_GOOD:
        d->commits++;
        return d->mem->ops->commit(d->mem, b, sync, why); /* a part's batch has whole keys already */
    case CD_SIM_DISK_FAILS:
        return cd_fail(why, CD_EIO, "the disk fails");
    case CD_SIM_DISK_FULL:
        return cd_fail(why, CD_ENOSPC, "the disk is full");
    case CD_SIM_DISK_DIES:
        CD_TRY(d->mem->ops->commit(d->mem, b, sync, why));
        return cd_fail(why, CD_EIO, "the process dies behind the write");
    }
    CD_UNREACHABLE();
}

static cd_err disk_iter(cd_kv_iter **out, cd_kv *kv, const cd_kv_range *range)
{
    return cd_kv_iter_new(out, disk_of(kv)->mem, range);
}

static cd_err disk_snapshot(cd_kv **out, cd_kv *kv)
{
    return cd_kv_snapshot(out, disk_of(kv)->mem);
}

static cd_err disk_checkpoint(cd_kv *kv, const char *dir, cd_errinfo *why)
{
    return cd_kv_checkpoint(disk_of(kv)->mem, dir, why);
}

static cd_err disk_stats(cd_kv *kv, cd_kv_stats *out)
{
    return cd_kv_stats_get(disk_of(kv)->mem, out);
}

static const cd_kv_ops ops = {
    .close = disk_close,
    .get = disk_get,
    .get_many = disk_get_many,
    .has = disk_has,
    .commit = disk_commit,
    .iter_new = disk_iter,
    .snapshot = disk_snapshot,
    .checkpoint = disk_checkpoint,
    .stats = disk_stats,
};

void cd_sim_disk_init(cd_sim_disk *d)
{
    *d = (cd_sim_disk){.kv = {.ops = &ops}, .mem = cd_kv_mem_open()};
}

void cd_sim_disk_fini(cd_sim_disk *d)
{
    cd_kv_close(d->mem);
    d->mem = NULL;
}
