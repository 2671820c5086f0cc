/* evm/evm.h - runs messages: calls and creations, with everything they call in turn.
 *
 *   cd_evm_call ──► frame 0 ──CALL──► frame 1 ──CREATE──► frame 2 …     (frames on a heap of their own,
 *        │            │ journaled state (evm/state/state.h)                     never on the C stack)
 *        │            ├ precompiles (evm/precompile/precompile.h)
 *        ▼            └ tracer (evm/tracer.h), costs nothing when NULL
 *   cd_evm_result
 *
 * Transactions (nonce, fee, refund) are one layer up: evm/transition.h. Threading: confined. */
#ifndef CD_EVM_EVM_H
#define CD_EVM_EVM_H

#include "evm/precompile/precompile.h"
#include "evm/rules/rules.h"
#include "evm/state/state.h"
#include "evm/tracer.h"

typedef struct cd_evm cd_evm;
struct cd_access_tuple;
struct cd_predicate_results;

/* What the byte code can ask about the block. */
typedef struct cd_block_env {
    u64 number;
    u64 time;
    u64 gas_limit;
    cd_addr20 coinbase;
    cd_u256 base_fee;
    /* What opcode 0x44 returns: difficulty before Paris, randomness after, or the profile's choice. */
    cd_u256 prev_randao;
    cd_u256 blob_base_fee;
    u64 chain_id;
    bool splits_fee; /* the coinbase gets half of a fee, the rest is destroyed [spec:evm-chain#4] */
    /* Predicates that failed, for precompiles (types/predicate.h); NULL: none. */
    const struct cd_predicate_results *predicates;
} cd_block_env;

/* What the byte code can ask about the transaction. */
typedef struct cd_tx_env {
    cd_addr20 origin;
    cd_u256 gas_price; /* effective price in wei */
    const cd_hash32 *blob_hashes;
    usize blob_cnt;
    /* For precompiles, which find predicates in the access list and the results of these under the hash. */
    const struct cd_access_tuple *access;
    usize access_cnt;
    cd_hash32 hash;
} cd_tx_env;

/* The instructions that start a message. */
typedef enum cd_call_kind {
    CD_CALL,
    CD_CALLCODE,
    CD_DELEGATECALL,
    CD_STATICCALL,
    CD_CREATE,
    CD_CREATE2,
} cd_call_kind;

/* A message call or creation. */
typedef struct cd_evm_msg {
    cd_call_kind kind;
    bool is_static;
    u64 gas;
    cd_addr20 caller;
    /* Account whose storage and balance the code uses; for creations the new address, which the
     * caller of cd_evm_call computes. */
    cd_addr20 to;
    cd_addr20 code; /* account whose code runs; the same as to for plain calls */
    cd_u256 value;
    cd_bytes input; /* call data, or init code */
} cd_evm_msg;

/* How a message ended. Everything but OK and REVERT consumes all gas. */
typedef enum cd_evm_status {
    CD_EVM_OK,
    CD_EVM_REVERT,
    CD_EVM_OUT_OF_GAS,
    CD_EVM_INVALID_OPCODE,
    CD_EVM_STACK_UNDERFLOW,
    CD_EVM_STACK_OVERFLOW,
    CD_EVM_BAD_JUMP,
    CD_EVM_STATIC_VIOLATION,
    CD_EVM_RETURN_OUT_OF_BOUNDS,
    CD_EVM_DEPTH,
    CD_EVM_BALANCE,
    CD_EVM_COLLISION,
    CD_EVM_NONCE_OVERFLOW,
    CD_EVM_CODE_SIZE,    /* deployed code over 24576 bytes (EIP-170) */
    CD_EVM_CODE_PREFIX,  /* deployed code starts with 0xEF (EIP-3541) */
    CD_EVM_CODE_DEPOSIT, /* no gas for storing the code */
    CD_EVM_PRECOMPILE,   /* a precompile refused its input */
    CD_EVM_UNAUTHORIZED, /* an allow list says no */
} cd_evm_status;

/* cd_evm_status_str gives go-ethereum's words for a status ("execution reverted", "out of gas",
 * ...). */
const char *cd_evm_status_str(cd_evm_status s);

/* The result of a message. */
typedef struct cd_evm_result {
    cd_evm_status status;
    u64 gas_left;
    cd_bytes output; /* borrowed until the next call on this cd_evm */
    /* What a stateful precompile or an allow list says about its refusal, borrowed like output; NULL: nothing
     * beyond the words of the status. */
    const char *reason;
} cd_evm_result;

/* cd_evm_result_str gives the words for how a message ended. */
const char *cd_evm_result_str(const cd_evm_result *res);

/* cd_evm_new makes an EVM (arenas for frames, memory and stacks are reused from call to call). */
cd_evm *cd_evm_new(void);
void cd_evm_free(cd_evm *evm);

/* cd_evm_set_block / _set_tx / _set_tracer borrow their arguments until replaced. The state and the
 * precompile table come with the block. tracer NULL = none. */
void cd_evm_set_block(cd_evm *evm, cd_fork fork, cd_profile_id profile, const cd_block_env *block, cd_state *st,
                      const cd_precompile_table *precompiles);
void cd_evm_set_tx(cd_evm *evm, const cd_tx_env *tx);
void cd_evm_set_tracer(cd_evm *evm, cd_tracer *tracer);

/* cd_evm_set_limit sets a function that says whether it is too late to go on. While messages run it is called on their
 * thread: each time a frame has used about every_gas of gas (CD_EVM_EVERY_GAS takes a millisecond) and once in 64
 * frames, but not within a precompile. When it says true, every frame ends as out of gas, the result means nothing,
 * and cd_evm_was_stopped is true until the next message. fn NULL: no limit, as for blocks. */
#define CD_EVM_EVERY_GAS 500000
void cd_evm_set_limit(cd_evm *evm, bool (*fn)(void *ctx), void *ctx, u32 every_gas);
bool cd_evm_was_stopped(const cd_evm *evm);

/* cd_evm_call runs one message on the state. Value transfer, depth, static and collision rules are
 * applied here, and a creation raises the creator's nonce (the caller derived msg->to from the old
 * nonce); on failure the state is as before, except for what survives by rule: the raised nonce of a
 * creator and the warmth of the address it was creating. */
void cd_evm_call(cd_evm *evm, cd_evm_result *res, const cd_evm_msg *msg);

/* cd_evm_forget_hashes empties the memo of keccak results, for measurements. From then on the
 * memo's places follow a known key, so that a run can be repeated instruction by instruction. An EVM
 * that runs code of strangers must not use it: they could make the memo slow. */
void cd_evm_forget_hashes(cd_evm *evm);

/* The address of a contract created by CREATE (caller, nonce) and by CREATE2 (caller, salt,
 * keccak256 of init code). */
void cd_evm_create_addr(cd_addr20 *out, const cd_addr20 *caller, u64 nonce);
void cd_evm_create2_addr(cd_addr20 *out, const cd_addr20 *caller, const cd_hash32 *salt, const cd_hash32 *init_hash);

/* How code runs. AUTO: byte code runs directly at first and is translated into cells when it is hot
 * (evm-performance.md §0). The others force one tier, for tests: no result may depend on the tier. */
typedef enum cd_evm_tier { CD_TIER_AUTO, CD_TIER_DIRECT, CD_TIER_CELLS } cd_evm_tier;
/* cd_evm_set_tier chooses how code runs from the next call on; AUTO unless it is called. */
void cd_evm_set_tier(cd_evm *evm, cd_evm_tier tier);

#endif
