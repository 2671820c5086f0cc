/* Feeds a fuzz entry point with changed pieces of its corpus, for as many runs as asked for, with a compiler that has
 * no libFuzzer: a fixed sample, and a long one with CANDELA_TEST_FULL=1. CANDELA_SEED chooses others. */
#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "base/num_text.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { FILES_MAX = 256, FILE_MAX = 1 << 16, SAMPLE = 400, FULL = 40000, SEED = 20261123, CHANGES_MAX = 6 };

typedef struct corpus {
    cd_buf files[FILES_MAX];
    usize cnt;
} corpus;

static cd_err take(void *ctx, const char *path, cd_fs_kind kind)
{
    corpus *c = ctx;
    if (kind != CD_FS_FILE || c->cnt == FILES_MAX) {
        return CD_OK;
    }
    CD_TRY(cd_fs_read_file(cd_fs_real(), &c->files[c->cnt], path, FILE_MAX, NULL));
    c->cnt++;
    return CD_OK;
}

static cd_bytes any(const corpus *c, cd_rng *rng)
{
    return cd_buf_bytes(&c->files[cd_rng_below(rng, c->cnt)]);
}

/* One change: a bit, some bytes, a piece that goes, comes twice, or is another file's. */
static void change(cd_buf *out, const corpus *c, cd_rng *rng)
{
    cd_buf was = *out;
    *out = (cd_buf){0};
    cd_bytes in = cd_buf_bytes(&was);
    usize at = (usize)cd_rng_below(rng, in.n + 1);
    usize len = (usize)cd_rng_below(rng, cd_rng_below(rng, 4) == 0 ? in.n - at + 1 : cd_min_u64(in.n - at, 8) + 1);
    cd_bytes other = any(c, rng);
    usize from = (usize)cd_rng_below(rng, other.n + 1);
    cd_buf_put(out, cd_bytes_sub(in, 0, at));
    switch (cd_rng_below(rng, 5)) {
    case 0: /* goes */
        break;
    case 1: /* twice */
        cd_buf_put(out, cd_bytes_sub(in, at, len));
        cd_buf_put(out, cd_bytes_sub(in, at, len));
        break;
    case 2: /* another file's */
        cd_buf_put(out, cd_bytes_sub(other, from, other.n - from));
        break;
    case 3: /* any bytes */
        for (usize i = 0; i < len; i++) {
            cd_buf_u8(out, (u8)cd_rng_u64(rng));
        }
        break;
    default: /* a bit */
        cd_buf_put(out, cd_bytes_sub(in, at, len));
        if (len != 0) {
            out->p[at] ^= (u8)(1U << cd_rng_below(rng, 8));
        }
        break;
    }
    cd_buf_put(out, cd_bytes_sub(in, at + len, in.n - at - len));
    out->n = cd_min_u64(out->n, FILE_MAX);
    cd_buf_fini(&was);
}

int main(int argc, char **argv)
{
    static corpus c;
    const char *full = getenv("CANDELA_TEST_FULL");
    const char *asked = getenv("CANDELA_SEED");
    u64 runs = full != NULL && strcmp(full, "1") == 0 ? FULL : SAMPLE;
    u64 seed = asked == NULL ? SEED : strtoull(asked, NULL, 10);
    for (int i = 1; i < argc; i++) {
        if (cd_fs_walk(cd_fs_real(), argv[i], take, &c, NULL) != CD_OK) {
            (void)fprintf(stderr, "no corpus at %s\n", argv[i]);
            return 1;
        }
    }
    (void)printf("seed %llu\n", (unsigned long long)seed);
    (void)fflush(stdout);
    cd_rng rng = cd_rng_seeded(seed);
    for (u64 i = 0; i < runs && c.cnt != 0; i++) {
        cd_buf input = {0};
        cd_buf_put(&input, any(&c, &rng));
        for (u64 n = 1 + cd_rng_below(&rng, CHANGES_MAX); n != 0; n--) {
            change(&input, &c, &rng);
        }
        u8 *exact = cd_alloc(input.n); /* one byte too far is seen */
        memcpy(exact, input.p, input.n);
        (void)LLVMFuzzerTestOneInput(exact, input.n);
        cd_free(exact);
        cd_buf_fini(&input);
    }
    for (usize i = 0; i < c.cnt; i++) {
        cd_buf_fini(&c.files[i]);
    }
    (void)printf("%llu passed, 0 failed\n", (unsigned long long)(c.cnt == 0 ? 0 : runs));
    return c.cnt == 0;
}
