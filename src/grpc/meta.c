#include "grpc/meta_priv.h"

#include "base/num_text.h"
#include "codec/base64.h"

enum { META_HEAD = 9 };

void cd__grpc_meta_put(cd_buf *meta, u8 place, cd_bytes name, cd_bytes value)
{
    u8 *p = cd_buf_extend(meta, META_HEAD);
    p[0] = place;
    cd_put_le32(p + 1, (u32)name.n);
    cd_put_le32(p + 5, (u32)value.n);
    cd_buf_put(meta, name);
    cd_buf_put(meta, value);
}

bool cd__grpc_meta_next(const cd_buf *meta, usize *at, u8 *place, cd__grpc_field *out)
{
    if (*at == meta->n) {
        return false;
    }
    const u8 *p = meta->p + *at;
    *place = p[0];
    out->name = cd_bytes_of(p + META_HEAD, cd_le32(p + 1));
    out->value = cd_bytes_of(p + META_HEAD + out->name.n, cd_le32(p + 5));
    *at += META_HEAD + out->name.n + out->value.n;
    return true;
}

/* Writes the value of a name that ends in "-bin": base64 without padding; readers take it with padding, too. */
static void bin_put(cd_buf *out, cd_bytes raw)
{
    usize start = out->n;
    cd_base64_enc(out, raw);
    while (out->n != start && out->p[out->n - 1] == '=') {
        out->n--;
    }
}

static bool bin_dec(cd_buf *out, cd_bytes text)
{
    cd_buf padded = {0};
    cd_buf_put(&padded, text);
    cd_buf_fill(&padded, '=', text.n % 4 == 0 ? 0 : 4 - text.n % 4);
    bool ok = cd_base64_dec(out, cd_buf_bytes(&padded)) == CD_OK;
    cd_buf_fini(&padded);
    return ok;
}

usize cd__grpc_status_fields(cd__grpc_field out[CD__GRPC_STATUS_FIELDS], cd_buf *text, const cd_grpc_status *st)
{
    usize cnt = 1;
    cd_buf_fmt(text, "%u", st->code);
    usize message_at = text->n;
    cd_grpc_percent_put(text, cd_buf_bytes(&st->message));
    usize details_at = text->n;
    bin_put(text, cd_buf_bytes(&st->details));
    out[0] = (cd__grpc_field){cd_bytes_str("grpc-status"), cd_bytes_of(text->p, message_at)};
    if (details_at != message_at) {
        out[cnt++] =
            (cd__grpc_field){cd_bytes_str("grpc-message"), cd_bytes_of(text->p + message_at, details_at - message_at)};
    }
    if (text->n != details_at) {
        out[cnt++] = (cd__grpc_field){cd_bytes_str("grpc-status-details-bin"),
                                      cd_bytes_of(text->p + details_at, text->n - details_at)};
    }
    return cnt;
}

bool cd__grpc_status_field(cd_grpc_status *st, bool *has_code, cd_bytes name, cd_bytes value)
{
    if (cd_bytes_eq(name, cd_bytes_str("grpc-status"))) {
        u64 code = 0;
        bool ok = cd_u64_parse(&code, value) == CD_OK && code <= INT32_MAX;
        st->code = ok ? (u32)code : CD_GRPC_UNKNOWN;
        *has_code = true;
        return true;
    }
    if (cd_bytes_eq(name, cd_bytes_str("grpc-message"))) {
        cd_buf_clear(&st->message);
        cd_grpc_percent_dec(&st->message, value);
        return true;
    }
    if (cd_bytes_eq(name, cd_bytes_str("grpc-status-details-bin"))) {
        cd_buf_clear(&st->details);
        if (!bin_dec(&st->details, value)) {
            cd_buf_clear(&st->details);
        }
        return true;
    }
    return false;
}
