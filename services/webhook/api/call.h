/* services/webhook/api/call.h - one management call on its way, and what handlers have of it.
 *
 *   prepare (loop) ─► run (store's thread, in a transaction) ─► after (loop, when it is on the disk) ─► answer
 *
 * Each step may refuse with cd__wh_refuse; what run wrote is then undone. The answer's JSON is written in run or after.
 * Threading: a call is with one thread at a time. */
#ifndef CD_WEBHOOK_API_CALL_H
#define CD_WEBHOOK_API_CALL_H

#include "base/list.h"
#include "base/lru.h"
#include "services/webhook/api/api.h"
#include "services/webhook/api/face.h"
#include "services/webhook/core/records.h"

enum { R_READ = 1, R_WRITE = 2, R_BODY = 4, R_ASYNC = 8, R_OPEN = 16, R_SCOPE = 32 };

typedef enum cd__wh_route_id {
#define CD_ROUTE(name, method, path, flags, audit, summary) CD__WH_##name,
#include "services/webhook/api/routes.def"
#undef CD_ROUTE
    CD__WH_OTHER,
} cd__wh_route_id;

typedef struct cd__wh_call cd__wh_call;

typedef struct cd__wh_route {
    const char *name, *path, *audit, *summary;
    cd_http_method method;
    u32 flags;
    cd_err (*prepare)(cd__wh_call *c);
    cd_err (*run)(cd__wh_call *c, cd_wh_store *s, cd_errinfo *why);
    void (*after)(cd__wh_call *c); /* of R_ASYNC it sees to the answer */
} cd__wh_route;

extern const cd__wh_route cd__wh_routes[CD__WH_OTHER + 1];

/* The steps of the routes; NULL where there is none. */
typedef struct cd__wh_steps {
    cd_err (*prepare)(cd__wh_call *c);
    cd_err (*run)(cd__wh_call *c, cd_wh_store *s, cd_errinfo *why);
    void (*after)(cd__wh_call *c);
} cd__wh_steps;
#define CD_ROUTE(name, method, path, flags, audit, summary)                                        \
    extern const cd__wh_steps cd__wh_do_##name;
#include "services/webhook/api/routes.def"
#undef CD_ROUTE

struct cd__wh_call {
    cd_wh_job job;
    cd_list link;
    cd_wh_api *api;
    cd_http_req *req;
    cd__wh_route_id route;
    cd_arena mem;
    cd_wh_account account;
    const cd_wh_face_api *face;
    cd_rng rng;
    cd_wh_read read;       /* with the problem, if any */
    const char *id, *sub;  /* of the path */
    cd_json body;          /* {} without one */
    const char *check_url; /* set by prepare: to be checked before run */
    u32 status;            /* of the answer; 200 unless set */
    const char *type;      /* NULL: JSON */
    /* what run tells after */
    cd_wh_draft draft;
    cd_wh_hook hook; /* with lists when changed */
    bool changed, gone, due;
    cd_bytes idem_key;
    u8 idem_hash[32];
};

struct cd_wh_api {
    cd_wh_api_cfg cfg;
    cd_http_server *server;
    cd_list calls;
    cd_lru *accounts; /* of keys, by SHA-256 of their text */
    cd_lru *windows;  /* of requests, by project */
    cd_buf openapi[3];
};

/* cd__wh_refuse says what is wrong; gives CD_EINVAL. */
cd_err cd__wh_refuse(cd__wh_call *c, u32 status, const char *code, const char *field,
                     const char *fmt, ...) CD_PRINTF(5, 6) CD_CHECK;
/* cd__wh_answer ends a call of R_ASYNC with what stands in its buffer, or with its problem. */
void cd__wh_answer(cd__wh_call *c);

CD_INLINE cd_wh_face cd__wh_face(const cd__wh_call *c)
{
    return c->account.project.face;
}
u64 cd__wh_now_ms(const cd_wh_api *a);

/* Values of the query, decoded; NULL: not there. _u64: with bounds; _time: RFC 3339 or Unix seconds, in ms. */
const char *cd__wh_query(cd__wh_call *c, const char *name);
cd_err cd__wh_query_u64(cd__wh_call *c, u64 *out, const char *name, u64 min, u64 max) CD_CHECK;
cd_err cd__wh_time(cd__wh_call *c, u64 *out_ms, const char *field, const char *text) CD_CHECK;

/* A cursor of lists: keys below. */
cd_err cd__wh_cursor(cd__wh_call *c, i64 *before) CD_CHECK;
const char *cd__wh_cursor_fmt(cd__wh_call *c, i64 last); /* last 0: NULL */
void cd__wh_link_next(cd__wh_call *c, const char *cursor);

/* Names in answers: written in snake case here, in camel case by A. */
void cd__wh_key(cd_json_w *w, cd_wh_face face, const char *name);
void cd__wh_w_u64(cd_json_w *w, cd_wh_face face, const char *name, u64 v);
void cd__wh_w_str(cd_json_w *w, cd_wh_face face, const char *name, const char *text);
void cd__wh_w_bool(cd_json_w *w, cd_wh_face face, const char *name, bool v);
void cd__wh_w_time(cd_json_w *w, cd_wh_face face, const char *name, u64 ms);

/* cd__wh_find gets the webhook of the path into c->hook, or refuses with 404. */
cd_err cd__wh_find(cd__wh_call *c, cd_wh_store *s, bool with_lists, cd_errinfo *why) CD_CHECK;

#endif
