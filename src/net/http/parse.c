#include "net/http/parse.h"

#include "base/mem/mem.h"

#include <llhttp.h>

#include <stdio.h>

enum { LINE_COST = 4 }; /* of a header line: colon, blank and line end */

struct cd_http_parse {
    llhttp_t ll;
    usize header_max;
    usize body_max_default;
    usize body_max;
    cd_http_msg msg;
    usize header_bytes; /* seen of this request, trailers included */
    bool has_begun;
    bool in_name;  /* the newest header's name has begun, and is not complete */
    bool in_value; /* the newest header's value has begun */
    bool has_head; /* the header section is complete */
    bool has_body;
    bool keeps_alive;
    bool offers_upgrade;
    u32 status; /* HTTP status to refuse with; 0: the request is fine */
    char text[120];
};

static cd_http_parse *parse_of(llhttp_t *ll)
{
    return ll->data;
}

/* Notes why the request is refused; the result makes llhttp stop. */
static int refuse(cd_http_parse *p, u32 status, const char *text)
{
    p->status = status;
    (void)snprintf(p->text, sizeof p->text, "%s", text);
    return HPE_USER;
}

/* Counts head bytes before they are kept. The per-line overhead bounds empty headers as well. */
static bool head_fits(cd_http_parse *p, usize n)
{
    p->header_bytes += n;
    return p->header_bytes <= p->header_max;
}

static int on_begin(llhttp_t *ll)
{
    parse_of(ll)->has_begun = true;
    return 0;
}

static int on_url(llhttp_t *ll, const char *at, size_t n)
{
    cd_http_parse *p = parse_of(ll);
    if (!head_fits(p, n)) {
        return refuse(p, 414, "request target too long");
    }
    cd_http_msg_add(&p->msg, &p->msg.target, cd_bytes_of(at, n));
    return 0;
}

static int on_field(llhttp_t *ll, const char *at, size_t n)
{
    cd_http_parse *p = parse_of(ll);
    usize line = p->in_name ? 0 : LINE_COST; /* once, into however many pieces it is cut */
    p->in_name = true;
    if (!head_fits(p, n + line)) {
        return refuse(p, 431, "request header fields too large");
    }
    if (p->has_head) {
        return 0; /* a trailer */
    }
    if (p->msg.fields_cnt == 0 || p->in_value) {
        if (cd_http_msg_add_field(&p->msg) == NULL) {
            return refuse(p, 431, "too many request header fields");
        }
        p->in_value = false;
    }
    cd_http_msg_add(&p->msg, &p->msg.fields[p->msg.fields_cnt - 1].name, cd_bytes_of(at, n));
    return 0;
}

static int on_field_complete(llhttp_t *ll)
{
    parse_of(ll)->in_name = false;
    return 0;
}

static int on_value(llhttp_t *ll, const char *at, size_t n)
{
    cd_http_parse *p = parse_of(ll);
    if (!head_fits(p, n)) {
        return refuse(p, 431, "request header fields too large");
    }
    if (!p->has_head && p->msg.fields_cnt != 0) {
        p->in_value = true;
        cd_http_msg_add(&p->msg, &p->msg.fields[p->msg.fields_cnt - 1].value, cd_bytes_of(at, n));
    }
    return 0;
}

static int on_value_complete(llhttp_t *ll)
{
    parse_of(ll)->in_value = true; /* also behind an empty value */
    return 0;
}

static int refuse_body(cd_http_parse *p, u64 size)
{
    p->status = 413;
    (void)snprintf(p->text, sizeof p->text, "content length too large (%llu>%zu)", (unsigned long long)size,
                   p->body_max);
    return HPE_USER;
}

static bool is_chunked(const cd_http_parse *p)
{
    return (p->ll.flags & F_CHUNKED) != 0;
}

static bool announces_too_much(const cd_http_parse *p)
{
    return !is_chunked(p) && p->ll.content_length > p->body_max;
}

/* Blanks behind a value are no part of it [RFC 9112 5]. */
static void values_trim(cd_http_msg *m)
{
    for (u32 i = 0; i < m->fields_cnt; i++) {
        cd_http_span *v = &m->fields[i].value;
        while (v->n != 0 && (m->text.p[v->at + v->n - 1] == ' ' || m->text.p[v->at + v->n - 1] == '\t')) {
            v->n--;
        }
    }
}

static cd_http_method method_of(const llhttp_t *ll)
{
    switch (ll->method) {
    case HTTP_GET:
        return CD_HTTP_GET;
    case HTTP_HEAD:
        return CD_HTTP_HEAD;
    case HTTP_POST:
        return CD_HTTP_POST;
    case HTTP_PUT:
        return CD_HTTP_PUT;
    case HTTP_DELETE:
        return CD_HTTP_DELETE;
    case HTTP_OPTIONS:
        return CD_HTTP_OPTIONS;
    case HTTP_PATCH:
        return CD_HTTP_PATCH;
    default:
        return CD_HTTP_OTHER;
    }
}

static int on_headers_complete(llhttp_t *ll)
{
    cd_http_parse *p = parse_of(ll);
    cd_bytes host;
    values_trim(&p->msg);
    if (ll->http_major != 1 || ll->http_minor > 1) {
        return refuse(p, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    }
    u32 hosts = cd_http_msg_count(&p->msg, &host, "host");
    if (hosts > 1 || (hosts == 0 && ll->http_minor == 1)) {
        return refuse(p, 400, hosts > 1 ? "more than one Host header" : "no Host header");
    }
    if ((ll->flags & F_TRANSFER_ENCODING) != 0 && (ll->http_minor == 0 || !is_chunked(p))) {
        return refuse(p, ll->http_minor == 0 ? 400 : 501, "transfer coding not understood");
    }
    p->msg.method = method_of(ll);
    p->has_head = true;
    p->has_body = is_chunked(p) || ll->content_length != 0;
    p->keeps_alive = llhttp_should_keep_alive(ll) != 0;
    p->offers_upgrade = ll->upgrade != 0 && ll->method != HTTP_CONNECT && ll->http_minor == 1;
    ll->upgrade = 0; /* the request is read to its end like any other */
    return HPE_PAUSED;
}

static int on_chunk_header(llhttp_t *ll)
{
    cd_http_parse *p = parse_of(ll);
    u64 size = ll->content_length; /* bytes of this chunk */
    return size > p->body_max - p->msg.body.n ? refuse_body(p, p->msg.body.n + size) : 0;
}

static int on_extension(llhttp_t *ll, const char *at, size_t n)
{
    cd_http_parse *p = parse_of(ll);
    (void)at;
    return head_fits(p, n) ? 0 : refuse(p, 431, "chunk extensions too large");
}

static int on_body(llhttp_t *ll, const char *at, size_t n)
{
    cd_http_parse *p = parse_of(ll);
    if (n > p->body_max - p->msg.body.n) {
        return refuse_body(p, p->msg.body.n + n);
    }
    cd_buf_put(&p->msg.body, cd_bytes_of(at, n));
    return 0;
}

static int on_complete(llhttp_t *ll)
{
    (void)ll;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_begin,
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_chunk_header = on_chunk_header,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

cd_http_parse *cd_http_parse_new(usize header_max, usize body_max)
{
    CD_ASSERT(header_max <= 1u << 30 && body_max <= SIZE_MAX / 4);
    cd_http_parse *p = cd_new(cd_http_parse);
    p->header_max = header_max;
    p->body_max_default = body_max;
    cd_http_parse_next(p);
    return p;
}

void cd_http_parse_free(cd_http_parse *p)
{
    if (p != NULL) {
        cd_http_msg_fini(&p->msg);
        cd_free(p);
    }
}

void cd_http_parse_next(cd_http_parse *p)
{
    llhttp_init(&p->ll, HTTP_REQUEST, &settings);
    p->ll.data = p;
    p->body_max = p->body_max_default;
    cd_http_msg_clear(&p->msg);
    p->header_bytes = 0;
    p->has_begun = false;
    p->in_name = false;
    p->in_value = false;
    p->has_head = false;
    p->has_body = false;
    p->keeps_alive = false;
    p->offers_upgrade = false;
    p->status = 0;
}

/* An error that llhttp found by itself. */
static void refuse_syntax(cd_http_parse *p, llhttp_errno_t err)
{
    u32 status = 400;
    if (err == HPE_INVALID_METHOD) {
        status = 501;
    } else if (err == HPE_INVALID_VERSION) {
        status = 505;
    }
    const char *reason = llhttp_get_error_reason(&p->ll);
    (void)refuse(p, status, reason == NULL || reason[0] == '\0' ? "malformed request" : reason);
}

cd_http_step cd_http_parse_feed(cd_http_parse *p, usize *used, cd_bytes in)
{
    *used = 0;
    if (p->status != 0) {
        return CD_HTTP_STEP_BAD;
    }
    if (p->has_head && announces_too_much(p)) {
        (void)refuse_body(p, p->ll.content_length);
        return CD_HTTP_STEP_BAD;
    }
    bool had_head = p->has_head;
    if (llhttp_get_errno(&p->ll) == HPE_PAUSED) {
        llhttp_resume(&p->ll);
    }
    const char *at = (const char *)in.p;
    llhttp_errno_t err = llhttp_execute(&p->ll, at, in.n);
    if (err == HPE_OK) {
        *used = in.n;
        return CD_HTTP_STEP_MORE;
    }
    if (err == HPE_PAUSED) {
        const char *stop = llhttp_get_error_pos(&p->ll);
        *used = stop == NULL ? in.n : (usize)(stop - at);
        return had_head ? CD_HTTP_STEP_DONE : CD_HTTP_STEP_HEAD;
    }
    if (p->status == 0) {
        refuse_syntax(p, err);
    }
    return CD_HTTP_STEP_BAD;
}

bool cd_http_parse_set_body_max(cd_http_parse *p, usize body_max)
{
    CD_ASSERT(p->has_head && body_max <= SIZE_MAX / 4);
    p->body_max = body_max;
    return !announces_too_much(p);
}

bool cd_http_parse_is_idle(const cd_http_parse *p)
{
    return !p->has_begun;
}

u32 cd_http_parse_error(const cd_http_parse *p, const char **text)
{
    *text = p->text;
    return p->status;
}

bool cd_http_parse_keeps_alive(const cd_http_parse *p)
{
    return p->keeps_alive;
}

bool cd_http_parse_is_http10(const cd_http_parse *p)
{
    return p->ll.http_minor == 0;
}

bool cd_http_parse_wants_continue(const cd_http_parse *p)
{
    return p->has_body && p->ll.http_minor == 1 &&
           cd_http_name_eq(cd_http_msg_header(&p->msg, "expect"), cd_bytes_str("100-continue"));
}

bool cd_http_parse_has_body(const cd_http_parse *p)
{
    return p->has_body;
}

bool cd_http_parse_offers_upgrade(const cd_http_parse *p)
{
    return p->offers_upgrade;
}

const cd_http_msg *cd_http_parse_msg(const cd_http_parse *p)
{
    return &p->msg;
}

cd_http_msg cd_http_parse_take(cd_http_parse *p)
{
    cd_http_msg m = p->msg;
    p->msg = (cd_http_msg){0};
    return m;
}
