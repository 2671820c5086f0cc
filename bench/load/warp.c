/* Signed Warp messages checked: processor time by how many have signed, beside one BLS signature. The keys of the set
 * are read, as they are in a node that knows the set. One JSON line each, of the quickest of several runs. */
#include "base/os/clock.h"
#include "types/warp_set.h"

#include <stdio.h>

enum { MEMBERS_MAX = 149, RUNS = 50, NETWORK = 1 };

static cd_bls_sk secrets[MEMBERS_MAX];
static cd_warp_validator validators[MEMBERS_MAX];

static u64 one_signature(cd_bytes text)
{
    cd_bls_sig sig;
    u64 best = UINT64_MAX;
    cd_err e = cd_bls_sign(&sig, CD_BLS_POP, text, &secrets[0]);
    CD_ASSERT(e == CD_OK);
    for (u32 i = 0; i < RUNS; i++) {
        u64 began = cd_clock_thread_ns();
        bool is_good = cd_bls_fast_agg_verify(&sig, text, &validators[0].key, 1);
        best = cd_min_u64(best, cd_clock_thread_ns() - began);
        CD_ASSERT(is_good);
    }
    return best;
}

static u64 check(cd_bytes text, const cd_warp_unsigned *body, u32 n, u32 members)
{
    cd_arena mem = {0};
    cd_warp_set set;
    cd_bls_sig *sigs = cd_arena_array(&mem, cd_bls_sig, n);
    cd_bls_sig all;
    cd_buf bits = {0};
    bool *flags = cd_arena_array(&mem, bool, members);
    cd_warp_message m = {.body = *body, .text = text};
    u64 best = UINT64_MAX;
    cd_err e = cd_warp_set_make(&set, &mem, validators, members);
    for (u32 i = 0; i < n && e == CD_OK; i++) {
        for (u32 k = 0; k < members; k++) {
            flags[k] |= memcmp(&set.members[k].key, &validators[i].key, sizeof validators[i].key) == 0;
        }
        e = cd_bls_sign(&sigs[i], CD_BLS_POP, text, &secrets[i]);
    }
    e = e != CD_OK ? e : cd_bls_agg_sigs(&all, sigs, n);
    CD_ASSERT(e == CD_OK);
    cd_bls_sig_enc(m.signature, &all);
    cd_bits_put(&bits, flags, members);
    m.signers = cd_buf_bytes(&bits);
    for (u32 i = 0; i < RUNS; i++) {
        u64 began = cd_clock_thread_ns();
        e = cd_warp_check(&m, NETWORK, &set, 67, 100, NULL);
        best = cd_min_u64(best, cd_clock_thread_ns() - began);
        CD_ASSERT(e == CD_OK);
    }
    cd_buf_fini(&bits);
    cd_arena_fini(&mem);
    return best;
}

int main(void)
{
    static const struct {
        u32 signers, members;
    } rows[] = {{1, 1}, {20, 20}, {100, 100}, {100, MEMBERS_MAX}}; /* the last: just two thirds */
    const cd_warp_unsigned body = {.network_id = NETWORK, .payload = cd_bytes_str("what one chain says to another")};
    cd_buf text = {0};
    cd_warp_unsigned_enc(&text, &body);
    for (u32 i = 0; i < MEMBERS_MAX; i++) {
        u8 seed[32] = {(u8)(i + 1)};
        cd_err e = cd_bls_keygen(&secrets[i], cd_bytes_of(seed, sizeof seed));
        validators[i] = (cd_warp_validator){.has_key = true, .weight = 1};
        e = e != CD_OK ? e : cd_bls_pk_of(&validators[i].key, &secrets[i]);
        CD_ASSERT(e == CD_OK);
    }
    u64 one = one_signature(cd_buf_bytes(&text));
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        u64 ns = check(cd_buf_bytes(&text), &body, rows[i].signers, rows[i].members);
        (void)printf(
            "{\"group\":\"warp\",\"name\":\"check\",\"signers\":%u,\"of\":%u,\"us\":%.1f,\"of_one_signature\":%.3f}\n",
            rows[i].signers, rows[i].members, (double)ns / 1e3, (double)ns / (double)one);
    }
    cd_buf_fini(&text);
    return 0;
}
