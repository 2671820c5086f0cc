/* Which tier runs: cells are earned by gas executed in the code itself, a frame changes tiers within a loop, and the
 * cache of code lets go of what was used longest ago. */
#include "base/mem/buf.h"
#include "base/mem/mem.h"
#include "evm/evm_priv.h"
#include "evm/interp/cells.h"
#include "evm/test/tiers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { CODE_MAX = 24576, GAS = 30000000 };

static const cd_addr20 SENDER = {.b = {[19] = 0xee}};

static cd_addr20 addr_of(u8 n)
{
    return (cd_addr20){.b = {[18] = 0xc0, [19] = n}};
}

/* A few contracts, number i at addr_of(i), under an EVM of their own. */
typedef struct world {
    cd_evm *evm;
    cd_state *st;
    tiers_account accounts[4];
    usize cnt;
    cd_fork fork;
} world;

static void world_init(world *w, const cd_bytes *codes, usize cnt)
{
    static cd_state_source none;
    *w = (world){.evm = cd_evm_new(), .st = cd_state_new(&none), .cnt = cnt, .fork = CD_CANCUN};
    for (usize i = 0; i < cnt; i++) {
        w->accounts[i] = (tiers_account){.addr = addr_of((u8)i), .nonce = 1, .code = codes[i]};
    }
}

static void world_fini(world *w)
{
    cd_evm_free(w->evm);
    cd_state_free(w->st);
}

/* Calls contract number 0. */
static tiers_result call(world *w, tiers_mode mode, u64 gas)
{
    const tiers_run r = {.fork = w->fork,
                         .accounts = w->accounts,
                         .account_cnt = w->cnt,
                         .msg = {.kind = CD_CALL, .gas = gas, .caller = SENDER, .to = addr_of(0), .code = addr_of(0)}};
    return tiers_on(w->evm, w->st, &r, mode);
}

static const cd__code *code_of(const world *w, usize contract)
{
    cd_hash32 hash;
    cd_keccak256(&hash, w->accounts[contract].code);
    cd_list_each(it, &w->evm->codes.by_use)
    {
        const cd__code *c = cd_list_of(it, cd__code, by_use);
        if (cd_hash32_eq(&c->hash, &hash)) {
            return c;
        }
    }
    fail_msg("contract %zu has not run", contract);
    return NULL;
}

static bool is_hot(const world *w, usize contract)
{
    return code_of(w, contract)->cells != NULL;
}

/* A loop that counts down from n, then stops; n fits 3 bytes. */
static cd_bytes loop_of(cd_buf *b, u32 n)
{
    const u8 code[] = {CD_OP_PUSH1 + 2,
                       (u8)(n >> 16),
                       (u8)(n >> 8),
                       (u8)n,
                       CD_OP_JUMPDEST,
                       CD_OP_PUSH1,
                       1,
                       CD_OP_SWAP1,
                       CD_OP_SUB,
                       CD_OP_DUP1,
                       CD_OP_PUSH1,
                       4,
                       CD_OP_JUMPI,
                       CD_OP_PUSH0,
                       CD_OP_MSTORE,
                       CD_OP_MSIZE,
                       CD_OP_PUSH0,
                       CD_OP_RETURN};
    cd_buf_put(b, cd_bytes_of(code, sizeof code));
    return cd_buf_bytes(b);
}
enum { LOOP_GAS = 26 }; /* gas of one turn of the loop */

/* --- what is paid for --- */

static void calls_alone_make_nothing_hot(void **state)
{
    (void)state;
    static const u8 code[CODE_MAX]; /* ends at once */
    cd_bytes codes[] = {cd_bytes_of(code, sizeof code)};
    world w;
    world_init(&w, codes, 1);
    for (int i = 0; i < 1000; i++) {
        (void)call(&w, TIERS_AUTO, GAS);
    }
    assert_false(is_hot(&w, 0));
    assert_int_equal(w.evm->codes.cells_bytes, 0);
    world_fini(&w);
}

/* A large contract calls another, which uses all the gas: only that one has become hot. */
static void gas_of_messages_does_not_count(void **state)
{
    (void)state;
    static u8 outer[CODE_MAX];
    u8 inner_addr = addr_of(1).b[19];
    const u8 head[] = {CD_OP_PUSH0,     CD_OP_PUSH0, CD_OP_PUSH0, CD_OP_PUSH0, CD_OP_PUSH0,
                       CD_OP_PUSH1 + 1, 0xc0,        inner_addr,  CD_OP_GAS,   CD_OP_CALL};
    memcpy(outer, head, sizeof head);
    cd_buf b = {0};
    cd_bytes codes[] = {cd_bytes_of(outer, sizeof outer), loop_of(&b, 100000)};
    world w;
    world_init(&w, codes, 2);
    tiers_result got = call(&w, TIERS_AUTO, GAS);
    assert_true(GAS - got.gas_left > (u64)100000 * LOOP_GAS);
    assert_false(is_hot(&w, 0));
    assert_true(is_hot(&w, 1));
    assert_true(code_of(&w, 0)->gas_run < 3000);
    world_fini(&w);
    cd_buf_fini(&b);
}

/* Calls at heights of two forks take turns: the cells of one fork are not dropped for a call under the
 * other. */
static void forks_take_turns(void **state)
{
    (void)state;
    cd_buf b = {0};
    cd_bytes codes[] = {loop_of(&b, 1)};
    world w;
    world_init(&w, codes, 1);
    for (int i = 0; i < 200; i++) {
        (void)call(&w, TIERS_AUTO, GAS);
    }
    assert_true(is_hot(&w, 0));
    const void *cells = code_of(&w, 0)->cells;
    for (int i = 0; i < 20; i++) {
        w.fork = i % 2 == 0 ? CD_PRAGUE : CD_CANCUN;
        (void)call(&w, TIERS_AUTO, GAS);
        assert_ptr_equal(code_of(&w, 0)->cells, cells);
    }
    w.fork = CD_PRAGUE;
    for (int i = 0; i < 200; i++) {
        (void)call(&w, TIERS_AUTO, GAS);
    }
    assert_int_equal(cd__cells_fork(code_of(&w, 0)->cells), CD_PRAGUE);
    world_fini(&w);
    cd_buf_fini(&b);
}

/* --- changing tiers --- */

static void a_loop_gets_hot(void **state)
{
    (void)state;
    cd_buf b = {0};
    cd_bytes codes[] = {loop_of(&b, 50000)};
    world w;
    world_init(&w, codes, 1);
    tiers_result direct = call(&w, TIERS_DIRECT, GAS);
    assert_false(is_hot(&w, 0));
    assert_true(code_of(&w, 0)->gas_run > (u64)50000 * LOOP_GAS);
    world_fini(&w);
    world_init(&w, codes, 1);
    tiers_result got = call(&w, TIERS_AUTO, GAS);
    assert_true(is_hot(&w, 0));
    assert_int_equal(code_of(&w, 0)->gas_run, 0); /* it ended in tier 1 */
    assert_int_equal(got.gas_left, direct.gas_left);
    assert_true(cd_hash32_eq(&got.output, &direct.output));
    /* Also where the gas ends in the middle. */
    for (u64 gas = 2000; gas < 4000; gas += 7) {
        world_fini(&w);
        world_init(&w, codes, 1);
        got = call(&w, TIERS_AUTO, gas);
        assert_int_not_equal(got.status, CD_EVM_OK);
        assert_int_equal(got.gas_left, 0);
    }
    world_fini(&w);
    cd_buf_fini(&b);
}

static u64 next_random(u64 *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* A loop over a stack of HEIGHT random words and a counter on top, its body random but level; then all goes into the
 * output. */
static void make_loop(cd_buf *b, u64 *seed, u16 turns)
{
    enum { HEIGHT = 6 };
    static const u8 binary[] = {CD_OP_ADD, CD_OP_MUL, CD_OP_SUB, CD_OP_DIV, CD_OP_SDIV, CD_OP_MOD, CD_OP_XOR,
                                CD_OP_AND, CD_OP_LT,  CD_OP_SHL, CD_OP_SAR, CD_OP_BYTE, CD_OP_SLT, CD_OP_SIGNEXTEND};
    cd_buf_clear(b);
    for (int i = 0; i < HEIGHT; i++) {
        cd_buf_u8(b, CD_OP_PUSH1 + 31);
        for (int k = 0; k < 32; k++) {
            cd_buf_u8(b, (u8)next_random(seed));
        }
    }
    const u8 counter[] = {CD_OP_PUSH1 + 1, (u8)(turns >> 8), (u8)turns};
    cd_buf_put(b, cd_bytes_of(counter, sizeof counter));
    u16 start = (u16)b->n;
    cd_buf_u8(b, CD_OP_JUMPDEST);
    for (u64 i = 1 + next_random(seed) % 12; i > 0; i--) {
        u8 at = (u8)(1 + next_random(seed) % HEIGHT);
        u8 other = (u8)(1 + next_random(seed) % HEIGHT);
        u8 op = binary[next_random(seed) % CD_COUNT(binary)];
        const u8 step[] = {(u8)(CD_OP_DUP1 + at), (u8)(CD_OP_DUP1 + other + 1), op, (u8)(CD_OP_SWAP1 + at), CD_OP_POP};
        cd_buf_put(b, cd_bytes_of(step, sizeof step));
        if (next_random(seed) % 3 == 0) { /* jumps over the next step or not */
            u16 to = (u16)(b->n + 7);
            const u8 jump[] = {(u8)(CD_OP_DUP1 + at), CD_OP_PUSH1 + 1, (u8)(to >> 8), (u8)to,
                               CD_OP_JUMPI,           CD_OP_PC,        CD_OP_POP,     CD_OP_JUMPDEST};
            cd_buf_put(b, cd_bytes_of(jump, sizeof jump));
        }
    }
    const u8 end[] = {CD_OP_PUSH1, 1,           CD_OP_SWAP1,  CD_OP_SUB,       CD_OP_DUP1,
                      CD_OP_DUP1,  CD_OP_MSIZE, CD_OP_MSTORE, CD_OP_PUSH1 + 1, (u8)(start >> 8),
                      (u8)start,   CD_OP_JUMPI, CD_OP_POP};
    cd_buf_put(b, cd_bytes_of(end, sizeof end));
    for (u32 i = 0; i < HEIGHT; i++) {
        const u8 store[] = {CD_OP_PUSH1, (u8)(32 * i), CD_OP_MSTORE};
        cd_buf_put(b, cd_bytes_of(store, sizeof store));
    }
    const u8 out[] = {CD_OP_MSIZE, CD_OP_PUSH0, CD_OP_RETURN};
    cd_buf_put(b, cd_bytes_of(out, sizeof out));
}

static void random_loops(void **state)
{
    (void)state;
    enum { LOOPS = 200 };
    u64 seed = 0x9e3779b97f4a7c15;
    u32 hot = 0;
    cd_buf b = {0};
    for (int i = 0; i < LOOPS; i++) {
        make_loop(&b, &seed, (u16)(1 + next_random(&seed) % 600));
        cd_bytes codes[] = {cd_buf_bytes(&b)};
        world w;
        world_init(&w, codes, 1);
        tiers_result direct = call(&w, TIERS_DIRECT, GAS);
        world_fini(&w);
        world_init(&w, codes, 1);
        tiers_result got = call(&w, TIERS_AUTO, GAS);
        assert_int_equal(direct.status, CD_EVM_OK);
        assert_int_equal(got.status, CD_EVM_OK);
        assert_int_equal(got.gas_left, direct.gas_left);
        assert_true(cd_hash32_eq(&got.output, &direct.output));
        hot += is_hot(&w, 0) ? 1 : 0;
        world_fini(&w);
    }
    assert_true(hot > LOOPS / 3 && hot < LOOPS);
    cd_buf_fini(&b);
}

/* --- the jump map --- */

/* Finds jump destinations byte by byte, as the yellow paper defines them. */
static bool is_jumpdest(cd_bytes code, usize pc)
{
    for (usize i = 0; i < pc;) {
        u8 op = code.p[i];
        i += op >= CD_OP_PUSH1 && op <= CD_OP_PUSH1 + 31 ? 2 + (usize)(op - CD_OP_PUSH1) : 1;
        if (i > pc) {
            return false;
        }
    }
    return code.p[pc] == CD_OP_JUMPDEST;
}

static void jump_maps(void **state)
{
    (void)state;
    u64 seed = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 400; i++) {
        static u8 bytes[700];
        cd_arena a = {0};
        usize n = next_random(&seed) % (i % 3 == 0 ? 3 : i % 3 == 1 ? 200 : sizeof bytes);
        n = i % 7 == 0 ? 64 * (n / 64) : n;
        for (usize k = 0; k < n; k++) {
            static const u8 often[] = {CD_OP_JUMPDEST, CD_OP_PUSH1, CD_OP_PUSH1 + 31, CD_OP_PUSH1 - 1, CD_OP_DUP1};
            u64 what = next_random(&seed) % (4 + (u64)(i % 40));
            bytes[k] = what == 0 ? (u8)next_random(&seed) : what < 5 ? often[next_random(&seed) % 5] : CD_OP_JUMPDEST;
        }
        cd_bytes code = cd_bytes_of(bytes, n);
        cd__code *c = cd__code_temp(&a, code);
        for (usize pc = 0; pc < n; pc++) {
            assert_int_equal(cd__code_can_jump(c, pc), is_jumpdest(code, pc));
        }
        assert_false(cd__code_can_jump(c, n));
        assert_int_equal(cd__code_jumps(c)[n / 64] >> (n % 64), 0);
        cd_arena_fini(&a);
    }
}

/* --- the cache --- */

static cd__code *put(cd__code_cache *c, u8 n)
{
    static const u8 code[1000];
    cd_hash32 hash = {.b = {n}};
    return cd__code_get(c, &hash, cd_bytes_of(code, sizeof code));
}

static bool is_there(const cd__code_cache *c, u8 n)
{
    cd_list_each(it, &c->by_use)
    {
        if (cd_list_of(it, cd__code, by_use)->hash.b[0] == n) {
            return true;
        }
    }
    return false;
}

static void the_longest_unused_goes(void **state)
{
    (void)state;
    cd__code_cache c;
    cd__code_cache_init(&c, 1, 100000, 0);
    usize size = put(&c, 0)->size;
    cd__code_cache_fini(&c);
    cd__code_cache_init(&c, 1, 3 * size, 0);
    (void)put(&c, 1);
    (void)put(&c, 2);
    (void)put(&c, 1); /* used again */
    cd__code_cache_turn(&c);
    (void)put(&c, 3);
    (void)put(&c, 4);
    assert_true(is_there(&c, 1) && is_there(&c, 3) && is_there(&c, 4) && !is_there(&c, 2));
    /* What one message uses stays to its end. */
    for (int i = 0; i < 3; i++) {
        for (u8 n = 3; n < 9; n++) {
            (void)put(&c, n);
        }
    }
    assert_int_equal(c.cnt, 6);
    assert_true(is_there(&c, 3) && !is_there(&c, 1));
    cd__code_cache_turn(&c);
    assert_int_equal(c.bytes, 3 * size);
    assert_true(is_there(&c, 6) && is_there(&c, 7) && is_there(&c, 8));
    cd__code_cache_fini(&c);
}

static struct cd__cells *cells_of(void)
{
    return cd_alloc(64);
}

/* Cells are dropped before code is, and with them the gas that earned them. */
static void cells_have_room_of_their_own(void **state)
{
    (void)state;
    cd__code_cache c;
    cd__code_cache_init(&c, 1, 1 << 20, 1000);
    for (u8 i = 0; i < 4; i++) {
        cd__code *e = put(&c, i);
        e->gas_run = 77;
        e->pins = i == 0 ? 1 : 0;
        cd__code_keep_cells(&c, e, cells_of(), 300);
        e->gas_run = 78;
    }
    assert_int_equal(c.cells_bytes, 900);
    assert_int_equal(c.cnt, 4);
    assert_non_null(put(&c, 0)->cells);
    assert_null(put(&c, 1)->cells);
    assert_int_equal(put(&c, 1)->gas_run, 0);
    assert_non_null(put(&c, 2)->cells);
    assert_int_equal(put(&c, 2)->gas_run, 78);
    /* Larger than all the room: kept as long as it is the one in use. */
    cd__code_keep_cells(&c, put(&c, 3), cells_of(), 5000);
    assert_int_equal(c.cells_bytes, 5300);
    cd__code_keep_cells(&c, put(&c, 2), cells_of(), 100);
    assert_int_equal(c.cells_bytes, 400);
    assert_null(put(&c, 3)->cells);
    cd__code_cache_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_alone_make_nothing_hot),
        cmocka_unit_test(gas_of_messages_does_not_count),
        cmocka_unit_test(forks_take_turns),
        cmocka_unit_test(a_loop_gets_hot),
        cmocka_unit_test(random_loops),
        cmocka_unit_test(jump_maps),
        cmocka_unit_test(the_longest_unused_goes),
        cmocka_unit_test(cells_have_room_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
