#include "types/receipt.h"

#include "crypto/hash/keccak.h"

/* Bytes of the shortest encodings, which bound counts before memory is taken. */
enum { LOG_MIN = 24, TOPIC_ITEM = 33 };

void cd_log_enc(cd_buf *out, const cd_log *log)
{
    usize list = cd_rlp_begin(out);
    cd_rlp_put_str(out, cd_bytes_of(log->addr.b, 20));
    cd_rlp_put_list_head(out, log->topic_cnt * (usize)TOPIC_ITEM);
    for (u32 i = 0; i < log->topic_cnt; i++) {
        cd_rlp_put_str(out, cd_bytes_of(log->topics[i].b, 32));
    }
    cd_rlp_put_str(out, log->data);
    cd_rlp_close(out, list);
}

static void enc_logs(cd_buf *out, const cd_log *logs, usize cnt)
{
    usize list = cd_rlp_begin(out);
    for (usize i = 0; i < cnt; i++) {
        cd_log_enc(out, &logs[i]);
    }
    cd_rlp_close(out, list);
}

void cd_logs_hash(cd_hash32 *out, const cd_log *logs, usize cnt)
{
    cd_buf tmp = {0};
    enc_logs(&tmp, logs, cnt);
    cd_keccak256(out, cd_buf_bytes(&tmp));
    cd_buf_fini(&tmp);
}

void cd_receipt_enc(cd_buf *out, const cd_receipt *r)
{
    if (r->type != CD_TX_LEGACY) {
        cd_buf_u8(out, (u8)r->type);
    }
    usize list = cd_rlp_begin(out);
    if (r->has_root) {
        cd_rlp_put_str(out, cd_bytes_of(r->root.b, 32));
    } else {
        cd_rlp_put_u64(out, r->ok);
    }
    cd_rlp_put_u64(out, r->cumulative_gas);
    cd_rlp_put_str(out, cd_bytes_of(r->bloom.b, sizeof r->bloom.b));
    enc_logs(out, r->logs, r->log_cnt);
    cd_rlp_close(out, list);
}

static void dec_log(cd_log *log, cd_rlp *logs)
{
    cd_rlp r = cd_rlp_list(logs);
    cd_rlp_fixed(&r, log->addr.b, 20);
    cd_rlp topics = cd_rlp_list(&r);
    while (cd_rlp_more(&topics) && log->topic_cnt < CD_LOG_TOPICS_MAX) {
        cd_rlp_fixed(&topics, log->topics[log->topic_cnt++].b, 32);
    }
    cd_rlp_leave(&r, &topics);
    log->data = cd_rlp_str(&r);
    cd_rlp_leave(logs, &r);
}

static void dec_logs(cd_receipt *out, cd_arena *a, cd_rlp *r)
{
    cd_rlp list = cd_rlp_list(r);
    usize cnt = cd_rlp_count(&list);
    if (cnt > (usize)(list.end - list.p) / LOG_MIN) {
        cd_rlp_fail(r, CD_ERANGE);
        return;
    }
    cd_log *logs = cd_arena_array(a, cd_log, cnt);
    for (usize i = 0; i < cnt; i++) {
        dec_log(&logs[i], &list);
    }
    cd_rlp_leave(r, &list);
    out->logs = logs;
    out->log_cnt = cnt;
}

/* Reads the status, 0 or 1, or a state root. */
static void dec_status(cd_receipt *out, cd_rlp *r)
{
    cd_bytes s = cd_rlp_str(r);
    if (s.n == 32) {
        out->has_root = true;
        memcpy(out->root.b, s.p, 32);
    } else if (s.n == 0 || (s.n == 1 && s.p[0] == 1)) {
        out->ok = s.n == 1;
    } else {
        cd_rlp_fail(r, CD_ERANGE);
    }
}

cd_err cd_receipt_dec(cd_receipt *out, cd_arena *a, cd_bytes in)
{
    cd_receipt rec = {0};
    if (in.n != 0 && in.p[0] < 0xc0) {
        if (in.p[0] < CD_TX_ACCESS_LIST || in.p[0] > CD_TX_SET_CODE) {
            return CD_EUNSUPPORTED;
        }
        rec.type = (cd_tx_type)in.p[0];
        in = cd_bytes_sub(in, 1, in.n - 1);
    }
    cd_rlp top = cd_rlp_init(in);
    cd_rlp r = cd_rlp_list(&top);
    dec_status(&rec, &r);
    rec.cumulative_gas = cd_rlp_u64(&r);
    cd_rlp_fixed(&r, rec.bloom.b, sizeof rec.bloom.b);
    dec_logs(&rec, a, &r);
    cd_rlp_leave(&top, &r);
    CD_TRY(cd_rlp_end(&top));
    *out = rec;
    return CD_OK;
}
