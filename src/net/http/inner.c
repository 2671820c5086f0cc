#include "net/http/inner.h"

#include "base/mem/mem.h"
#include "net/http/server_priv.h"

typedef struct inner_req {
    cd_http_req pub; /* first */
    cd_http_inner *in;
} inner_req;

static cd_http_inner *inner_of(const cd_http_req *r)
{
    return ((const inner_req *)r)->in;
}

static void on_answer(cd_http_req *r)
{
    cd_http_inner *in = inner_of(r);
    cd_splices_flatten(&r->splices, &r->out);
    in->status = r->status;
    cd__http_answer_lines(r, &in->lines);
    if (cd__http_answer_has_body(r)) {
        in->body = r->out;
        r->out = (cd_buf){0};
    }
    cd__http_req_fini(r);
    cd_free(r);
    in->done(in);
}

static bool is_local(const cd_http_req *r)
{
    return inner_of(r)->is_local;
}

static void peer(const cd_http_req *r, char out[CD_TCP_PEER_MAX])
{
    memcpy(out, inner_of(r)->peer, CD_TCP_PEER_MAX);
}

static bool offers_upgrade(const cd_http_req *r, const char *protocol)
{
    (void)r;
    (void)protocol;
    return false;
}

/* There is nobody who could take an answer piece by piece. */
static cd_http_stream *no_stream(cd_http_req *r, const cd_http_stream *pub)
{
    cd_http_inner *in = inner_of(r);
    (void)pub;
    r->server->held--;
    cd__http_req_fini(r);
    cd_free(r);
    in->status = 501;
    in->done(in);
    return NULL;
}

void cd_http_inner_ask(cd_http_server *s, cd_http_inner *in)
{
    static const cd__http_req_ops ops = {
        .answer = on_answer,
        .is_local = is_local,
        .peer = peer,
        .offers_upgrade = offers_upgrade,
        .stream = no_stream,
    };
    inner_req *r = cd_new(inner_req);
    r->in = in;
    cd__http_req_init(&r->pub, s, &ops);
    r->pub.msg = &in->msg;
    cd__http_req_take(&r->pub);
}

void cd_http_inner_fini(cd_http_inner *in)
{
    cd_http_msg_fini(&in->msg);
    cd_buf_fini(&in->lines);
    cd_buf_fini(&in->body);
}
