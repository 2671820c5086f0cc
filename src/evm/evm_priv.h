/* evm/evm_priv.h - the inside of cd_evm: frames, stack, memory, and what the interpreters share.
 *
 *   frames   [0][1][2]...          one per nesting level, an array made once
 *   stack    |frame 0 ..sp|frame 1 ..sp|frame 2 ..      one array: a child's base is its caller's top, so
 *                                                       nested calls stay in the same cache lines
 *   memory   |frame 0 bytes|frame 1 bytes|              one growing block, likewise nested
 *
 * A frame that is not running keeps its registers (ip, sp, gas) in its struct; an interpreter keeps
 * them in locals. Each frame may run on a different tier. Threading: confined.
 * [spec:evm-performance#3] */
#ifndef CD_EVM_EVM_PRIV_H
#define CD_EVM_EVM_PRIV_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "crypto/hash/keccak.h"
#include "evm/evm.h"
#include "evm/interp/code.h"
#include "evm/interp/opcode.h"
#include "evm/rules/gas.h"
#include "num/modular.h"

enum {
    CD__STACK_MAX = 1024,
    CD__FRAMES_MAX = CD_CALL_DEPTH_MAX + 1,
    /* Slots above a full stack that tier 1 may use for temporaries. */
    CD__STACK_SLACK = 1024,
};

/* No frame's memory grows beyond this; the gas for it (3.6e13) is out of reach of any block. */
#define CD__MEM_MAX (1ULL << 32)

/* Memory begins at a cache line: copies between aligned addresses are fastest. */
#define CD__MEM_ALIGN 64

/* Bytes of memory that are kept from one outermost call to the next; a bigger block is freed. */
#define CD__MEM_KEEP (64ULL << 20)

typedef enum cd__tier {
    CD__RUN_DIRECT,
    CD__RUN_TRACED,
    CD__RUN_CELLS,
} cd__tier;

typedef struct cd__frame {
    cd_evm *evm;
    const void *ip; /* const u8 * in tier 0, const cd__cell * in tier 1 */
    cd_u256 *sp;    /* the top item; == base when the stack is empty */
    i64 gas;
    cd_u256 *base; /* the place below the first item, which this frame never reads or writes */
    u8 *mem;
    u64 mem_limit; /* a 32-byte access at an offset below this lies within mem_size: mem_size - 31, or 0 */
    u64 mem_size;  /* bytes, a multiple of 32 */
    u64 mem_clean; /* bytes from mem_size up to here are zero, until a callee uses them */
    cd__code *code;
    cd_acct *self;
    cd_bytes input;
    cd_u256 value;
    cd_addr20 addr; /* address of self */
    cd_addr20 caller;
    u8 kind; /* cd_call_kind */
    u8 tier; /* cd__tier */
    bool is_static;
    u32 depth;            /* 0 = outermost */
    cd_evm_status status; /* how the frame ended */
    cd_bytes output;      /* output of the frame, in its memory */
    cd_snapshot snapshot;
    u64 out_off; /* where the caller wants the output, in the caller's memory */
    u64 out_len;
    i64 gas_start; /* gas that the frame was given */
    i64 held;      /* gas that the running interpreter does not have yet: kept for later slices (cd__slice_next) */
    i64 gas_inner; /* gas that was used up by the messages this frame sent */
    i64 hot_at;    /* tier 0: a frame with less gas left than this goes on in tier 1 at its next jump */
    cd_addr20 code_addr;
    cd_arena_mark init_mark;
} cd__frame;

struct cd_evm {
    cd__frame *top;            /* the running frame */
    const void *const *labels; /* tier 0: handler of each byte, for the fork and traced or not */
    cd_state *st;
    cd_gas gas;
    cd_fork fork;
    const cd_profile *profile;
    const cd_block_env *block;
    const cd_tx_env *tx;
    const cd_precompile_table *precompiles;
    cd_tracer *tracer;
    cd_evm_tier tier;
    cd_keccak_memo *memo;
    cd_modctx modctx; /* reciprocals of the moduli used lately, shared by all frames */
    cd_bytes ret;     /* return data of the running frame's last call, in ret_buf or static memory */
    u8 *ret_buf;
    usize ret_cap;
    u8 *mem; /* memory of all frames, in mem_block */
    u8 *mem_block;
    usize mem_cap;
    cd__frame *frames;
    cd_u256 *stack; /* in stack_block */
    u8 *stack_block;
    cd__code_cache codes;
    cd_arena init_code; /* cd__code of creations under way */
    cd_arena scratch;   /* outputs of precompiles, until they are copied */
    const void *direct_labels[256];
    const void *traced_labels[256];
    bool (*is_late)(void *ctx); /* says that it is too late to go on; NULL: it never is */
    void *late_ctx;
    i64 slice;
    u32 frames_left; /* frames to start until is_late is asked again */
    bool is_stopped; /* is_late has ended the message */
    /* Tracing: the instruction that the tracer was told of last; a frame that fails fails in it. */
    u8 step_op;
    u32 step_height;
    u64 step_gas;
    char trace_text[CD_TRACE_ERROR_MAX];
};

/* --- failures --- */

/* Functions that charge gas return the gas that is left, or a failure as the negative of its
 * cd_evm_status. Only inside the interpreters may plain exhaustion be any other negative number. */
CD_INLINE i64 cd__failed(cd_evm_status s)
{
    return -(i64)s;
}

/* cd__swap exchanges two words limb by limb. */
CD_INLINE void cd__swap(cd_u256 *a, cd_u256 *b)
{
    u64 a0 = a->w[0];
    u64 a1 = a->w[1];
    u64 a2 = a->w[2];
    u64 a3 = a->w[3];
    CD__LIMB_PIN(a0, a1, a2, a3);
    cd_u256_set(a, b);
    b->w[0] = a0;
    b->w[1] = a1;
    b->w[2] = a2;
    b->w[3] = a3;
}

/* --- memory --- */

/* cd__mem_init takes a block for the memory of all frames. */
void cd__mem_init(cd_evm *evm, usize cap);

/* cd__mem_grow extends the frame's memory by zero bytes, so that it reaches to end, and charges for it. */
i64 cd__mem_grow(cd__frame *f, u64 end, i64 gas) CD_CHECK;

/* cd__mem_range charges for the use of memory [off, off + len), where both may be any 256-bit number;
 * len 0 uses nothing. Afterwards, when len != 0, off->w[0] + len->w[0] <= f->mem_size. */
CD_INLINE CD_CHECK i64 cd__mem_range(cd__frame *f, const cd_u256 *off, const cd_u256 *len, i64 gas)
{
    if (cd_u256_is_zero(len)) {
        return gas;
    }
    u64 high = off->w[1] | off->w[2] | off->w[3] | len->w[1] | len->w[2] | len->w[3];
    u64 end;
    if (CD_UNLIKELY(high != 0 || !cd_add_u64(&end, off->w[0], len->w[0]))) {
        return cd__failed(CD_EVM_OUT_OF_GAS);
    }
    return CD_LIKELY(end <= f->mem_size) ? gas : cd__mem_grow(f, end, gas);
}

/* cd__mem_touch is cd__mem_range for n bytes, out of line: for accesses that a comparison with
 * mem_limit or mem_size does not show to be inside. */
i64 cd__mem_touch(cd__frame *f, const cd_u256 *off, u64 n, i64 gas) CD_CHECK;

/* cd__words gives how many 32-byte words hold n bytes; n is below 2^63. */
CD_INLINE i64 cd__words(u64 n)
{
    return (i64)((n + 31) / 32);
}

/* --- return data --- */

/* cd__ret_set makes a copy of data the return data of the last call. */
void cd__ret_set(cd_evm *evm, cd_bytes data);

/* --- instructions that are functions (ops.c, ops_state.c) --- */

/* An instruction as a function. It takes its operands from sp downwards and leaves its results from
 * the lowest operand upwards; the caller has charged the base gas. */
typedef i64 (*cd__op_fn)(cd__frame *f, cd_u256 *sp, i64 gas);

#define IN(name)
#define OUT(name)                                 i64 cd__op_##name(cd__frame *f, cd_u256 *sp, i64 gas) CD_CHECK;
#define OP(code, name, since, gas, in, out, kind) kind(name)
#include "evm/interp/opcodes.def"
#undef OP
#undef OUT
#undef IN

/* KECCAK256 and SLOAD, whose operands and result may lie anywhere. */
i64 cd__keccak(cd__frame *f, cd_u256 *out, const cd_u256 *off, const cd_u256 *len, i64 gas) CD_CHECK;
i64 cd__sload(cd__frame *f, cd_u256 *out, const cd_u256 *key, i64 gas) CD_CHECK;

/* MCOPY with offsets and length so small that their sums cannot overflow; len is not 0. */
i64 cd__mcopy(cd__frame *f, u64 to, u64 from, u64 len, i64 gas) CD_CHECK;

/* SSTORE, which fails below a certain amount of gas left; ahead is the gas that was charged in advance for later
 * instructions and counts as left. */
i64 cd__op_sstore(cd__frame *f, const cd_u256 *key, const cd_u256 *value, i64 gas, i64 ahead) CD_CHECK;

/* SELFDESTRUCT of the frame's account in favour of a beneficiary. */
i64 cd__op_selfdestruct(cd__frame *f, const cd_u256 *beneficiary, i64 gas) CD_CHECK;

/* cd__copy_in writes len bytes of src, from offset from on, to memory at offset to, and zeros for what lies behind
 * the end of src; the caller has charged for the memory. */
void cd__copy_in(cd__frame *f, const cd_u256 *to, const cd_u256 *from, const cd_u256 *len, cd_bytes src);

/* cd__op_calldataload reads 32 bytes of the input at any offset; what lies behind its end is zero. */
void cd__op_calldataload(const cd__frame *f, cd_u256 *out, const cd_u256 *off);

/* --- calls (calls.c, create.c) --- */

/* What a CALL or CREATE instruction led to. */
typedef enum cd__act {
    CD__ACT_DONE,  /* finished at once: f->sp and f->gas are updated */
    CD__ACT_ENTER, /* evm->top is a new frame */
    CD__ACT_FAIL,  /* f->status says why */
} cd__act;

/* Before these are called, f->sp and f->gas are current and f->ip is behind the instruction. */
cd__act cd__op_call(cd__frame *f, cd_call_kind kind);
cd__act cd__op_create(cd__frame *f, cd_call_kind kind);

/* cd__frame_finish ends the running frame as its status, gas and output say: it keeps or reverts what the frame did
 * and, unless the frame is the outermost, hands the result to the caller's frame, which becomes evm->top. */
void cd__frame_finish(cd__frame *f);

/* cd__begin_call / cd__begin_create start the outermost message. DONE: it has ended as *res says;
 * ENTER: evm->top is its frame. */
cd__act cd__begin_call(cd_evm *evm, cd_evm_result *res, const cd_evm_msg *m);
cd__act cd__begin_create(cd_evm *evm, cd_evm_result *res, const cd_evm_msg *m);

/* cd__frame_heat is called for a frame of tier 0 whose code has become hot; its ip is at a JUMPDEST, sp and gas are
 * current. True: the frame goes on there in tier 1. False: it stays in tier 0 to its end. */
bool cd__frame_heat(cd__frame *f);

/* --- tracing (trace.c); only called with a tracer set --- */

void cd__trace_enter(cd_evm *evm, u32 depth, const cd_evm_msg *m);
void cd__trace_exit(cd_evm *evm, u32 depth, const cd_evm_result *res, u64 gas_start);
/* cd__trace_frame_exit is cd__trace_exit for a message whose code has run. */
void cd__trace_frame_exit(cd__frame *f, const cd_evm_result *res);
void cd__trace_selfdestruct(cd__frame *f, const cd_addr20 *to, const cd_u256 *balance);

/* cd__trace_step tells the tracer of the instruction at pc; f->sp and f->gas are current. False: the
 * tracer wants the message to end. */
bool cd__trace_step(cd__frame *f, const u8 *pc);

/* --- interpreters --- */

/* Where messages have a limit (cd_evm_set_limit) an interpreter gets a frame's gas in slices, and is_late is asked when
 * one is used up, so that the limit needs no check beside the one for gas. The frame's gas is what the interpreter has
 * plus f->held; functions outside of the interpreter are given the sum. cd__slice_begin gives the first slice.
 * cd__slice_next is told what is left of the last slice and what is needed at once; it gives the next slice, or -1 when
 * the frame has no gas for one or it is too late. */
enum { CD__FRAMES_PER_ASK = 64 };
CD_INLINE i64 cd__slice_begin(cd__frame *f)
{
    bool is_whole = CD_LIKELY(f->evm->is_late == NULL) || f->gas <= f->evm->slice;
    f->held = is_whole ? 0 : f->gas - f->evm->slice;
    return f->gas - f->held;
}
i64 cd__slice_next(cd__frame *f, i64 gas, i64 need) CD_CHECK;

/* Why an interpreter returns: evm->top has ended (its status, gas and output are set) or has entered
 * a child. */
typedef enum cd__run {
    CD__RUN_ENDED,
    CD__RUN_ENTERED,
} cd__run;

cd__run cd__run_direct(cd__frame *f);
cd__run cd__run_traced(cd__frame *f);
cd__run cd__run_cells(cd__frame *f);

/* The handlers of all instructions in tier 0, for cd_evm.labels; [256] is the one of undefined bytes. */
const void *const *cd__direct_handlers(void);
const void *const *cd__traced_handlers(void);

#endif
