/* Signed messages that were changed: 10,000 of them, each refused with the words of the rule that it breaks; what is
 * let through says and proves what it did before. [spec:warp#5] */
#include "types/warp_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MEMBERS = 5, SIGNERS = 4, NETWORK = 1337, MUTANTS = 10000 };

static cd_arena mem;
static cd_warp_set set;
static cd_bls_sk secrets[MEMBERS]; /* in the order of the set's members */
static cd_buf good;                /* a message that four of five have signed */

static void make_set(void)
{
    cd_warp_validator v[MEMBERS];
    cd_bls_sk made[MEMBERS];
    for (usize i = 0; i < MEMBERS; i++) {
        u8 seed[32] = {(u8)(i + 1)};
        assert_int_equal(cd_bls_keygen(&made[i], cd_bytes_of(seed, sizeof seed)), CD_OK);
        v[i] = (cd_warp_validator){.has_key = true, .weight = 20};
        assert_int_equal(cd_bls_pk_of(&v[i].key, &made[i]), CD_OK);
    }
    assert_int_equal(cd_warp_set_make(&set, &mem, v, MEMBERS), CD_OK);
    for (usize i = 0; i < MEMBERS; i++) {
        for (usize k = 0; k < MEMBERS; k++) {
            if (memcmp(&set.members[i].key, &v[k].key, sizeof v[k].key) == 0) {
                secrets[i] = made[k];
            }
        }
    }
}

static void make_message(void)
{
    cd_buf payload = {0};
    cd_buf text = {0};
    cd_bls_sig sigs[SIGNERS];
    cd_bls_sig all;
    const u8 bits[] = {0x0f};
    const cd_warp_payload p = {.type = CD_WARP_ADDRESSED_CALL,
                               .source = cd_bytes_str("twenty bytes of whom"),
                               .payload = cd_bytes_str("what it says")};
    assert_int_equal(cd_warp_payload_enc(&payload, &p), CD_OK);
    cd_warp_message m = {.body = {.network_id = NETWORK, .source_chain = {{7}}, .payload = cd_buf_bytes(&payload)},
                         .signers = cd_bytes_of(bits, 1)};
    cd_warp_unsigned_enc(&text, &m.body);
    for (usize i = 0; i < SIGNERS; i++) {
        assert_int_equal(cd_bls_sign(&sigs[i], CD_BLS_POP, cd_buf_bytes(&text), &secrets[i]), CD_OK);
    }
    assert_int_equal(cd_bls_agg_sigs(&all, sigs, SIGNERS), CD_OK);
    cd_bls_sig_enc(m.signature, &all);
    cd_warp_message_enc(&good, &m);
    cd_buf_fini(&payload);
    cd_buf_fini(&text);
}

static int begin(void **state)
{
    (void)state;
    make_set();
    make_message();
    return 0;
}

static int end(void **state)
{
    (void)state;
    cd_buf_fini(&good);
    cd_arena_fini(&mem);
    return 0;
}

/* What a changed message is refused with; NULL: it is taken. Those that cannot be read have no words of a rule. */
static const char *said(cd_bytes bytes, cd_errinfo *why)
{
    cd_warp_message m;
    *why = (cd_errinfo){0};
    if (cd_warp_message_dec(&m, bytes) != CD_OK) {
        return "unreadable";
    }
    return cd_warp_check(&m, NETWORK, &set, 67, 100, why) == CD_OK ? NULL : why->msg;
}

static bool is_rule(const char *words)
{
    static const char *const rules[] = {
        "unreadable",
        "wrong networkID",
        "bitset is invalid",
        "unknown validator: NumIndices (",
        "signature weight is insufficient: 67*100 > 100*",
        "failed to parse signature: invalid signature",
        "signature is invalid",
    };
    bool is = false;
    for (usize i = 0; i < CD_COUNT(rules) && !is; i++) {
        is = strncmp(words, rules[i], strlen(rules[i])) == 0;
    }
    return is;
}

static u64 next(u64 *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Changes a copy: a bit, a byte, a cut, a byte more, or two places change theirs. */
static void mutate(cd_buf *b, u64 *seed)
{
    usize at = (usize)(next(seed) % b->n);
    usize to = (usize)(next(seed) % b->n);
    u8 byte;
    switch (next(seed) % 6) {
    case 0:
        b->n = at;
        return;
    case 1:
        cd_buf_u8(b, (u8)next(seed));
        return;
    case 2:
        byte = b->p[at];
        b->p[at] = b->p[to];
        b->p[to] = byte;
        return;
    case 3:
        b->p[at] = (u8)next(seed);
        return;
    default:
        b->p[at] ^= (u8)(1u << (next(seed) % 8));
        return;
    }
}

static void changed_anywhere(void **state)
{
    (void)state;
    u64 seed = 0x9e3779b97f4a7c15u;
    usize taken = 0;
    cd_errinfo why;
    assert_null(said(cd_buf_bytes(&good), &why));
    for (usize i = 0; i < MUTANTS; i++) {
        cd_buf b = {0};
        cd_buf_put(&b, cd_buf_bytes(&good));
        mutate(&b, &seed);
        const char *words = said(cd_buf_bytes(&b), &why);
        bool is_same = b.n == good.n && memcmp(b.p, good.p, b.n) == 0;
        assert_true(words == NULL ? is_same : is_rule(words));
        assert_true(words == NULL || !is_same);
        taken += words == NULL;
        cd_buf_fini(&b);
    }
    assert_true(taken < MUTANTS / 20); /* two places with the same byte, or the byte that was there */
}

/* Each rule by itself. */
static void each_rule(void **state)
{
    (void)state;
    cd_errinfo why = {0};
    cd_warp_message m;
    assert_int_equal(cd_warp_message_dec(&m, cd_buf_bytes(&good)), CD_OK);
    assert_int_equal(cd_warp_check(&m, NETWORK + 1, &set, 67, 100, &why), CD_EINVAL);
    assert_string_equal(why.msg, "wrong networkID");
    static const struct {
        u8 bits[2];
        usize n;
        const char *words;
    } rows[] = {
        {{0x00, 0x0f}, 2, "bitset is invalid"},
        {{0x20}, 1, "unknown validator: NumIndices (5) >= NumFilteredValidators (5)"},
        {{0x07}, 1, "signature weight is insufficient: 67*100 > 100*60"},
        {{0x17}, 1, "signature is invalid"}, /* enough weight, another signer */
        {{0x1f}, 1, "signature is invalid"}, /* one that has not signed */
        {{0}, 0, "signature weight is insufficient: 67*100 > 100*0"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        m.signers = cd_bytes_of(rows[i].bits, rows[i].n);
        assert_int_not_equal(cd_warp_check(&m, NETWORK, &set, 67, 100, &why), CD_OK);
        assert_string_equal(why.msg, rows[i].words);
    }
}

/* Whether a message that the members of mask sign together is taken; of one more or less it must not be. */
static bool is_taken(const cd_warp_set *s, const cd_bls_sk *sk, u32 mask)
{
    cd_warp_message m = {.body = {.network_id = NETWORK, .payload = cd_bytes_str("who was it?")}};
    cd_buf text = {0};
    cd_buf bits = {0};
    cd_bls_sig sigs[MEMBERS];
    cd_bls_sig all;
    bool flags[MEMBERS];
    usize n = 0;
    cd_warp_unsigned_enc(&text, &m.body);
    m.text = cd_buf_bytes(&text);
    for (usize i = 0; i < s->cnt; i++) {
        if ((mask & 1u << i) != 0) {
            assert_int_equal(cd_bls_sign(&sigs[n++], CD_BLS_POP, m.text, &sk[i]), CD_OK);
        }
    }
    assert_int_equal(cd_bls_agg_sigs(&all, sigs, n), CD_OK);
    cd_bls_sig_enc(m.signature, &all);
    bool is = false;
    for (u32 other = 0; other <= s->cnt; other++) { /* at the end, none is another */
        for (usize i = 0; i < s->cnt; i++) {
            flags[i] = ((mask ^ (other < s->cnt ? 1u << other : 0)) & 1u << i) != 0;
        }
        cd_buf_clear(&bits);
        cd_bits_put(&bits, flags, s->cnt);
        m.signers = cd_buf_bytes(&bits);
        is = cd_warp_check(&m, NETWORK, s, 0, 100, NULL) == CD_OK;
        assert_false(is && other < s->cnt);
    }
    cd_buf_fini(&text);
    cd_buf_fini(&bits);
    return is;
}

/* Keys of signers are added, or those of the others taken off the sum of all: never a difference. */
static void every_subset(void **state)
{
    (void)state;
    assert_true(set.has_sum);
    for (u32 mask = 1; mask < 1u << MEMBERS; mask++) {
        assert_true(is_taken(&set, secrets, mask));
    }
}

/* r - secret, whose key is the negative of the secret's. */
static cd_bls_sk negative(const cd_bls_sk *sk)
{
    static const u8 r[32] = {0x73, 0xed, 0xa7, 0x53, 0x29, 0x9d, 0x7d, 0x48, 0x33, 0x39, 0xd8,
                             0x08, 0x09, 0xa1, 0xd8, 0x05, 0x53, 0xbd, 0xa4, 0x02, 0xff, 0xfe,
                             0x5b, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01};
    cd_bls_sk out;
    int borrow = 0;
    for (usize i = 32; i-- > 0;) {
        int d = r[i] - sk->b[i] - borrow;
        borrow = d < 0;
        out.b[i] = (u8)(d & 0xff);
    }
    return out;
}

/* Keys that cancel each other out prove nothing together, and spoil nothing for others. */
static void cancelling_keys(void **state)
{
    (void)state;
    const cd_bls_sk by_hand[] = {secrets[0], negative(&secrets[0]), secrets[1]};
    for (usize cnt = 2; cnt <= 3; cnt++) {
        cd_warp_validator v[3];
        cd_warp_set s;
        cd_bls_sk sk[3];
        for (usize i = 0; i < cnt; i++) {
            v[i] = (cd_warp_validator){.has_key = true, .weight = 1};
            assert_int_equal(cd_bls_pk_of(&v[i].key, &by_hand[i]), CD_OK);
        }
        assert_int_equal(cd_warp_set_make(&s, &mem, v, cnt), CD_OK);
        assert_int_equal(s.has_sum, cnt == 3);
        u32 pair = 0;
        for (usize i = 0; i < cnt; i++) {
            for (usize k = 0; k < cnt; k++) {
                if (memcmp(&s.members[i].key, &v[k].key, sizeof v[k].key) == 0) {
                    sk[i] = by_hand[k];
                    pair |= k < 2 ? 1u << i : 0;
                }
            }
        }
        for (u32 mask = 1; mask < 1u << cnt; mask++) {
            if (cnt == 2 ||
                mask != (1u << cnt) - 1) { /* all three are as good as the third, which is no fault of a sum */
                assert_int_equal(is_taken(&s, sk, mask), mask != pair);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_anywhere),
        cmocka_unit_test(each_rule),
        cmocka_unit_test(every_subset),
        cmocka_unit_test(cancelling_keys),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
