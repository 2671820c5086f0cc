/* Kills a process that commits trie and flat state with SIGKILL at random points, again and again on one
 * data directory, and checks after every death that the store holds one whole state:
 *
 *   - it opens, without an operator;
 *   - the head is at least the last block that the dead process had seen committed;
 *   - the root recomputed from the flat tables = the tries' root, every node of them present = the head;
 *   - the state is that of an undisturbed run at the same height.
 *
 * usage: store_kill DIR [COMMITS [SEED]]   DIR is made, used and removed. Runs until COMMITS blocks were
 * committed and at least a fifth as many kills done (default 60 commits; 1000 when CANDELA_TEST_FULL is 1). */
#include "base/fileio.h"
#include "base/num_text.h"
#include "store/flat.h"
#include "store/test/toy_state.h"
#include "tests/e2e/victim.h"

#include <stdlib.h>

enum { LAYOUT = 1, KEEP_UNDO = 16 };

static cd_err open_store(cd_kv **out, const char *dir, cd_errinfo *why)
{
    cd_kv_cfg cfg = {.dir = dir, .cache_bytes = 8 << 20, .layout = LAYOUT};
    return cd_kv_rocksdb_open(out, &cfg, why);
}

/* One block; every eighth commit is synced, as a node would at its intervals. */
static cd_err commit_block(cd_kv *kv, u64 height)
{
    cd_kv_batch b = {0};
    cd_err err = toy_block(&b, kv, CD_TRIE_BY_PATH);
    if (err == CD_OK && height > KEEP_UNDO) {
        err = cd_flat_journal_drop(&b, kv, height - KEEP_UNDO);
    }
    if (err == CD_OK) {
        err = cd_kv_commit(kv, &b, height % 8 == 0 ? CD_KV_SYNC : CD_KV_NOSYNC, NULL);
    }
    cd_kv_batch_fini(&b);
    return err;
}

/* The process to be killed: tells each committed height on fd. */
static int victim(const char *dir, int fd)
{
    cd_kv *kv = NULL;
    cd_errinfo why = {0};
    if (open_store(&kv, dir, &why) != CD_OK) {
        (void)fprintf(stderr, "victim: %s\n", why.msg);
        return 1;
    }
    cd_flat_head head = {0};
    cd_err err = cd_flat_head_get(kv, &head);
    if (err != CD_OK && err != CD_ENOENT) {
        return 1;
    }
    for (u64 h = head.height + 1;; h++) {
        if (commit_block(kv, h) != CD_OK || write(fd, &h, sizeof h) != (ssize_t)sizeof h) {
            return 1;
        }
    }
}

/* Follows in memory what the blocks must do. */
static cd_err catch_up(cd_kv *model, u64 height)
{
    cd_flat_head head = {0};
    cd_err err = cd_flat_head_get(model, &head);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    for (u64 h = head.height + 1; h <= height; h++) {
        CD_TRY(commit_block(model, h));
    }
    return CD_OK;
}

static cd_err inspect(const char *dir, cd_kv *model, u64 last, u64 *height, cd_errinfo *why)
{
    cd_kv *kv = NULL;
    CD_TRY(open_store(&kv, dir, why));
    cd_flat_head head = {.root = CD_TRIE_EMPTY_ROOT};
    cd_flat_head want = {.root = CD_TRIE_EMPTY_ROOT};
    cd_err err = cd_flat_check(kv, CD_TRIE_BY_PATH, why);
    if (err == CD_OK) {
        err = cd_flat_head_get(kv, &head);
        err = err == CD_ENOENT ? CD_OK : err;
    }
    if (err == CD_OK && head.height < last) {
        err = cd_fail(why, CD_ECORRUPT, "head %llu, but %llu was committed",
                      (unsigned long long)head.height, (unsigned long long)last);
    }
    if (err == CD_OK) {
        err = catch_up(model, head.height);
    }
    if (err == CD_OK) {
        err = cd_flat_head_get(model, &want);
        err = err == CD_ENOENT ? CD_OK : err;
    }
    if (err == CD_OK && !cd_hash32_eq(&want.root, &head.root)) {
        err = cd_fail(why, CD_ECORRUPT, "another state than an undisturbed run has");
    }
    *height = head.height;
    cd_kv_close(kv);
    return err;
}

int main(int argc, char **argv)
{
    const char *full = getenv("CANDELA_TEST_FULL");
    u64 commits = full != NULL && strcmp(full, "1") == 0 ? 1000 : 60;
    u64 seed = (u64)time(NULL);
    if (argc < 2 || (argc > 2 && cd_u64_parse(&commits, cd_bytes_str(argv[2])) != CD_OK) ||
        (argc > 3 && cd_u64_parse(&seed, cd_bytes_str(argv[3])) != CD_OK)) {
        (void)fprintf(stderr, "usage: store_kill DIR [COMMITS [SEED]]\n");
        return 2;
    }
    const char *dir = argv[1];
    cd_errinfo why = {0};
    if (cd_fs_remove_tree(cd_fs_real(), dir, &why) != CD_OK) {
        (void)fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    cd_rng rng = cd_rng_seeded(seed);
    cd_kv *model = cd_kv_mem_open();
    u64 height = 0;
    u64 kills = 0;
    bool ok = true;
    while (ok && (height < commits || kills < commits / 5)) {
        u64 last = height;
        ok = victim_run(victim, dir, &rng, &last);
        if (!ok) {
            (void)snprintf(why.msg, sizeof why.msg, "the victim ended by itself");
        } else {
            kills++;
            ok = inspect(dir, model, last, &height, &why) == CD_OK;
        }
        if (!ok) {
            (void)printf("FAIL seed %llu, kill %llu, height %llu: %s\n", (unsigned long long)seed,
                         (unsigned long long)kills, (unsigned long long)height, why.msg);
        }
    }
    cd_kv_close(model);
    if (ok && cd_fs_remove_tree(cd_fs_real(), dir, &why) != CD_OK) {
        (void)printf("FAIL %s\n", why.msg);
        ok = false;
    }
    (void)printf("%llu kills during %llu commits, seed %llu\n", (unsigned long long)kills,
                 (unsigned long long)height, (unsigned long long)seed);
    (void)printf("%llu passed, %d failed\n", (unsigned long long)(kills - (ok ? 0 : 1)),
                 ok ? 0 : 1);
    return ok ? 0 : 1;
}
