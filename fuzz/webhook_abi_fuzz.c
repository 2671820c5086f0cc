/* Descriptions of events and logs: what is compiled is found by a log with its topic, and what is said of any log is
 * JSON. The input is a description, a zero byte, then topics (one byte says how many) and data. */
#include "services/webhook/core/chain/abi_event.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void check(const cd_buf *compiled, cd_bytes rest)
{
    cd_hash32 topics[4] = {0};
    usize cnt = rest.n == 0 ? 0 : rest.p[0] % 5;
    cd_buf out = {0};
    cd_arena mem = {0};
    cd_json v;
    memcpy(topics[0].b, compiled->p, 32);
    for (usize i = 1; i < cnt && 1 + 32 * i <= rest.n; i++) {
        memcpy(topics[i].b, rest.p + 1 + 32 * (i - 1), 32);
    }
    usize at = cd_min_u64(rest.n, 1 + 32 * (cnt == 0 ? 0 : cnt - 1));
    const cd_wh_log log = {.topics = topics, .topics_cnt = (u32)cnt, .data = cd_bytes_sub(rest, at, rest.n - at)};
    const char *event = cd_wh_abi_find(cd_buf_bytes(compiled), &log);
    CD_ASSERT((event != NULL) == (cnt == compiled->p[32]));
    cd_json_w w = {.out = &out};
    cd_wh_abi_put(&w, (const char *)compiled->p + 33, &log);
    CD_ASSERT(cd_json_parse_deep(&v, &mem, cd_buf_bytes(&out), 0, 64, NULL) == CD_OK);
    CD_ASSERT(event != NULL || !cd_json_has(v));
    cd_arena_fini(&mem);
    cd_buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    const u8 *end = size == 0 ? NULL : memchr(data, 0, size);
    usize n = end == NULL ? size : (usize)(end - data);
    cd_buf compiled = {0};
    if (cd_wh_abi_compile(&compiled, cd_bytes_of(data, n), NULL) == CD_OK) {
        check(&compiled, end == NULL ? (cd_bytes){0} : cd_bytes_of(end + 1, size - n - 1));
    }
    cd_buf_fini(&compiled);
    return 0;
}
