/* Calls of any bytes to every stateful module, one after another on one state, through the EVM.
 *
 * Byte 0: rules. Then calls of: module, caller, kind, gas in thousands (2 bytes), function (0: none),
 * length, so many bytes of arguments. Before the calls, byte 1 words become a predicate of the transaction.
 * A call never gives gas back that it did not have; one that fails, reverts or is static changes nothing,
 * and says why in words that end. */
#include "evm/evm.h"
#include "evm/test/empty_source.h"
#include "precompile/schedule.h"
#include "types/tx.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { RULES = 3, CALLERS = 5, CALLS_MAX = 64 };

static const u32 selectors[] = {
#define FN(symbol, selector, signature, handler)    selector,
#define ALLOW_LIST_FN(selector, signature, handler) selector,
#include "precompile/modules.def"
};

/* Made once, for as long as the process runs. */
static struct {
    cd_schedule *schedules[RULES];
    cd_state *st;
    cd_evm *evm;
} w;

/* Every module in force, with an admin a001, a manager a002 and an enabled a003. */
static cd_schedule *make_schedule(usize rules)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_json config;
    const cd_chain_config chain = {
        .durango.is_set = rules != 0,
        .shanghai.is_set = rules != 0,
        .granite.is_set = rules == 2,
        .fee =
            {
                .gas_limit = cd_u256_from_u64(8000000),
                .target_block_rate = 2,
                .target_gas = cd_u256_from_u64(15000000),
                .base_fee_change_denominator = cd_u256_from_u64(36),
                .max_block_gas_cost = cd_u256_from_u64(1000000),
            },
    };
    for (usize i = 0; i < CD_MODULE_COUNT; i++) {
        cd_buf_fmt(&text,
                   "%s\"%s\":{\"blockTimestamp\":0,"
                   "\"adminAddresses\":[\"0x000000000000000000000000000000000000a001\"],"
                   "\"managerAddresses\":[\"0x000000000000000000000000000000000000a002\"],"
                   "\"enabledAddresses\":[\"0x000000000000000000000000000000000000a003\"]}",
                   i == 0 ? "{" : ",", cd_module_get((cd_module_id)i)->key);
    }
    cd_buf_str(&text, "}");
    cd_schedule *s = NULL;
    cd_err e = cd_json_parse(&config, &a, cd_buf_bytes(&text), 0, NULL);
    CD_ASSERT(e == CD_OK);
    e = cd_schedule_new(&s, &(cd_schedule_cfg){.chain = &chain, .config = config, .unverified = true}, NULL);
    CD_ASSERT(e == CD_OK);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return s;
}

/* A digest of everything that differs from an empty state. */
static void mix(u64 *sum, const void *p, usize n)
{
    const u8 *b = p;
    for (usize i = 0; i < n; i++) {
        *sum = (*sum ^ b[i]) * 0x100000001b3;
    }
}

static cd_err mix_acct(void *ctx, const cd_acct *a, bool exists, bool wiped)
{
    mix(ctx, a->addr.b, 20);
    mix(ctx, &exists, sizeof exists);
    mix(ctx, &wiped, sizeof wiped);
    mix(ctx, &a->balance, sizeof a->balance);
    mix(ctx, &a->nonce, sizeof a->nonce);
    return CD_OK;
}

static cd_err mix_slot(void *ctx, const cd_acct *a, const cd_slot *s)
{
    (void)a;
    mix(ctx, &s->key, sizeof s->key);
    mix(ctx, &s->value, sizeof s->value);
    return CD_OK;
}

static u64 digest(void)
{
    u64 sum = 0xcbf29ce484222325;
    usize logs;
    (void)cd_state_logs(w.st, &logs);
    mix(&sum, &logs, sizeof logs);
    cd_err e = cd_state_changes(w.st, &(cd_state_visitor){.ctx = &sum, .acct = mix_acct, .slot = mix_slot});
    CD_ASSERT(e == CD_OK);
    return sum;
}

/* The input, byte by byte; zeros behind its end. */
typedef struct feed {
    const u8 *p;
    usize n;
} feed;

static u8 next(feed *f)
{
    if (f->n == 0) {
        return 0;
    }
    f->n--;
    return *f->p++;
}

static cd_bytes take(feed *f, usize n)
{
    n = n < f->n ? n : f->n;
    cd_bytes b = cd_bytes_of(f->p, n);
    f->p += n;
    f->n -= n;
    return b;
}

static void one_call(feed *f, const cd_schedule *s, cd_buf *input)
{
    static const cd_call_kind kinds[] = {CD_CALL, CD_CALL, CD_STATICCALL, CD_DELEGATECALL, CD_CALLCODE};
    const cd_addr20 *module = cd_schedule_addr(s, (cd_module_id)(next(f) % CD_MODULE_COUNT));
    cd_addr20 caller = {.b = {[18] = 0xa0, [19] = (u8)(1 + next(f) % CALLERS)}};
    cd_call_kind kind = kinds[next(f) % CD_COUNT(kinds)];
    u64 gas = 256000 * (u64)next(f);
    gas += 1000 * (u64)next(f);
    u8 fn = next(f);
    cd_buf_clear(input);
    if (fn != 0) {
        cd_put_be32(cd_buf_extend(input, 4), selectors[fn % CD_COUNT(selectors)]);
    }
    cd_buf_put(input, take(f, next(f)));
    bool delegated = kind == CD_DELEGATECALL || kind == CD_CALLCODE;
    u64 before = digest();
    cd_evm_result res;
    cd_evm_call(w.evm, &res,
                &(cd_evm_msg){
                    .kind = kind,
                    .is_static = kind == CD_STATICCALL,
                    .gas = gas,
                    .caller = caller,
                    .to = delegated ? caller : *module,
                    .code = *module,
                    .input = cd_buf_bytes(input),
                });
    CD_ASSERT(res.gas_left <= gas);
    CD_ASSERT(strlen(cd_evm_result_str(&res)) != 0);
    CD_ASSERT(delegated == (res.status == CD_EVM_REVERT));
    if (res.status != CD_EVM_OK && res.status != CD_EVM_REVERT) {
        CD_ASSERT(res.gas_left == 0 && res.output.n == 0);
    }
    if (res.status != CD_EVM_OK || kind == CD_STATICCALL) {
        CD_ASSERT(digest() == before);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (w.evm == NULL) {
        w.st = cd_state_new(&nothing);
        w.evm = cd_evm_new();
        for (usize i = 0; i < RULES; i++) {
            w.schedules[i] = make_schedule(i);
        }
    }
    feed f = {.p = data, .n = size};
    const cd_schedule *s = w.schedules[next(&f) % RULES];
    static const cd_block_env block = {.number = 9};
    cd_bytes words = take(&f, 32 * (usize)next(&f));
    cd_hash32 keys[256];
    usize key_cnt = words.n / 32;
    if (key_cnt != 0) {
        memcpy(keys, words.p, 32 * key_cnt);
    }
    const cd_access_tuple tuple = {.addr = *cd_schedule_addr(s, CD_MODULE_WARP), .keys = keys, .key_cnt = key_cnt};
    const cd_tx_env tx = {.access = &tuple, .access_cnt = 1};
    cd_buf input = {0};
    cd_state_reset(w.st, &nothing);
    cd_state_clear_logs(w.st);
    cd_schedule_apply(s, w.st, NULL, 0, 0);
    cd_state_begin_tx(w.st);
    cd_evm_set_block(w.evm, CD_SHANGHAI, CD_PROFILE_L1, &block, w.st, cd_schedule_table(s, 0));
    cd_evm_set_tx(w.evm, &tx);
    for (usize i = 0; i < CALLS_MAX && f.n != 0; i++) {
        one_call(&f, s, &input);
    }
    cd_evm_set_tx(w.evm, NULL);
    cd_buf_fini(&input);
    return 0;
}
