/* Transactions that are passed on to be signed, from arbitrary bytes: what is read can be signed, written and read
 * again, and is the same then. */
#include "chains/wallet/draft.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static const u8 secret[1][32] = {{1}};
    cd_arena a = {0};
    cd_json v;
    cd_wallet_draft d;
    cd_wallet_draft again;
    if (cd_json_parse(&v, &a, cd_bytes_of(data, size), 0, NULL) == CD_OK &&
        cd_wallet_draft_read(&d, &a, v, NULL) == CD_OK) {
        cd_buf text = {0};
        cd_json_w w = {.out = &text};
        u32 given;
        cd_hash32 ids[2];
        CD_ASSERT(cd_wallet_sign(&d, &given, secret, 1) == CD_OK);
        cd_wallet_draft_json(&w, &d, "lux");
        CD_ASSERT(cd_json_parse(&v, &a, cd_buf_bytes(&text), 0, NULL) == CD_OK);
        CD_ASSERT(cd_wallet_draft_read(&again, &a, v, NULL) == CD_OK);
        cd_wallet_id(&ids[0], &d);
        cd_wallet_id(&ids[1], &again);
        CD_ASSERT(cd_hash32_eq(&ids[0], &ids[1]));
        cd_buf_fini(&text);
    }
    cd_arena_fini(&a);
    return 0;
}
