/* codec/abi.h - Solidity's contract ABI: types from text, values to bytes and back.
 *
 *   head | head | … | tail | tail …      static values lie in the head; a dynamic value's head is the
 *          └────────offset──────┘        offset of its tail, counted from the start of its own tuple
 *
 * Values are a tree (cd_abi_val) that mirrors the type tree. Decoding is strict: offsets and
 * lengths must lie inside the input, unused bits of small integers, addresses, booleans and bytesN
 * must be what the encoder would have written. Sequences behind offsets may not take more bytes
 * together than the input has, so overlapping tails cannot blow up memory. Type depth is bounded,
 * hence recursion over types is too.
 *
 * Threading: pure; types are frozen. Format: Solidity documentation, "Contract ABI Specification". */
#ifndef CD_CODEC_ABI_H
#define CD_CODEC_ABI_H

#include "base/mem/arena.h"
#include "base/mem/buf.h"
#include "num/u256.h"

/* Limits of cd_abi_parse. */
enum { CD_ABI_DEPTH_MAX = 16, CD_ABI_ARRAY_MAX = 1 << 20 };

/* Types of values, and which member of cd_abi_val holds one. */
typedef enum cd_abi_kind {
    CD_ABI_UINT,    /* uintN: num */
    CD_ABI_INT,     /* intN: num in two's complement */
    CD_ABI_ADDRESS, /* num, low 20 bytes */
    CD_ABI_BOOL,    /* num 0 or 1 */
    CD_ABI_FIXED,   /* bytesN, also function (24): bytes */
    CD_ABI_BYTES,   /* bytes */
    CD_ABI_STRING,  /* bytes; not checked for UTF-8 */
    CD_ABI_ARRAY,   /* T[n]: items */
    CD_ABI_SLICE,   /* T[]: items */
    CD_ABI_TUPLE,   /* (T1,T2,…): items */
} cd_abi_kind;

/* A parsed type; what it refers to lies in the arena that was given. */
typedef struct cd_abi_type cd_abi_type;

struct cd_abi_type {
    cd_abi_kind kind;
    u32 size;                 /* bits of integers, bytes of bytesN */
    bool is_dynamic;          /* its head is an offset */
    usize head;               /* bytes that it takes in the head of the tuple around it */
    usize cnt;                /* elements of T[n], members of a tuple */
    const cd_abi_type *inner; /* the element type, or an array of cnt member types */
};

/* A value; cd_abi_kind says which member holds it. */
typedef struct cd_abi_val cd_abi_val;

struct cd_abi_val {
    cd_u256 num;
    cd_bytes bytes;
    const cd_abi_val *items;
    usize cnt;
};

/* cd_abi_parse reads one type, e.g. "uint256", "(address,bytes)[2][]"; "uint" and "int" mean 256
 * bits. Errors: CD_EFORMAT, CD_EDEPTH, CD_ELIMIT. */
cd_err cd_abi_parse(cd_abi_type *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_abi_enc appends val, encoded as one argument list when type is a tuple (no outer offset).
 * Errors: CD_ERANGE when a value does not fit its type, CD_EINVAL when a count does not match. */
cd_err cd_abi_enc(cd_buf *out, const cd_abi_type *type, const cd_abi_val *val) CD_CHECK;

/* cd_abi_dec reads in as an argument list of the tuple type. Byte strings are borrowed from in,
 * items lie in the arena. Bytes that no offset reaches are ignored, as every decoder does. Errors:
 * CD_ESHORT, CD_ERANGE (offset or length out of bounds), CD_ECANON (padding), CD_ELIMIT. */
cd_err cd_abi_dec(cd_abi_val *out, cd_arena *a, const cd_abi_type *type, cd_bytes in) CD_CHECK;

/* cd_abi_selector gives the first four bytes of keccak256 of a signature such as
 * "transfer(address,uint256)". */
void cd_abi_selector(u8 out[4], const char *signature);

/* cd_abi_error_string appends the encoding of Error(string): what a revert with a reason carries. */
void cd_abi_error_string(cd_buf *out, cd_bytes reason);

/* cd_abi_reason borrows the reason from revert data: Error(string), or false for anything else. */
bool cd_abi_reason(cd_bytes *out, cd_bytes data);

#endif
