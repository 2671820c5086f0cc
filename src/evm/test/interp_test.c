/* The interpreters: small byte codes by EIP with their gas, random programs, calls and creations,
 * limits. Everything runs on all tiers, which must agree (evm/test/tiers.h). */
#include "evm/test/tiers.h"

#include "base/hex.h"
#include "base/mem/buf.h"
#include "base/mem/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const cd_addr20 SENDER = {.b = {[19] = 0xee}};
static const cd_addr20 CALLEE = {.b = {[19] = 0xc0}};

typedef struct fixture {
    cd_evm *evm;
    cd_state *st;
} fixture;

static int setup(void **state)
{
    static cd_state_source none;
    fixture *x = cd_new(fixture);
    x->evm = cd_evm_new();
    x->st = cd_state_new(&none);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    fixture *x = *state;
    cd_evm_free(x->evm);
    cd_state_free(x->st);
    cd_free(x);
    return 0;
}

static cd_bytes unhex(cd_buf *b, const char *text)
{
    cd_buf_clear(b);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p != ' ') {
            char pair[3] = {p[0], p[1], '\0'};
            cd_buf_u8(b, (u8)strtol(pair, NULL, 16));
            p++;
        }
    }
    return cd_buf_bytes(b);
}

/* run executes code as a call with value 0. */
static tiers_result run(fixture *x, cd_fork fork, cd_bytes code, cd_bytes input, u64 gas, u64 slot_0)
{
    const tiers_account accounts[] = {
        {.addr = SENDER, .balance = 1000000, .nonce = 1},
        {.addr = CALLEE, .balance = 1000, .nonce = 1, .code = code, .slot_0 = slot_0},
    };
    const tiers_run r = {
        .fork = fork,
        .accounts = accounts,
        .account_cnt = CD_COUNT(accounts),
        .msg = {.kind = CD_CALL, .gas = gas, .caller = SENDER, .to = CALLEE, .code = CALLEE, .input = input}};
    return tiers_all(x->evm, x->st, &r);
}

/* --- one row a case --- */

/* Code that ends in RET returns the word on top of the stack. */
#define RET "600052 60206000f3"
enum { RET_GAS = 3 + 3 + 3 + 3 + 3, GAS = 100000 };

typedef struct row {
    const char *name;
    cd_fork fork;
    const char *code;
    cd_evm_status status;
    u64 gas_used;     /* GAS: all that was given */
    const char *word; /* hex of the output without leading zeros; NULL: not compared */
} row;

static const row rows[] = {
    {"PUSH0", CD_SHANGHAI, "5f 5f52 60205ff3", CD_EVM_OK, 2 + 2 + 6 + 3 + 2, "0"},
    {"PUSH0 before Shanghai", CD_PARIS, "5f00", CD_EVM_INVALID_OPCODE, GAS, NULL},
    {"PUSH32", CD_FRONTIER, "7f00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef" RET, CD_EVM_OK,
     3 + RET_GAS, "112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef"},
    {"PUSH11", CD_FRONTIER, "6a0102030405060708090a0b" RET, CD_EVM_OK, 3 + RET_GAS, "102030405060708090a0b"},
    {"push data over the end", CD_FRONTIER, "60", CD_EVM_OK, 3, NULL},
    {"empty code ends", CD_FRONTIER, "5b", CD_EVM_OK, 1, NULL},
    {"SUB", CD_FRONTIER, "60036005 03" RET, CD_EVM_OK, 9 + RET_GAS, "2"},
    {"SHL (EIP-145)", CD_CONSTANTINOPLE, "60ff6004 1b" RET, CD_EVM_OK, 9 + RET_GAS, "ff0"},
    {"SHR 256", CD_CONSTANTINOPLE, "60ff610100 1c" RET, CD_EVM_OK, 9 + RET_GAS, "0"},
    {"SHL before", CD_BYZANTIUM, "60ff60041b00", CD_EVM_INVALID_OPCODE, GAS, NULL},
    {"EXP, two bytes (EIP-160)", CD_SPURIOUS, "61010060020a" RET, CD_EVM_OK, 6 + 110 + RET_GAS, "0"},
    {"EXP before EIP-160", CD_TANGERINE, "6101006002 0a" RET, CD_EVM_OK, 6 + 30 + RET_GAS, "0"},
    {"ADDMOD over 2^256", CD_FRONTIER, "600a 6000196000 19 08" RET, CD_EVM_OK, 3 + 12 + 8 + RET_GAS, "0"},
    {"MULMOD by zero", CD_FRONTIER, "6000 6007 6009 09" RET, CD_EVM_OK, 9 + 8 + RET_GAS, "0"},
    {"BYTE 31", CD_FRONTIER, "61abcd 601f 1a" RET, CD_EVM_OK, 9 + RET_GAS, "cd"},
    {"SIGNEXTEND", CD_CONSTANTINOPLE, "6080 6000 0b 60ff1c" RET, CD_EVM_OK, 0, "1"},
    {"KECCAK256 of nothing", CD_FRONTIER, "6000600020" RET, CD_EVM_OK, 6 + 30 + RET_GAS,
     "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"},
    {"CHAINID (EIP-1344)", CD_ISTANBUL, "46" RET, CD_EVM_OK, 2 + RET_GAS, "539"},
    {"CHAINID before", CD_PETERSBURG, "46" RET, CD_EVM_INVALID_OPCODE, GAS, NULL},
    {"SELFBALANCE (EIP-1884)", CD_ISTANBUL, "47" RET, CD_EVM_OK, 5 + RET_GAS, "3e8"},
    {"BASEFEE (EIP-3198)", CD_LONDON, "48" RET, CD_EVM_OK, 2 + RET_GAS, "5"},
    {"BLOBBASEFEE (EIP-7516)", CD_CANCUN, "4a" RET, CD_EVM_OK, 2 + RET_GAS, "1"},
    {"BLOBHASH out of range (EIP-4844)", CD_CANCUN, "600049" RET, CD_EVM_OK, 6 + RET_GAS, "0"},
    {"PREVRANDAO", CD_PARIS, "44" RET, CD_EVM_OK, 2 + RET_GAS, "4000000000000000300000000000000020000000000000001"},
    {"BLOCKHASH too old", CD_FRONTIER, "6102e740" RET, CD_EVM_OK, 23 + RET_GAS, "0"},
    {"BLOCKHASH of itself", CD_FRONTIER, "6103e840" RET, CD_EVM_OK, 23 + RET_GAS, "0"},
    {"GAS counts what came before", CD_FRONTIER, "6001 50 5a" RET, CD_EVM_OK, 7 + RET_GAS, "18699"},
    {"PC", CD_FRONTIER, "5b5b58" RET, CD_EVM_OK, 4 + RET_GAS, "2"},
    {"CODESIZE", CD_FRONTIER, "38" RET, CD_EVM_OK, 2 + RET_GAS, "9"},
    {"MSIZE grows by words", CD_FRONTIER, "6000 6020 53 59" RET, CD_EVM_OK, 6 + 9 + 2 + 12, "40"},
    {"TLOAD after TSTORE (EIP-1153)", CD_CANCUN, "6007 6001 5d 6001 5c" RET, CD_EVM_OK, 6 + 100 + 103 + RET_GAS, "7"},
    {"MCOPY, overlapping (EIP-5656)", CD_CANCUN,
     "7f"
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
     "6000 52 6020 6001 6000 5e 600051" RET,
     CD_EVM_OK, 0, "102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f00"},
    {"MCOPY charges for the source", CD_CANCUN, "6000 6040 6000 5e 00", CD_EVM_OK, 12, NULL},
    {"MCOPY length 0, huge offsets", CD_CANCUN, "6000 600019 600019 5e 00", CD_EVM_OK, 3 + 12 + 3, NULL},
    {"MLOAD far away", CD_CANCUN, "67ffffffffffffffff51", CD_EVM_OUT_OF_GAS, GAS, NULL},
    {"MLOAD beyond 2^64", CD_CANCUN, "600019 51", CD_EVM_OUT_OF_GAS, GAS, NULL},
    {"RETURN of nothing from anywhere", CD_CANCUN, "6000 600019 f3", CD_EVM_OK, 9, NULL},
    {"RETURNDATACOPY beyond the end", CD_BYZANTIUM, "6001600060003e", CD_EVM_RETURN_OUT_OF_BOUNDS, GAS, NULL},
    {"RETURNDATACOPY of nothing at 1", CD_BYZANTIUM, "6000600160003e", CD_EVM_RETURN_OUT_OF_BOUNDS, GAS, NULL},
    {"RETURNDATACOPY of nothing at 0", CD_BYZANTIUM, "6000600060003e", CD_EVM_OK, 12, NULL},
    {"REVERT keeps the gas", CD_BYZANTIUM, "60aa60005260206000fd", CD_EVM_REVERT, 18, "aa"},
    {"INVALID takes it all", CD_FRONTIER, "fe", CD_EVM_INVALID_OPCODE, GAS, NULL},
    {"underflow", CD_FRONTIER, "600101", CD_EVM_STACK_UNDERFLOW, GAS, NULL},
    {"DUP16 underflow", CD_FRONTIER, "60018f", CD_EVM_STACK_UNDERFLOW, GAS, NULL},
    {"jump into push data", CD_FRONTIER, "6003 56 605b", CD_EVM_BAD_JUMP, GAS, NULL},
    {"jump to no JUMPDEST", CD_FRONTIER, "6000 56", CD_EVM_BAD_JUMP, GAS, NULL},
    {"jump behind the code", CD_FRONTIER, "60ff 56", CD_EVM_BAD_JUMP, GAS, NULL},
    {"jump beyond 2^64", CD_FRONTIER, "6000 19 56 5b", CD_EVM_BAD_JUMP, GAS, NULL},
    {"JUMPI not taken does not look at its target", CD_FRONTIER, "6000 60ff 57", CD_EVM_OK, 16, NULL},
    {"JUMPI to a computed target", CD_FRONTIER, "6001 34 6009 01 57 fe fe 5b00", CD_EVM_OK, 3 + 2 + 6 + 10 + 1, NULL},
    {"a run of JUMPDESTs", CD_FRONTIER, "6004 56 fe 5b5b5b5b00", CD_EVM_OK, 3 + 8 + 4, NULL},
    {"a jump into a run of JUMPDESTs", CD_FRONTIER, "6006 56 fe 5b5b5b5b00", CD_EVM_OK, 3 + 8 + 2, NULL},
    {"loop", CD_FRONTIER, "600a 5b 6001 90 03 80 6002 57 00", CD_EVM_OK, 3 + 10 * (1 + 3 + 3 + 3 + 3 + 3 + 10), NULL},
    {"BALANCE cold and warm (EIP-2929)", CD_BERLIN, "60aa31 60aa31", CD_EVM_OK, 6 + 2600 + 100, NULL},
    {"BALANCE (EIP-1884)", CD_ISTANBUL, "60aa31", CD_EVM_OK, 3 + 700, NULL},
    {"SLOAD cold and warm", CD_BERLIN, "600054 600054", CD_EVM_OK, 6 + 2100 + 100, NULL},
    {"SLOAD (EIP-1884)", CD_ISTANBUL, "600054", CD_EVM_OK, 803, NULL},
    {"EXTCODEHASH of nothing (EIP-1052)", CD_CONSTANTINOPLE, "60aa3f" RET, CD_EVM_OK, 403 + RET_GAS, "0"},
    {"EXTCODESIZE", CD_BERLIN, "303b" RET, CD_EVM_OK, 2 + 2600 + RET_GAS, "a"},
    {"CALL to nobody", CD_BERLIN, "6000 6000 6000 6000 6000 60aa 5a f1" RET, CD_EVM_OK, 18 + 2 + 2600 + RET_GAS, "1"},
    {"CALL with value to nobody (EIP-161)", CD_BERLIN, "6000 6000 6000 6000 6001 60aa 5a f1" RET, CD_EVM_OK,
     18 + 2 + 2600 + 9000 + 25000 - 2300 + RET_GAS, "1"},
    {"CALL with more than there is", CD_BERLIN, "6000 6000 6000 6000 61ffff 60aa 5a f1" RET, CD_EVM_OK,
     18 + 2 + 2600 + 9000 + 25000 - 2300 + RET_GAS, "0"},
    {"CALL of identity", CD_BERLIN, "60ab6000526020602060206000600060045af150602051" RET, CD_EVM_OK, 0, "ab"},
    {"CREATE of nothing", CD_SHANGHAI, "600060006000f0 15" RET, CD_EVM_OK, 9 + 32000 + 3 + RET_GAS, "0"},
    {"CREATE with too much initcode (EIP-3860)", CD_SHANGHAI, "61c00160006000f0", CD_EVM_OUT_OF_GAS, GAS, NULL},
    {"CREATE of 0xef code (EIP-3541)", CD_LONDON, "60ef60005360016000f3 6000 52 600a60166000f0" RET, CD_EVM_OK, 0,
     NULL},
    {"SSTORE with the stipend only (EIP-2200)", CD_ISTANBUL, "6001 6000 55", CD_EVM_OK, 20006, NULL},
};

static void test_rows(void **state)
{
    fixture *x = *state;
    cd_buf code = {0};
    u32 failed = 0;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        const row *r = &rows[i];
        cd_bytes bytes = unhex(&code, r->code);
        tiers_result got = run(x, r->fork, bytes, (cd_bytes){0}, GAS, 0);
        char text[65] = {0};
        usize skip = 0;
        for (usize k = 0; k < 32; k++) {
            (void)snprintf(text + 2 * k, 3, "%02x", got.word[k]);
        }
        while (skip < 63 && text[skip] == '0') {
            skip++;
        }
        bool ok = got.status == r->status && (r->gas_used == 0 || GAS - got.gas_left == r->gas_used) &&
                  (r->word == NULL || strcmp(text + skip, r->word) == 0);
        if (!ok) {
            print_error("%s: status %d, gas used %llu, word %s\n", r->name, (int)got.status,
                        (unsigned long long)(GAS - got.gas_left), text + skip);
        }
        failed += !ok;
    }
    cd_buf_fini(&code);
    assert_int_equal(failed, 0);
}

/* --- SSTORE --- */

/* The table of EIP-2200. */
static const struct {
    const char *code;
    u64 gas_used;
    u64 refund;
    u64 original;
} sstore_rows[] = {
    {"60006000556000600055", 1612, 0, 0},
    {"60006000556001600055", 20812, 0, 0},
    {"60016000556000600055", 20812, 19200, 0},
    {"60016000556002600055", 20812, 0, 0},
    {"60016000556001600055", 20812, 0, 0},
    {"60006000556000600055", 5812, 15000, 1},
    {"60006000556001600055", 5812, 4200, 1},
    {"60006000556002600055", 5812, 0, 1},
    {"60026000556000600055", 5812, 15000, 1},
    {"60026000556003600055", 5812, 0, 1},
    {"60026000556001600055", 5812, 4200, 1},
    {"60026000556002600055", 5812, 0, 1},
    {"60016000556000600055", 5812, 15000, 1},
    {"60016000556002600055", 5812, 0, 1},
    {"60016000556001600055", 1612, 0, 1},
    {"600160005560006000556001600055", 40818, 19200, 0},
    {"600060005560016000556000600055", 10818, 19200, 1},
};

static void test_sstore(void **state)
{
    fixture *x = *state;
    cd_buf code = {0};
    for (usize i = 0; i < CD_COUNT(sstore_rows); i++) {
        cd_bytes bytes = unhex(&code, sstore_rows[i].code);
        tiers_result got = run(x, CD_ISTANBUL, bytes, (cd_bytes){0}, GAS, sstore_rows[i].original);
        assert_int_equal(got.status, CD_EVM_OK);
        assert_int_equal(GAS - got.gas_left, sstore_rows[i].gas_used);
        assert_int_equal(got.refund, sstore_rows[i].refund);
    }
    /* The sentry of EIP-2200: with 2300 gas left SSTORE fails, with 2301 its price decides. */
    cd_bytes noop = unhex(&code, "6000600055");
    assert_int_equal(run(x, CD_ISTANBUL, noop, (cd_bytes){0}, 2306, 0).status, CD_EVM_OUT_OF_GAS);
    assert_int_equal(run(x, CD_ISTANBUL, noop, (cd_bytes){0}, 2307, 0).status, CD_EVM_OK);
    /* Gas charged in advance for later instructions of the block must not count as spent. */
    cd_bytes followed = unhex(&code, "6000600055 6001600101 50 6001600101 50");
    assert_int_equal(run(x, CD_ISTANBUL, followed, (cd_bytes){0}, 2307, 0).status, CD_EVM_OK);
    cd_buf_fini(&code);
}

/* --- limits --- */

static void test_stack_limit(void **state)
{
    fixture *x = *state;
    cd_buf code = {0};
    for (u32 n = 1023; n <= 1026; n++) {
        cd_buf_clear(&code);
        for (u32 i = 0; i < n; i++) {
            cd_buf_u8(&code, i % 3 == 0 ? CD_OP_CALLVALUE : CD_OP_ADDRESS);
        }
        tiers_result got = run(x, CD_CANCUN, cd_buf_bytes(&code), (cd_bytes){0}, GAS, 0);
        assert_int_equal(got.status, n <= 1024 ? CD_EVM_OK : CD_EVM_STACK_OVERFLOW);
    }
    /* A full stack may still be shuffled, and emptied in one block. */
    cd_buf_clear(&code);
    for (u32 i = 0; i < 1024; i++) {
        cd_buf_u8(&code, CD_OP_CALLVALUE);
    }
    for (u32 i = 0; i < 600; i++) {
        cd_buf_u8(&code, (u8)(CD_OP_SWAP1 + i % 16));
    }
    for (u32 i = 0; i < 1023; i++) {
        cd_buf_u8(&code, CD_OP_ADD);
    }
    assert_int_equal(run(x, CD_CANCUN, cd_buf_bytes(&code), (cd_bytes){0}, GAS, 0).status, CD_EVM_OK);
    cd_buf_fini(&code);
}

/* Calls itself until the depth or the gas runs out, counting in storage. */
static void test_depth(void **state)
{
    fixture *x = *state;
    cd_buf code = {0};
    cd_bytes bytes = unhex(&code, "6000 6000 6000 6000 6000 30 5a f1 6000 54 01 6000 55 6000 54" RET);
    tiers_result got = run(x, CD_CANCUN, bytes, (cd_bytes){0}, 1ULL << 50, 0);
    assert_int_equal(got.status, CD_EVM_OK);
    /* The innermost of 1025 frames is the one whose call fails. */
    assert_int_equal(got.word[31] + 256 * got.word[30], 1024);
    cd_buf_fini(&code);
}

static void test_gas_above_63_bits(void **state)
{
    fixture *x = *state;
    cd_buf code = {0};
    cd_bytes bytes = unhex(&code, "6001 50");
    tiers_result got = run(x, CD_CANCUN, bytes, (cd_bytes){0}, UINT64_MAX, 0);
    assert_true(got.status == CD_EVM_OK && got.gas_left == UINT64_MAX - 5);
    cd_buf_fini(&code);
}

static bool count_down(void *ctx)
{
    u32 *left = ctx;
    return --*left == 0;
}

/* Programs that would take for ever are ended when it is too late, on every tier. */
static void test_limit(void **state)
{
    static const char *const programs[] = {
        "5b 5f56",                            /* jumps */
        "5b 6001 5f57",                       /* jumps on a condition */
        "5b 34 56",                           /* jumps to a computed place */
        "5b 5f5f5f5f5f 30 61ffff f1 50 5f56", /* calls that call */
        "5b 5f5f5f5f5f 60aa 5a f1 50 5f56",   /* calls to nobody */
        "5b 5f5f5f f0 50 5f56",               /* creations */
        "5b 61ffff5f20 50 5f56",              /* one expensive instruction after the other */
    };
    static const tiers_mode modes[] = {TIERS_DIRECT, TIERS_TRACED, TIERS_CELLS, TIERS_CALLS};
    fixture *x = *state;
    cd_buf code = {0};
    for (usize i = 0; i < CD_COUNT(programs) * CD_COUNT(modes); i++) {
        u32 left = 5;
        const tiers_account accounts[] = {
            {.addr = CALLEE, .nonce = 1, .code = unhex(&code, programs[i / CD_COUNT(modes)])},
        };
        const tiers_run r = {
            .fork = CD_CANCUN,
            .accounts = accounts,
            .account_cnt = 1,
            .msg = {.kind = CD_CALL, .gas = (u64)1 << 50, .caller = SENDER, .to = CALLEE, .code = CALLEE},
        };
        cd_evm_set_limit(x->evm, count_down, &left, CD_EVM_EVERY_GAS);
        tiers_result got = tiers_on(x->evm, x->st, &r, modes[i % CD_COUNT(modes)]);
        assert_int_equal(left, 0);
        assert_true(cd_evm_was_stopped(x->evm));
        assert_int_equal(got.status, CD_EVM_OUT_OF_GAS);
        assert_int_equal(got.gas_left, 0);
    }
    cd_evm_set_limit(x->evm, NULL, NULL, 0);
    cd_bytes stop = unhex(&code, "00");
    assert_int_equal(run(x, CD_CANCUN, stop, (cd_bytes){0}, GAS, 0).status, CD_EVM_OK);
    assert_false(cd_evm_was_stopped(x->evm));
    cd_buf_fini(&code);
}

static void test_memory_is_zero_again(void **state)
{
    fixture *x = *state;
    cd_buf code = {0};
    /* Dirties its memory in a call to itself, then reads fresh memory in the same place. */
    cd_bytes bytes = unhex(&code, "36 6020 57 6000 6000 6001 6000 6000 30 5a f1 50 612000 51" RET
                                  "fefe 5b 6000 19 80 612000 52 612020 52 00");
    tiers_result got = run(x, CD_CANCUN, bytes, (cd_bytes){0}, GAS, 0);
    assert_int_equal(got.status, CD_EVM_OK);
    for (int i = 0; i < 32; i++) {
        assert_int_equal(got.word[i], 0);
    }
    cd_buf_fini(&code);
}

/* SIGNEXTEND of words that tier 1 does not know when it translates, by numbers that it knows and by numbers that it
 * does not; the results are compared with the sign bit as seen here. */
static void test_sign_extend(void **state)
{
    (void)state;
    fixture *x = *state;
    static const u8 patterns[] = {0x00, 0x7f, 0x80, 0xff, 0x5a, 0xa5};
    for (u32 k = 0; k < 40; k++) {
        for (usize p = 0; p < CD_COUNT(patterns); p++) {
            u8 input[64] = {[63] = (u8)k};
            u8 want[32];
            for (u32 i = 0; i < 32; i++) {
                input[i] = (u8)(patterns[(p + i) % CD_COUNT(patterns)] ^ (i * 37));
            }
            if (k < 31) {
                input[31 - k] = patterns[p];
            }
            memcpy(want, input, 32);
            if (k < 31) {
                memset(want, input[31 - k] >= 0x80 ? 0xff : 0, 31 - k);
            }
            const u8 known[] = {0x60, 0, 0x35, 0x60, (u8)k, 0x0b, 0x60, 0, 0x52, 0x60, 32, 0x60, 0, 0xf3};
            const u8 unknown[] = {0x60, 0, 0x35, 0x60, 32, 0x35, 0x0b, 0x60, 0, 0x52, 0x60, 32, 0x60, 0, 0xf3};
            tiers_result got =
                run(x, CD_CANCUN, cd_bytes_of(known, sizeof known), cd_bytes_of(input, sizeof input), GAS, 0);
            assert_int_equal(got.status, CD_EVM_OK);
            assert_memory_equal(got.word, want, 32);
            got = run(x, CD_CANCUN, cd_bytes_of(unknown, sizeof unknown), cd_bytes_of(input, sizeof input), GAS, 0);
            assert_memory_equal(got.word, want, 32);
        }
    }
}

/* --- random programs --- */

static u64 next_random(u64 *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void push(cd_buf *b, u64 *seed)
{
    static const u8 lengths[] = {1, 1, 1, 2, 4, 8, 20, 32};
    if (next_random(seed) % 3 == 0) {
        const u8 load[] = {CD_OP_PUSH1, (u8)(next_random(seed) % 224), CD_OP_CALLDATALOAD};
        cd_buf_put(b, cd_bytes_of(load, sizeof load));
        return;
    }
    u8 n = lengths[next_random(seed) % CD_COUNT(lengths)];
    cd_buf_u8(b, (u8)(CD_OP_PUSH1 + n - 1));
    u64 mode = next_random(seed) % 4;
    u8 bit = (u8)(1 << next_random(seed) % 8);
    u64 at = next_random(seed) % n;
    for (u8 i = 0; i < n; i++) {
        cd_buf_u8(b, mode == 0 ? 0xff : mode == 1 ? (i == at ? bit : 0) : (u8)next_random(seed));
    }
}

/* A program that never underflows: straight pieces of stack, arithmetic and memory work, joined by
 * forward jumps, and at the end everything on the stack is hashed into the output. */
static void make_program(cd_buf *b, u64 *seed)
{
    static const u8 ops[] = {
        CD_OP_ADD,    CD_OP_MUL,    CD_OP_SUB,    CD_OP_DIV,    CD_OP_SDIV, CD_OP_MOD,        CD_OP_SMOD,
        CD_OP_LT,     CD_OP_GT,     CD_OP_SLT,    CD_OP_SGT,    CD_OP_EQ,   CD_OP_AND,        CD_OP_OR,
        CD_OP_XOR,    CD_OP_BYTE,   CD_OP_SHL,    CD_OP_SHR,    CD_OP_SAR,  CD_OP_SIGNEXTEND, CD_OP_NOT,
        CD_OP_ISZERO, CD_OP_ISZERO, CD_OP_ADDMOD, CD_OP_MULMOD, CD_OP_EXP,  CD_OP_CALLER,     CD_OP_CALLDATASIZE,
        CD_OP_GAS,    CD_OP_MSIZE,  CD_OP_PC,     CD_OP_TLOAD,  CD_OP_SLOAD};
    cd_buf_clear(b);
    i32 height = 0;
    u64 length = 20 + next_random(seed) % 200;
    for (u64 i = 0; i < length; i++) {
        u64 what = next_random(seed) % 16;
        if (height < 3 || (what < 3 && height < 40)) {
            push(b, seed);
            height++;
        } else if (what < 6) {
            u64 most = height < 16 ? (u64)height : 16;
            cd_buf_u8(b, (u8)(CD_OP_DUP1 + next_random(seed) % most));
            height++;
        } else if (what < 9) {
            u64 most = height - 1 < 16 ? (u64)height - 1 : 16;
            cd_buf_u8(b, (u8)(CD_OP_SWAP1 + next_random(seed) % most));
        } else if (what == 9) {
            cd_buf_u8(b, CD_OP_POP);
            height--;
        } else if (what == 10) {
            /* Memory at a place that fits. */
            const u8 at[] = {CD_OP_PUSH1, (u8)next_random(seed)};
            cd_buf_put(b, cd_bytes_of(at, sizeof at));
            u64 kind = next_random(seed) % 3;
            cd_buf_u8(b, kind == 0 ? CD_OP_MSTORE : kind == 1 ? CD_OP_MSTORE8 : CD_OP_MLOAD);
            height -= kind != 2;
            height += kind == 2;
        } else if (what == 11) {
            /* A jump over the next byte, taken or not by the item on top. */
            u16 target = (u16)(b->n + 6);
            const u8 jump[] = {CD_OP_PUSH1 + 1, (u8)(target >> 8), (u8)target,    CD_OP_JUMPI,
                               CD_OP_PC,        CD_OP_POP,         CD_OP_JUMPDEST};
            bool dynamic = next_random(seed) % 4 == 0;
            if (dynamic) {
                /* A target that is no constant: CALLVALUE is zero. */
                target = (u16)(b->n + 8);
                const u8 far[] = {CD_OP_PUSH1 + 1, (u8)(target >> 8), (u8)target, CD_OP_CALLVALUE, CD_OP_ADD,
                                  CD_OP_JUMPI,     CD_OP_PC,          CD_OP_POP,  CD_OP_JUMPDEST};
                cd_buf_put(b, cd_bytes_of(far, sizeof far));
            } else {
                cd_buf_put(b, cd_bytes_of(jump, sizeof jump));
            }
            height--;
        } else {
            u8 op = ops[next_random(seed) % CD_COUNT(ops)];
            const cd_op_info *info = cd_op_info_get(op);
            if (height >= info->in) {
                cd_buf_u8(b, op);
                height += info->out - info->in;
            }
        }
    }
    for (u32 at = 0; height > 0; height--, at += 32) {
        const u8 store[] = {CD_OP_PUSH1 + 1, (u8)((0x200 + at) >> 8), (u8)(0x200 + at), CD_OP_MSTORE};
        cd_buf_put(b, cd_bytes_of(store, sizeof store));
    }
    const u8 end[] = {CD_OP_MSIZE, CD_OP_PUSH0, CD_OP_RETURN};
    cd_buf_put(b, cd_bytes_of(end, sizeof end));
}

static void test_random_programs(void **state)
{
    fixture *x = *state;
    enum { PROGRAMS = 3000 };
    const char *given = getenv("CANDELA_TEST_SEED");
    u64 seed = given != NULL ? strtoull(given, NULL, 0) : 0x9e3779b97f4a7c15;
    u64 first = seed;
    cd_buf code = {0};
    u8 input[256];
    u32 ok = 0;
    for (u32 i = 0; i < PROGRAMS; i++) {
        u64 now = seed;
        make_program(&code, &seed);
        for (usize k = 0; k < sizeof input; k++) {
            u64 r = next_random(&seed);
            input[k] = r % 3 == 0 ? 0 : (u8)(r >> 8);
        }
        u64 gas = next_random(&seed) % 8 == 0 ? next_random(&seed) % 4000 : 1000000;
        tiers_result got = run(x, CD_CANCUN, cd_buf_bytes(&code), cd_bytes_of(input, sizeof input), gas, 1);
        if (gas == 1000000 && got.status != CD_EVM_OK) {
            print_error("program of seed 0x%llx: status %d\n", (unsigned long long)now, (int)got.status);
        }
        ok += got.status == CD_EVM_OK;
    }
    print_message("%u of %u programs ran to their end (seed 0x%llx)\n", ok, (u32)PROGRAMS, (unsigned long long)first);
    assert_true(ok > PROGRAMS / 2);
    cd_buf_fini(&code);
}

/* --- addresses --- */

static void check_addr(const cd_addr20 *got, const char *want)
{
    cd_buf b = {0};
    cd_bytes w = unhex(&b, want);
    assert_memory_equal(got->b, w.p, 20);
    cd_buf_fini(&b);
}

static void test_create_addresses(void **state)
{
    (void)state;
    cd_buf b = {0};
    cd_addr20 from;
    cd_addr20 got;
    memcpy(from.b, unhex(&b, "6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0").p, 20);
    cd_evm_create_addr(&got, &from, 0);
    check_addr(&got, "cd234a471b72ba2f1ccf0a70fcaba648a5eecd8d");
    cd_evm_create_addr(&got, &from, 1);
    check_addr(&got, "343c43a37d37dff08ae8c4a11544c718abb4fcf8");
    /* The first and the third example of EIP-1014. */
    cd_hash32 salt = {0};
    cd_hash32 hash;
    cd_keccak256(&hash, cd_bytes_of("\0", 1));
    from = (cd_addr20){0};
    cd_evm_create2_addr(&got, &from, &salt, &hash);
    check_addr(&got, "4d1a2e2bb4f88f0250f26ffff098b0b30b26bf38");
    memcpy(from.b, unhex(&b, "deadbeef00000000000000000000000000000000").p, 20);
    memcpy(salt.b, unhex(&b, "000000000000000000000000feed000000000000000000000000000000000000").p, 32);
    cd_evm_create2_addr(&got, &from, &salt, &hash);
    check_addr(&got, "d04116cdd17bebe565eb2422f2497e06cc1c9833");
    cd_buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sstore, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stack_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gas_above_63_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_is_zero_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sign_extend, setup, teardown),
        cmocka_unit_test_setup_teardown(test_random_programs, setup, teardown),
        cmocka_unit_test(test_create_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
