/* services/webhook/pages/visit.h - one visit of a page on its way.
 *
 *   begin (loop) ─► run (store's thread) ─► after (loop) ─► page or 303
 *
 * run writes the page, or does what the form says and names where to go. Threading: a visit is with one thread at a
 * time. */
#ifndef CD_WEBHOOK_PAGES_VISIT_H
#define CD_WEBHOOK_PAGES_VISIT_H

#include "base/table/list.h"
#include "net/http/sse.h"
#include "services/webhook/api/face.h"
#include "services/webhook/api/ops.h"
#include "services/webhook/core/store/records.h"
#include "services/webhook/pages/pages.h"
#include "web/page.h"
#include "web/ui.h"

enum { P_FREE = 1, P_WRITE = 2, P_RIGHT = 4 };

/* The rows of places.def. */
typedef enum cd__wpage_place {
#define CD_PLACE(name, method, path, tab, flags) CD__WH_AT_##name,
#include "services/webhook/pages/places.def"
#undef CD_PLACE
    CD__WH_PLACES_CNT,
} cd__wpage_place;

enum { CD__WH_CSRF_LEN = 32 };

typedef struct cd__wpage_visit cd__wpage_visit;

/* A request for a page, from its parsing to its answer. */
struct cd__wpage_visit {
    cd_job job;
    cd_list link;
    cd_wh_pages *pages;
    cd_http_req *req;
    cd_arena mem;
    cd_html h;
    cd__wpage_place place;
    cd_wh_account account;
    const cd_wh_face_api *face;
    char csrf[CD__WH_CSRF_LEN + 1];
    char session[33]; /* its name, when there is one */
    cd_bytes key;     /* whose it is */
    char address[CD_TCP_PEER_MAX];
    const char *id, *sub;
    cd_bytes form; /* of a POST */
    u64 now_s;
    u32 status;     /* of the page */
    const char *to; /* go there instead */
    cd_rng rng;
    cd_wh_read read;
    cd_wh_draft draft;
    cd_wh_hook hook;
    bool changed, gone, due, is_async;
    cd_wh_hook *others; /* that were changed besides */
    usize others_cnt;
    const char *check_url;
    const char *refusal; /* of that address; "" none */
    /* what the engine said */
    const cd_wh_attempt *tested;
    const char *test_failed;
    const cd_wh_previewed *previewed;
    const char *preview_failed;
    cd_page page; /* while it is written */
    cd_buf bar;
};

/* The steps of a place; begin may set check_url, and gives false when it has answered by itself. */
typedef struct cd__wpage_page_steps {
    bool (*begin)(cd__wpage_visit *v);
    cd_err (*run)(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why);
    void (*after)(cd__wpage_visit *v); /* with is_async it sees to the answer */
} cd__wpage_page_steps;
#define CD_PLACE(name, method, path, tab, flags) extern const cd__wpage_page_steps cd__wpage_at_##name;
#include "services/webhook/pages/places.def"
#undef CD_PLACE

/* The pages: their requests, and what they remember between them. */
struct cd_wh_pages {
    cd_wh_pages_cfg cfg;
    cd_list visits;
    cd_sse *tail;
    u8 session_key[32]; /* from the master key, for nothing else */
};

/* cd__wpage_visit_end sends the page that was written, or to `to`. _again runs another step on the store, then ends. */
void cd__wpage_visit_end(cd__wpage_visit *v);
void cd__wpage_visit_again(cd__wpage_visit *v, cd_err (*run)(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why));

/* cd__wpage_audit writes down what the visitor did. */
cd_err cd__wpage_audit(cd__wpage_visit *v, cd_wh_store *s, const char *action, const char *target,
                       cd_errinfo *why) CD_CHECK;

/* Fields of query and form; "" when absent. */
const char *cd__wpage_arg(cd__wpage_visit *v, const char *name, usize max);
const char *cd__wpage_field(cd__wpage_visit *v, const char *name, usize max);

/* Sessions. _cookie gives the one of that name; _sign_in sets it for a key's text. */
cd_bytes cd__wpage_cookie(cd__wpage_visit *v, const char *name);
void cd__wpage_sign_in(cd__wpage_visit *v, cd_bytes key);
/* cd__wpage_session tells whether the visitor has a session (v->key is whose, empty: nobody's), at once or later; an
 * error when the store does not say. cd__wpage_session_end ends it, as part of a job. */
typedef void cd__wpage_session_fn(cd__wpage_visit *v, bool has_session, cd_err err);
void cd__wpage_session(cd__wpage_visit *v, cd__wpage_session_fn *fn);
cd_err cd__wpage_session_end(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why) CD_CHECK;
void cd__wpage_sessions_init(cd_wh_pages *p);
void cd__wpage_csrf_of(char out[CD__WH_CSRF_LEN + 1], cd_bytes cookie);

/* What every page begins and ends with. _note shows what ?done= says. */
void cd__wpage_page_open(cd__wpage_visit *v, cd_bytes title);
void cd__wpage_page_close(cd__wpage_visit *v);
/* cd__wpage_store_gone writes the page that says that the database is away, or full (CD_ENOSPC). */
void cd__wpage_store_gone(cd__wpage_visit *v, cd_err err);
void cd__wpage_page_message(cd__wpage_visit *v, u32 status, const char *title, const char *text);
void cd__wpage_csrf_put(cd__wpage_visit *v);

/* Shared parts. */
void cd__wpage_put_status(cd__wpage_visit *v, const cd_wh_hook *hook);
void cd__wpage_put_state(cd__wpage_visit *v, cd_wh_state s);
void cd__wpage_put_types(cd__wpage_visit *v, u32 types);
void cd__wpage_put_receiver(cd__wpage_visit *v, const cd_wh_hook *hook);
/* With choose, rows have boxes called id. */
cd_err cd__wpage_put_hooks(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_hook *hooks, usize cnt, bool choose,
                           cd_errinfo *why);
cd_err cd__wpage_put_deliveries(cd__wpage_visit *v, cd_wh_store *s, const cd_wh_delivery *list, usize cnt,
                                const cd_wh_hook *hook, bool choose, cd_errinfo *why);
/* How a receiver of this face verifies a delivery, in several languages. */
void cd__wpage_put_hints(cd__wpage_visit *v, cd_wh_face face);
/* The sequence numbers of the webhook's newest events and what became of them. */
cd_err cd__wpage_put_strip(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why);

/* Who is told of what happens to v->hook, and the certificate that it shows. _ops_secret is the page behind making
 * one. */
cd_err cd__wpage_put_ops(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why);
void cd__wpage_put_client(cd__wpage_visit *v);
void cd__wpage_put_ops_secret(cd__wpage_visit *v, const char *back);

/* Which time a page is about: ?span=. _put_spans is the switch. */
typedef struct cd__wpage_span {
    const char *word;              /* "7d" */
    const char *short_name, *name; /* "7 d", "7 days" */
    u32 hours, per_bar;
} cd__wpage_span;
const cd__wpage_span *cd__wpage_span_of(cd__wpage_visit *v);
void cd__wpage_put_spans(cd__wpage_visit *v, const char *path);
/* cd__wpage_span_stats gives its hours of a webhook (0: of the project). */
cd_err cd__wpage_span_stats(cd__wpage_visit *v, cd_wh_store *s, cd_wh_stat **out, usize *cnt, i64 hook,
                            cd_errinfo *why);
void cd__wpage_put_chart(cd__wpage_visit *v, const cd_wh_stat *list, usize cnt);
cd_wh_stat cd__wpage_stat_sum(const cd_wh_stat *list, usize cnt);

/* cd__wpage_hook_page writes the page of v->hook, with what a test said. */
cd_err cd__wpage_hook_page(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why);
cd_err cd__wpage_hook_find(cd__wpage_visit *v, cd_wh_store *s, bool with_lists, cd_errinfo *why);

#endif
