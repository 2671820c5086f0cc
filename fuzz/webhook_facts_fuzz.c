/* Whatever a node answers: facts of it keep their promises, and every event of it is JSON.
 * Input: {"block":…,"receipts":…,"traces":…,"pending":…}. */
#include "services/webhook/core/chain/event.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static const cd_wh_token *no_token(const void *ctx, const cd_addr20 *contract)
{
    (void)ctx;
    (void)contract;
    return NULL;
}

static const char *no_uri(const void *ctx, const cd_wh_hit *hit)
{
    (void)ctx;
    (void)hit;
    return NULL;
}

static void facts_check(const cd_wh_facts *f)
{
    usize logs = 0;
    usize inners = 0;
    i64 last = -1;
    for (usize i = 0; i < f->txs_cnt; i++) {
        const cd_wh_tx *tx = &f->txs[i];
        for (usize k = 0; k < tx->logs_cnt; k++, logs++) {
            CD_ASSERT((i64)tx->logs[k].index > last && tx->logs[k].topics_cnt <= 4);
            last = (i64)tx->logs[k].index;
        }
        for (usize k = 0; k < tx->inners_cnt; k++, inners++) {
            CD_ASSERT(!cd_u256_is_zero(&tx->inners[k].value) && tx->inners[k].depth >= 1);
        }
    }
    CD_ASSERT(logs == f->logs_cnt && inners == f->inners_cnt);
}

/* Every type without a filter, by one webhook of each face. */
static void events_check(cd_arena *mem, const cd_wh_facts *f)
{
    static const u32 types[] = {0x3f, 0x7c0, 0x3f800};
    const cd_wh_chain chain = {.name = "lux", .symbol = "LUX", .id = 1};
    const cd_wh_names names = {.token = no_token, .uri = no_uri};
    cd_wh_match *m = cd_wh_match_new();
    usize cnt;
    for (usize i = 0; i < 3; i++) {
        const cd_wh_hook hook = {.key = (i64)i + 1, .id = "wh", .types = types[i]};
        (void)cd_wh_match_put(m, &hook);
    }
    const cd_wh_hit *hits = cd_wh_match_run(m, &cnt, f);
    const cd_wh_event *events = cd_wh_events_make(mem, &chain, f, hits, cnt, &names);
    for (usize i = 0; i < cnt; i++) {
        cd_json doc;
        cd_errinfo why = {0};
        CD_ASSERT(cd_json_parse(&doc, mem, events[i].body, 0, &why) == CD_OK);
    }
    cd_wh_match_free(m);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena mem = {0};
    cd_json doc;
    cd_wh_facts f;
    cd_errinfo why = {0};
    if (cd_json_parse_deep(&doc, &mem, cd_bytes_of(data, size), 1 << 20, CD_WH_TRACE_DEPTH_MAX, &why) == CD_OK) {
        if (cd_wh_facts_parse(&f, &mem, cd_json_get(doc, "block"), cd_json_get(doc, "receipts"),
                              cd_json_get(doc, "traces"), &why) == CD_OK) {
            facts_check(&f);
            events_check(&mem, &f);
        }
        if (cd_wh_facts_pending(&f, &mem, cd_json_get(doc, "pending"), 1, &why) == CD_OK) {
            facts_check(&f);
            events_check(&mem, &f);
        }
    }
    cd_arena_fini(&mem);
    return 0;
}
