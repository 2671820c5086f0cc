/* Certificates checked: processor time for each type, by how many validators there are, and for a year of daily set
 * changes. One JSON line each, of the quickest of several runs. */
#include "base/os/clock.h"
#include "finality/cert/test/years.h"

#include <stdio.h>

enum { RUNS = 20, DAYS = 365 };

static void print(const char *name, u32 n, u64 ns, usize bytes)
{
    (void)printf("{\"group\":\"finality\",\"name\":\"%s\",\"validators\":%u,\"ms\":%.3f,\"bytes\":%zu}\n", name, n,
                 (double)ns / 1e6, bytes);
    (void)fflush(stdout);
}

static void certificate(world *w, cd_fin_type type, const char *name, u32 absent)
{
    static const cd_fin_msg m = {.block = {{1}}, .height = 7, .time_ns = 9};
    world_parts parts = {0};
    cd_buf bytes = {0};
    u64 best = UINT64_MAX;
    cd_fin_cert c = world_certify(w, &parts, type, &m, absent);
    cd_fin_cert_put(&bytes, &c);
    for (u32 i = 0; i < RUNS; i++) {
        cd_fin_cert read;
        u64 began = cd_clock_thread_ns();
        cd_fin_flaw flaw = cd_fin_verify_bytes(&read, cd_buf_bytes(&bytes), &w->set, &w->chain, &w->room);
        best = cd_min_u64(best, cd_clock_thread_ns() - began);
        CD_ASSERT(flaw == CD_FLAW_NONE);
    }
    print(name, w->n, best, bytes.n);
    cd_buf_fini(&bytes);
    world_parts_fini(&parts);
}

static void certificates(u32 n, u32 absent)
{
    world *w = world_new(n, n, 7, true);
    certificate(w, CD_FIN_BLS, "type 0", absent);
    certificate(w, CD_FIN_LATTICE, "type 1", absent);
    certificate(w, CD_FIN_BOTH, "type 2", absent);
    certificate(w, CD_FIN_MLDSA, "type 3", absent);
    world_free(w);
}

/* Every day one of n validators is replaced; a change passes over so many days. */
static void year(u32 n, u32 days, cd_fin_type type, const char *name)
{
    static year_epoch base;
    static year_epoch next;
    world *pool = world_new(n * 3 / 2, 3, 0, false);
    cd_buf point = {0};
    cd_buf list = {0};
    u64 best = UINT64_MAX;
    usize room = cd_fin_book_bytes(n + 8);
    void *memory = cd_alloc_aligned(16, room);
    cd_fin_changes_begin(&list);
    year_make(&base, pool, 0, 0, n);
    cd_fin_checkpoint_put(&point, &base.epoch, NULL, 0);
    for (u32 d = 0; d < DAYS;) {
        d = d + days < DAYS ? d + days : DAYS;
        year_make(&next, pool, d, d % pool->n, n);
        year_change(&list, pool, &base, &next, &next, type);
        base = next;
        base.epoch.set.validators = base.validators;
    }
    for (u32 i = 0; i < 3; i++) {
        cd_fin_book *book = cd_fin_book_init(memory, n + 8);
        u64 began = cd_clock_thread_ns();
        cd_fin_flaw flaw = cd_fin_book_open(book, cd_buf_bytes(&point));
        flaw = flaw != CD_FLAW_NONE ? flaw : cd_fin_book_follow(book, cd_buf_bytes(&list), UINT64_MAX);
        best = cd_min_u64(best, cd_clock_thread_ns() - began);
        CD_ASSERT(flaw == CD_FLAW_NONE && book->epoch.number == DAYS);
    }
    print(name, n, best, list.n);
    cd_free(memory);
    cd_buf_fini(&point);
    cd_buf_fini(&list);
    world_free(pool);
}

int main(void)
{
    certificates(5, 1);
    certificates(21, 6);
    certificates(100, 33);
    /* weights are 100 to 199, so that a quarter may go before a third of the weight has */
    year(21, 5, CD_FIN_MLDSA, "year, by ML-DSA");
    year(100, 25, CD_FIN_MLDSA, "year, by ML-DSA");
    year(21, 1, CD_FIN_BLS, "year, each day by BLS");
    year(100, 1, CD_FIN_BLS, "year, each day by BLS");
    return 0;
}
