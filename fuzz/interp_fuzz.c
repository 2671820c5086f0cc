/* Any byte code on every tier: byte 0 chooses the fork, bytes 1 and 2 the gas in hundreds, byte 3
 * how much of the rest is call data (in 256ths); what remains is the code of the called contract.
 * With the highest bit of byte 0 the code finds words of the call data on its stack, so that it
 * does not fail at once. Three more accounts run parts of it, so that calls lead somewhere. All
 * tiers must agree in result, gas, output, logs and state, and each traced step must cost what was
 * announced. */
#include "evm/test/tiers.h"

#include "base/mem/buf.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size < 4 || size > 60000) {
        return 0;
    }
    static cd_evm *evm;
    static cd_state *st;
    static cd_state_source none;
    if (evm == NULL) {
        evm = cd_evm_new();
        st = cd_state_new(&none);
    }
    usize input_len = (size - 4) * data[3] / 256;
    cd_bytes input = cd_bytes_of(data + 4, input_len);
    cd_bytes code = cd_bytes_of(data + 4 + input_len, size - 4 - input_len);
    cd_buf with_stack = {0};
    if (data[0] >= 0x80) {
        for (u8 i = 0; i < 20; i++) {
            const u8 load[] = {CD_OP_PUSH1, (u8)(i * 8), CD_OP_CALLDATALOAD};
            cd_buf_put(&with_stack, cd_bytes_of(load, i % 4 == 3 ? 2 : 3));
        }
        cd_buf_put(&with_stack, code);
        code = cd_buf_bytes(&with_stack);
    }
    const tiers_account accounts[] = {
        {.addr = {.b = {[19] = 0xee}}, .balance = 1000000},
        {.addr = {.b = {[19] = 0xc0}}, .balance = 1000, .nonce = 1, .code = code, .slot_0 = 1},
        {.addr = {.b = {[19] = 0x11}}, .nonce = 1, .code = cd_bytes_sub(code, 0, code.n / 2)},
        {.addr = {.b = {[19] = 0x12}}, .code = cd_bytes_sub(code, code.n / 2, code.n - code.n / 2)},
        {.addr = {.b = {[19] = 0x13}}, .balance = 3},
    };
    const tiers_run run = {.fork = (cd_fork)((data[0] & 0x7f) % CD_FORK_COUNT),
                           .accounts = accounts,
                           .account_cnt = CD_COUNT(accounts),
                           .msg = {.kind = CD_CALL,
                                   .gas = (u64)cd_be16(data + 1) * 100,
                                   .caller = accounts[0].addr,
                                   .to = accounts[1].addr,
                                   .code = accounts[1].addr,
                                   .value = cd_u256_from_u64(data[1] & 1),
                                   .input = input}};
    (void)tiers_all(evm, st, &run);
    cd_buf_fini(&with_stack);
    return 0;
}
