/* bench-index: the import of blocks without and with the explorer's index, in turn, one JSON line each.
 *
 * usage: bench-index FOLDER NAME [ROUNDS [THREADS]]   FOLDER holds blocks_NAME.rlp, genesis.json and blocks.json */
#include "explorer/index.h"
#include "base/num_text.h"
#include "lab/bench_import.h"

#include <stdio.h>

static cd_err opened(void *ctx, cd_chain *chain, cd_kv *kv, cd_errinfo *why)
{
    const cd_index_cfg cfg = {.chain = chain, .kv = kv};
    return cd_index_open(ctx, &cfg, why);
}

static void closed(void *ctx)
{
    cd_index_free(*(cd_index **)ctx);
}

static u32 number(int argc, char **argv, int idx, u32 dflt)
{
    u64 v = dflt;
    return idx < argc && cd_u64_parse(&v, cd_bytes_str(argv[idx])) == CD_OK ? (u32)v : dflt;
}

int main(int argc, char **argv)
{
    cd_errinfo why = {0};
    cd_buf out = {0};
    cd_index *index = NULL;
    cd_err e = argc < 3 ? CD_EINVAL : CD_OK;
    if (e != CD_OK) {
        (void)fprintf(stderr, "usage: bench-index FOLDER NAME [ROUNDS [THREADS]]\n");
        return 2;
    }
    for (u32 i = 0; i < 2 && e == CD_OK; i++) {
        const cd_lab_import cfg = {
            .threads = number(argc, argv, 4, 1),
            .rounds = number(argc, argv, 3, 3),
            .impl = i == 0 ? "plain" : "index",
            .opened = i == 0 ? NULL : opened,
            .closed = i == 0 ? NULL : closed,
            .ctx = &index,
        };
        e = cd_lab_bench_import(&out, argv[1], argv[2], &cfg, &why);
    }
    (void)fputs(e == CD_OK ? cd_buf_cstr(&out) : why.msg, e == CD_OK ? stdout : stderr);
    cd_buf_fini(&out);
    return e == CD_OK ? 0 : 1;
}
