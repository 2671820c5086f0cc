/* The way of bytes from a socket to a handler: parser, host check, CORS. The first byte chooses how the
 * rest is cut into pieces; the result must be the same as without cutting. */
#include "base/mem/buf.h"
#include "net/http/access.h"
#include "net/http/parse.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { HEADER_MAX = 4096, BODY_MAX = 1024 };

static void put(cd_buf *out, cd_bytes b)
{
    cd_buf_fmt(out, "%zu:", b.n);
    cd_buf_put(out, b);
}

/* What reaches an answer must not be able to split it. */
static void check_lines(cd_bytes lines)
{
    for (usize i = 0; i < lines.n; i++) {
        CD_ASSERT((lines.p[i] == '\n') == (i != 0 && lines.p[i - 1] == '\r'));
    }
    CD_ASSERT(lines.n < 2 || lines.p[lines.n - 1] == '\n');
}

/* A request as text, so that two readings can be compared. */
static void describe(cd_buf *out, const cd_http_parse *p, const cd_http_access *access)
{
    const cd_http_msg *m = cd_http_parse_msg(p);
    cd_bytes origin = cd_http_msg_header(m, "origin");
    put(out, cd_bytes_str(cd_http_method_name(m->method)));
    put(out, cd_http_msg_path(m));
    put(out, cd_http_msg_query(m));
    put(out, cd_http_msg_host(m));
    put(out, cd_buf_bytes(&m->body));
    CD_ASSERT(m->body.n <= BODY_MAX);
    CD_ASSERT(cd_http_parse_has_body(p) || m->body.n == 0);
    cd_buf_fmt(out, "%d%d%d%d", cd_http_parse_keeps_alive(p), cd_http_parse_is_http10(p),
               cd_http_parse_wants_continue(p), cd_http_access_host(access, cd_http_msg_host(m)));
    usize before = out->n;
    cd_http_access_cors(access, out, origin);
    cd_http_access_preflight(access, out, origin, cd_http_msg_header(m, "access-control-request-method"),
                             cd_http_msg_header(m, "access-control-request-headers"));
    check_lines(cd_bytes_of(out->p + before, out->n - before));
}

static void run(cd_buf *out, cd_bytes in, usize piece, const cd_http_access *access)
{
    cd_http_parse *p = cd_http_parse_new(HEADER_MAX, BODY_MAX);
    cd_http_step step = CD_HTTP_STEP_MORE;
    while (step != CD_HTTP_STEP_BAD && (in.n != 0 || step == CD_HTTP_STEP_HEAD)) {
        usize used;
        usize n = piece != 0 && piece < in.n ? piece : in.n;
        step = cd_http_parse_feed(p, &used, cd_bytes_sub(in, 0, n));
        CD_ASSERT(used <= n && (step != CD_HTTP_STEP_MORE || used == n));
        in = cd_bytes_sub(in, used, in.n - used);
        if (step == CD_HTTP_STEP_DONE) {
            describe(out, p, access);
            cd_http_parse_next(p);
        } else if (step == CD_HTTP_STEP_BAD) {
            const char *text;
            u32 status = cd_http_parse_error(p, &text);
            CD_ASSERT(status >= 400 && status <= 599 && text[0] != '\0');
            /* Which of two limits is met first may depend on the pieces; that one is met may not. */
            cd_buf_str(out, "refused");
        }
    }
    cd_http_parse_free(p);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    static const char *const hosts[] = {"localhost"};
    if (size == 0) {
        return 0;
    }
    cd_http_access *access = cd_http_access_new(hosts, 1, "https://*.lux.network http://a");
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    cd_buf whole = {0};
    cd_buf cut = {0};
    run(&whole, in, 0, access);
    run(&cut, in, 1 + data[0] % 64, access);
    CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&whole), cd_buf_bytes(&cut)));

    cd_buf_fini(&whole);
    cd_buf_fini(&cut);
    cd_http_access_free(access);
    return 0;
}
