/* The description of the routes for one face, made from routes.def. */
#include "services/webhook/api/call.h"

#include "base/version.h"

#define ADDR_PATTERN "\"^0x[0-9a-fA-F]{40}$\""
#define TIME         "{\"type\":\"string\",\"format\":\"date-time\"}"
#define STR          "{\"type\":\"string\"}"
#define URL          "{\"type\":\"string\",\"format\":\"uri\",\"maxLength\":2048}"

/* Schemas: what is created, what is answered, how errors look. */
static const struct {
    const char *create, *patch, *record;
    bool is_bearer;
} faces[] = {
    [CD_WH_A] =
        {
            .create = "{\"type\":\"object\",\"required\":[\"url\",\"events\",\"chain\"],"
                      "\"properties\":{\"url\":" URL ",\"events\":{\"type\":\"array\","
                      "\"minItems\":1,\"items\":{\"$ref\":\"#/components/schemas/EventType\"}},"
                      "\"chain\":" STR ",\"filters\":{\"type\":\"object\",\"properties\":{"
                      "\"address\":{\"type\":\"string\",\"pattern\":" ADDR_PATTERN "},"
                      "\"addresses\":{\"type\":\"array\"},\"contract\":" STR ","
                      "\"topics\":{\"type\":\"array\",\"maxItems\":4},\"minValue\":" STR "}},"
                      "\"secret\":{\"type\":\"string\",\"minLength\":16}}}",
            .patch = "{\"type\":\"object\",\"properties\":{\"status\":{\"enum\":[\"enabled\","
                     "\"disabled\"]},\"url\":" URL ",\"events\":{\"type\":\"array\"},"
                     "\"filters\":{\"type\":\"object\"},\"replay\":{\"enum\":[\"none\","
                     "\"skipped\",\"all\"]}}}",
            .record = "{\"type\":\"object\",\"required\":[\"id\",\"url\",\"events\",\"chain\","
                      "\"filters\",\"status\",\"failureCount\",\"createdAt\",\"updatedAt\"],"
                      "\"properties\":{\"id\":{\"type\":\"string\",\"pattern\":\"^wh-\"},"
                      "\"url\":" URL ",\"events\":{\"type\":\"array\",\"items\":{\"$ref\":"
                      "\"#/components/schemas/EventType\"}},\"chain\":" STR ",\"filters\":"
                      "{\"type\":\"object\"},\"status\":{\"enum\":[\"enabled\",\"disabled\"]},"
                      "\"failureCount\":{\"type\":\"integer\"},\"createdAt\":" TIME
                      ",\"updatedAt\":" TIME "}}",
            .is_bearer = true,
        },
    [CD_WH_B] =
        {
            .create = "{\"type\":\"object\",\"required\":[\"url\",\"chain\",\"event_type\","
                      "\"config\"],\"properties\":{\"url\":" URL ",\"chain\":" STR
                      ",\"event_type\":{\"$ref\":\"#/components/schemas/EventType\"},\"config\":"
                      "{\"type\":\"object\",\"properties\":{\"addresses\":{\"type\":\"array\","
                      "\"items\":{\"type\":\"string\",\"pattern\":" ADDR_PATTERN "}},"
                      "\"contracts\":{\"type\":\"array\"},\"direction\":{\"enum\":[\"incoming\","
                      "\"outgoing\",\"both\"]},\"min_value\":" STR ",\"token_ids\":{\"type\":"
                      "\"array\"},\"tx_hashes\":{\"type\":\"array\",\"maxItems\":100},\"topics\":"
                      "{\"type\":\"array\",\"maxItems\":4}}}}}",
            .patch = "{\"type\":\"object\",\"properties\":{\"status\":{\"enum\":[\"active\","
                     "\"paused\"]},\"url\":" URL ",\"config\":{\"type\":\"object\"},\"replay\":"
                     "{\"enum\":[\"none\",\"skipped\",\"all\"]}}}",
            .record = "{\"type\":\"object\",\"required\":[\"id\",\"url\",\"chain\",\"event_type\","
                      "\"config\",\"status\",\"created_at\"],\"properties\":{\"id\":{\"type\":"
                      "\"string\",\"pattern\":\"^wh_\"},\"url\":" URL ",\"chain\":" STR
                      ",\"event_type\":{\"$ref\":\"#/components/schemas/EventType\"},\"config\":"
                      "{\"type\":\"object\"},\"signing_secret\":{\"type\":\"string\",\"pattern\":"
                      "\"^whsec_\",\"description\":\"once, at creation\"},\"status\":{\"enum\":["
                      "\"active\",\"paused\",\"disabled\"]},\"created_at\":" TIME
                      ",\"updated_at\":" TIME "}}",
        },
    [CD_WH_C] =
        {
            .create =
                "{\"type\":\"object\",\"required\":[\"name\",\"url\",\"chain\"],"
                "\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":200},\"url\":" URL
                ",\"chain\":" STR ",\"network\":{\"type\":\"string\",\"default\":"
                "\"mainnet\"},\"event_type\":{\"$ref\":\"#/components/schemas/EventType\"},"
                "\"event_types\":{\"type\":\"array\",\"items\":{\"$ref\":"
                "\"#/components/schemas/EventType\"}},\"filters\":{\"type\":\"object\","
                "\"properties\":{\"address\":{},\"from\":{},\"to\":{},\"contract\":{},"
                "\"tokenContract\":{},\"minValue\":" STR ",\"functionSelector\":{},"
                "\"topicHash\":{},\"tokenId\":{},\"txHash\":{}}}}}",
            .patch = "{\"type\":\"object\",\"properties\":{\"name\":" STR ",\"url\":" URL
                     ",\"is_active\":{\"type\":\"boolean\"},\"filters\":{\"type\":\"object\"},"
                     "\"replay\":{\"enum\":[\"none\",\"skipped\",\"all\"]}}}",
            .record =
                "{\"type\":\"object\",\"required\":[\"id\",\"name\",\"url\",\"chain\","
                "\"network\",\"event_type\",\"event_types\",\"filters\",\"is_active\","
                "\"failure_count\",\"last_triggered_at\",\"created_at\"],\"properties\":{"
                "\"id\":{\"type\":\"string\",\"format\":\"uuid\"},\"name\":" STR ",\"url\":" URL
                ",\"chain\":" STR ",\"network\":" STR ",\"event_type\":{\"$ref\":"
                "\"#/components/schemas/EventType\"},\"event_types\":{\"type\":\"array\"},"
                "\"filters\":{\"type\":\"object\"},\"is_active\":{\"type\":\"boolean\"},"
                "\"failure_count\":{\"type\":\"integer\"},\"last_triggered_at\":{\"type\":["
                "\"string\",\"null\"]},\"created_at\":" TIME ",\"secret\":{\"type\":"
                "\"string\",\"description\":\"once, at creation\"}}}",
        },
};

static const char error_ab[] =
    "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"object\","
    "\"required\":[\"code\",\"message\"],\"properties\":{\"code\":" STR ",\"message\":" STR
    ",\"field\":" STR "}}}}";
static const char error_c[] =
    "{\"type\":\"object\",\"required\":[\"detail\"],\"properties\":{\"detail\":{\"oneOf\":["
    "{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
    "\"loc\",\"msg\",\"type\"]}}]}}}";

static void put_ref(cd_json_w *w, const char *name)
{
    cd_buf ref = {0};
    cd_buf_str(&ref, "#/components/schemas/");
    cd_buf_str(&ref, name);
    cd_json_w_obj(w);
    cd_wh_w_str(w, "$ref", cd_buf_cstr(&ref));
    cd_buf_fini(&ref);
    cd_json_w_obj_end(w);
}

static void put_content(cd_json_w *w, const char *type, const char *schema)
{
    cd_json_w_key(w, "content");
    cd_json_w_obj(w);
    cd_json_w_key(w, type);
    cd_json_w_obj(w);
    cd_json_w_key(w, "schema");
    if (schema == NULL) {
        cd_json_w_raw(w, cd_bytes_str("{}"));
    } else {
        put_ref(w, schema);
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static void put_answer(cd_json_w *w, const char *status, const char *text, const char *schema)
{
    cd_json_w_key(w, status);
    cd_json_w_obj(w);
    cd_wh_w_str(w, "description", text);
    put_content(w, "application/json", schema);
    cd_json_w_obj_end(w);
}

static void put_params(cd_json_w *w, const char *path)
{
    cd_json_w_key(w, "parameters");
    cd_json_w_arr(w);
    for (const char *at = path; (at = strchr(at, '{')) != NULL; at++) {
        const char *end = strchr(at, '}');
        cd_json_w_obj(w);
        cd_json_w_key(w, "name");
        cd_json_w_str(w, cd_bytes_of(at + 1, (usize)(end - at - 1)));
        cd_wh_w_str(w, "in", "path");
        cd_json_w_key(w, "required");
        cd_json_w_bool(w, true);
        cd_wh_w_raw(w, "schema", cd_bytes_str(STR));
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

static const char *answer_schema(cd__wapi_route_id id)
{
    switch ((u32)id) {
    case CD__WH_CREATE:
    case CD__WH_GET:
    case CD__WH_PATCH:
    case CD__WH_ENABLE:
    case CD__WH_DISABLE:
    case CD__WH_CONFIRM:
        return "Webhook";
    default:
        return NULL;
    }
}

static void put_route(cd_json_w *w, cd__wapi_route_id id, cd_wh_face face)
{
    static const char *const words[] = {"get", "post", "patch", "delete"};
    const cd__wapi_route *r = &cd__wapi_routes[id];
    bool is_open = (r->flags & R_OPEN) != 0;
    bool is_queued = id == CD__WH_REPLAY || id == CD__WH_REPLAY_ONE;
    cd_json_w_key(w, words[r->method == CD_HTTP_GET     ? 0
                           : r->method == CD_HTTP_POST  ? 1
                           : r->method == CD_HTTP_PATCH ? 2
                                                        : 3]);
    cd_json_w_obj(w);
    cd_wh_w_str(w, "operationId", r->name);
    cd_wh_w_str(w, "summary", r->summary);
    if (is_open) {
        cd_wh_w_raw(w, "security", cd_bytes_str("[]"));
    }
    put_params(w, r->path);
    if ((r->flags & R_BODY) != 0) {
        cd_json_w_key(w, "requestBody");
        cd_json_w_obj(w);
        put_content(w, "application/json",
                    id == CD__WH_CREATE || id == CD__WH_PREVIEW ? "Create"
                    : id == CD__WH_PATCH                        ? "Change"
                                                                : NULL);
        cd_json_w_obj_end(w);
    }
    cd_json_w_key(w, "responses");
    cd_json_w_obj(w);
    put_answer(w,
               id == CD__WH_CREATE ? "201"
               : is_queued         ? "202"
                                   : "200",
               "Done.", answer_schema(id));
    if (!is_open) {
        put_answer(w, "401", "The key is missing or not valid.", "Error");
        put_answer(w, "429", "Too many requests in this second; Retry-After says when.", "Error");
    }
    if ((r->flags & R_BODY) != 0) {
        put_answer(w, "400", "The request is not valid.", "Error");
        put_answer(w, "413", "The body is larger than 256 KiB.", "Error");
        put_answer(w, "415", "The body is not JSON.", "Error");
        if (face == CD_WH_C) {
            put_answer(w, "422", "A field is missing or wrong.", "Error");
        }
    }
    if ((r->flags & (R_WRITE | R_SCOPE)) != 0) {
        put_answer(w, "403", "The key may only read, or a limit of the tier is reached.", "Error");
    }
    if (strchr(r->path, '{') != NULL) {
        put_answer(w, "404", "No such webhook or delivery.", "Error");
    }
    cd_json_w_obj_end(w);
    cd_json_w_obj_end(w);
}

static void put_types(cd_json_w *w, cd_wh_face face)
{
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
}

/* Routes of one path stand together in routes.def. */
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

void cd_wh_api_openapi(cd_buf *out, cd_wh_face face)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "openapi", "3.1.0");
    cd_json_w_key(&w, "info");
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "title", "Candela webhooks");
    cd_wh_w_str(&w, "version", CD_VERSION);
    cd_json_w_obj_end(&w);
    cd_wh_w_raw(&w, "security", cd_bytes_str("[{\"key\":[]}]"));
    put_paths(&w, face);
    cd_json_w_key(&w, "components");
    cd_json_w_obj(&w);
    cd_json_w_key(&w, "securitySchemes");
    cd_json_w_obj(&w);
    cd_wh_w_raw(
        &w, "key",
        cd_bytes_str(faces[face].is_bearer
                         ? "{\"type\":\"http\",\"scheme\":\"bearer\"}"
                         : "{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"X-API-Key\"}"));
    cd_json_w_obj_end(&w);
    cd_json_w_key(&w, "schemas");
    cd_json_w_obj(&w);
    cd_wh_w_raw(&w, "Create", cd_bytes_str(faces[face].create));
    cd_wh_w_raw(&w, "Change", cd_bytes_str(faces[face].patch));
    cd_wh_w_raw(&w, "Webhook", cd_bytes_str(faces[face].record));
    cd_wh_w_raw(&w, "Error", cd_bytes_str(face == CD_WH_C ? error_c : error_ab));
    put_types(&w, face);
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
    cd_json_w_obj_end(&w);
}
