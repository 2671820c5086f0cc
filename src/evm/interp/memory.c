#include "evm/evm_priv.h"

#include "base/mem/mem.h"

/* Bytes of fresh memory that are zeroed ahead at a time, because loops that grow memory word by word are
 * common. */
enum { ZERO_STEP = 2048 };

void cd__mem_init(cd_evm *evm, usize cap)
{
    evm->mem_block = cd_alloc(cap + CD__MEM_ALIGN);
    evm->mem = evm->mem_block + (-(uintptr_t)evm->mem_block & (CD__MEM_ALIGN - 1));
    evm->mem_cap = cap;
}

/* move gives the memory of all frames up to f a bigger block and corrects what points into the old
 * one. */
static CD_NOINLINE void move(cd__frame *f, usize need)
{
    cd_evm *evm = f->evm;
    usize cap = evm->mem_cap;
    while (cap < need) {
        cap += cap;
    }
    u8 *old_block = evm->mem_block;
    u8 *old = evm->mem;
    usize old_cap = evm->mem_cap;
    cd__mem_init(evm, cap);
    memcpy(evm->mem, old, (usize)(f->mem - old) + f->mem_size);
    for (u32 i = 0; i <= f->depth; i++) {
        cd__frame *g = &evm->frames[i];
        g->mem = evm->mem + (g->mem - old);
        g->mem_clean = g->mem_size;
        uintptr_t at = (uintptr_t)g->input.p - (uintptr_t)old;
        if (at < old_cap) {
            g->input.p = evm->mem + at;
        }
    }
    cd_free(old_block);
}

i64 cd__mem_grow(cd__frame *f, u64 end, i64 gas)
{
    if (CD_UNLIKELY(end > CD__MEM_MAX)) {
        return cd__failed(CD_EVM_OUT_OF_GAS);
    }
    u64 words = (end + 31) / 32;
    u64 old = f->mem_size / 32;
    gas -= (i64)(CD_GAS_MEMORY_WORD * (words - old) + words * words / CD_GAS_MEMORY_QUAD_DIV -
                 old * old / CD_GAS_MEMORY_QUAD_DIV);
    if (CD_UNLIKELY(gas < 0)) {
        return cd__failed(CD_EVM_OUT_OF_GAS);
    }
    u64 size = words * 32;
    if (size > f->mem_clean) {
        usize room = f->evm->mem_cap - (usize)(f->mem - f->evm->mem);
        if (CD_UNLIKELY(size > room)) {
            move(f, (usize)(f->mem - f->evm->mem) + size);
            room = f->evm->mem_cap - (usize)(f->mem - f->evm->mem);
        }
        u64 clean = cd_min_u64(size + ZERO_STEP, room);
        memset(f->mem + f->mem_clean, 0, clean - f->mem_clean);
        f->mem_clean = clean;
    }
    f->mem_size = size;
    f->mem_limit = size - 31;
    return gas;
}

i64 cd__mem_touch(cd__frame *f, const cd_u256 *off, u64 n, i64 gas)
{
    cd_u256 len = cd_u256_from_u64(n);
    return cd__mem_range(f, off, &len, gas);
}

void cd__ret_set(cd_evm *evm, cd_bytes data)
{
    if (data.n > evm->ret_cap) {
        evm->ret_cap = data.n < 4096 ? 4096 : 2 * data.n;
        evm->ret_buf = cd_realloc(evm->ret_buf, evm->ret_cap);
    }
    if (data.n != 0) {
        memcpy(evm->ret_buf, data.p, data.n);
    }
    evm->ret = cd_bytes_of(evm->ret_buf, data.n);
}
