/* Decoders of Warp messages, payloads, predicates and their results: what they take must be written back
 * byte for byte. Byte 0 chooses. */
#include "types/predicate.h"
#include "types/warp.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void same(cd_buf *got, cd_bytes want)
{
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(got), want));
}

static void message(cd_bytes in, cd_buf *out)
{
    cd_warp_message m;
    if (cd_warp_message_dec(&m, in) == CD_OK) {
        cd_warp_message_enc(out, &m);
        same(out, in);
        u64 len = cd_bits_len(m.signers);
        CD_ASSERT(cd_bits_count(m.signers) <= len);
        CD_ASSERT(len == 0 || cd_bits_has(m.signers, len - 1));
        CD_ASSERT(!cd_bits_has(m.signers, len));
    }
}

static void payload(cd_bytes in, cd_buf *out)
{
    cd_warp_payload p;
    if (cd_warp_payload_dec(&p, in) == CD_OK) {
        cd_err e = cd_warp_payload_enc(out, &p);
        CD_ASSERT(e == CD_OK);
        same(out, in);
    }
}

static void predicate(cd_bytes in, cd_buf *out, cd_arena *a)
{
    usize cnt = in.n / 32;
    cd_hash32 *words = cd_arena_array(a, cd_hash32, cnt);
    cd_bytes got;
    if (cnt != 0) {
        memcpy(words, in.p, 32 * cnt);
    }
    if (cd_predicate_unpack(&got, words, cnt, NULL) == CD_OK) {
        cd_predicate_pack(out, got);
        same(out, cd_bytes_of(words, 32 * cnt));
    }
}

static void results(cd_bytes in, cd_buf *out, cd_arena *a)
{
    cd_predicate_results r;
    if (cd_predicate_results_dec(&r, a, in) == CD_OK) {
        cd_predicate_results_enc(out, &r);
        same(out, in);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size == 0) {
        return 0;
    }
    cd_arena a = {0};
    cd_buf out = {0};
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0:
        message(in, &out);
        break;
    case 1:
        payload(in, &out);
        break;
    case 2:
        predicate(in, &out, &a);
        break;
    case 3:
        results(in, &out, &a);
        break;
    }
    cd_buf_fini(&out);
    cd_arena_fini(&a);
    return 0;
}
