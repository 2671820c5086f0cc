/* evm/interp/opcode.h - the instructions as numbers, names and a table of what they need; rows in
 * opcodes.def.
 *
 * Threading: frozen. */
#ifndef CD_EVM_OPCODE_H
#define CD_EVM_OPCODE_H

#include "evm/rules/rules.h"

/* The rows of opcodes.def. */
typedef enum cd_op {
#define OP(code, name, since, gas, in, out, kind) CD_OP_##name = (code),
#include "evm/interp/opcodes.def"
#undef OP
} cd_op;

/* One row of opcodes.def. */
typedef struct cd_op_info {
    const char *name; /* NULL: no such instruction */
    cd_fork since;
    u16 gas; /* base price, without what gas.def or the operands add */
    u8 in;   /* stack items taken */
    u8 out;  /* stack items given back */
} cd_op_info;

/* cd_op_info_get gives the row of a byte. */
const cd_op_info *cd_op_info_get(u8 op);

/* cd_op_name gives the name as go-ethereum prints it ("ADD", "KECCAK256"); "INVALID" for 0xfe and
 * "UNDEFINED" for the other bytes without a row. */
const char *cd_op_name(u8 op);

#endif
