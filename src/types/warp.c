#include "types/warp.h"

#include "base/rd.h"
#include "crypto/hash/sha2.h"

/* The only codec version, and the only kind of signature. */
enum { VERSION = 0, BIT_SET_SIGNATURE = 0 };

static void put_u16(cd_buf *out, u16 v)
{
    cd_put_be16(cd_buf_extend(out, 2), v);
}

static void put_u32(cd_buf *out, u32 v)
{
    cd_put_be32(cd_buf_extend(out, 4), v);
}

static void put_bytes(cd_buf *out, cd_bytes b)
{
    put_u32(out, (u32)b.n);
    cd_buf_put(out, b);
}

static cd_bytes take_bytes(cd_rd *r)
{
    return cd_rd_take(r, cd_rd_be32(r));
}

static void take_version(cd_rd *r)
{
    u16 version = cd_rd_be16(r);
    if (r->err == CD_OK && version != VERSION) {
        cd_rd_fail(r, CD_EVERSION);
    }
}

/* --- messages --- */

static cd_warp_unsigned take_unsigned(cd_rd *r)
{
    cd_warp_unsigned m;
    take_version(r);
    m.network_id = cd_rd_be32(r);
    cd_rd_copy(r, m.source_chain.b, 32);
    m.payload = take_bytes(r);
    return m;
}

cd_err cd_warp_unsigned_dec(cd_warp_unsigned *out, cd_bytes in)
{
    cd_rd r = cd_rd_init(in);
    cd_warp_unsigned m = take_unsigned(&r);
    CD_TRY(cd_rd_end(&r));
    *out = m;
    return CD_OK;
}

void cd_warp_unsigned_enc(cd_buf *out, const cd_warp_unsigned *m)
{
    put_u16(out, VERSION);
    put_u32(out, m->network_id);
    cd_buf_put(out, cd_bytes_of(m->source_chain.b, 32));
    put_bytes(out, m->payload);
}

void cd_warp_unsigned_id(cd_hash32 *out, cd_bytes enc)
{
    cd_sha256(out, enc);
}

cd_err cd_warp_message_dec(cd_warp_message *out, cd_bytes in)
{
    cd_rd r = cd_rd_init(in);
    cd_warp_message m = {.body = take_unsigned(&r)};
    m.text = cd_bytes_of(in.p, in.n - cd_rd_left(&r));
    u32 kind = cd_rd_be32(&r);
    if (r.err == CD_OK && kind != BIT_SET_SIGNATURE) {
        cd_rd_fail(&r, CD_ETYPE);
    }
    m.signers = take_bytes(&r);
    cd_rd_copy(&r, m.signature, sizeof m.signature);
    CD_TRY(cd_rd_end(&r));
    *out = m;
    return CD_OK;
}

void cd_warp_message_enc(cd_buf *out, const cd_warp_message *m)
{
    cd_warp_unsigned_enc(out, &m->body);
    put_u32(out, BIT_SET_SIGNATURE);
    put_bytes(out, m->signers);
    cd_buf_put(out, cd_bytes_of(m->signature, sizeof m->signature));
}

/* --- payloads --- */

cd_err cd_warp_payload_dec(cd_warp_payload *out, cd_bytes in)
{
    if (in.n > CD_WARP_PAYLOAD_MAX) {
        return CD_ELIMIT;
    }
    cd_rd r = cd_rd_init(in);
    take_version(&r);
    u32 type = cd_rd_be32(&r);
    cd_warp_payload p = {.type = CD_WARP_HASH};
    if (type == CD_WARP_HASH) {
        cd_rd_copy(&r, p.hash.b, 32);
    } else if (type == CD_WARP_ADDRESSED_CALL) {
        p.type = CD_WARP_ADDRESSED_CALL;
        p.source = take_bytes(&r);
        p.payload = take_bytes(&r);
    } else {
        cd_rd_fail(&r, CD_ETYPE);
    }
    CD_TRY(cd_rd_end(&r));
    *out = p;
    return CD_OK;
}

cd_err cd_warp_payload_enc(cd_buf *out, const cd_warp_payload *p)
{
    enum { CALL_OVERHEAD = 2 + 4 + 4 + 4 };
    if (p->type == CD_WARP_ADDRESSED_CALL && (p->source.n > CD_WARP_PAYLOAD_MAX - CALL_OVERHEAD ||
                                              p->payload.n > CD_WARP_PAYLOAD_MAX - CALL_OVERHEAD - p->source.n)) {
        return CD_ELIMIT;
    }
    put_u16(out, VERSION);
    put_u32(out, p->type);
    switch (p->type) {
    case CD_WARP_HASH:
        cd_buf_put(out, cd_bytes_of(p->hash.b, 32));
        break;
    case CD_WARP_ADDRESSED_CALL:
        put_bytes(out, p->source);
        put_bytes(out, p->payload);
        break;
    }
    return CD_OK;
}

/* --- bitsets --- */

bool cd_bits_is_minimal(cd_bytes bits)
{
    return bits.n == 0 || bits.p[0] != 0;
}

bool cd_bits_has(cd_bytes bits, u64 idx)
{
    u64 byte = idx / 8;
    return byte < bits.n && (bits.p[bits.n - 1 - byte] >> (idx % 8) & 1) != 0;
}

u64 cd_bits_count(cd_bytes bits)
{
    u64 cnt = 0;
    for (usize i = 0; i < bits.n; i++) {
        cnt += (u64)__builtin_popcount(bits.p[i]);
    }
    return cnt;
}

u64 cd_bits_len(cd_bytes bits)
{
    usize zeros = 0;
    while (zeros < bits.n && bits.p[zeros] == 0) {
        zeros++;
    }
    if (zeros == bits.n) {
        return 0;
    }
    return 8 * (u64)(bits.n - zeros) - (u64)(__builtin_clz(bits.p[zeros]) - 24);
}

void cd_bits_put(cd_buf *out, const bool *flags, usize cnt)
{
    while (cnt != 0 && !flags[cnt - 1]) {
        cnt--;
    }
    usize n = (cnt + 7) / 8;
    u8 *p = cd_buf_extend(out, n);
    for (usize i = 0; i < n; i++) {
        p[i] = 0;
    }
    for (usize i = 0; i < cnt; i++) {
        p[n - 1 - i / 8] = (u8)(p[n - 1 - i / 8] | (unsigned)flags[i] << (i % 8));
    }
}
