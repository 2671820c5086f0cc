/* rpc/method.h - what a method is, and the table that a service is made of.
 *
 * Parameters have positions, as here, or names (named.h); everything else is the same for both.
 *
 *   methods.def ──X──► rows ──► table ──► dispatch (jsonrpc.h)
 *                                  └────► rpc_modules, OpenRPC document (openrpc.h)
 *
 * A definition file holds one row a method and nothing else knows its methods:
 *
 *   X(group, name, function, lane, required, max, "schema", "summary")
 *
 *   group     API group that switches the method on ("internal-eth"); "" for what is always there
 *   name      as clients write it, without quotes: eth_blockNumber
 *   function  the handler, a cd_rpc_fn
 *   lane      FAST, TRY, READ or OWNER, see cd_rpc_lane; with _ACTS behind it (OWNER_ACTS) for a method that acts
 *             without a signature, which web pages of strangers may not call (origin.h)
 *   required  parameters that must be there and not be null; max: parameters that may be there
 *   schema    "name: Type, name?: Type -> Type": parameters and result in the words of openrpc.h
 *   summary   one sentence without its full stop
 *
 * Names of methods and groups have fewer than CD_RPC_NAME_MAX characters. Threading: tables are frozen once built.
 * [spec:eth-rpc#4] */
#ifndef CD_RPC_METHOD_H
#define CD_RPC_METHOD_H

#include "base/mem/shared.h"
#include "codec/json.h"

enum { CD_RPC_NAME_MAX = 64 };

/* Where a method runs. A request runs in the strongest lane of its calls. */
typedef enum cd_rpc_lane {
    CD_RPC_FAST,  /* any thread, most often the net loop: answers from memory, in microseconds, without waiting */
    CD_RPC_TRY,   /* as FAST if it can, else it returns CD_EAGAIN, the error of nothing else, and is called as READ */
    CD_RPC_READ,  /* any thread but the net loop: reads frozen views, may take long */
    CD_RPC_OWNER, /* the thread that owns the service's state: may change it */
} cd_rpc_lane;

/* The words of the column lane. */
enum {
    CD_RPC_ROW_ACTS = 16,
    CD_RPC_ROW_FAST = CD_RPC_FAST,
    CD_RPC_ROW_TRY = CD_RPC_TRY,
    CD_RPC_ROW_READ = CD_RPC_READ,
    CD_RPC_ROW_OWNER = CD_RPC_OWNER,
    CD_RPC_ROW_FAST_ACTS = CD_RPC_FAST | CD_RPC_ROW_ACTS,
    CD_RPC_ROW_READ_ACTS = CD_RPC_READ | CD_RPC_ROW_ACTS,
    CD_RPC_ROW_OWNER_ACTS = CD_RPC_OWNER | CD_RPC_ROW_ACTS,
};
/* What a word of that column means for cd_rpc_method: its lane, and whether it acts. */
#define CD_RPC_ROW_LANE(lane_) ((cd_rpc_lane)(CD_RPC_ROW_##lane_ & ~CD_RPC_ROW_ACTS))
#define CD_RPC_ROW_DOES(lane_) ((CD_RPC_ROW_##lane_ & CD_RPC_ROW_ACTS) != 0)

/* Error codes of the protocol and of geth-like servers. */
enum {
    CD_RPC_PARSE = -32700,
    CD_RPC_INVALID_REQUEST = -32600,
    CD_RPC_NO_METHOD = -32601,
    CD_RPC_INVALID_PARAMS = -32602,
    CD_RPC_INTERNAL = -32603,
    CD_RPC_SERVER = -32000,
    CD_RPC_TIMEOUT = -32002,
    CD_RPC_TOO_LARGE = -32003,
    CD_RPC_BUSY = -32005,
    CD_RPC_REVERTED = 3,
    CD_RPC_UNAUTHORIZED = 4100, /* [EIP-1193] */
};

struct cd_rpc_service;
struct cd_rpc_method;
struct cd_rpc_session;
struct cd_rpc_args;

/* What a call waits for, elsewhere than on a thread. A handler fills it in and returns CD_EAGAIN; it is called again,
 * in its lane, when resume was, with ctx as it left it; once it has taken what it waited for, it sets ctx to NULL. */
typedef struct cd_rpc_wait {
    /* arm has resume(arg) called once, from any thread, perhaps before it returns. */
    void (*arm)(void *ctx, void (*resume)(void *arg), void *arg);
    /* drop: the call has ended without its handler. Any thread. */
    void (*drop)(void *ctx);
    void *ctx; /* NULL: it waits for nothing */
} cd_rpc_wait;

/* One call while it is served. */
typedef struct cd_rpc_call {
    void *ctx;   /* the service's: a chain */
    void *scope; /* the request's, as the service's begin made it: a batch shares it */
    const struct cd_rpc_service *service;
    const struct cd_rpc_method *method;
    struct cd_rpc_session *session; /* NULL over HTTP */
    cd_arena *arena;                /* lives until the reply is complete */
    cd_json params;                 /* an array, or none */
    const void *args;               /* named parameters: the struct that the method's row declares */
    cd_json_w *out;                 /* the handler writes exactly one value here, unless it fails */
    cd_splices *splices;            /* takes shared bytes of the result; NULL: everything has to be copied */
    cd_rpc_lane lane;               /* the lane in which the call runs; TRY: not yet as READ */
    cd_rpc_wait *wait;              /* NULL: this call cannot wait: it is one of a batch, or nobody would call again */
    cd_bytes foreign;               /* the origin of the page of a stranger that asks; empty: none */
    u64 deadline_ns;                /* monotonic; UINT64_MAX = none */
    int error_code;
    const char *error_message; /* in arena */
    const char *error_data;    /* JSON text in arena, or NULL */
} cd_rpc_call;

/* A handler writes its result and returns CD_OK, or returns what cd_rpc_fail gave it. */
typedef cd_err (*cd_rpc_fn)(cd_rpc_call *call);

/* cd_rpc_fail(call, code, fmt, ...) records the error of a call (printf form) and gives CD_EINVAL for the
 * handler to pass on. The value stands in the macro: the compiler sees that a failed read never goes on. */
#define cd_rpc_fail(call, code, ...) (cd_rpc_set_error((call), (code), __VA_ARGS__), CD_EINVAL)
void cd_rpc_set_error(cd_rpc_call *call, int code, const char *fmt, ...) CD_PRINTF(3, 4);

/* cd_rpc_done ends a method that has nothing to tell: with {} when e is CD_OK, else with the error that why says. why
 * may be NULL when e is CD_OK. */
cd_err cd_rpc_done(cd_rpc_call *call, cd_err e, const cd_errinfo *why);

/* cd_rpc_is_late: the request's time is up; a long handler asks now and then and returns cd_rpc_fail_late. */
bool cd_rpc_is_late(const cd_rpc_call *call);
#define cd_rpc_fail_late(call) cd_rpc_fail((call), CD_RPC_TIMEOUT, "request timed out")

/* cd_rpc_is_ending: the server stops and has waited long enough; what could go on for long should not. */
bool cd_rpc_is_ending(const cd_rpc_call *call);

/* cd_rpc_write_shared writes the value s, a JSON text, without copying it where the transport allows that. */
void cd_rpc_write_shared(cd_rpc_call *call, cd_shared *s);

/* A method: a row of a table. */
typedef struct cd_rpc_method {
    const char *group;
    const char *name;
    const char *aliases; /* more names, told apart by blanks; NULL: none */
    cd_rpc_fn fn;
    cd_rpc_lane lane;
    bool acts;                      /* without a signature: not for pages of strangers */
    const struct cd_rpc_args *args; /* named parameters (named.h); NULL: by position */
    u8 required;
    u8 max;
    const char *schema; /* with named parameters: of the result only */
    const char *summary;
} cd_rpc_method;

/* X for a definition file: the declaration of the handler, and its row. */
#define CD_RPC_DECL(group_, name_, fn_, lane_, required_, max_, schema_, summary_) cd_err fn_(cd_rpc_call *call);
#define CD_RPC_ROW(group_, name_, fn_, lane_, required_, max_, schema_, summary_)                                      \
    {.group = (group_),                                                                                                \
     .name = #name_,                                                                                                   \
     .fn = (fn_),                                                                                                      \
     .lane = CD_RPC_ROW_LANE(lane_),                                                                                   \
     .acts = CD_RPC_ROW_DOES(lane_),                                                                                   \
     .required = (required_),                                                                                          \
     .max = (max_),                                                                                                    \
     .schema = (schema_),                                                                                              \
     .summary = (summary_)},

/* A group of methods that is switched as one. */
typedef struct cd_rpc_group {
    const char *name;
    const char *alias; /* another name for it, or NULL */
    bool is_default;   /* on when the configuration says nothing */
} cd_rpc_group;

typedef struct cd_rpc_table cd_rpc_table;

/* cd_rpc_table_new makes an empty table with cnt groups, all off, borrowed for ever; none: only rows of group "". */
cd_rpc_table *cd_rpc_table_new(const cd_rpc_group *groups, usize cnt);
void cd_rpc_table_free(cd_rpc_table *t); /* NULL is allowed */

/* cd_rpc_table_end makes all calls of the service late from now on, those that run too: for a server that stops and has
 * waited long enough. Any thread. */
void cd_rpc_table_end(const cd_rpc_table *t);

/* cd_rpc_table_enable switches a group on by its name or alias, _enable_default those that are on by themselves.
 * Errors: CD_ENOENT `API service %s not found`. */
cd_err cd_rpc_table_enable(cd_rpc_table *t, cd_bytes group, cd_errinfo *why) CD_CHECK;
void cd_rpc_table_enable_default(cd_rpc_table *t);
bool cd_rpc_table_is_on(const cd_rpc_table *t, const char *group);

/* cd_rpc_table_alias gives a service another name, for the rows that are added later: with ("xvm", "avm") a row
 * xvm.getTx is avm.getTx as well. Names are borrowed for ever. */
void cd_rpc_table_alias(cd_rpc_table *t, const char *service, const char *alias);

/* cd_rpc_table_add copies the rows whose groups are on; their texts are borrowed for ever. A name twice, an unknown
 * group, or a default that is none of its type, is a bug. */
void cd_rpc_table_add(cd_rpc_table *t, const cd_rpc_method *rows, usize cnt);

/* cd_rpc_table_find gives the method of a name or alias, or NULL. */
const cd_rpc_method *cd_rpc_table_find(const cd_rpc_table *t, cd_bytes name);

/* cd_rpc_table_has_service: some name or alias begins with service and a dot. */
bool cd_rpc_table_has_service(const cd_rpc_table *t, cd_bytes service);

/* cd_rpc_method_called counts a call of a method of a table; cd_rpc_method_calls says how many there were. Any
 * thread. */
void cd_rpc_method_called(const cd_rpc_method *m);
u64 cd_rpc_method_calls(const cd_rpc_method *m);

/* The methods in the order they were added. */
usize cd_rpc_table_cnt(const cd_rpc_table *t);
const cd_rpc_method *cd_rpc_table_at(const cd_rpc_table *t, usize idx);

#endif
