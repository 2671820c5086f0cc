#include "finality/cert/cert.h"

#include "base/rd.h"

enum { VERSION = 0, BITS_MAX = CD_FIN_VALIDATORS_MAX / 8 };

/* --- names --- */

const char *cd_fin_flaw_text(cd_fin_flaw flaw)
{
    switch (flaw) {
    case CD_FLAW_NONE:
        return "good";
#define X(name, sentence)                                                                                              \
    case CD_FLAW_##name:                                                                                               \
        return sentence;
#include "finality/cert/flaws.def"
#undef X
    }
    CD_UNREACHABLE();
}

const char *cd_fin_flaw_name(cd_fin_flaw flaw)
{
    switch (flaw) {
    case CD_FLAW_NONE:
        return "GOOD";
#define X(name, sentence)                                                                                              \
    case CD_FLAW_##name:                                                                                               \
        return #name;
#include "finality/cert/flaws.def"
#undef X
    }
    CD_UNREACHABLE();
}

/* --- the message --- */

void cd_fin_msg_enc(u8 out[CD_FIN_MSG_BYTES], const cd_fin_msg *m)
{
    memcpy(out, m->block.b, 32);
    cd_put_be64(out + 32, m->height);
    cd_put_be64(out + 40, m->time_ns);
}

void cd_fin_msg_dec(cd_fin_msg *out, const u8 bytes[CD_FIN_MSG_BYTES])
{
    memcpy(out->block.b, bytes, 32);
    out->height = cd_be64(bytes + 32);
    out->time_ns = cd_be64(bytes + 40);
}

/* --- taking apart --- */

/* Which parts the body of a type has. */
static bool has_bls(cd_fin_type type)
{
    return type != CD_FIN_LATTICE;
}

static bool has_lattice(cd_fin_type type)
{
    return type == CD_FIN_LATTICE || type == CD_FIN_BOTH;
}

/* Takes what has its length in front; the sticky error of another length than want is CD_EFORMAT. */
static cd_bytes take_sized(cd_rd *r, u32 want)
{
    if (cd_rd_be32(r) != want) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    return cd_rd_take(r, want);
}

/* Takes a list of 1 to max things of size bytes, with their number in front. */
static cd_bytes take_list(cd_rd *r, u32 size, u32 max)
{
    u32 cnt = cd_rd_be32(r);
    if (cnt == 0 || cnt > max) {
        cd_rd_fail(r, CD_EFORMAT);
        return (cd_bytes){0};
    }
    return cd_rd_take(r, (usize)cnt * size);
}

/* Reads the body, which must fill bytes; its length is in front of it, so that any other length is a flaw of BODY. */
static cd_fin_flaw read_body(cd_fin_cert *c, cd_bytes bytes)
{
    cd_rd r = cd_rd_init(bytes);
    if (c->type == CD_FIN_BLS) {
        c->bls = cd_rd_take(&r, CD_BLS_SIG_LEN);
    } else if (has_bls(c->type)) {
        c->bls = take_sized(&r, CD_BLS_SIG_LEN);
    }
    if (has_lattice(c->type)) {
        c->parties = take_list(&r, CD_FIN_NODE_BYTES, CD_RT_PARTIES_MAX);
        c->lattice = cd_rd_take(&r, CD_RT_SIG_BYTES);
    }
    if (c->type == CD_FIN_MLDSA) {
        c->mldsa = take_list(&r, CD_FIN_MLDSA_BYTES, CD_FIN_VALIDATORS_MAX);
    }
    return cd_rd_end(&r) == CD_OK ? CD_FLAW_NONE : CD_FLAW_BODY;
}

/* Reads what stands in front of the body; what is cut short is found by the caller. */
static cd_fin_flaw read_head(cd_fin_cert *c, cd_rd *r)
{
    u8 msg[CD_FIN_MSG_BYTES];
    u16 version = cd_rd_be16(r);
    u8 type = cd_rd_u8(r);
    if (r->err == CD_OK && version != VERSION) {
        return CD_FLAW_VERSION;
    }
    if (type > CD_FIN_MLDSA) {
        return CD_FLAW_TYPE;
    }
    c->type = (cd_fin_type)type;
    cd_rd_copy(r, c->chain.b, sizeof c->chain.b);
    cd_rd_copy(r, msg, sizeof msg);
    cd_fin_msg_dec(&c->msg, msg);
    c->total = cd_rd_be64(r);
    c->signed_by = cd_rd_be64(r);
    u32 n = cd_rd_be32(r);
    if (r->err == CD_OK && (n == 0 || n > BITS_MAX)) {
        return CD_FLAW_BITS;
    }
    c->bits = cd_rd_take(r, n);
    return r->err == CD_OK && c->bits.p[n - 1] == 0 ? CD_FLAW_BITS : CD_FLAW_NONE;
}

cd_fin_flaw cd_fin_cert_parse(cd_fin_cert *out, cd_bytes bytes)
{
    if (bytes.n > CD_FIN_CERT_MAX) {
        return CD_FLAW_LONG;
    }
    *out = (cd_fin_cert){0};
    cd_rd r = cd_rd_init(bytes);
    cd_fin_flaw flaw = read_head(out, &r);
    if (flaw != CD_FLAW_NONE) {
        return flaw;
    }
    cd_bytes body = cd_rd_take(&r, cd_rd_be32(&r));
    cd_err e = cd_rd_end(&r);
    return e == CD_OK ? read_body(out, body) : e == CD_ETRAIL ? CD_FLAW_LONG : CD_FLAW_SHORT;
}

/* --- putting together --- */

static void put_u32(cd_buf *out, usize v)
{
    cd_put_be32(cd_buf_extend(out, 4), (u32)v);
}

static void put_u64(cd_buf *out, u64 v)
{
    cd_put_be64(cd_buf_extend(out, 8), v);
}

static void put_sized(cd_buf *out, cd_bytes bytes)
{
    put_u32(out, bytes.n);
    cd_buf_put(out, bytes);
}

static void put_list(cd_buf *out, cd_bytes list, usize size)
{
    CD_ASSERT(list.n % size == 0);
    put_u32(out, list.n / size);
    cd_buf_put(out, list);
}

static void put_body(cd_buf *out, const cd_fin_cert *c)
{
    CD_ASSERT(!has_bls(c->type) || c->bls.n == CD_BLS_SIG_LEN);
    if (c->type == CD_FIN_BLS) {
        cd_buf_put(out, c->bls);
    } else if (has_bls(c->type)) {
        put_sized(out, c->bls);
    }
    if (has_lattice(c->type)) {
        CD_ASSERT(c->lattice.n == CD_RT_SIG_BYTES);
        put_list(out, c->parties, CD_FIN_NODE_BYTES);
        cd_buf_put(out, c->lattice);
    }
    if (c->type == CD_FIN_MLDSA) {
        put_list(out, c->mldsa, CD_FIN_MLDSA_BYTES);
    }
}

void cd_fin_cert_put(cd_buf *out, const cd_fin_cert *cert)
{
    cd_bytes bits = cert->bits;
    while (bits.n != 0 && bits.p[bits.n - 1] == 0) {
        bits.n--;
    }
    cd_put_be16(cd_buf_extend(out, 2), VERSION);
    cd_buf_u8(out, (u8)cert->type);
    cd_buf_put(out, cd_bytes_of(cert->chain.b, sizeof cert->chain.b));
    cd_fin_msg_enc(cd_buf_extend(out, CD_FIN_MSG_BYTES), &cert->msg);
    put_u64(out, cert->total);
    put_u64(out, cert->signed_by);
    put_sized(out, bits);
    usize length_at = out->n;
    put_u32(out, 0);
    put_body(out, cert);
    cd_put_be32(out->p + length_at, (u32)(out->n - length_at - 4));
}
