/* precompile/module_priv.h - what the modules share: the inside of a row, and how a function of a module
 * is written.
 *
 *   input ──selector──► row of functions ──► handler: charge, read-only, arguments, rights, event, effect
 *
 * Handlers leave the unused gas in call->gas; when one fails, the EVM takes that, too.
 * Threading: as the call. [spec:precompiles-core#2] */
#ifndef CD_PRECOMPILE_MODULE_PRIV_H
#define CD_PRECOMPILE_MODULE_PRIV_H

#include "evm/evm.h"
#include "precompile/module.h"
#include "types/addr_text.h"

/* Gas of the parts that prices are made of. */
enum {
    CD__MOD_GAS_WRITE = 20000,
    CD__MOD_GAS_READ = 5000,
    CD__MOD_GAS_LOG = 375,
    CD__MOD_GAS_TOPIC = 375,
    CD__MOD_GAS_LOG_BYTE = 8,
};

/* A module in force, for the functions of the module. */
typedef struct cd__mod_env {
    const cd_module_config *config;
    cd_addr20 addr;
    bool is_durango;
    bool is_granite;
    u32 network_id;
    cd_hash32 chain_id;
} cd__mod_env;

/* A function of a module; args is the input behind the selector. */
typedef cd_precompile_outcome (*cd__mod_fn)(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args);

#define FN(symbol, selector, signature, handler)                                                                       \
    cd_precompile_outcome handler(cd_precompile_call *call, const cd__mod_env *env, cd_bytes args);
#define ALLOW_LIST_FN(selector, signature, handler) FN(, selector, signature, handler)
#include "precompile/modules.def"

/* One activation: the account has its nonce and code, the module writes its storage. */
typedef struct cd__mod_activation {
    cd_state *st;
    cd_acct *acct;
    const cd_module_config *config;
    const cd_fee_config *fee;  /* the fee configuration of the chain */
    bool allow_fee_recipients; /* as the chain's configuration says */
    u64 number;                /* number of the block */
} cd__mod_activation;

void cd__allow_activate(const cd__mod_activation *x);
void cd__minter_activate(const cd__mod_activation *x);
void cd__fee_activate(const cd__mod_activation *x);
void cd__reward_activate(const cd__mod_activation *x);

/* cd__mod_run is the cd_precompile_fn of every module; cfg is a cd__mod_env. cd__mod_activate writes the
 * storage that the module has when it is switched on. */
cd_precompile_outcome cd__mod_run(cd_precompile_call *call, const void *cfg);
void cd__mod_activate(const cd__mod_activation *x);

/* cd__warp_predicate_gas prices a tuple addressed to Warp (cd_predicate_gas_fn). */
bool cd__warp_predicate_gas(u64 *out, const cd_hash32 *keys, usize cnt, const void *cfg);

/* --- writing a handler --- */

/* cd__mod_charge takes gas from the call; false when there is not enough, and then no gas is left. */
CD_INLINE CD_CHECK bool cd__mod_charge(cd_precompile_call *call, u64 gas)
{
    bool pays = call->gas >= gas;
    call->gas = pays ? call->gas - gas : 0;
    return pays;
}

/* cd__mod_refuse fails a call with the given words; cd__mod_deny does so because the caller has not the role for it. */
#define cd__mod_refuse(call, ...) ((call)->reason = cd_arena_fmt((call)->arena, __VA_ARGS__), CD_PRE_FAIL)
#define cd__mod_deny(call, ...)   ((call)->reason = cd_arena_fmt((call)->arena, __VA_ARGS__), CD_PRE_DENIED)

/* cd__mod_write_protection fails a call that would write under STATICCALL. */
CD_INLINE cd_precompile_outcome cd__mod_write_protection(cd_precompile_call *call)
{
    call->reason = cd_evm_status_str(CD_EVM_STATIC_VIOLATION);
    return CD_PRE_FAIL;
}

/* cd__mod_args_complaint gives a complaint, which starts with prefix, when the arguments are shorter than
 * cnt 32-byte words, else NULL. */
const char *cd__mod_args_complaint(cd_precompile_call *call, cd_bytes args, usize cnt, const char *prefix);

/* cd__mod_arg reads word i of the arguments, cd__mod_arg_addr its low 20 bytes. */
CD_INLINE cd_u256 cd__mod_arg(cd_bytes args, usize i)
{
    cd_u256 v;
    cd_u256_load_be(&v, args.p + 32 * i);
    return v;
}
CD_INLINE cd_addr20 cd__mod_arg_addr(cd_bytes args, usize i)
{
    cd_addr20 a;
    memcpy(a.b, args.p + 32 * i + 12, 20);
    return a;
}

/* cd__mod_return_words makes cnt words the output. */
cd_precompile_outcome cd__mod_return_words(cd_precompile_call *call, const cd_u256 *words, usize cnt);

/* cd__mod_load / cd__mod_store access the module's own storage. */
cd_u256 cd__mod_load(cd_precompile_call *call, const cd__mod_env *env, const cd_u256 *key);
void cd__mod_store(cd_precompile_call *call, const cd__mod_env *env, const cd_u256 *key, const cd_u256 *value);

/* cd__mod_key_at_front gives a key whose first bytes are text and whose rest is zero. */
cd_u256 cd__mod_key_at_front(const char *text);

/* cd__mod_emit logs an event of the module. topic is the hash of the event's signature. */
typedef struct cd__mod_event {
    cd_hash32 topic;
    cd_u256 indexed[3];
    u32 indexed_cnt;
    cd_bytes data;
} cd__mod_event;
void cd__mod_emit(cd_precompile_call *call, const cd__mod_env *env, const cd__mod_event *e);

/* --- allow lists --- */

/* cd__mod_role_of gives the role of who; cd__mod_has_access tells whether the caller has any role. */
cd_role cd__mod_role_of(cd_precompile_call *call, const cd__mod_env *env, const cd_addr20 *who);
bool cd__mod_has_access(cd_precompile_call *call, const cd__mod_env *env);

/* --- what a schedule keeps of the chain's configuration --- */

struct cd_schedule;
const cd_fee_config *cd__schedule_fee(const struct cd_schedule *s);
bool cd__schedule_allow_fee_recipients(const struct cd_schedule *s);

/* cd__warp_sent_topic gives the hash of the event of a sent message. */
const cd_hash32 *cd__warp_sent_topic(void);

/* --- formats of stored values --- */

/* The eight values of a fee configuration in the order of the contract's interface. */
enum { CD__FEE_FIELDS = 8 };
void cd__fee_to_words(cd_u256 out[CD__FEE_FIELDS], const cd_fee_config *f);
cd_fee_config cd__fee_of_words(const cd_u256 w[CD__FEE_FIELDS]);

/* Keys of the fee manager's and the reward manager's storage. */
cd_u256 cd__fee_key(usize field);
cd_u256 cd__fee_key_changed(void);
cd_u256 cd__reward_key(void);

/* cd__reward_is_free tells whether the stored value allows any coinbase. */
bool cd__reward_is_free(const cd_u256 *stored);

#endif
