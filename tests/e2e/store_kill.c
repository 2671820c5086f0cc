/* Kills a process that commits trie and flat state with SIGKILL at random points, again and again on one
 * data directory, and checks after every death that the store holds one whole state:
 *
 *   - it opens, without an operator;
 *   - the head is at least the last block that the dead process had seen committed;
 *   - the root recomputed from the flat tables = the tries' root, every node of them present = the head;
 *   - the state is that of an undisturbed run at the same height.
 *
 * usage: store_kill DIR [KILLS [SEED]]   DIR is made, used and removed. Goes on until five blocks a kill were
 * committed too; 12 kills, 200 when CANDELA_TEST_FULL is 1. */
#include "store/flat.h"
#include "store/test/toy_state.h"
#include "tests/e2e/victim.h"

/* One block; every eighth commit is synced, as a node would at its intervals. */
static cd_err commit_block(cd_kv *kv, u64 height)
{
    cd_kv_batch b = {0};
    cd_err err = toy_block(&b, kv, CD_TRIE_BY_PATH);
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
    if (victim_open_store(&kv, dir, &why) != CD_OK) {
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

static cd_err inspect(void *ctx, const char *dir, u64 last, u64 *height, cd_errinfo *why)
{
    cd_kv *model = ctx;
    cd_kv *kv = NULL;
    CD_TRY(victim_open_store(&kv, dir, why));
    cd_flat_head head = {.root = CD_TRIE_EMPTY_ROOT};
    cd_flat_head want = {.root = CD_TRIE_EMPTY_ROOT};
    cd_err err = cd_flat_check(kv, CD_TRIE_BY_PATH, why);
    if (err == CD_OK) {
        err = cd_flat_head_get(kv, &head);
        err = err == CD_ENOENT ? CD_OK : err;
    }
    if (err == CD_OK && head.height < last) {
        err = cd_fail(why, CD_ECORRUPT, "head %llu, but %llu was committed", (unsigned long long)head.height,
                      (unsigned long long)last);
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
    victim_test test = {
        .name = "store_kill",
        .work = victim,
        .check = inspect,
        .ctx = cd_kv_mem_open(),
        .full_kills = 200,
        .steps_per_kill = 5,
    };
    int rc = victim_main(argc, argv, &test);
    cd_kv_close(test.ctx);
    return rc;
}
