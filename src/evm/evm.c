#include "evm/evm.h"

#include "base/mem/mem.h"
#include "evm/evm_priv.h"
#include "evm/interp/cells.h"

#include <sys/random.h>
#include <time.h>

enum { FIRST_MEMORY = 64 << 10 };

#define STACK_BYTES (((usize)CD__FRAMES_MAX * CD__STACK_MAX + CD__STACK_SLACK) * sizeof(cd_u256))

/* keys fills out with numbers that outsiders cannot guess; they have no influence on results, only on speed. */
static void keys(u64 out[3])
{
    if (getrandom(out, 3 * sizeof(u64), GRND_NONBLOCK) != 3 * (long)sizeof(u64)) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        for (u64 i = 0; i < 3; i++) {
            out[i] = ((u64)now.tv_nsec + i) * 0x9e3779b97f4a7c15;
        }
    }
}

cd_evm *cd_evm_new(void)
{
    cd_evm *evm = cd_new(cd_evm);
    u64 key[3];
    keys(key);
    evm->memo = cd_keccak_memo_new(key);
    cd__code_cache_init(&evm->codes, key[2], CD__CODE_CACHE_BYTES, CD__CELLS_CACHE_BYTES);
    evm->frames = cd_new_array(cd__frame, CD__FRAMES_MAX);
    /* The system gives zero pages, of which only those take memory that a chain of calls reaches. The
     * stack begins at a cache line. */
    evm->stack_block = cd_alloc(STACK_BYTES + 64);
    evm->stack = (cd_u256 *)(void *)(evm->stack_block + (-(uintptr_t)evm->stack_block & 63));
    cd__mem_init(evm, FIRST_MEMORY);
    return evm;
}

void cd_evm_free(cd_evm *evm)
{
    if (evm == NULL) {
        return;
    }
    cd_keccak_memo_free(evm->memo);
    cd__code_cache_fini(&evm->codes);
    cd_arena_fini(&evm->init_code);
    cd_arena_fini(&evm->scratch);
    cd_free(evm->frames);
    cd_free(evm->stack_block);
    cd_free(evm->mem_block);
    cd_free(evm->ret_buf);
    cd_free(evm);
}

static void fill_labels(const void **labels, const void *const *all, cd_fork fork)
{
    for (u32 op = 0; op < 256; op++) {
        const cd_op_info *info = cd_op_info_get((u8)op);
        bool defined = info->name != NULL && info->since <= fork;
        labels[op] = all[defined ? op : 256];
    }
}

static void choose_labels(cd_evm *evm)
{
    bool steps = evm->tracer != NULL && !evm->tracer->calls_only;
    evm->labels = steps ? evm->traced_labels : evm->direct_labels;
}

void cd_evm_set_block(cd_evm *evm, cd_fork fork, cd_profile_id profile, const cd_block_env *block, cd_state *st,
                      const cd_precompile_table *precompiles)
{
    evm->profile = cd_profile_get(profile);
    evm->block = block;
    evm->st = st;
    evm->precompiles = precompiles;
    if (evm->labels == NULL || evm->fork != fork) {
        evm->fork = fork;
        evm->gas = cd_gas_of(fork);
        fill_labels(evm->direct_labels, cd__direct_handlers(), fork);
        fill_labels(evm->traced_labels, cd__traced_handlers(), fork);
    }
    choose_labels(evm);
}

void cd_evm_set_tx(cd_evm *evm, const cd_tx_env *tx)
{
    evm->tx = tx;
}

void cd_evm_set_tracer(cd_evm *evm, cd_tracer *tracer)
{
    evm->tracer = tracer;
    if (tracer != NULL) {
        tracer->calls_only = tracer->calls_only && tracer->step == NULL;
        tracer->until_poll = CD_TRACE_POLL;
    }
    choose_labels(evm);
}

void cd_evm_set_limit(cd_evm *evm, bool (*fn)(void *ctx), void *ctx, u32 every_gas)
{
    evm->is_late = fn;
    evm->late_ctx = ctx;
    evm->slice = every_gas;
    evm->frames_left = CD__FRAMES_PER_ASK;
}

bool cd_evm_was_stopped(const cd_evm *evm)
{
    return evm->is_stopped;
}

i64 cd__slice_next(cd__frame *f, i64 gas, i64 need)
{
    cd_evm *evm = f->evm;
    if (f->held == 0) {
        return -1;
    }
    f->gas = gas + f->held;
    evm->is_stopped = evm->is_late(evm->late_ctx);
    if (evm->is_stopped) {
        return -1;
    }
    i64 slice = need > evm->slice ? need : evm->slice;
    f->held = f->gas > slice ? f->gas - slice : 0;
    return f->gas - f->held;
}

/* may_run asks is_late once in CD__FRAMES_PER_ASK frames, because a short frame never comes to the end of a slice. */
static bool may_run(cd_evm *evm)
{
    if (!evm->is_stopped && --evm->frames_left == 0) {
        evm->frames_left = CD__FRAMES_PER_ASK;
        evm->is_stopped = evm->is_late(evm->late_ctx);
    }
    return !evm->is_stopped;
}

void cd_evm_set_tier(cd_evm *evm, cd_evm_tier tier)
{
    evm->tier = tier;
}

void cd_evm_forget_hashes(cd_evm *evm)
{
    static const u64 key[2] = {0x243f6a8885a308d3, 0x13198a2e03707344}; /* digits of pi */
    cd_keccak_memo_clear(evm->memo, key);
}

/* run_frames runs the frame on top and whatever it enters until the outermost has ended. */
static void run_frames(cd_evm *evm)
{
    cd__frame *f;
    while ((f = evm->top) != NULL) {
        cd__run what = CD__RUN_ENDED;
        if (CD_UNLIKELY(evm->is_late != NULL) && !may_run(evm)) {
            f->status = CD_EVM_OUT_OF_GAS;
            cd__frame_finish(f);
            continue;
        }
        switch ((cd__tier)f->tier) {
        case CD__RUN_DIRECT:
            what = cd__run_direct(f);
            break;
        case CD__RUN_TRACED:
            what = cd__run_traced(f);
            break;
        case CD__RUN_CELLS:
            what = cd__run_cells(f);
            break;
        }
        if (what == CD__RUN_ENDED) {
            cd__frame_finish(f);
        }
    }
}

/* trim_memory frees the memory of an earlier call if it has grown beyond CD__MEM_KEEP. */
static void trim_memory(cd_evm *evm)
{
    if (evm->mem_cap > CD__MEM_KEEP) {
        cd_free(evm->mem_block);
        cd__mem_init(evm, FIRST_MEMORY);
    }
}

void cd_evm_call(cd_evm *evm, cd_evm_result *res, const cd_evm_msg *msg)
{
    CD_ASSERT(evm->top == NULL);
    trim_memory(evm);
    evm->is_stopped = false;
    /* Gas is counted in an i64; what a message has beyond that can never be used up. */
    cd_evm_msg m = *msg;
    u64 spare = m.gas > INT64_MAX ? m.gas - INT64_MAX : 0;
    m.gas -= spare;
    bool is_create = m.kind == CD_CREATE || m.kind == CD_CREATE2;
    cd__act act = is_create ? cd__begin_create(evm, res, &m) : cd__begin_call(evm, res, &m);
    if (act == CD__ACT_ENTER) {
        run_frames(evm);
        const cd__frame *f = &evm->frames[0];
        *res = (cd_evm_result){.status = f->status, .gas_left = (u64)f->gas, .output = f->output};
    }
    cd__code_cache_turn(&evm->codes);
    if (res->status == CD_EVM_OK || res->status == CD_EVM_REVERT || res->gas_left != 0) {
        res->gas_left += spare;
    }
}

const char *cd_evm_status_str(cd_evm_status s)
{
    switch (s) {
    case CD_EVM_OK:
        return "success";
    case CD_EVM_REVERT:
        return "execution reverted";
    case CD_EVM_OUT_OF_GAS:
        return "out of gas";
    case CD_EVM_INVALID_OPCODE:
        return "invalid opcode";
    case CD_EVM_STACK_UNDERFLOW:
        return "stack underflow";
    case CD_EVM_STACK_OVERFLOW:
        return "stack limit reached";
    case CD_EVM_BAD_JUMP:
        return "invalid jump destination";
    case CD_EVM_STATIC_VIOLATION:
        return "write protection";
    case CD_EVM_RETURN_OUT_OF_BOUNDS:
        return "return data out of bounds";
    case CD_EVM_DEPTH:
        return "max call depth exceeded";
    case CD_EVM_BALANCE:
        return "insufficient balance for transfer";
    case CD_EVM_COLLISION:
        return "contract address collision";
    case CD_EVM_NONCE_OVERFLOW:
        return "nonce uint64 overflow";
    case CD_EVM_CODE_SIZE:
        return "max code size exceeded";
    case CD_EVM_CODE_PREFIX:
        return "invalid code: must not begin with 0xef";
    case CD_EVM_CODE_DEPOSIT:
        return "contract creation code storage out of gas";
    case CD_EVM_PRECOMPILE:
        return "precompile failed";
    case CD_EVM_UNAUTHORIZED:
        return "unauthorized";
    }
    CD_UNREACHABLE();
}

const char *cd_evm_result_str(const cd_evm_result *res)
{
    return res->reason != NULL ? res->reason : cd_evm_status_str(res->status);
}
