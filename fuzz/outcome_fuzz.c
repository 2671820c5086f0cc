/* Outcome documents and envelopes from anybody. A document that parses is written and read again as the same. */
#include "services/adx/auction/outcome.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void envelope(cd_bytes bytes)
{
    static const cd_hash32 zero;
    cd_envelope_key key = {.id = 7, .secret = {1}};
    cd_opening o;
    cd_buf creative = {0};
    cd_err e = cd_envelope_open(&o, &creative, bytes, &key, 1, &zero, cd_bytes_str("dsp"), &zero);
    CD_ASSERT(e == CD_OK || creative.n == 0);
    cd_buf_fini(&creative);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena mem = {0};
    cd_outcome o;
    cd_outcome back;
    cd_buf first = {0};
    cd_buf second = {0};
    envelope(cd_bytes_of(data, size));
    if (cd_outcome_parse(&o, &mem, cd_bytes_of(data, size), NULL) == CD_OK) {
        cd_err e = cd_outcome_verify(&o, NULL);
        cd_outcome_put(&first, &o);
        CD_ASSERT(cd_outcome_parse(&back, &mem, cd_buf_bytes(&first), NULL) == CD_OK);
        CD_ASSERT(cd_outcome_verify(&back, NULL) == e);
        cd_outcome_put(&second, &back);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&first), cd_buf_bytes(&second)));
    }
    cd_buf_fini(&first);
    cd_buf_fini(&second);
    cd_arena_fini(&mem);
    return 0;
}
