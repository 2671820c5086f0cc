#include "evm/evm_priv.h"

#include "base/mem.h"

enum { FIRST_ROOM = 64 << 10 };

/* move gives all frames up to f their place in a new block and corrects what points into the old one. */
static void move(cd__frame *f, usize need)
{
    cd_evm *evm = f->evm;
    usize cap = evm->mem_cap != 0 ? evm->mem_cap : FIRST_ROOM;
    while (cap < need) {
        cap += cap;
    }
    uintptr_t old = (uintptr_t)evm->mem;
    usize old_cap = evm->mem_cap;
    evm->mem = cd_realloc(evm->mem, cap);
    evm->mem_cap = cap;
    for (u32 i = 0; i <= f->depth; i++) {
        cd__frame *g = &evm->frames[i];
        g->mem = evm->mem + ((uintptr_t)g->mem - old);
        uintptr_t input = (uintptr_t)g->input.p;
        if (input >= old && input - old < old_cap) {
            g->input.p = evm->mem + (input - old);
        }
    }
}

i64 cd__mem_grow(cd__frame *f, u64 end, i64 gas)
{
    if (end > CD__MEM_MAX) {
        return cd__failed(CD_EVM_OUT_OF_GAS);
    }
    u64 words = (u64)cd__words(end);
    u64 old = f->mem_size / 32;
    u64 cost = CD_GAS_MEMORY_WORD * (words - old) + words * words / CD_GAS_MEMORY_QUAD_DIV -
               old * old / CD_GAS_MEMORY_QUAD_DIV;
    gas -= (i64)cost;
    if (gas < 0) {
        return cd__failed(CD_EVM_OUT_OF_GAS);
    }
    usize need = (usize)(f->mem - f->evm->mem) + words * 32;
    if (need > f->evm->mem_cap) {
        move(f, need);
    }
    memset(f->mem + f->mem_size, 0, words * 32 - f->mem_size);
    f->mem_size = words * 32;
    f->mem_limit = f->mem_size - 31;
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
