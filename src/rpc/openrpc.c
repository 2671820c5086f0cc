#include "rpc/openrpc.h"

#include "rpc/named.h"
#include "rpc/session.h"

enum { DEPTH_MAX = 16 };

static const cd_rpc_type own_types[] = {
#define X(name_, schema_) {.name = #name_, .schema = (schema_)},
#include "rpc/types.def"
#undef X
};

/* A reader of the short form. */
typedef struct reader {
    const char *at;
    const char *end;
    const cd_rpc_info *info;
    u32 depth;
} reader;

/* What a list of parameters holds. */
typedef struct params {
    usize cnt;
    usize required;
    cd_buf json;  /* list of parameters, or properties of an object */
    cd_buf names; /* names of required parameters, a JSON list without brackets */
    cd_buf any;   /* schema of other members */
} params;

static void params_fini(params *p)
{
    cd_buf_fini(&p->json);
    cd_buf_fini(&p->names);
    cd_buf_fini(&p->any);
}

static cd_err read_type(reader *r, cd_buf *out);

static void blanks(reader *r)
{
    while (r->at < r->end && *r->at == ' ') {
        r->at++;
    }
}

/* Takes the text when it comes next. */
static bool take(reader *r, const char *text)
{
    usize n = strlen(text);
    blanks(r);
    if ((usize)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) {
        return false;
    }
    r->at += n;
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static cd_bytes take_name(reader *r)
{
    blanks(r);
    const char *start = r->at;
    if (r->at < r->end && *r->at == '*') {
        r->at++;
    }
    while (r->at < r->end && is_name_char(*r->at)) {
        r->at++;
    }
    return cd_bytes_of(start, (usize)(r->at - start));
}

static bool is_type(const reader *r, cd_bytes name)
{
    for (usize i = 0; i < CD_COUNT(own_types); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(own_types[i].name))) {
            return true;
        }
    }
    for (usize i = 0; i < r->info->types_cnt; i++) {
        if (cd_bytes_eq(name, cd_bytes_str(r->info->types[i].name))) {
            return true;
        }
    }
    return false;
}

/* Reads up to, and not, the text `close`; as properties of an object, or as a list of parameters. */
static cd_err read_params(reader *r, params *out, const char *close, bool is_obj)
{
    while (!take(r, close)) {
        if (out->cnt != 0 && !take(r, ",")) {
            return CD_EFORMAT;
        }
        cd_bytes name = take_name(r);
        bool is_optional = take(r, "?");
        if (name.n == 0 || !take(r, ":")) {
            return CD_EFORMAT;
        }
        if (is_obj && name.p[0] == '*') {
            CD_TRY(read_type(r, &out->any));
            out->cnt++;
            continue;
        }
        const char *comma = out->json.n == 0 ? "" : ",";
        if (is_obj) {
            cd_buf_fmt(&out->json, "%s\"%.*s\":", comma, (int)name.n, (const char *)name.p);
        } else {
            cd_buf_fmt(&out->json, "%s{\"name\":\"%.*s\",\"required\":%s,\"schema\":", comma, (int)name.n,
                       (const char *)name.p, is_optional ? "false" : "true");
        }
        CD_TRY(read_type(r, &out->json));
        if (!is_obj) {
            cd_buf_u8(&out->json, '}');
        }
        if (!is_optional) {
            cd_buf_fmt(&out->names, "%s\"%.*s\"", out->names.n == 0 ? "" : ",", (int)name.n, (const char *)name.p);
            out->required++;
        }
        out->cnt++;
    }
    return CD_OK;
}

static cd_err read_object(reader *r, cd_buf *out)
{
    params p = {0};
    cd_err e = read_params(r, &p, "}", true);
    if (e == CD_OK) {
        cd_buf_str(out, "{\"type\":\"object\"");
        if (p.json.n != 0) {
            cd_buf_fmt(out, ",\"properties\":{%s}", cd_buf_cstr(&p.json));
        }
        if (p.names.n != 0) {
            cd_buf_fmt(out, ",\"required\":[%s]", cd_buf_cstr(&p.names));
        }
        if (p.any.n != 0) {
            cd_buf_fmt(out, ",\"additionalProperties\":%s", cd_buf_cstr(&p.any));
        }
        cd_buf_u8(out, '}');
    }
    params_fini(&p);
    return e;
}

static cd_err read_prime(reader *r, cd_buf *out)
{
    if (take(r, "{")) {
        return read_object(r, out);
    }
    if (take(r, "(")) {
        CD_TRY(read_type(r, out));
        return take(r, ")") ? CD_OK : CD_EFORMAT;
    }
    if (take(r, "\"")) {
        const char *start = r->at;
        while (r->at < r->end && *r->at != '"') {
            r->at++;
        }
        cd_buf_fmt(out, "{\"const\":\"%.*s\"}", (int)(r->at - start), start);
        return take(r, "\"") ? CD_OK : CD_EFORMAT;
    }
    cd_bytes name = take_name(r);
    if (!is_type(r, name)) {
        return CD_EFORMAT;
    }
    cd_buf_fmt(out, "{\"$ref\":\"#/components/schemas/%.*s\"}", (int)name.n, (const char *)name.p);
    return CD_OK;
}

/* Puts what was appended behind `start` between two texts. */
static void wrap(cd_buf *out, usize start, const char *before, const char *behind)
{
    cd_buf inner = {0};
    cd_buf_put(&inner, cd_bytes_of(out->p + start, out->n - start));
    out->n = start;
    cd_buf_str(out, before);
    cd_buf_put(out, cd_buf_bytes(&inner));
    cd_buf_str(out, behind);
    cd_buf_fini(&inner);
}

static cd_err read_alternative(reader *r, cd_buf *out)
{
    usize start = out->n;
    CD_TRY(read_prime(r, out));
    for (;;) {
        if (take(r, "[]")) {
            wrap(out, start, "{\"type\":\"array\",\"items\":", "}");
        } else if (take(r, "?")) {
            wrap(out, start, "{\"oneOf\":[", ",{\"type\":\"null\"}]}");
        } else {
            return CD_OK;
        }
    }
}

static cd_err read_type(reader *r, cd_buf *out)
{
    usize start = out->n;
    if (++r->depth > DEPTH_MAX) {
        return CD_EDEPTH;
    }
    CD_TRY(read_alternative(r, out));
    bool has_more = false;
    while (take(r, "|")) {
        has_more = true;
        cd_buf_u8(out, ',');
        CD_TRY(read_alternative(r, out));
    }
    if (has_more) {
        wrap(out, start, "{\"oneOf\":[", "]}");
    }
    r->depth--;
    return CD_OK;
}

/* Reads a whole schema: the parameters as a list, the result as a schema. */
static cd_err read_schema(const cd_rpc_info *info, const char *text, params *in, cd_buf *result)
{
    reader r = {.at = text, .end = text + strlen(text), .info = info};
    CD_TRY(read_params(&r, in, "->", false));
    CD_TRY(read_type(&r, result));
    blanks(&r);
    return r.at == r.end ? CD_OK : CD_EFORMAT;
}

/* --- the document --- */

static void put_text(cd_buf *out, const char *key, const char *text)
{
    cd_json_w w = {.out = out};
    cd_buf_fmt(out, "\"%s\":", key);
    cd_json_w_cstr(&w, text);
}

/* Appends names behind the first one as a member x-aliases. */
static void put_aliases(cd_buf *out, const char *names)
{
    bool is_first = true;
    for (const char *at = names + strspn(names, " "); *at != '\0'; at += strspn(at, " ")) {
        int n = (int)strcspn(at, " ");
        cd_buf_fmt(out, "%s\"%.*s\"", is_first ? ",\"x-aliases\":[" : ",", n, at);
        is_first = false;
        at += n;
    }
    if (!is_first) {
        cd_buf_u8(out, ']');
    }
}

static cd_err put_named_schema(cd_buf *out, const cd_rpc_info *info, const cd_rpc_param *p)
{
    static const char *const schemas[] = {
#define X(type_, ctype_, schema_) [CD_RPC_NAMED_##type_] = (schema_),
#include "rpc/named_types.def"
#undef X
    };
    const char *text = schemas[p->type];
    reader r = {.at = text, .end = text + strlen(text), .info = info};
    if (p->initial == NULL) {
        return read_type(&r, out);
    }
    cd_buf_str(out, "{\"allOf\":[");
    CD_TRY(read_type(&r, out));
    cd_buf_fmt(out, "],\"default\":%s}", p->initial);
    return CD_OK;
}

/* The length of the object's name and dot in front of a parameter's first name; 0: it is in none. */
static usize outer_of(const cd_rpc_param *p)
{
    usize n = strcspn(p->names, ". ");
    return p->names[n] == '.' ? n + 1 : 0;
}

/* Appends the members of an object of parameters, which stand one behind the other; gives the last one. */
static cd_err put_named_object(cd_buf *out, const cd_rpc_info *info, const cd_rpc_param **at)
{
    const cd_rpc_param *first = *at;
    usize outer = outer_of(first);
    cd_buf_str(out, "{\"type\":\"object\",\"properties\":{");
    for (const cd_rpc_param *p = first;
         p->names != NULL && outer_of(p) == outer && memcmp(p->names, first->names, outer) == 0; p++) {
        const char *name = p->names + outer;
        cd_buf_fmt(out, "%s\"%.*s\":", p == first ? "" : ",", (int)strcspn(name, " "), name);
        CD_TRY(put_named_schema(out, info, p));
        *at = p;
    }
    cd_buf_str(out, "}}");
    return CD_OK;
}

/* Appends named parameters as a list. */
static cd_err put_named(cd_buf *out, const cd_rpc_info *info, const cd_rpc_param *first)
{
    for (const cd_rpc_param *p = first; p->names != NULL; p++) {
        usize outer = outer_of(p);
        int n = outer == 0 ? (int)strcspn(p->names, " ") : (int)outer - 1;
        cd_buf_fmt(out, "%s{\"name\":\"%.*s\",\"required\":%s", p == first ? "" : ",", n, p->names,
                   p->missing != NULL && outer == 0 ? "true" : "false");
        if (outer == 0) {
            put_aliases(out, p->names + n);
        }
        cd_buf_str(out, ",\"schema\":");
        CD_TRY(outer == 0 ? put_named_schema(out, info, p) : put_named_object(out, info, &p));
        cd_buf_u8(out, '}');
    }
    return CD_OK;
}

/* Reads what a row says of parameters and result. */
static cd_err read_row(const cd_rpc_info *info, const cd_rpc_method *m, params *in, cd_buf *result)
{
    if (m->args == NULL) {
        CD_TRY(read_schema(info, m->schema, in, result));
        return in->cnt == m->max && in->required == m->required ? CD_OK : CD_EFORMAT;
    }
    reader r = {.at = m->schema, .end = m->schema + strlen(m->schema), .info = info};
    CD_TRY(put_named(&in->json, info, m->args->params));
    CD_TRY(read_type(&r, result));
    blanks(&r);
    return r.at == r.end ? CD_OK : CD_EFORMAT;
}

static cd_err put_method(cd_buf *out, const cd_rpc_info *info, const cd_rpc_method *m, cd_errinfo *why)
{
    params in = {0};
    cd_buf result = {0};
    cd_err e = read_row(info, m, &in, &result);
    if (e == CD_OK) {
        cd_buf_u8(out, '{');
        put_text(out, "name", m->name);
        put_aliases(out, m->aliases == NULL ? "" : m->aliases);
        cd_buf_u8(out, ',');
        put_text(out, "summary", m->summary);
        if (m->group[0] != '\0') {
            cd_buf_fmt(out, ",\"tags\":[{\"name\":\"%s\"}]", m->group);
        }
        cd_buf_fmt(out, ",\"paramStructure\":\"%s\",\"params\":[", m->args != NULL ? "by-name" : "by-position");
        cd_buf_put(out, cd_buf_bytes(&in.json));
        cd_buf_str(out, "],\"result\":{\"name\":\"result\",\"schema\":");
        cd_buf_put(out, cd_buf_bytes(&result));
        cd_buf_str(out, "}}");
    } else {
        e = cd_fail(why, CD_EFORMAT, "%s: the schema \"%s\" is malformed or does not fit its row", m->name, m->schema);
    }
    params_fini(&in);
    cd_buf_fini(&result);
    return e;
}

/* The kinds of a namespace, each with its own parameters, behind the one method that opens them all. */
static cd_err put_subscribe(cd_buf *out, const cd_rpc_service *s, const cd_rpc_info *info, const char *space,
                            cd_errinfo *why)
{
    cd_buf names = {0};
    cd_buf rows = {0};
    cd_err e = CD_OK;
    for (usize i = 0; i < s->kinds_cnt && e == CD_OK; i++) {
        const cd_rpc_kind *k = &s->kinds[i];
        params in = {0};
        cd_buf result = {0};
        if (strcmp(k->space, space) == 0 && cd_rpc_table_is_on(s->table, k->group)) {
            e = read_schema(info, k->schema, &in, &result);
            if (e != CD_OK || in.cnt != k->max || in.required != k->required) {
                e = cd_fail(why, CD_EFORMAT, "%s: the schema \"%s\" is malformed or does not fit its row", k->name,
                            k->schema);
            }
            cd_buf_fmt(&names, "%s\"%s\"", names.n == 0 ? "" : ",", k->name);
            cd_buf_str(&rows, rows.n == 0 ? "{" : ",{");
            put_text(&rows, "name", k->name);
            cd_buf_u8(&rows, ',');
            put_text(&rows, "summary", k->summary);
            cd_buf_fmt(&rows, ",\"params\":[%s],\"notification\":%s}", cd_buf_cstr(&in.json), cd_buf_cstr(&result));
        }
        params_fini(&in);
        cd_buf_fini(&result);
    }
    if (e == CD_OK && names.n != 0) {
        cd_buf_fmt(out,
                   ",{\"name\":\"%s_subscribe\",\"summary\":\"Opens a subscription, on a connection "
                   "that stays\",\"paramStructure\":\"by-position\",\"params\":[{\"name\":\"kind\","
                   "\"required\":true,\"schema\":{\"enum\":[%s]}},{\"name\":\"options\","
                   "\"required\":false,\"schema\":{}}],\"result\":{\"name\":\"result\",\"schema\":"
                   "{\"$ref\":\"#/components/schemas/Quantity\"}},\"x-subscriptions\":[%s]}",
                   space, cd_buf_cstr(&names), cd_buf_cstr(&rows));
        cd_buf_fmt(out,
                   ",{\"name\":\"%s_unsubscribe\",\"summary\":\"Ends a subscription\","
                   "\"paramStructure\":\"by-position\",\"params\":[{\"name\":\"id\",\"required\":"
                   "true,\"schema\":{\"$ref\":\"#/components/schemas/Quantity\"}}],\"result\":"
                   "{\"name\":\"result\",\"schema\":{\"$ref\":\"#/components/schemas/Bool\"}}}",
                   space);
    }
    cd_buf_fini(&names);
    cd_buf_fini(&rows);
    return e;
}

static cd_err put_types(cd_buf *out, const cd_rpc_info *info, const cd_rpc_type *types, usize cnt, cd_errinfo *why)
{
    for (usize i = 0; i < cnt; i++) {
        const cd_rpc_type *t = &types[i];
        cd_buf_fmt(out, "%s\"%s\":", out->p[out->n - 1] == '{' ? "" : ",", t->name);
        if (t->schema[0] == '{' && t->schema[1] == '"') {
            cd_buf_str(out, t->schema);
            continue;
        }
        reader r = {.at = t->schema, .end = t->schema + strlen(t->schema), .info = info};
        cd_err e = read_type(&r, out);
        blanks(&r);
        if (e != CD_OK || r.at != r.end) {
            return cd_fail(why, CD_EFORMAT, "%s: the schema \"%s\" is malformed", t->name, t->schema);
        }
    }
    return CD_OK;
}

/* The namespace of kind i is the first of its name. */
static bool is_first_of_space(const cd_rpc_service *s, usize i)
{
    for (usize j = 0; j < i; j++) {
        if (strcmp(s->kinds[i].space, s->kinds[j].space) == 0) {
            return false;
        }
    }
    return true;
}

cd_err cd_rpc_openrpc(cd_buf *out, const cd_rpc_service *s, const cd_rpc_info *info, cd_errinfo *why)
{
    cd_buf_str(out, "{\"openrpc\":\"1.3.2\",\"info\":{");
    put_text(out, "title", info->title);
    cd_buf_u8(out, ',');
    put_text(out, "version", info->version);
    cd_buf_str(out, "},\"methods\":[");
    for (usize i = 0; i < cd_rpc_table_cnt(s->table); i++) {
        if (i != 0) {
            cd_buf_u8(out, ',');
        }
        CD_TRY(put_method(out, info, cd_rpc_table_at(s->table, i), why));
    }
    for (usize i = 0; i < s->kinds_cnt; i++) {
        if (is_first_of_space(s, i)) {
            CD_TRY(put_subscribe(out, s, info, s->kinds[i].space, why));
        }
    }
    cd_buf_str(out, "],\"components\":{\"schemas\":{");
    CD_TRY(put_types(out, info, own_types, CD_COUNT(own_types), why));
    CD_TRY(put_types(out, info, info->types, info->types_cnt, why));
    cd_buf_str(out, "}}}");
    return CD_OK;
}

/* --- methods of every service --- */

#define X CD_RPC_DECL
#include "rpc/methods.def"
#undef X

static const cd_rpc_method own_methods[] = {
#define X CD_RPC_ROW
#include "rpc/methods.def"
#undef X
};

void cd_rpc_table_add_own(cd_rpc_table *t)
{
    cd_rpc_table_add(t, own_methods, CD_COUNT(own_methods));
}

static cd_bytes space_of(const cd_rpc_method *m)
{
    const char *end = strchr(m->name, '_');
    return cd_bytes_of(m->name, end == NULL ? strlen(m->name) : (usize)(end - m->name));
}

cd_err cd__rpc_modules(cd_rpc_call *call)
{
    const cd_rpc_table *t = call->service->table;
    cd_bytes last = {0};
    cd_json_w_obj(call->out);
    for (;;) {
        cd_bytes next = {0};
        for (usize i = 0; i < cd_rpc_table_cnt(t); i++) {
            cd_bytes space = space_of(cd_rpc_table_at(t, i));
            if (cd_bytes_cmp(space, last) > 0 && (next.n == 0 || cd_bytes_cmp(space, next) < 0)) {
                next = space;
            }
        }
        if (next.n == 0) {
            break;
        }
        cd_json_w_key_str(call->out, next);
        cd_json_w_cstr(call->out, "1.0");
        last = next;
    }
    cd_json_w_obj_end(call->out);
    return CD_OK;
}

cd_err cd__rpc_discover(cd_rpc_call *call)
{
    if (call->service->openrpc.n == 0) {
        return cd_rpc_fail(call, CD_RPC_NO_METHOD, "the method rpc_discover does not exist/is not available");
    }
    cd_json_w_raw(call->out, call->service->openrpc);
    return CD_OK;
}
