/* New coins, for any recipient that an enabled address names. [spec:precompiles-core#6] */
#include "precompile/module_priv.h"

enum {
    GAS_MINT = 30000,
    GAS_EVENT = CD__MOD_GAS_LOG + 3 * CD__MOD_GAS_TOPIC + 32 * CD__MOD_GAS_LOG_BYTE,
    ARGS = 2,
};

/* NativeCoinMinted(address indexed sender, address indexed recipient, uint256 amount) */
static const cd_hash32 MINTED = {.b = {0x40, 0x0c, 0xd3, 0x92, 0xf3, 0xd5, 0x6f, 0xd1, 0x0b, 0xb1, 0xdb,
                                       0xd5, 0x83, 0x9f, 0xdd, 0xa8, 0x29, 0x82, 0x08, 0xdd, 0xaa, 0x97,
                                       0xb3, 0x68, 0xfa, 0xa0, 0x53, 0xe1, 0x85, 0x09, 0x30, 0xee}};

cd_precompile_outcome cd__minter_mint(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args)
{
    if (!cd__mod_charge(call, GAS_MINT)) {
        return CD_PRE_OUT_OF_GAS;
    }
    if (call->is_static) {
        return cd__mod_write_protection(call);
    }
    if (!env->is_durango && args.n != (usize)32 * ARGS) {
        return cd__mod_refuse(call, "invalid input length for minting: %zu", args.n);
    }
    call->reason = cd__mod_args_complaint(call, args, ARGS, "failed to unpack input: ");
    if (call->reason != NULL) {
        return CD_PRE_FAIL;
    }
    if (!cd__mod_has_access(call, env)) {
        char caller[CD_ADDR_TEXT_SIZE];
        return cd__mod_deny(call, "non-enabled cannot mint: %s", cd_addr_fmt(caller, &call->caller));
    }
    cd_addr20 to = cd__mod_arg_addr(args, 0);
    cd_u256 amount = cd__mod_arg(args, 1);
    if (env->is_durango) {
        if (!cd__mod_charge(call, GAS_EVENT)) {
            return CD_PRE_OUT_OF_GAS;
        }
        cd__mod_emit(call, env,
                     &(cd__mod_event){
                         .topic = MINTED,
                         .indexed = {cd_u256_from_addr(&call->caller), cd_u256_from_addr(&to)},
                         .indexed_cnt = 2,
                         .data = cd_bytes_sub(args, 32, 32),
                     });
    }
    cd_state_add_balance(call->state, cd_state_acct(call->state, &to), &amount);
    return CD_PRE_OK;
}

void cd__minter_activate(const cd__mod_activation *x)
{
    for (usize i = 0; i < x->config->own.minter.cnt; i++) {
        const cd_mint *m = &x->config->own.minter.items[i];
        cd_state_add_balance(x->st, cd_state_acct(x->st, &m->addr), &m->amount);
    }
}
