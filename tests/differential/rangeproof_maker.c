/* Our side of the comparison with the Rust crate: the same lines as bulletproofs/src/main.rs. */
#include "base/hex.h"
#include "base/num_text.h"
#include "crypto/zk/rangeproof.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINE_MAX_BYTES = 8192 };

typedef struct claim_text {
    cd_merlin before;
    cd_hash32 commitment[CD_RANGEPROOF_PARTIES_MAX];
    u8 proof[2048];
    cd_rangeproof_claim claim;
} claim_text;

static u64 number(const char *text)
{
    u64 v = 0;
    cd_err e = cd_u64_parse(&v, cd_bytes_str(text));
    CD_ASSERT(e == CD_OK);
    return v;
}

static void start(claim_text *c, usize cnt)
{
    CD_ASSERT(cnt <= CD_RANGEPROOF_PARTIES_MAX);
    cd_merlin_init(&c->before, "test");
    cd_merlin_append_u64(&c->before, "n", cnt);
    c->claim = (cd_rangeproof_claim){.transcript = &c->before, .commitment = c->commitment, .cnt = cnt};
}

static void prove(claim_text *c, usize cnt, u64 seed)
{
    cd_rng rng = cd_rng_seeded(seed);
    u64 value[CD_RANGEPROOF_PARTIES_MAX];
    cd_scalar blinding[CD_RANGEPROOF_PARTIES_MAX];
    start(c, cnt);
    for (usize i = 0; i < cnt; i++) {
        u8 wide[64];
        cd_point p;
        cd_rng_fill(&rng, wide, sizeof wide);
        value[i] = cd_rng_u64(&rng) >> cd_rng_below(&rng, 64);
        blinding[i] = cd_scalar_wide(wide);
        cd_scalar k = cd_scalar_u64(value[i]);
        cd_pedersen(&p, &k, &blinding[i]);
        cd_point_put(c->commitment[i].b, &p);
    }
    cd_merlin t = c->before;
    cd_rangeproof_prove(c->proof, &t, value, blinding, cnt, &rng);
    c->claim.proof = cd_bytes_of(c->proof, cd_rangeproof_size(cnt));
}

static void print_hex(cd_bytes b)
{
    char text[2 * sizeof((claim_text *)NULL)->proof + 1];
    CD_ASSERT(2 * b.n < sizeof text);
    cd_hex_fmt(text, b);
    (void)printf(" %.*s", (int)(2 * b.n), text);
}

static double micros(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void do_line(claim_text *c, char *line)
{
    char *save = NULL;
    const char *what = strtok_r(line, " \n", &save);
    const char *first = strtok_r(NULL, " \n", &save);
    const char *second = strtok_r(NULL, " \n", &save);
    CD_ASSERT(what != NULL && first != NULL && second != NULL);
    usize cnt = number(first);
    if (strcmp(what, "prove") == 0) {
        prove(c, cnt, number(second));
        (void)printf("verify %zu", cnt);
        print_hex(cd_bytes_of(c->commitment, 32 * cnt));
        print_hex(c->claim.proof);
        (void)printf("\n");
    } else if (strcmp(what, "time") == 0) {
        u64 rounds = number(second);
        prove(c, cnt, 1);
        double from = micros();
        for (u64 i = 0; i < rounds; i++) {
            CD_ASSERT(cd_rangeproof_verify(&c->claim) == CD_OK);
        }
        (void)printf("%f\n", (micros() - from) / (double)rounds);
    } else {
        const char *proof = strtok_r(NULL, " \n", &save);
        CD_ASSERT(proof != NULL && strlen(proof) / 2 <= sizeof c->proof && strlen(second) == 64 * cnt);
        start(c, cnt);
        bool ok = cd_hex_parse(c->commitment[0].b, cd_bytes_str(second)) == CD_OK &&
                  cd_hex_parse(c->proof, cd_bytes_str(proof)) == CD_OK;
        c->claim.proof = cd_bytes_of(c->proof, strlen(proof) / 2);
        (void)printf("%d\n", ok && cd_rangeproof_verify(&c->claim) == CD_OK);
    }
    (void)fflush(stdout);
}

int main(void)
{
    static char line[LINE_MAX_BYTES];
    static claim_text c;
    while (fgets(line, sizeof line, stdin) != NULL) {
        do_line(&c, line);
    }
    return 0;
}
