/* What a contract prints, and structured data to sign: bytes of strangers that a development node decodes. The first
 * byte chooses. */
#include "chains/evmchain/dev/console.h"
#include "chains/evmchain/rpc/sending/typed_data.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t n);

static void fuzz_console(cd_bytes in)
{
    static cd_console *console;
    cd_buf out = {0};
    if (console == NULL) {
        console = cd_console_new();
    }
    if (cd_console_text(console, &out, in)) {
        for (usize i = 0; i < out.n; i++) {
            CD_ASSERT(out.p[i] >= 0x20 && out.p[i] != 0x7f);
        }
    }
    cd_buf_fini(&out);
}

static void fuzz_typed_data(cd_bytes in)
{
    cd_arena a = {0};
    cd_json doc;
    cd_hash32 once;
    cd_hash32 again;
    cd_errinfo why = {0};
    if (cd_json_parse(&doc, &a, in, 0, NULL) == CD_OK) {
        cd_err e = cd_typed_data_hash(&once, &a, doc, &why);
        CD_ASSERT(cd_typed_data_hash(&again, &a, doc, &why) == e);
        CD_ASSERT(e != CD_OK || cd_hash32_eq(&once, &again));
    }
    cd_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
    if (n != 0) {
        (data[0] % 2 == 0 ? fuzz_console : fuzz_typed_data)(cd_bytes_of(data + 1, n - 1));
    }
    return 0;
}
