#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/fileio.h"
#include "commands.h"
#include "report.h"
#include "store/kv.h"

#include <stdio.h>
#include <stdlib.h>

/* The tables of the C-Chain, by the first byte of their keys, in the groups in which they are shown
 * (chains/evmchain/core/chaindb.h, run.h, dev_record.h, world/world.h, store/flat.h). */
typedef struct group {
    const char *name;
    const char *tables;
    const char *what;
} group;

static const group groups[] = {
    {"state", "asnNcPTVJU", "accounts, storage, code, tries"},
    {"history", "XR", "earlier state"},
    {"blocks", "bhgdek", "blocks and their heights"},
    {"receipts", "r", "receipts"},
    {"tx-index", "l", "transactions by hash"},
    {"log-index", "i", "logs by address and topic; empty under skip-log-indexing"},
};

enum { GROUPS = CD_COUNT(groups), OTHER = GROUPS, SHOWN = GROUPS + 1, PATH_MAX_LEN = 4096 };

typedef struct usage {
    u64 entries;
    u64 bytes;
} usage;

static usize group_of(u8 table)
{
    for (usize i = 0; i < GROUPS; i++) {
        if (strchr(groups[i].tables, table) != NULL && table != '\0') {
            return i;
        }
    }
    return OTHER;
}

static const char *size_text(char out[32], u64 bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double v = (double)bytes;
    usize unit = 0;
    while (v >= 1000 && unit + 1 < CD_COUNT(units)) {
        v /= 1000;
        unit++;
    }
    (void)snprintf(out, 32, unit == 0 ? "%.0f %s" : "%.1f %s", v, units[unit]);
    return out;
}

static cd_err count(usage used[SHOWN], cd_kv *kv, cd_errinfo *why)
{
    static const u8 chain = 'C';
    cd_kv_iter *it;
    const cd_kv_range all = {.prefix = cd_bytes_of(&chain, 1)};
    cd_err e = cd_kv_iter_new(&it, kv, &all);
    if (e != CD_OK) {
        return cd_fail(why, e, "the store cannot be read");
    }
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        usage *u = &used[key.n < 2 ? OTHER : group_of(key.p[1])];
        u->entries++;
        u->bytes += key.n + cd_kv_iter_value(it).n;
    }
    e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e == CD_OK ? CD_OK : cd_fail(why, e, "the store cannot be read to its end");
}

static cd_err add_file(void *ctx, const char *path, cd_fs_kind kind)
{
    cd_fs_stat st;
    if (kind == CD_FS_FILE && cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_OK) {
        *(u64 *)ctx += st.size;
    }
    return CD_OK; /* a file that was removed meanwhile counts as empty */
}

static void print_row(const char *name, const usage *u, const char *what)
{
    char size[32];
    (void)printf("%-10s  %12llu  %10s  %s\n", name, (unsigned long long)u->entries, size_text(size, u->bytes), what);
}

int cd__du_cmd(const char *network_dir)
{
    cd_errinfo why = {0};
    cd_kv *kv = NULL;
    usage used[SHOWN] = {{.entries = 0}};
    usage all = {.entries = 0};
    u64 files = 0;
    char path[PATH_MAX_LEN];
    char size[32];
    cd_fs_stat st;
    (void)snprintf(path, sizeof path, "%s/db", network_dir);
    if (cd_fs_stat_get(cd_fs_real(), &st, path, NULL) == CD_ENOENT) {
        (void)cd_fail(&why, CD_ENOENT, "no network has data in %s; another place: --data-dir=DIR", network_dir);
        return cd__report_start(&why);
    }
    const cd_kv_cfg cfg = {.dir = path, .layout = cd_node_layout(), .read_only = true};
    cd_err e = cd_kv_rocksdb_open(&kv, &cfg, &why);
    e = e != CD_OK ? e : count(used, kv, &why);
    cd_kv_close(kv);
    e = e != CD_OK ? e : cd_fs_walk(cd_fs_real(), network_dir, add_file, &files, &why);
    if (e != CD_OK) {
        return cd__report_start(&why);
    }
    (void)printf("%-10s  %12s  %10s\n", "TABLE", "ENTRIES", "BYTES");
    for (usize i = 0; i < SHOWN; i++) {
        all.entries += used[i].entries;
        all.bytes += used[i].bytes;
        if (i < GROUPS) {
            print_row(groups[i].name, &used[i], groups[i].what);
        } else if (used[i].entries != 0) {
            print_row("other", &used[i], "");
        }
    }
    print_row("all", &all, "as written");
    (void)printf("%s takes %s on disk, compressed and with the log of changes.\n", network_dir, size_text(size, files));
    return 0;
}
