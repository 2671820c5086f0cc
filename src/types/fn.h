/* types/fn.h - functions of contracts as people describe them, and values as people type them.
 *
 *   ABI file (JSON) ─┐
 *   Solidity text ───┴► cd_fn ──► text for an address of a page ──► cd_fn
 *   typed text ──► cd_abi_val ──► codec/abi
 *
 * A description is text: "balanceOf(address owner) view(uint256)"; that of Solidity and of ethers ("function
 * f(uint256 a) external view returns (uint256)") is read too, and an ABI file is turned into it. All of it may come
 * from anyone: sizes, counts and depth are bounded. Threading: pure. */
#ifndef CD_EXPLORER_FN_H
#define CD_EXPLORER_FN_H

#include "codec/abi.h"

enum {
    CD_FN_TEXT_MAX = 2000, /* bytes of one description */
    CD_FN_ARGS_MAX = 32,
    CD_FN_LIST_MAX = 256,        /* functions of one file; more are left out */
    CD_FN_FILE_MAX = 512 * 1024, /* bytes of one file */
    CD_FN_VALUE_MAX = 64 * 1024, /* bytes of one typed value */
};

/* An argument or a result; name may be empty. */
typedef struct cd_fn_arg {
    cd_bytes name;
    cd_bytes type; /* canonical: "(address,uint256)[]" */
} cd_fn_arg;

/* A function of a contract. */
typedef struct cd_fn {
    cd_bytes name;
    cd_fn_arg in[CD_FN_ARGS_MAX];
    usize in_cnt;
    cd_fn_arg out[CD_FN_ARGS_MAX];
    usize out_cnt;
    bool is_view; /* changes nothing */
    bool is_payable;
} cd_fn;

/* cd_fn_parse reads one description; texts lie in the arena. Errors: CD_EFORMAT, CD_ELIMIT, CD_EDEPTH. */
cd_err cd_fn_parse(cd_fn *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_fn_fmt appends the description that cd_fn_parse reads; cd_fn_types the argument or result types alone:
 * "(address)". */
void cd_fn_fmt(cd_buf *out, const cd_fn *f);
void cd_fn_types(cd_buf *out, const cd_fn_arg *args, usize cnt);

/* cd_fn_selector gives the four bytes that choose it. */
void cd_fn_selector(u8 out[4], const cd_fn *f);

/* cd_fn_list reads the functions of an ABI file: a JSON array, an object that has it under "abi" (what compilers
 * write), or a description a line. Events, errors and constructors are left out. Errors: CD_EFORMAT, CD_ELIMIT,
 * CD_EDEPTH with words for the reader. */
cd_err cd_fn_list(cd_fn **out, usize *cnt, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_fn_value reads a typed value of a type: numbers in decimal or 0x…, with a unit if somebody likes ("1.5 LUX",
 * "30 gwei"), addresses (a wrong EIP-55 checksum is an error), true and false, bytes as 0x…, strings as they are;
 * arrays and tuples as JSON arrays. Errors: CD_EFORMAT, CD_ERANGE with words for the reader. */
cd_err cd_fn_value(cd_abi_val *out, cd_arena *a, const cd_abi_type *t, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
