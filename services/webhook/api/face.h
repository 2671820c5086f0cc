/* services/webhook/api/face.h - what differs between the three management interfaces.
 *
 *   body ─► cd_wh_read_body ─► face->create / patch ─► cd_wh_draft (a webhook to store) ─► face->record ─► JSON
 *
 * A face reads its own words into the one model and writes them back; routes, keys, limits and storage are common.
 * Threading: pure; what is made lives in the arena of the reading. [spec:webhooks#2] */
#ifndef CD_WEBHOOK_API_FACE_H
#define CD_WEBHOOK_API_FACE_H

#include "base/os/rng.h"
#include "codec/json.h"
#include "services/webhook/core/names.h"

/* What is wrong with a request. kind is C's word for errors of shape (422); NULL: the request as such (400). */
typedef struct cd_wh_problem {
    u32 status; /* 0: nothing is wrong */
    const char *code;
    const char *field; /* "filters.address[2]", "" */
    const char *message;
    const char *kind;
} cd_wh_problem;

/* One body being read. */
typedef struct cd_wh_read {
    cd_arena *mem;
    cd_rng *rng;
    /* The name under which a chain is followed, of its name or number; NULL: it is not. */
    const char *(*chain)(void *ctx, cd_bytes name);
    void *chain_ctx;
    const char *brand; /* of header names: "Svc" */
    cd_wh_face face;   /* of the project */
    u64 now_s;         /* Unix time */
    bool is_dry;       /* nothing will be stored: neither name nor address are needed */
    cd_wh_problem problem;
    const char *warnings[8]; /* beyond it they are dropped */
    usize warnings_cnt;
} cd_wh_read;

/* Which parts a PATCH carries. */
enum {
    CD_WH_GIVEN_URL = 1,
    CD_WH_GIVEN_STATUS = 2,
    CD_WH_GIVEN_CONFIG = 4,
    CD_WH_GIVEN_NAME = 8,
    CD_WH_GIVEN_TYPES = 16,
    CD_WH_GIVEN_SETTINGS = 32,
    CD_WH_GIVEN_SECRET = 64,
    CD_WH_GIVEN_CLIENT = 128,
};

/* What becomes of events that were skipped, when a webhook goes on. */
typedef enum cd_wh_again { CD_WH_AGAIN_NONE, CD_WH_AGAIN_SKIPPED, CD_WH_AGAIN_ALL } cd_wh_again;

/* A webhook as a request wants it. */
typedef struct cd_wh_draft {
    cd_wh_hook hook; /* id and secret are drawn by create */
    u32 given;
    cd_wh_again again;
    const char *ops_url; /* who is told of what happens to hook: NULL as before, "" nobody any more */
    cd_wh_hook ops;      /* that webhook; what cd_wh_op_… made of it */
    enum { CD_WH_OPS_SAME, CD_WH_OPS_MADE, CD_WH_OPS_CHANGED, CD_WH_OPS_GONE } ops_is;
} cd_wh_draft;

/* What a record shows besides. */
enum { CD_WH_SHOW_SECRET = 1, CD_WH_SHOW_UPDATED = 2, CD_WH_SHOW_STANDARD = 4 };

/* What the three faces do each in its own way. */
typedef struct cd_wh_face_api {
    const char *list_key; /* under which config has the addresses that the bulk route changes */
    cd_err (*create)(cd_wh_read *r, cd_wh_draft *out, cd_json body);
    cd_err (*patch)(cd_wh_read *r, cd_wh_draft *inout, cd_json body); /* inout->hook: as it is stored */
    void (*record)(cd_json_w *w, const cd_wh_hook *hook, u32 show, cd_arena *mem);
    const char *(*id)(cd_wh_read *r);  /* a new one */
    cd_bytes (*secret)(cd_wh_read *r); /* a new one */
    const char *secret_key;            /* its name in records */
} cd_wh_face_api;

/* The faces themselves. */
extern const cd_wh_face_api cd_wh_face_a, cd_wh_face_b, cd_wh_face_c;
/* cd_wh_face_api_of gives the one of a face. */
const cd_wh_face_api *cd_wh_face_api_of(cd_wh_face face);

/* cd_wh_read_body parses a body: one object, no key twice at any level. */
cd_err cd_wh_read_body(cd_wh_read *r, cd_json *out, cd_bytes text) CD_CHECK;

/* cd_wh_bad / cd_wh_bad_shape (r, code or kind, field, format, …) say what is wrong and give CD_EINVAL; macros, so
 * that the compiler sees that this is never CD_OK. */
#define cd_wh_bad(...)       (cd__wh_bad(__VA_ARGS__), CD_EINVAL)
#define cd_wh_bad_shape(...) (cd__wh_bad_shape(__VA_ARGS__), CD_EINVAL)
void cd__wh_bad(cd_wh_read *r, const char *code, const char *field, const char *fmt, ...) CD_PRINTF(4, 5);
void cd__wh_bad_shape(cd_wh_read *r, const char *kind, const char *field, const char *fmt, ...) CD_PRINTF(4, 5);

/* cd_wh_warn notes what is wrong but not refused, for the answer's warnings. _fixed: that these fields cannot be
 * changed, of a PATCH that has them. */
void cd_wh_warn(cd_wh_read *r, const char *fmt, ...) CD_PRINTF(2, 3);
void cd_wh_warn_fixed(cd_wh_read *r, cd_json body, const char *const *names, usize cnt);

/* cd_wh_error_body writes the error as the face does. */
void cd_wh_error_body(cd_buf *out, cd_wh_face face, const cd_wh_problem *p);

/* Fields that faces share. _str: text of at most max bytes; required or left as it is. */
cd_err cd_wh_read_str(cd_wh_read *r, const char **out, cd_json body, const char *key, usize max,
                      bool required) CD_CHECK;
/* _change: text that a PATCH may carry; when it does, bit is put into inout->given. */
cd_err cd_wh_read_change(cd_wh_read *r, cd_wh_draft *inout, const char **out, cd_json body, const char *key, usize max,
                         u32 bit) CD_CHECK;
cd_err cd_wh_read_bool(cd_wh_read *r, bool *out, cd_json body, const char *key) CD_CHECK;
cd_err cd_wh_read_chain(cd_wh_read *r, const char **out, cd_json body) CD_CHECK;
cd_err cd_wh_read_type(cd_wh_read *r, cd_wh_type *out, cd_wh_face face, cd_json v, const char *field) CD_CHECK;
cd_err cd_wh_read_types(cd_wh_read *r, u32 *mask, cd_bytes *order, cd_wh_face face, cd_json v,
                        const char *field) CD_CHECK;
cd_err cd_wh_read_again(cd_wh_read *r, cd_wh_draft *out, cd_json body) CD_CHECK;
/* _settings: how deliveries are made, kept as a JSON object; order: the face's own list of types, or empty.
 * When only some are given, those of before stay. */
cd_err cd_wh_read_settings(cd_wh_read *r, cd_wh_draft *out, cd_json body, cd_bytes order) CD_CHECK;

/* The keys of a filter. */
typedef enum cd_wh_key_kind {
    CD_WH_KEY_ADDRS,
    CD_WH_KEY_TOPICS, /* as eth_getLogs has them */
    CD_WH_KEY_TOPIC0,
    CD_WH_KEY_HASHES,
    CD_WH_KEY_NUMBERS,
    CD_WH_KEY_AMOUNT,
    CD_WH_KEY_SELECTORS,
    CD_WH_KEY_DIRECTION,
} cd_wh_key_kind;

/* A member of a filter in a face's JSON, and where it goes. */
typedef struct cd_wh_filter_key {
    const char *name;
    cd_wh_key_kind kind;
    usize at;  /* in cd_wh_filter */
    u32 types; /* to which it can apply; 0: to all */
    u32 max;   /* elements; 0: CD_WH_ADDRESSES_MAX */
} cd_wh_filter_key;

/* cd_wh_read_filter reads an object of such keys, which is called field ("": the body itself). config is the object
 * as it will be answered: the known keys, in canonical spelling. An absent or null one is {}. */
cd_err cd_wh_read_filter(cd_wh_read *r, cd_wh_filter *out, cd_bytes *config, cd_json v, const char *field,
                         const cd_wh_filter_key *keys, usize keys_cnt, u32 types) CD_CHECK;

/* cd_wh_config_addresses writes config anew with this list under key; long lists are cut at CD_WH_CONFIG_ADDRESSES
 * and their length stands beside them. */
enum { CD_WH_CONFIG_ADDRESSES = 1000 };
cd_bytes cd_wh_config_addresses(cd_arena *mem, cd_bytes config, const char *key, cd_wh_addrs list);

/* Parts of records. A time of 0 is null. */
void cd_wh_w_time_value(cd_json_w *w, u64 ms, bool with_ms);
void cd_wh_w_time(cd_json_w *w, const char *key, u64 ms, bool with_ms);
void cd_wh_w_str(cd_json_w *w, const char *key, const char *text);
void cd_wh_w_raw(cd_json_w *w, const char *key, cd_bytes json);
/* _types: the list in the client's order; _settings: what was chosen, behind the face's own fields. */
void cd_wh_w_types(cd_json_w *w, const char *key, const cd_wh_hook *hook, cd_arena *mem);
void cd_wh_w_settings(cd_json_w *w, const cd_wh_hook *hook, cd_arena *mem);
/* _standard: what a receiver of Standard Webhooks headers is given for this secret, when the webhook has them. */
void cd_wh_w_standard(cd_json_w *w, const cd_wh_hook *hook, cd_bytes secret, cd_arena *mem);

/* cd_wh_draw_secret gives whsec_ and 24 characters of [a-z0-9]; cd_wh_draw gives prefix and cnt characters of
 * [a-z0-9]. */
cd_bytes cd_wh_draw_secret(cd_wh_read *r);
const char *cd_wh_draw(cd_wh_read *r, const char *prefix, usize cnt);

#endif
