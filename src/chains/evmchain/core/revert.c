#include "chains/evmchain/core/revert.h"

#include "num/u256.h"

enum { SELECTOR = 4, WORD = 32, ERROR_STRING = 0x08c379a0, PANIC = 0x4e487b71 };

static const char *panic_name(u64 code)
{
    switch (code) {
    case 0x00:
        return "generic panic";
    case 0x01:
        return "assert(false)";
    case 0x11:
        return "arithmetic underflow or overflow";
    case 0x12:
        return "division or modulo by zero";
    case 0x21:
        return "enum overflow";
    case 0x22:
        return "invalid encoded storage byte array accessed";
    case 0x31:
        return "out-of-bounds array access; popping on an empty array";
    case 0x32:
        return "out-of-bounds access of an array or bytesN";
    case 0x41:
        return "out of memory";
    case 0x51:
        return "uninitialized function";
    }
    return NULL;
}

/* The word at off as a number; false when it is not there or over 64 bits. */
static bool word_at(u64 *out, cd_bytes data, usize off)
{
    cd_u256 v;
    if (off > data.n || data.n - off < WORD) {
        return false;
    }
    cd_u256_load_be(&v, data.p + off);
    *out = v.w[0];
    return cd_u256_fits_u64(&v);
}

const char *cd_revert_reason(cd_arena *a, cd_bytes data)
{
    u64 at;
    u64 len;
    if (data.n < SELECTOR) {
        return NULL;
    }
    u32 selector = cd_be32(data.p);
    cd_bytes args = cd_bytes_sub(data, SELECTOR, data.n - SELECTOR);
    if (selector == PANIC && word_at(&len, args, 0)) {
        const char *name = panic_name(len);
        return name != NULL ? name : cd_arena_fmt(a, "unknown panic code: %#llx", (unsigned long long)len);
    }
    if (selector == ERROR_STRING && word_at(&at, args, 0) && at <= args.n && word_at(&len, args, at) &&
        len <= args.n - at - WORD) {
        return cd_arena_str(a, cd_bytes_sub(args, at + WORD, len));
    }
    return NULL;
}
