/* Many certificates: threshold signatures of groups of 3 to 21 with parties absent at random, all of which are
 * good; and single bits of certificates of every type changed, all of which are refused.
 *
 * usage: finality_many SIGNATURES CHANGES */
#include "finality/cert/test/world.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEWEST = 3, MOST = 21, SIZES = MOST - FEWEST + 1 };

static unsigned passed;
static unsigned failed;

static void count(bool ok, const char *what, u32 n, usize k)
{
    passed += ok;
    failed += !ok;
    if (!ok) {
        (void)printf("FAIL %s: %u, %zu\n", what, n, k);
    }
}

static cd_fin_flaw verify(world *w, cd_bytes bytes)
{
    cd_fin_cert read;
    return cd_fin_verify_bytes(&read, bytes, &w->set, &w->chain, &w->room);
}

static void sign_often(u32 n, u32 times)
{
    world *w = world_new(n, 1000 + n, 41, true);
    for (u32 i = 0; i < times; i++) {
        cd_fin_msg m = {.block = {{(u8)i, (u8)(i >> 8), (u8)n}}, .height = 41, .time_ns = i};
        world_parts parts = {0};
        cd_buf bytes = {0};
        u32 absent = (u32)cd_rng_below(&w->rng, n - cd_fin_threshold(n) + 1);
        cd_fin_cert c = world_certify(w, &parts, CD_FIN_LATTICE, &m, absent);
        cd_fin_cert_put(&bytes, &c);
        count(verify(w, cd_buf_bytes(&bytes)) == CD_FLAW_NONE, "signature", n, i);
        cd_buf_fini(&bytes);
        world_parts_fini(&parts);
    }
    (void)printf("groups of %u: %u signatures\n", n, times);
    (void)fflush(stdout);
    world_free(w);
}

static void change_bits(world *w, cd_fin_type type, u32 times)
{
    static const cd_fin_msg m = {.block = {{1}}, .height = 41, .time_ns = 1700000000000000000};
    cd_buf bytes = {0};
    world_parts parts = {0};
    cd_fin_cert c = world_certify(w, &parts, type, &m, 1);
    cd_fin_cert_put(&bytes, &c);
    for (u32 i = 0; i < times; i++) {
        /* every other one among the first 300 bytes, where lengths, weights and names are */
        u64 bit = cd_rng_below(&w->rng, (i % 2 == 0 ? cd_min_u64(300, bytes.n) : bytes.n) * 8);
        bytes.p[bit / 8] ^= (u8)(1 << bit % 8);
        count(verify(w, cd_buf_bytes(&bytes)) != CD_FLAW_NONE, "bit", type, bit);
        bytes.p[bit / 8] ^= (u8)(1 << bit % 8);
    }
    (void)printf("type %u: %u bits\n", type, times);
    world_parts_fini(&parts);
    cd_buf_fini(&bytes);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: finality_many SIGNATURES CHANGES\n");
        return 2;
    }
    u32 signatures = (u32)strtoul(argv[1], NULL, 10); // NOLINT(cert-err34-c)
    u32 changes = (u32)strtoul(argv[2], NULL, 10);    // NOLINT(cert-err34-c)
    for (u32 n = FEWEST; n <= MOST; n++) {
        sign_often(n, (signatures + n - FEWEST) / SIZES);
    }
    world *w = world_new(5, 5, 41, true);
    for (u32 type = 0; type <= CD_FIN_MLDSA; type++) {
        change_bits(w, (cd_fin_type)type, changes / 4);
    }
    world_free(w);
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
