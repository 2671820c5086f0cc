#include "consensus/proposer/cert_staking.h"

#include "base/mem/mem.h"
#include "types/cert.h"

typedef struct cert_staking {
    cd_staking staking; /* first */
    const cd_signkey *key;
} cert_staking;

static cd_err node_of(const cd_staking *s, cd_node_id *out, cd_bytes cert, cd_errinfo *why)
{
    cd_cert c;
    (void)s;
    CD_TRY(cd_cert_parse(&c, cert, why));
    *out = c.node_id;
    return CD_OK;
}

static cd_err check(const cd_staking *s, cd_bytes cert, cd_bytes msg, cd_bytes sig, cd_errinfo *why)
{
    cd_cert c;
    (void)s;
    CD_TRY(cd_cert_parse(&c, cert, why));
    return cd_cert_check(&c, msg, sig, why);
}

static cd_err sign(const cd_staking *s, cd_buf *sig, cd_bytes msg, cd_errinfo *why)
{
    const cert_staking *own = (const cert_staking *)(const void *)s;
    if (own->key == NULL) {
        return cd_fail(why, CD_EUNSUPPORTED, "this node has no staking key");
    }
    cd_signkey_sign(own->key, sig, msg);
    return CD_OK;
}

cd_staking *cd_cert_staking_new(cd_bytes cert, const cd_signkey *key)
{
    cert_staking *s = cd_new(cert_staking);
    s->staking = (cd_staking){.node_of = node_of, .check = check, .sign = sign, .cert = cert};
    s->key = key;
    return &s->staking;
}

void cd_cert_staking_free(cd_staking *s)
{
    cd_free(s);
}
