/* Any bytes as an ABI, as a description of a function, as a typed value: what is taken can be written and read
 * again. */
#include "types/fn.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

/* Written and read again it is the same function. */
static void check(cd_arena *a, const cd_fn *f)
{
    cd_buf text = {0};
    cd_buf again = {0};
    cd_fn g;
    cd_fn_fmt(&text, f);
    if (text.n <= CD_FN_TEXT_MAX) {
        CD_ASSERT(cd_fn_parse(&g, a, cd_buf_bytes(&text), NULL) == CD_OK);
        cd_fn_fmt(&again, &g);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&text), cd_buf_bytes(&again)));
    }
    for (usize i = 0; i < text.n; i++) {
        CD_ASSERT(text.p[i] != '<' && text.p[i] != '"' && text.p[i] != '&');
    }
    cd_buf_fini(&text);
    cd_buf_fini(&again);
}

/* A value of every kind; what is taken and fits can be encoded and decoded. */
static void check_value(cd_arena *a, cd_bytes text)
{
    static const char *const types[] = {"(uint256)", "(int8)",    "(address)",          "(bool)",
                                        "(bytes4)",  "(bytes)",   "(string)",           "(uint8[])",
                                        "(bool[2])", "(bytes[])", "((address,uint8)[])"};
    for (usize i = 0; i < CD_COUNT(types); i++) {
        cd_abi_type t;
        cd_abi_val v;
        cd_abi_val back;
        cd_buf out = {0};
        CD_ASSERT(cd_abi_parse(&t, a, cd_bytes_str(types[i]), NULL) == CD_OK);
        if (cd_fn_value(&v, a, &t.inner[0], text, NULL) == CD_OK) {
            const cd_abi_val all = {.items = &v, .cnt = 1};
            if (cd_abi_enc(&out, &t, &all) == CD_OK) {
                CD_ASSERT(cd_abi_dec(&back, a, &t, cd_buf_bytes(&out)) == CD_OK);
            }
        }
        cd_buf_fini(&out);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes in = cd_bytes_of(data, size);
    cd_arena a = {0};
    cd_errinfo why = {0};
    cd_fn one;
    cd_fn *all;
    usize cnt;
    if (cd_fn_parse(&one, &a, in, &why) == CD_OK) {
        check(&a, &one);
    }
    if (cd_fn_list(&all, &cnt, &a, in, &why) == CD_OK) {
        CD_ASSERT(cnt != 0 && cnt <= CD_FN_LIST_MAX);
        for (usize i = 0; i < cnt; i++) {
            check(&a, &all[i]);
        }
    }
    check_value(&a, in);
    cd_arena_fini(&a);
    return 0;
}
