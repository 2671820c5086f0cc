/* The description of the routes for one face, made from routes.def and schemas.def. */
#include "services/webhook/api/call.h"

#include "base/version.h"
#include "services/webhook/core/chain/event.h"

/* --- schemas --- */

#define SCHEMAS(X)                                                                                                     \
    X(CREATE, "Create")                                                                                                \
    X(CHANGE, "Change")                                                                                                \
    X(PREVIEW, "Preview")                                                                                              \
    X(WEBHOOK, "Webhook")                                                                                              \
    X(FILTER, "Filter")                                                                                                \
    X(WEBHOOKS, "Webhooks")                                                                                            \
    X(DELETED, "Deleted")                                                                                              \
    X(WATCH, "Watch")                                                                                                  \
    X(WATCHED, "Watched")                                                                                              \
    X(ROTATE, "Rotate")                                                                                                \
    X(ROTATED, "Rotated")                                                                                              \
    X(TEST, "Test")                                                                                                    \
    X(TESTED, "Tested")                                                                                                \
    X(PREVIEWED, "Previewed")                                                                                          \
    X(REPLAY, "Replay")                                                                                                \
    X(QUEUED, "Queued")                                                                                                \
    X(DELIVERY, "Delivery")                                                                                            \
    X(DETAIL, "Detail")                                                                                                \
    X(ATTEMPT, "Attempt")                                                                                              \
    X(DELIVERIES, "Deliveries")                                                                                        \
    X(EVENT, "Event")                                                                                                  \
    X(EVENTS, "Events")                                                                                                \
    X(LEDGER, "Ledger")                                                                                                \
    X(BLOCK, "Block")                                                                                                  \
    X(STATS, "Stats")                                                                                                  \
    X(HOUR, "Hour")                                                                                                    \
    X(NOTIFY, "Notify")                                                                                                \
    X(NOTICES, "Notifications")                                                                                        \
    X(USAGE, "Usage")                                                                                                  \
    X(HEALTH, "Health")
#define SCHEMA_ID(name, word)   ID_##name,
#define SCHEMA_BIT(name, word)  name = 1 << ID_##name,
#define SCHEMA_WORD(name, word) [ID_##name] = word,
enum { SCHEMAS(SCHEMA_ID) SCHEMAS_CNT };
enum { SCHEMAS(SCHEMA_BIT) };
/* What clients send: null is as good as absent there. */
enum { ASKED = CREATE | CHANGE | PREVIEW | FILTER | WATCH | ROTATE | TEST | REPLAY | NOTIFY };
enum { A = 1 << CD_WH_A, B = 1 << CD_WH_B, C = 1 << CD_WH_C, ALL = A | B | C };

static const char *const words[] = {SCHEMAS(SCHEMA_WORD)};

static const struct {
    u32 faces, schemas, required;
    bool is_named; /* by the face */
    const char *name, *type;
} fields[] = {
#define CD_FIELD(faces, schemas, required, name, type) {faces, schemas, required, false, name, type},
#define CD_NAMED(faces, schemas, required, name, type) {faces, schemas, required, true, name, type},
#include "services/webhook/api/schemas.def"
};

/* JSON with ' for ". */
static void put_quoted(cd_json_w *w, const char *text)
{
    usize from = w->out->n;
    cd_json_w_raw(w, cd_bytes_str(text));
    for (usize i = from; i < w->out->n; i++) {
        w->out->p[i] = w->out->p[i] == '\'' ? '"' : w->out->p[i];
    }
}

static void put_key_quoted(cd_json_w *w, const char *key, const char *text)
{
    cd_json_w_key(w, key);
    put_quoted(w, text);
}

static const char *name_of(char camel[64], cd_wh_face face, usize i)
{
    return fields[i].is_named ? cd__wapi_name(camel, face, fields[i].name) : fields[i].name;
}

bool cd_wh_api_takes(const char *schema, cd_wh_face face, cd_bytes name)
{
    u32 bit = 0;
    for (usize i = 0; i < SCHEMAS_CNT; i++) {
        bit |= strcmp(words[i], schema) == 0 ? 1u << i : 0;
    }
    CD_ASSERT(bit != 0);
    for (usize i = 0; i < CD_COUNT(fields); i++) {
        if ((fields[i].faces & 1u << face) != 0 && (fields[i].schemas & bit) != 0 &&
            cd_bytes_eq(name, cd_bytes_str(fields[i].name))) {
            return true;
        }
    }
    return false;
}

static void put_type(cd_json_w *w, const char *type, bool may_be_null)
{
    if (!may_be_null) {
        put_quoted(w, type);
        return;
    }
    cd_json_w_obj(w);
    cd_json_w_key(w, "anyOf");
    cd_json_w_arr(w);
    put_quoted(w, type);
    put_quoted(w, "{'type':'null'}");
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static void put_fields(cd_json_w *w, cd_wh_face face, u32 schema)
{
    char camel[64];
    put_key_quoted(w, "type", "'object'");
    cd_json_w_key(w, "required");
    cd_json_w_arr(w);
    for (usize i = 0; i < CD_COUNT(fields); i++) {
        if ((fields[i].faces & 1u << face) != 0 && (fields[i].required & schema) != 0) {
            cd_json_w_cstr(w, name_of(camel, face, i));
        }
    }
    cd_json_w_arr_end(w);
    cd_json_w_key(w, "properties");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(fields); i++) {
        if ((fields[i].faces & 1u << face) != 0 && (fields[i].schemas & schema) != 0) {
            cd_json_w_key(w, name_of(camel, face, i));
            put_type(w, fields[i].type, (ASKED & schema & ~fields[i].required) != 0);
        }
    }
    cd_json_w_obj_end(w);
}

/* C's lists are arrays. */
static const char *item_of(cd_wh_face face, u32 schema)
{
    return face != CD_WH_C        ? NULL
           : schema == WEBHOOKS   ? "{'$ref':'#/components/schemas/Webhook'}"
           : schema == DELIVERIES ? "{'$ref':'#/components/schemas/Delivery'}"
           : schema == EVENTS     ? "{'$ref':'#/components/schemas/Event'}"
                                  : NULL;
}

static const struct {
    const char *create, *webhook;
} examples[] = {
    [CD_WH_A] = {"{'url':'https://example.com/hook','events':['transfer','contract_event'],"
                 "'chain':'lux','filters':{'address':'0x9011E888251AB053B7bD1cdB598Db4f9DEd94714'}}",
                 "{'id':'wh-3f9c1a7be2','url':'https://example.com/hook',"
                 "'events':['transfer','contract_event'],'chain':'lux',"
                 "'filters':{'address':'0x9011e888251ab053b7bd1cdb598db4f9ded94714'},"
                 "'status':'enabled','failureCount':0,'createdAt':'2026-03-22T10:00:00Z',"
                 "'updatedAt':'2026-03-22T10:00:00Z'}"},
    [CD_WH_B] = {"{'url':'https://example.com/hook','chain':'lux','event_type':'address_activity',"
                 "'config':{'addresses':['0x9011E888251AB053B7bD1cdB598Db4f9DEd94714']}}",
                 "{'id':'wh_8kq0zr3f5m1x','url':'https://example.com/hook','chain':'lux',"
                 "'event_type':'address_activity',"
                 "'config':{'addresses':['0x9011e888251ab053b7bd1cdb598db4f9ded94714']},"
                 "'signing_secret':'whsec_k7m9p2q4r6s8t0v2w4x6y8z0','status':'active',"
                 "'created_at':'2026-03-22T10:00:00Z'}"},
    [CD_WH_C] = {"{'name':'large transfers','url':'https://example.com/hook','chain':'lux',"
                 "'event_type':'TOKEN_TRANSFER','filters':{'minValue':'1000000000000000000'}}",
                 "{'id':'5e0ac92a-6c53-4d1e-8f6c-0d3f9a1b2c4d','name':'large transfers',"
                 "'url':'https://example.com/hook','chain':'lux','network':'mainnet',"
                 "'event_type':'TOKEN_TRANSFER','event_types':['TOKEN_TRANSFER'],"
                 "'filters':{'minValue':'1000000000000000000'},'is_active':true,'failure_count':0,"
                 "'last_triggered_at':null,'created_at':'2026-03-22T10:00:00.000Z',"
                 "'secret':'UKopONamb0zWaOwsFWM_3hfIy3LeVDb_vmwYWWEEr48'}"},
};

static const char error_ab[] =
    "{'type':'object','required':['error'],'properties':{'error':{'type':'object',"
    "'required':['code','message'],'properties':{'code':{'type':'string'},"
    "'message':{'type':'string'},'field':{'type':'string'}}}},"
    "'example':{'error':{'code':'invalid_url','message':'only https is allowed','field':'url'}}}";
static const char error_c[] =
    "{'type':'object','required':['detail'],'properties':{'detail':{'oneOf':[{'type':'string'},"
    "{'type':'array','items':{'type':'object','required':['loc','msg','type']}}]}},"
    "'example':{'detail':[{'loc':['body','url'],'msg':'field required','type':'missing'}]}}";

static void put_schemas(cd_json_w *w, cd_wh_face face)
{
    cd_json_w_key(w, "schemas");
    cd_json_w_obj(w);
    for (u32 i = 0; i < SCHEMAS_CNT; i++) {
        const char *item = item_of(face, 1u << i);
        cd_json_w_key(w, words[i]);
        cd_json_w_obj(w);
        if (item != NULL) {
            put_key_quoted(w, "type", "'array'");
            put_key_quoted(w, "items", item);
        } else {
            put_fields(w, face, 1u << i);
        }
        if (i == ID_CREATE || i == ID_WEBHOOK) {
            put_key_quoted(w, "example", i == ID_CREATE ? examples[face].create : examples[face].webhook);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_key(w, "EventType");
    cd_json_w_obj(w);
    cd_json_w_key(w, "enum");
    cd_json_w_arr(w);
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        if (cd_wh_type_face((cd_wh_type)t) == face) {
            cd_json_w_cstr(w, cd_wh_type_name((cd_wh_type)t));
        }
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    cd_json_w_key(w, "State");
    cd_json_w_obj(w);
    cd_json_w_key(w, "enum");
    cd_json_w_arr(w);
    for (u32 s = 0; s < CD_WH_STATES_CNT; s++) {
        cd_json_w_cstr(w, cd_wh_state_name((cd_wh_state)s));
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    put_key_quoted(w, "Error", face == CD_WH_C ? error_c : error_ab);
    cd_json_w_obj_end(w);
}

/* --- routes --- */

/* Without a value a parameter is as good as absent. */
#define OR_EMPTY(t)   "{'anyOf':[" t ",{'const':''}]}"
#define NO_LIMIT      OR_EMPTY("{'type':'integer','minimum':0,'maximum':9223372036854775807}")
#define UP_TO(n)      OR_EMPTY("{'type':'integer','minimum':1,'maximum':" #n "}")
#define CURSOR        OR_EMPTY("{'type':'string','pattern':'^c[1-9][0-9]{0,17}$'}")
#define WHEN_IN_QUERY "{'type':'string','description':'2026-01-31, 2026-01-31T12:00:00Z, or Unix seconds'}"
#define WORD          "{'type':'string'}"

static const struct {
    cd__wapi_route_id route;
    u32 faces;
    const char *in, *name, *schema;
} params[] = {
    {CD__WH_CREATE, ALL, "header", "Idempotency-Key", "{'type':'string','maxLength':255}"},
    {CD__WH_LIST, ALL, "query", "page", UP_TO(1048576)},
    {CD__WH_LIST, ALL, "query", "limit", UP_TO(100)},
    {CD__WH_LIST, ALL, "query", "cursor", CURSOR},
    {CD__WH_LIST, ALL, "query", "chain", WORD},
    {CD__WH_LIST, ALL, "query", "event_type", OR_EMPTY("{'$ref':'#/components/schemas/EventType'}")},
    {CD__WH_LIST, A, "query", "status", "{'enum':['','enabled','disabled']}"},
    {CD__WH_LIST, B, "query", "status", "{'enum':['','active','paused','disabled']}"},
    {CD__WH_LIST, C, "query", "status", "{'enum':['','active','inactive']}"},
    {CD__WH_PATCH, C, "query", "is_active", OR_EMPTY("{'type':'boolean'}")},
    {CD__WH_DELIVERIES, ALL, "query", "status", "{'type':'string','description':'states, separated by commas'}"},
    {CD__WH_DELIVERIES, ALL, "query", "from", WHEN_IN_QUERY},
    {CD__WH_DELIVERIES, ALL, "query", "to", WHEN_IN_QUERY},
    {CD__WH_DELIVERIES, ALL, "query", "limit", UP_TO(100)},
    {CD__WH_DELIVERIES, ALL, "query", "cursor", CURSOR},
    {CD__WH_STATS, ALL, "query", "hours", UP_TO(720)},
    {CD__WH_LEDGER, ALL, "query", "from_block", NO_LIMIT},
    {CD__WH_LEDGER, ALL, "query", "to_block", NO_LIMIT},
    {CD__WH_LEDGER, ALL, "query", "limit", UP_TO(1000)},
    {CD__WH_EVENTS, ALL, "query", "status", "{'type':'string','description':'states, separated by commas'}"},
    {CD__WH_EVENTS, ALL, "query", "from", WHEN_IN_QUERY},
    {CD__WH_EVENTS, ALL, "query", "to", WHEN_IN_QUERY},
    {CD__WH_EVENTS, ALL, "query", "limit", UP_TO(100)},
    {CD__WH_EVENTS, ALL, "query", "cursor", CURSOR},
    {CD__WH_OPENAPI, ALL, "query", "variant", "{'enum':['','a','b','c']}"},
};

/* What goes in and comes out; 0: nothing, or anything. also: further statuses. */
static const struct {
    const char *status;
    u32 in, out;
    const char *also[2];
} bodies[CD__WH_OTHER] = {
    [CD__WH_CREATE] = {"201", CREATE, WEBHOOK, {"409"}},
    [CD__WH_LIST] = {"200", 0, WEBHOOKS, {"400"}},
    [CD__WH_PREVIEW] = {"200", PREVIEW, PREVIEWED, {"502"}},
    [CD__WH_GET] = {"200", 0, WEBHOOK, {NULL}},
    [CD__WH_PATCH] = {"200", CHANGE, WEBHOOK, {NULL}},
    [CD__WH_DELETE] = {"200", 0, DELETED, {NULL}},
    [CD__WH_ENABLE] = {"200", 0, WEBHOOK, {NULL}},
    [CD__WH_DISABLE] = {"200", 0, WEBHOOK, {NULL}},
    [CD__WH_TEST] = {"200", TEST, TESTED, {"503"}},
    [CD__WH_ADDRESSES] = {"200", WATCH, WATCHED, {NULL}},
    [CD__WH_ROTATE] = {"200", ROTATE, ROTATED, {NULL}},
    [CD__WH_CONFIRM] = {"200", 0, WEBHOOK, {"409"}},
    [CD__WH_DELIVERIES] = {"200", 0, DELIVERIES, {"400"}},
    [CD__WH_DELIVERY] = {"200", 0, DETAIL, {NULL}},
    [CD__WH_REPLAY_ONE] = {"202", 0, QUEUED, {"409"}},
    [CD__WH_REPLAY] = {"202", REPLAY, QUEUED, {NULL}},
    [CD__WH_STATS] = {"200", 0, STATS, {"400"}},
    [CD__WH_LEDGER] = {"200", 0, LEDGER, {"400"}},
    [CD__WH_EVENTS] = {"200", 0, EVENTS, {"400"}},
    [CD__WH_NOTICES] = {"200", 0, NOTICES, {NULL}},
    [CD__WH_NOTIFY] = {"200", NOTIFY, NOTICES, {NULL}},
    [CD__WH_USAGE] = {"200", 0, USAGE, {NULL}},
    [CD__WH_HEALTH] = {"200", 0, HEALTH, {NULL}},
    [CD__WH_READY] = {"200", 0, HEALTH, {NULL}},
    [CD__WH_METRICS] = {"200", 0, 0, {NULL}},
    [CD__WH_OPENAPI] = {"200", 0, 0, {"404"}},
};

static const char *text_of(const char *status)
{
    static const struct {
        const char *status, *text;
    } texts[] = {
        {"400", "The request is not valid."},
        {"401", "The key is missing or not valid."},
        {"403", "The key may only read, or a limit of the tier is reached."},
        {"404", "There is no such thing, or it is somebody else's."},
        {"409", "It does not fit what is there."},
        {"413", "The body is larger than 256 KiB."},
        {"415", "The body is not JSON."},
        {"422", "A field is missing or wrong."},
        {"429", "Too many requests in this second; Retry-After says when."},
        {"502", "The node did not answer."},
        {"503", "It cannot be done now."},
    };
    for (usize i = 0; i < CD_COUNT(texts); i++) {
        if (strcmp(texts[i].status, status) == 0) {
            return texts[i].text;
        }
    }
    return "Done.";
}

static void put_content(cd_json_w *w, const char *type, u32 schema, const char *word)
{
    cd_json_w_key(w, "content");
    cd_json_w_obj(w);
    cd_json_w_key(w, type);
    cd_json_w_obj(w);
    cd_json_w_key(w, "schema");
    cd_json_w_obj(w);
    if (schema != 0 || word != NULL) {
        cd_buf ref = {0};
        cd_buf_fmt(&ref, "#/components/schemas/%s", word != NULL ? word : words[__builtin_ctz(schema)]);
        cd_wh_w_str(w, "$ref", cd_buf_cstr(&ref));
        cd_buf_fini(&ref);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static void put_error(cd_json_w *w, const char *status)
{
    cd_json_w_key(w, status);
    cd_json_w_obj(w);
    cd_wh_w_str(w, "description", text_of(status));
    put_content(w, "application/json", 0, "Error");
    cd_json_w_obj_end(w);
}

static void put_done(cd_json_w *w, cd__wapi_route_id id, bool has_rates)
{
    static const char *const rates[] = {"Limit", "Remaining", "Reset"};
    CD_ASSERT(bodies[id].status != NULL); // every route has a row
    cd_json_w_key(w, bodies[id].status);
    cd_json_w_obj(w);
    cd_wh_w_str(w, "description", text_of(""));
    put_content(w, id == CD__WH_METRICS ? "text/plain" : "application/json", bodies[id].out, NULL);
    if (has_rates) {
        cd_json_w_key(w, "headers");
        cd_json_w_obj(w);
        for (usize i = 0; i < CD_COUNT(rates); i++) {
            cd_buf name = {0};
            cd_buf_fmt(&name, "X-RateLimit-%s", rates[i]);
            put_key_quoted(w, cd_buf_cstr(&name), "{'schema':{'type':'integer'}}");
            cd_buf_fini(&name);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
}

static void put_answers(cd_json_w *w, cd__wapi_route_id id, cd_wh_face face)
{
    const cd__wapi_route *r = &cd__wapi_routes[id];
    const struct {
        const char *status;
        bool is_there;
    } errors[] = {
        {"400", (r->flags & R_BODY) != 0},
        {"401", (r->flags & R_OPEN) == 0},
        {"403", (r->flags & (R_WRITE | R_SCOPE)) != 0},
        {"404", strchr(r->path, '{') != NULL},
        {"413", (r->flags & R_BODY) != 0},
        {"415", (r->flags & R_BODY) != 0},
        {"422", (r->flags & R_BODY) != 0 && face == CD_WH_C},
        {"429", (r->flags & R_OPEN) == 0},
        {bodies[id].also[0], bodies[id].also[0] != NULL},
        {bodies[id].also[1], bodies[id].also[1] != NULL},
    };
    cd_json_w_key(w, "responses");
    cd_json_w_obj(w);
    put_done(w, id, (r->flags & R_OPEN) == 0);
    if (id == CD__WH_READY) {
        cd_json_w_key(w, "503");
        cd_json_w_obj(w);
        cd_wh_w_str(w, "description", "Not yet.");
        put_content(w, "application/json", HEALTH, NULL);
        cd_json_w_obj_end(w);
    }
    for (usize i = 0; i < CD_COUNT(errors); i++) {
        if (errors[i].is_there) {
            put_error(w, errors[i].status);
        }
    }
    cd_json_w_obj_end(w);
}

static void put_param(cd_json_w *w, const char *in, cd_bytes name, const char *schema)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "name");
    cd_json_w_str(w, name);
    cd_wh_w_str(w, "in", in);
    cd_json_w_key(w, "required");
    cd_json_w_bool(w, in[0] == 'p');
    put_key_quoted(w, "schema", schema);
    cd_json_w_obj_end(w);
}

static void put_params(cd_json_w *w, cd__wapi_route_id id, cd_wh_face face)
{
    cd_json_w_key(w, "parameters");
    cd_json_w_arr(w);
    for (const char *at = cd__wapi_routes[id].path; (at = strchr(at, '{')) != NULL; at++) {
        put_param(w, "path", cd_bytes_of(at + 1, strcspn(at + 1, "}")), WORD);
    }
    for (usize i = 0; i < CD_COUNT(params); i++) {
        if (params[i].route == id && (params[i].faces & 1u << face) != 0) {
            put_param(w, params[i].in, cd_bytes_str(params[i].name), params[i].schema);
        }
    }
    cd_json_w_arr_end(w);
}

static void put_route(cd_json_w *w, cd__wapi_route_id id, cd_wh_face face)
{
    const cd__wapi_route *r = &cd__wapi_routes[id];
    cd_json_w_key(w, r->method == CD_HTTP_GET     ? "get"
                     : r->method == CD_HTTP_POST  ? "post"
                     : r->method == CD_HTTP_PATCH ? "patch"
                                                  : "delete");
    cd_json_w_obj(w);
    cd_wh_w_str(w, "operationId", r->name);
    cd_wh_w_str(w, "summary", r->summary);
    if ((r->flags & R_OPEN) != 0) {
        put_key_quoted(w, "security", "[]");
    }
    put_params(w, id, face);
    if (bodies[id].in != 0) {
        cd_json_w_key(w, "requestBody");
        cd_json_w_obj(w);
        cd_json_w_key(w, "required");
        cd_json_w_bool(w, id == CD__WH_CREATE || id == CD__WH_PREVIEW);
        put_content(w, "application/json", bodies[id].in, NULL);
        cd_json_w_obj_end(w);
    }
    put_answers(w, id, face);
    cd_json_w_obj_end(w);
}

/* Routes of one path stand together in routes.def, but for fixed ones among them. */
static void put_paths(cd_json_w *w, cd_wh_face face)
{
    bool done[CD__WH_OTHER] = {false};
    cd_json_w_key(w, "paths");
    cd_json_w_obj(w);
    for (u32 i = 0; i < CD__WH_OTHER; i++) {
        if (done[i]) {
            continue;
        }
        cd_json_w_key(w, cd__wapi_routes[i].path);
        cd_json_w_obj(w);
        for (u32 k = i; k < CD__WH_OTHER; k++) {
            if (strcmp(cd__wapi_routes[k].path, cd__wapi_routes[i].path) == 0) {
                done[k] = true;
                put_route(w, (cd__wapi_route_id)k, face);
            }
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
}

/* --- what receivers get --- */

static void put_event_headers(cd_json_w *w, cd_wh_face face, const char *brand)
{
    static const struct {
        u32 faces;
        bool is_branded;
        const char *name;
    } headers[] = {
        {ALL, true, "Webhook-Id"},     {ALL, true, "Delivery"},
        {ALL, true, "Attempt"},        {ALL, true, "Sequence"},
        {ALL, true, "Signature"},      {B, true, "Timestamp"},
        {C, false, "X-Webhook-Event"}, {C, false, "X-Webhook-Idempotency-Key"},
    };
    cd_json_w_key(w, "parameters");
    cd_json_w_arr(w);
    for (usize i = 0; i < CD_COUNT(headers); i++) {
        cd_buf name = {0};
        if (headers[i].is_branded) {
            cd_buf_fmt(&name, "X-%s-", brand);
        }
        cd_buf_str(&name, headers[i].name);
        if ((headers[i].faces & 1u << face) != 0) {
            put_param(w, "header", cd_buf_bytes(&name), WORD);
        }
        cd_buf_fini(&name);
    }
    cd_json_w_arr_end(w);
}

static void put_events(cd_json_w *w, cd_wh_face face, const char *brand)
{
    const cd_wh_chain chain = {.name = "lux", .symbol = "LUX", .id = 96369};
    const cd_wh_hook hook = {.key = 1, .id = face == CD_WH_A ? "wh-3f9c1a7be2" : "wh_8kq0zr3f5m1x"};
    enum { MARCH_2026_MS = 1774173605 };
    cd_arena mem = {0};
    cd_json_w_key(w, "webhooks");
    cd_json_w_obj(w);
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        if (cd_wh_type_face((cd_wh_type)t) != face) {
            continue;
        }
        cd_wh_event e = cd_wh_event_example(&mem, &chain, &hook, (cd_wh_type)t, (u64)MARCH_2026_MS * 1000);
        cd_json_w_key(w, cd_wh_type_name((cd_wh_type)t));
        cd_json_w_obj(w);
        cd_json_w_key(w, "post");
        cd_json_w_obj(w);
        cd_wh_w_str(w, "summary", "What arrives, here a test event; any 2xx takes it.");
        put_event_headers(w, face, brand);
        cd_json_w_key(w, "requestBody");
        cd_json_w_obj(w);
        cd_json_w_key(w, "content");
        cd_json_w_obj(w);
        cd_json_w_key(w, "application/json");
        cd_json_w_obj(w);
        put_key_quoted(w, "schema", "{'type':'object'}");
        cd_wh_w_raw(w, "example", e.body);
        cd_json_w_obj_end(w);
        cd_json_w_obj_end(w);
        cd_json_w_obj_end(w);
        put_key_quoted(w, "responses",
                       "{'2XX':{'description':'Taken.'},'default':{'description':'It is sent again, "
                       "as the interface says.'}}");
        cd_json_w_obj_end(w);
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
    cd_arena_fini(&mem);
}

void cd_wh_api_openapi(cd_buf *out, cd_wh_face face, const char *brand)
{
    static const char *const titles[] = {[CD_WH_A] = "Candela webhooks, variant A",
                                         [CD_WH_B] = "Candela webhooks, variant B",
                                         [CD_WH_C] = "Candela webhooks, variant C"};
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "openapi", "3.1.0");
    cd_json_w_key(&w, "info");
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "title", titles[face]);
    cd_wh_w_str(&w, "version", CD_VERSION);
    cd_json_w_obj_end(&w);
    put_key_quoted(&w, "security", "[{'key':[]}]");
    put_paths(&w, face);
    put_events(&w, face, brand);
    cd_json_w_key(&w, "components");
    cd_json_w_obj(&w);
    put_key_quoted(&w, "securitySchemes",
                   face == CD_WH_A ? "{'key':{'type':'http','scheme':'bearer'}}"
                                   : "{'key':{'type':'apiKey','in':'header','name':'X-API-Key'}}");
    put_schemas(&w, face);
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
}
