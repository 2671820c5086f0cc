/* Whole state-test files: whatever the bytes are, every case ends with a verdict. Gas bounds the work, so files that
 * want more of it than a moment's worth are left out. */
#include "codec/json.h"
#include "lab/statetest.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { SIZE_MAX_TRIED = 1 << 16, GAS_MAX = 200000, POSTS_MAX = 64 };

static bool is_small_case(cd_json v, usize *posts)
{
    u64 gas;
    cd_json_it it = cd_json_iter(cd_json_get(cd_json_get(v, "transaction"), "gasLimit"));
    while (cd_json_next(&it)) {
        if (cd_json_u64(&gas, it.val, NULL) == CD_OK && gas > GAS_MAX) {
            return false;
        }
    }
    it = cd_json_iter(cd_json_get(v, "post"));
    while (cd_json_next(&it)) {
        *posts += cd_json_len(it.val);
    }
    return *posts <= POSTS_MAX;
}

static bool is_small(cd_bytes text)
{
    cd_arena a = {0};
    cd_json doc;
    usize posts = 0;
    bool small = text.n <= SIZE_MAX_TRIED;
    if (small && cd_json_parse(&doc, &a, text, 0, NULL) == CD_OK) {
        cd_json_it it = cd_json_iter(doc);
        while (small && cd_json_next(&it)) {
            small = is_small_case(it.val, &posts);
        }
    }
    cd_arena_fini(&a);
    return small;
}

/* One line of JSON a case. */
static void check_lines(cd_bytes out, const cd_tally *tally)
{
    u64 lines = 0;
    while (out.n != 0) {
        cd_arena a = {0};
        cd_json line;
        const u8 *end = memchr(out.p, '\n', out.n);
        CD_ASSERT(end != NULL);
        usize n = (usize)(end - out.p);
        CD_ASSERT(cd_json_parse(&line, &a, cd_bytes_sub(out, 0, n), 0, NULL) == CD_OK);
        CD_ASSERT(cd_json_kind_of(cd_json_get(line, "pass")) == CD_JSON_BOOL);
        cd_arena_fini(&a);
        out = cd_bytes_sub(out, n + 1, out.n - n - 1);
        lines++;
    }
    CD_ASSERT(lines == tally->passed + tally->failed);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static const cd_statetest_cfg cfg = {.json = true, .with_logs = true};
    cd_bytes text = cd_bytes_of(data, size);
    if (!is_small(text)) {
        return 0;
    }
    /* One worker for all files, as a run over a folder has it; making one takes longer than a small file. */
    static void *worker;
    cd_suite suite = {0};
    cd_tally tally = {0};
    cd_buf out = {0};
    cd_statetest_suite(&suite, &cfg);
    if (worker == NULL) {
        worker = suite.worker_new(suite.cfg);
    }
    suite.file(worker, &tally, &out, "fuzz.json", text);
    check_lines(cd_buf_bytes(&out), &tally);
    cd_buf_fini(&out);
    return 0;
}
