/* services/webhook/api/call.h - one management call on its way, and what handlers have of it.
 *
 *   prepare (loop) ─► run (store's thread, in a transaction) ─► after (loop, when it is on the disk) ─► answer
 *
 * Each step may refuse with cd__wapi_refuse; what run wrote is then undone. The answer's JSON is written in run or
 * after. Threading: a call is with one thread at a time. */
#ifndef CD_WEBHOOK_API_CALL_H
#define CD_WEBHOOK_API_CALL_H

#include "base/table/list.h"
#include "base/table/lru.h"
#include "services/common/rate.h"
#include "services/webhook/api/api.h"
#include "services/webhook/api/face.h"
#include "services/webhook/core/store/records.h"

enum { R_READ = 1, R_WRITE = 2, R_BODY = 4, R_ASYNC = 8, R_OPEN = 16, R_SCOPE = 32 };

/* The rows of routes.def. */
typedef enum cd__wapi_route_id {
#define CD_ROUTE(name, method, path, flags, audit, summary) CD__WH_##name,
#include "services/webhook/api/routes.def"
#undef CD_ROUTE
    CD__WH_OTHER,
} cd__wapi_route_id;

typedef struct cd__wapi_call cd__wapi_call;

/* One of them: prepare reads the request, run works on the database's thread, after writes the answer. */
typedef struct cd__wapi_route {
    const char *name, *path, *audit, *summary;
    cd_http_method method;
    u32 flags;
    cd_err (*prepare)(cd__wapi_call *c);
    cd_err (*run)(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why);
    void (*after)(cd__wapi_call *c); /* of R_ASYNC it sees to the answer */
} cd__wapi_route;

/* The table of them, by id; the last row stands for every other path. */
extern const cd__wapi_route cd__wapi_routes[CD__WH_OTHER + 1];

/* The steps of the routes; NULL where there is none. */
typedef struct cd__wapi_steps {
    cd_err (*prepare)(cd__wapi_call *c);
    cd_err (*run)(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why);
    void (*after)(cd__wapi_call *c);
} cd__wapi_steps;
#define CD_ROUTE(name, method, path, flags, audit, summary) extern const cd__wapi_steps cd__wapi_do_##name;
#include "services/webhook/api/routes.def"
#undef CD_ROUTE

/* A request, from its parsing to its answer. */
struct cd__wapi_call {
    cd_job job;
    cd_list link;
    cd_wh_api *api;
    cd_http_req *req;
    cd__wapi_route_id route;
    cd_arena mem;
    cd_wh_account account;
    const cd_wh_face_api *face;
    cd_rng rng;
    cd_wh_read read;       /* with the problem, if any */
    const char *id, *sub;  /* of the path */
    cd_json body;          /* {} without one */
    const char *check_url; /* set by prepare: to be checked before run */
    const char *check_ops; /* the same, behind it: who is told of operations */
    const char *checking;  /* the field that is being checked */
    cd_wh_problem refused; /* what was wrong with it; status 0: nothing */
    u32 status;            /* of the answer; 200 unless set */
    const char *type;      /* NULL: JSON */
    /* what one step tells the next */
    cd_wh_draft draft;
    u32 blocks;      /* of a preview */
    cd_wh_hook hook; /* with lists when changed */
    bool changed, gone, due;
    cd_bytes idem_key;
    u8 idem_hash[32];
    char address[CD_TCP_PEER_MAX]; /* of the client */
};

/* The interface: its requests, and what it remembers between them. */
struct cd_wh_api {
    cd_wh_api_cfg cfg;
    cd_http_server *server;
    cd_list calls;
    cd_lru *accounts; /* of keys, by SHA-256 of their text */
    cd_rate *rates;   /* of requests, by project */
    cd_buf openapi[3];
};

/* cd__wapi_refuse (c, status, code, field, format, …) says what is wrong and gives CD_EINVAL, as cd_wh_bad does. */
#define cd__wapi_refuse(...) (cd__wapi_blame(__VA_ARGS__), CD_EINVAL)
void cd__wapi_blame(cd__wapi_call *c, u32 status, const char *code, const char *field, const char *fmt, ...)
    CD_PRINTF(5, 6);
/* cd__wapi_answer ends a call of R_ASYNC with what stands in its buffer, or with its problem. */
void cd__wapi_answer(cd__wapi_call *c);

/* cd__wapi_take counts a call against the rate of the caller's project and says on the answer what is left; false:
 * it is one too many. _accounts_init, _fini: what is remembered of callers. */
bool cd__wapi_take(cd__wapi_call *c);
void cd__wapi_accounts_init(cd_wh_api *a);
void cd__wapi_accounts_fini(cd_wh_api *a);

/* cd__wapi_face: that of the caller's project. */
CD_INLINE cd_wh_face cd__wapi_face(const cd__wapi_call *c)
{
    return c->account.project.face;
}
/* cd__wapi_writer writes the answer. */
CD_INLINE cd_json_w cd__wapi_writer(cd__wapi_call *c)
{
    return (cd_json_w){.out = cd_http_req_out(c->req)};
}
/* cd__wapi_now_ms: wall time of the service's clock. */
u64 cd__wapi_now_ms(const cd_wh_api *a);

/* Values of the query, decoded; NULL: not there. _u64: with bounds; _time: RFC 3339 or Unix seconds, in ms. */
const char *cd__wapi_query(cd__wapi_call *c, const char *name);
cd_err cd__wapi_query_u64(cd__wapi_call *c, u64 *out, const char *name, u64 min, u64 max) CD_CHECK;
cd_err cd__wapi_time(cd__wapi_call *c, u64 *out_ms, const char *field, const char *text) CD_CHECK;

/* A cursor of lists: keys below. */
cd_err cd__wapi_cursor(cd__wapi_call *c, i64 *before) CD_CHECK;
const char *cd__wapi_cursor_fmt(cd__wapi_call *c, i64 last); /* last 0: NULL */
void cd__wapi_link_next(cd__wapi_call *c, const char *cursor);

/* Names in answers: written in snake case here, in camel case by A. cd__wapi_name gives the face's, perhaps in
 * camel. */
const char *cd__wapi_name(char camel[64], cd_wh_face face, const char *name);
void cd__wapi_key(cd_json_w *w, cd_wh_face face, const char *name);
void cd__wapi_w_u64(cd_json_w *w, cd_wh_face face, const char *name, u64 v);
void cd__wapi_w_u64_if(cd_json_w *w, cd_wh_face face, const char *name, bool is_there, u64 v);
void cd__wapi_w_str(cd_json_w *w, cd_wh_face face, const char *name, const char *text);
void cd__wapi_w_bool(cd_json_w *w, cd_wh_face face, const char *name, bool v);
void cd__wapi_w_time(cd_json_w *w, cd_wh_face face, const char *name, u64 ms);

/* cd__wapi_find gets the webhook of the path into c->hook, or refuses with 404. */
cd_err cd__wapi_find(cd__wapi_call *c, cd_wh_store *s, bool with_lists, cd_errinfo *why) CD_CHECK;

#endif
