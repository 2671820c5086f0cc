#include "net/http/msg.h"

/* Memory that a finished request may leave to the next one. */
enum { KEEP_MAX = 64 * 1024 };

static void buf_recycle(cd_buf *b)
{
    if (b->cap > KEEP_MAX) {
        cd_buf_fini(b);
    }
    cd_buf_clear(b);
}

void cd_http_msg_fini(cd_http_msg *m)
{
    cd_buf_fini(&m->text);
    cd_buf_fini(&m->body);
}

void cd_http_msg_clear(cd_http_msg *m)
{
    buf_recycle(&m->text);
    buf_recycle(&m->body);
    m->method = CD_HTTP_OTHER;
    m->target = (cd_http_span){0};
    m->authority = (cd_http_span){0};
    m->fields_cnt = 0;
}

void cd_http_msg_add(cd_http_msg *m, cd_http_span *s, cd_bytes bytes)
{
    if (s->n == 0) {
        s->at = (u32)m->text.n;
    }
    CD_ASSERT(s->at + s->n == m->text.n);
    s->n += (u32)bytes.n;
    cd_buf_put(&m->text, bytes);
}

cd_http_field *cd_http_msg_add_field(cd_http_msg *m)
{
    if (m->fields_cnt == CD_HTTP_HEADERS_MAX) {
        return NULL;
    }
    cd_http_field *f = &m->fields[m->fields_cnt++];
    *f = (cd_http_field){.name = {.at = (u32)m->text.n}, .value = {.at = (u32)m->text.n}};
    return f;
}

cd_bytes cd_http_msg_span(const cd_http_msg *m, cd_http_span s)
{
    return m->text.p == NULL ? (cd_bytes){0} : cd_bytes_of(m->text.p + s.at, s.n);
}

u32 cd_http_msg_count(const cd_http_msg *m, cd_bytes *first, const char *name)
{
    cd_bytes want = cd_bytes_str(name);
    u32 cnt = 0;
    *first = (cd_bytes){0};
    for (u32 i = 0; i < m->fields_cnt; i++) {
        const cd_http_field *f = &m->fields[i];
        if (f->name.n == want.n && cd_http_name_eq(cd_http_msg_span(m, f->name), want) && cnt++ == 0) {
            *first = cd_http_msg_span(m, f->value);
        }
    }
    return cnt;
}

cd_bytes cd_http_msg_header(const cd_http_msg *m, const char *name)
{
    cd_bytes v;
    (void)cd_http_msg_count(m, &v, name);
    return v;
}

/* Splits an absolute target into authority and the rest; other targets have no authority. */
static cd_bytes target_split(const cd_http_msg *m, cd_bytes *authority)
{
    static const char *const schemes[] = {"http://", "https://"};
    cd_bytes t = cd_http_msg_span(m, m->target);
    *authority = (cd_bytes){0};
    for (usize i = 0; i < CD_COUNT(schemes) && !(t.n != 0 && t.p[0] == '/'); i++) {
        usize n = strlen(schemes[i]);
        if (t.n >= n && cd_http_name_eq(cd_bytes_sub(t, 0, n), cd_bytes_str(schemes[i]))) {
            usize end = n;
            while (end < t.n && t.p[end] != '/' && t.p[end] != '?' && t.p[end] != '#') {
                end++;
            }
            *authority = cd_bytes_sub(t, n, end - n);
            return cd_bytes_sub(t, end, t.n - end);
        }
    }
    return t;
}

/* Where the path ends: at '?' or '#'. */
static usize path_len(cd_bytes t)
{
    usize n = 0;
    while (n < t.n && t.p[n] != '?' && t.p[n] != '#') {
        n++;
    }
    return n;
}

cd_bytes cd_http_msg_path(const cd_http_msg *m)
{
    cd_bytes authority;
    cd_bytes t = target_split(m, &authority);
    usize n = path_len(t);
    /* "http://host" and "http://host?q" mean the root. */
    return n == 0 && authority.n != 0 ? cd_bytes_str("/") : cd_bytes_sub(t, 0, n);
}

cd_bytes cd_http_msg_query(const cd_http_msg *m)
{
    cd_bytes authority;
    cd_bytes t = target_split(m, &authority);
    usize at = path_len(t);
    if (at == t.n || t.p[at] != '?') {
        return (cd_bytes){0};
    }
    usize end = at + 1;
    while (end < t.n && t.p[end] != '#') {
        end++;
    }
    return cd_bytes_sub(t, at + 1, end - at - 1);
}

cd_bytes cd_http_msg_host(const cd_http_msg *m)
{
    cd_bytes authority = cd_http_msg_span(m, m->authority);
    if (authority.n == 0) {
        (void)target_split(m, &authority);
    }
    return authority.n != 0 ? authority : cd_http_msg_header(m, "host");
}
