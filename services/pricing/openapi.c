/* The description of the routes, made from routes.def. */
#include "services/pricing/front.h"

#include "base/version.h"
#include "codec/json.h"

enum {
    PARAM_TOKEN = 1,
    PARAM_CURRENCY = 2,
    PARAM_IDS = 4,
    PARAM_SOME_IDS = 8,
    PARAM_SIMPLE = 16,
    PARAM_LAST_EVENT = 32,
};

enum {
    ANSWER_HEALTH = 1 << 0,
    ANSWER_READY = 1 << 1,
    ANSWER_PRICE = 1 << 2,
    ANSWER_PRICES = 1 << 3,
    ANSWER_SIMPLE = 1 << 4,
    ANSWER_EVENTS = 1 << 5,
    ANSWER_METRICS = 1 << 6,
    ANSWER_OPENAPI = 1 << 7,
    ANSWER_BAD = 1 << 8,
    ANSWER_UNKNOWN = 1 << 9,
    ANSWER_PROVIDER = 1 << 10,
    ANSWER_SAME = 1 << 11,
    ANSWER_BUSY = 1 << 12,
};

typedef struct param {
    u32 bit;
    const char *name;
    const char *in;
    bool is_required;
    const char *schema;
    const char *text;
} param;

#define FLAG "{\"type\":\"string\",\"description\":\"true, or anything else for no\"}"
#define TEXT "{\"type\":\"string\"}"

static const param params[] = {
    {PARAM_TOKEN, "token_id", "path", true, "{\"type\":\"string\",\"minLength\":1}",
     "The provider's id of the token, in any case."},
    {PARAM_IDS, "ids", "query", true, "{\"type\":\"string\",\"minLength\":1}", "Ids of tokens, separated by commas."},
    {PARAM_SOME_IDS, "ids", "query", false, TEXT, "Only these tokens; all when absent."},
    {PARAM_CURRENCY, "currency", "query", false, "{\"type\":\"string\",\"default\":\"usd\"}",
     "The currency of the prices."},
    {PARAM_SIMPLE, "vs_currencies", "query", false, "{\"type\":\"string\",\"default\":\"usd\"}",
     "Currencies, separated by commas."},
    {PARAM_SIMPLE, "include_market_cap", "query", false, FLAG, "Adds <currency>_market_cap."},
    {PARAM_SIMPLE, "include_24hr_vol", "query", false, FLAG, "Adds <currency>_24h_vol."},
    {PARAM_SIMPLE, "include_24hr_change", "query", false, FLAG, "Adds <currency>_24h_change."},
    {PARAM_SIMPLE, "include_last_updated_at", "query", false, FLAG,
     "Adds last_updated_at, the provider's time in Unix seconds."},
    {PARAM_SIMPLE, "precision", "query", false, "{\"type\":\"string\",\"pattern\":\"^(full|[0-9]|1[0-8])?$\"}",
     "Digits behind the point, 0 to 18, or full."},
    {PARAM_LAST_EVENT, "Last-Event-ID", "header", false, TEXT, "The last event that was seen, to go on behind it."},
};

#define PRICE_HEADERS                                                                                                  \
    "{\"Age\":{\"schema\":{\"type\":\"string\",\"pattern\":\"^[0-9]+$\"}},"                                            \
    "\"ETag\":{\"schema\":{\"type\":\"string\"}},"                                                                     \
    "\"X-Cache\":{\"schema\":{\"type\":\"string\",\"enum\":[\"HIT\",\"MISS\",\"STALE\"]}},"                            \
    "\"X-Price-Source\":{\"schema\":{\"type\":\"string\"}}}"
#define RETRY "{\"Retry-After\":{\"schema\":{\"type\":\"string\",\"pattern\":\"^[0-9]+$\"}}}"

typedef struct answer {
    u32 bits; /* any of these */
    const char *status;
    const char *text;
    const char *type;    /* NULL: no body */
    const char *schema;  /* NULL: text */
    const char *headers; /* NULL: none in particular */
} answer;

static const answer answers[] = {
    {ANSWER_HEALTH, "200", "It is there.", "application/json", "Health", NULL},
    {ANSWER_READY, "200", "It can answer.", "application/json", "Status", NULL},
    {ANSWER_PRICE, "200", "The price.", "application/json", "Price", PRICE_HEADERS},
    {ANSWER_PRICES, "200", "Those that are known.", "application/json", "Prices", PRICE_HEADERS},
    {ANSWER_SIMPLE, "200", "Those that are known.", "application/json", "Simple", PRICE_HEADERS},
    {ANSWER_EVENTS, "200", "Events, until the client leaves.", "text/event-stream", NULL, NULL},
    {ANSWER_METRICS, "200", "Metrics.", "text/plain", NULL, NULL},
    {ANSWER_OPENAPI, "200", "OpenAPI 3.1.", "application/json", "Any", NULL},
    {ANSWER_PRICE, "301", "The path is written with empty or dot segments; Location has it clean.", NULL, NULL, NULL},
    {ANSWER_SAME, "304", "What If-None-Match names is still so.", NULL, NULL, NULL},
    {ANSWER_BAD, "400", "A parameter is missing or wrong.", "application/json", "Error", NULL},
    {ANSWER_UNKNOWN, "404", "The provider knows no such token.", "application/json", "Error", NULL},
    {~0u, "405", "Only GET, HEAD and OPTIONS.", "application/json", "Error",
     "{\"Allow\":{\"schema\":{\"type\":\"string\"}}}"},
    {ANSWER_PROVIDER, "502", "Nothing is known, and no provider answered well.", "application/json", "Error", NULL},
    {ANSWER_PROVIDER, "503", "Nothing is known, and no provider may be asked now.", "application/json", "Error", RETRY},
    {ANSWER_READY, "503", "Not yet.", "application/json", "Status", NULL},
    {ANSWER_BUSY, "503", "Too many listen already.", "application/json", "Error", RETRY},
};

static const char schemas[] =
    "{\"Price\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"id\",\"symbol\",\"name\",\"price\",\"currency\",\"change_24h\",\"market_cap\","
    "\"volume_24h\",\"updated_at\",\"cached\"],\"properties\":{"
    "\"id\":{\"type\":\"string\"},\"symbol\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},"
    "\"price\":{\"type\":\"number\"},\"currency\":{\"type\":\"string\"},"
    "\"change_24h\":{\"type\":\"number\",\"description\":\"per cent\"},"
    "\"market_cap\":{\"type\":\"number\"},\"volume_24h\":{\"type\":\"number\"},"
    "\"updated_at\":{\"type\":\"string\",\"format\":\"date-time\","
    "\"description\":\"when the gateway stored the price\"},"
    "\"cached\":{\"type\":\"boolean\","
    "\"description\":\"false when this request waited for the provider\"}}},"
    "\"Prices\":{\"type\":\"object\",\"additionalProperties\":false,"
    "\"required\":[\"prices\",\"updated_at\"],\"properties\":{"
    "\"prices\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/components/schemas/"
    "Price\"}},"
    "\"updated_at\":{\"type\":\"string\",\"format\":\"date-time\"}}},"
    "\"Simple\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\","
    "\"additionalProperties\":{\"type\":[\"number\",\"null\"]}}},"
    "\"Health\":{\"type\":\"object\",\"required\":[\"status\",\"time\"],\"properties\":{"
    "\"status\":{\"const\":\"ok\"},\"time\":{\"type\":\"string\",\"format\":\"date-time\"}}},"
    "\"Status\":{\"type\":\"object\",\"required\":[\"status\"],\"properties\":{"
    "\"status\":{\"enum\":[\"ready\",\"starting\"]}}},"
    "\"Any\":{\"type\":\"object\"},"
    "\"Error\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{"
    "\"error\":{\"type\":\"string\"}}}}";

static void put_params(cd_json_w *w, u32 bits)
{
    cd_json_w_key(w, "parameters");
    cd_json_w_arr(w);
    for (usize i = 0; i < CD_COUNT(params); i++) {
        const param *p = &params[i];
        if ((bits & p->bit) != 0) {
            cd_json_w_obj(w);
            cd_json_put_cstr(w, "name", p->name);
            cd_json_put_cstr(w, "in", p->in);
            cd_json_put_cstr(w, "description", p->text);
            cd_json_put_bool(w, "required", p->is_required);
            cd_json_put_raw(w, "schema", cd_bytes_str(p->schema));
            cd_json_w_obj_end(w);
        }
    }
    cd_json_w_arr_end(w);
}

static void put_body(cd_json_w *w, const answer *a)
{
    cd_json_w_key(w, "content");
    cd_json_w_obj(w);
    cd_json_w_key(w, a->type);
    cd_json_w_obj(w);
    cd_json_w_key(w, "schema");
    cd_json_w_obj(w);
    if (a->schema == NULL) {
        cd_json_put_cstr(w, "type", "string");
    } else {
        cd_buf ref = {0};
        cd_buf_fmt(&ref, "#/components/schemas/%s", a->schema);
        cd_json_put_cstr(w, "$ref", cd_buf_cstr(&ref));
        cd_buf_fini(&ref);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static void put_answers(cd_json_w *w, u32 bits)
{
    cd_json_w_key(w, "responses");
    cd_json_w_obj(w);
    for (usize i = 0; i < CD_COUNT(answers); i++) {
        const answer *a = &answers[i];
        if ((bits & a->bits) != 0) {
            cd_json_w_key(w, a->status);
            cd_json_w_obj(w);
            cd_json_put_cstr(w, "description", a->text);
            if (a->headers != NULL) {
                cd_json_put_raw(w, "headers", cd_bytes_str(a->headers));
            }
            if (a->type != NULL) {
                put_body(w, a);
            }
            cd_json_w_obj_end(w);
        }
    }
    cd_json_w_obj_end(w);
}

void cd_front_openapi(cd_buf *out)
{
    static const struct {
        const char *path;
        const char *name;
        u32 params;
        u32 answers;
        const char *summary;
    } routes[] = {
#define CD_ROUTE(name, path, template, params, answers, summary) {template, #name, params, answers, summary},
#include "services/pricing/routes.def"
#undef CD_ROUTE
    };
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "openapi", "3.1.0");
    cd_json_w_key(&w, "info");
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "title", "Candela pricing gateway");
    cd_json_put_cstr(&w, "version", CD_VERSION);
    cd_json_w_obj_end(&w);
    cd_json_w_key(&w, "paths");
    cd_json_w_obj(&w);
    for (usize i = 0; i < CD_COUNT(routes); i++) {
        cd_json_w_key(&w, routes[i].path);
        cd_json_w_obj(&w);
        cd_json_w_key(&w, "get");
        cd_json_w_obj(&w);
        cd_json_put_cstr(&w, "operationId", routes[i].name);
        cd_json_put_cstr(&w, "summary", routes[i].summary);
        put_params(&w, routes[i].params);
        put_answers(&w, routes[i].answers);
        cd_json_w_obj_end(&w);
        cd_json_w_obj_end(&w);
    }
    cd_json_w_obj_end(&w);
    cd_json_w_key(&w, "components");
    cd_json_w_obj(&w);
    cd_json_put_raw(&w, "schemas", cd_bytes_str(schemas));
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
    cd_buf_u8(out, '\n');
}
