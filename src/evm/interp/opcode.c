#include "evm/interp/opcode.h"

static const cd_op_info infos[256] = {
#define OP(code, title, first, price, takes, gives, kind)                                                              \
    [code] = {.name = #title, .since = (first), .gas = (price), .in = (takes), .out = (gives)},
#include "evm/interp/opcodes.def"
#undef OP
};

const cd_op_info *cd_op_info_get(u8 op)
{
    return &infos[op];
}

const char *cd_op_name(u8 op)
{
    return infos[op].name != NULL ? infos[op].name : op == 0xfe ? "INVALID" : "UNDEFINED";
}
