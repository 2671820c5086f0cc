/* rpc/named.h - methods whose parameters have names: what one is, said by one row.
 *
 *   X(group, name, "aliases", function, lane, params, "result", "summary")
 *
 *   X("", platform.getBlockByHeight, "", get_block_by_height, READ,
 *     ARGS((U64, height, "height", OPTIONAL), (ENCODING, encoding, "encoding", OPTIONAL)),
 *     "{block: Any, encoding: Encoding}", "The block at a height")
 *
 *   aliases   more names of the method, told apart by blanks
 *   params    NONE, or ARGS of up to 12 parameters: (type, member, "names", need)
 *   result    a type in the words of openrpc.h
 *   the rest  as in method.h
 *
 *   type      one of named_types.def
 *   member    of struct <function>_args, which the row declares and which the handler finds in call->args
 *   names     the name, then its aliases, told apart by blanks; "startIndex.address" is a member of an object
 *   need      OPTIONAL       what is not there is zero: the empty text, the empty list, the zero ID
 *             DEFAULT("5")   what is not there is this JSON value
 *             REQUIRED       zero is refused: argument '<name>' not given
 *             REQUIRED_SAYING("no addresses provided")   zero is refused in these words
 *
 * From the row come the struct, its filling, the errors, and the document (openrpc.h). Parameters are an object, or the
 * first element of an array; names are read in any case; null is as if the parameter was not there; of one that is
 * there twice the last counts; members of other names are ignored. Rows hold addresses of literals, so tables of them
 * stand outside of functions. Threading: pure. [spec:node-api#2] */
#ifndef CD_RPC_NAMED_H
#define CD_RPC_NAMED_H

#include "codec/encoding.h"
#include "codec/ids.h"
#include "rpc/method.h"

#include <stddef.h>

/* Lists of parameters; elements are in the arena of the call. */
typedef struct cd_rpc_strings {
    cd_bytes *v;
    usize n;
} cd_rpc_strings;

/* A list of ids. */
typedef struct cd_rpc_ids {
    cd_hash32 *v;
    usize n;
} cd_rpc_ids;

/* A list of node ids. */
typedef struct cd_rpc_node_ids {
    cd_node_id *v;
    usize n;
} cd_rpc_node_ids;

/* What a parameter of type HEIGHT holds for "proposed". */
#define CD_RPC_HEIGHT_PROPOSED UINT64_MAX

/* The rows of named_types.def. */
typedef enum cd_rpc_named_type {
#define X(type_, ctype_, schema_) CD_RPC_NAMED_##type_,
#include "rpc/named_types.def"
#undef X
} cd_rpc_named_type;

#define X(type_, ctype_, schema_) typedef ctype_ cd__rpc_c_##type_;
#include "rpc/named_types.def"
#undef X

/* A named parameter. */
typedef struct cd_rpc_param {
    const char *names; /* NULL ends a list */
    cd_rpc_named_type type;
    u16 offset; /* of the member in the struct, in bytes */
    u16 size;
    const char *initial; /* JSON, or NULL */
    const char *missing; /* why zero is refused, "" for the usual words; NULL: it is not */
} cd_rpc_param;

/* The parameters of a method. */
struct cd_rpc_args {
    const cd_rpc_param *params;
    usize size; /* bytes of the struct */
};

/* cd_rpc_params_read fills the struct at out, whose members hold what they are if nothing is said, from an object; for
 * elements of lists (type ANY) that are objects themselves. No value, and null, leave it as it is.
 * Errors: CD_ETYPE, CD_EFORMAT, CD_ERANGE when a value does not fit its type; out is half filled then. */
cd_err cd_rpc_params_read(void *out, cd_arena *a, const cd_rpc_param *params, cd_json v) CD_CHECK;

/* cd_rpc_fail_argument fails a call whose parameter is a text that says nothing of its kind, in the words for what
 * cannot be read. */
cd_err cd_rpc_fail_argument(cd_rpc_call *call);

/* --- X for a definition file, and what it is made of --- */

/* CD_RPC_NAMED_DECL declares what a row of a definition file needs: the struct of its parameters and its function. */
#define CD_RPC_NAMED_DECL(group_, name_, aliases_, fn_, lane_, params_, result_, summary_)                             \
    typedef struct fn_##_args {                                                                                        \
        char none;                                                                                                     \
        CD__RPC_EACH(CD__RPC_MEMBER, fn_##_args CD__RPC_##params_)                                                     \
    } fn_##_args;                                                                                                      \
    cd_err fn_(cd_rpc_call *call);

/* An array of parameters that ends itself. */
#define CD__RPC_LIST(struct_, params_)                                                                                 \
    ((const cd_rpc_param[]){CD__RPC_EACH(CD__RPC_PARAM, struct_ CD__RPC_##params_){.names = NULL}})

/* CD_RPC_NAMED_ROW makes the row of the table, a cd_rpc_method. */
#define CD_RPC_NAMED_ROW(group_, name_, aliases_, fn_, lane_, params_, result_, summary_)                              \
    {.group = (group_),                                                                                                \
     .name = #name_,                                                                                                   \
     .aliases = (aliases_),                                                                                            \
     .fn = (fn_),                                                                                                      \
     .lane = CD_RPC_ROW_LANE(lane_),                                                                                   \
     .acts = CD_RPC_ROW_DOES(lane_),                                                                                   \
     .args = &(const struct cd_rpc_args){.params = CD__RPC_LIST(fn_##_args, params_), .size = sizeof(fn_##_args)},     \
     .schema = (result_),                                                                                              \
     .summary = (summary_)},

/* Parameters apart from a method, for cd_rpc_params_read: CD_RPC_PARAMS_STRUCT(type, ARGS(…)) declares the struct,
 * CD_RPC_PARAMS(type, ARGS(…)) is the list, for the initialiser of a pointer outside of functions. */
#define CD_RPC_PARAMS(type_, params_) CD__RPC_LIST(type_, params_)
#define CD_RPC_PARAMS_STRUCT(type_, params_)                                                                           \
    typedef struct type_ {                                                                                             \
        CD__RPC_EACH(CD__RPC_MEMBER, type_ CD__RPC_##params_)                                                          \
    } type_

#define CD__RPC_NONE
#define CD__RPC_ARGS(...) , __VA_ARGS__
#define CD__RPC_OPEN(...) __VA_ARGS__

#define CD__RPC_MEMBER(ctx_, param_)                     CD__RPC_MEMBER_OF param_
#define CD__RPC_MEMBER_OF(type_, member_, names_, need_) cd__rpc_c_##type_ member_;
#define CD__RPC_PARAM(struct_, param_)                   CD__RPC_PARAM_WITH(struct_, CD__RPC_OPEN param_)
#define CD__RPC_PARAM_WITH(struct_, ...)                 CD__RPC_PARAM_OF(struct_, __VA_ARGS__)
#define CD__RPC_PARAM_OF(struct_, type_, member_, names_, need_)                                                       \
    {.names = (names_),                                                                                                \
     .type = CD_RPC_NAMED_##type_,                                                                                     \
     .offset = offsetof(struct_, member_),                                                                             \
     .size = sizeof(cd__rpc_c_##type_),                                                                                \
     CD__RPC_##need_},
#define CD__RPC_OPTIONAL               .initial = NULL
#define CD__RPC_DEFAULT(json_)         .initial = (json_)
#define CD__RPC_REQUIRED               .missing = ""
#define CD__RPC_REQUIRED_SAYING(text_) .missing = (text_)

/* CD__RPC_EACH(m, ctx, a, b, …) is m(ctx, a) m(ctx, b) …, for up to 12 arguments and for none; ctx and the arguments
 * come in one piece, which is told apart when it has been expanded. */
#define CD__RPC_EACH(m_, list_) CD__RPC_EACH_OF(m_, list_)
#define CD__RPC_EACH_OF(m_, ctx_, ...)                                                                                 \
    CD__RPC_PICK(_, ##__VA_ARGS__, CD__RPC_E12, CD__RPC_E11, CD__RPC_E10, CD__RPC_E9, CD__RPC_E8, CD__RPC_E7,          \
                 CD__RPC_E6, CD__RPC_E5, CD__RPC_E4, CD__RPC_E3, CD__RPC_E2, CD__RPC_E1, CD__RPC_E0, )                 \
    (m_, ctx_, ##__VA_ARGS__)
#define CD__RPC_PICK(z_, a_, b_, c_, d_, e_, f_, g_, h_, i_, j_, k_, l_, n_, ...) n_
#define CD__RPC_E0(m_, x_, ...)
#define CD__RPC_E1(m_, x_, p_)       m_(x_, p_)
#define CD__RPC_E2(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E1(m_, x_, __VA_ARGS__)
#define CD__RPC_E3(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E2(m_, x_, __VA_ARGS__)
#define CD__RPC_E4(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E3(m_, x_, __VA_ARGS__)
#define CD__RPC_E5(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E4(m_, x_, __VA_ARGS__)
#define CD__RPC_E6(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E5(m_, x_, __VA_ARGS__)
#define CD__RPC_E7(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E6(m_, x_, __VA_ARGS__)
#define CD__RPC_E8(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E7(m_, x_, __VA_ARGS__)
#define CD__RPC_E9(m_, x_, p_, ...)  m_(x_, p_) CD__RPC_E8(m_, x_, __VA_ARGS__)
#define CD__RPC_E10(m_, x_, p_, ...) m_(x_, p_) CD__RPC_E9(m_, x_, __VA_ARGS__)
#define CD__RPC_E11(m_, x_, p_, ...) m_(x_, p_) CD__RPC_E10(m_, x_, __VA_ARGS__)
#define CD__RPC_E12(m_, x_, p_, ...) m_(x_, p_) CD__RPC_E11(m_, x_, __VA_ARGS__)

#endif
