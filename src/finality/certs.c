/* Certificates: made, taken from others, kept, and given to who asks.
 *
 *   'C' chain height ──► certificate      'I' chain block ──► height      'L' chain ──► height of the newest final one
 *   'R' chain number ──► height           'N' chain ──► number of finals, hour of the last that stays
 *   'E' ──► epochs                        'A', 'S', 'V': see announce.c and turns.c */
#include "finality/finality_priv.h"

enum { KEY_MAX = 1 + 32 + 32, HOUR_S = 3600, SHORT_MAX = 1024 };

static cd_bytes key_of(u8 key[KEY_MAX], char table, const cd_hash32 *chain, const void *more, usize n)
{
    key[0] = (u8)table;
    memcpy(key + 1, chain->b, 32);
    if (n != 0) {
        memcpy(key + 33, more, n);
    }
    return cd_bytes_of(key, 33 + n);
}

static cd_bytes key_at(u8 key[KEY_MAX], char table, const cd_hash32 *chain, u64 number)
{
    u8 be[8];
    cd_put_be64(be, number);
    return key_of(key, table, chain, be, sizeof be);
}

static void put_u64(cd_kv_batch *batch, cd_bytes key, u64 v)
{
    u8 be[8];
    cd_put_be64(be, v);
    cd_kv_batch_put(batch, key, cd_bytes_of(be, sizeof be));
}

static cd_err get_u64(cd_kv *kv, u64 *out, cd_bytes key)
{
    cd_buf v = {0};
    cd_err e = cd_kv_get(kv, &v, key);
    e = e == CD_OK && v.n != 8 ? CD_ECORRUPT : e;
    if (e == CD_OK) {
        *out = cd_be64(v.p);
    }
    cd_buf_fini(&v);
    return e;
}

/* --- keeping --- */

/* Appends what takes a certificate away, with the way to it. */
static void forget(cd_kv_batch *batch, const cd__fin_chain *c, u64 height, cd_bytes cert)
{
    u8 key[KEY_MAX];
    if (cert.n >= 67) {
        cd_kv_batch_del(batch, key_of(key, 'I', &c->id, cert.p + 35, 32));
    }
    cd_kv_batch_del(batch, key_at(key, 'C', &c->id, height));
}

/* Of final certificates that are no longer among the newest, the first of each hour stays. */
static void thin_finals(cd_finality *f, cd_kv_batch *batch, cd__fin_chain *c)
{
    u8 key[KEY_MAX];
    cd_buf cert = {0};
    cd_fin_cert old;
    u64 height;
    if (c->finals < CD_FINALITY_FINALS_KEPT) {
        return;
    }
    cd_bytes at = key_at(key, 'R', &c->id, c->finals - CD_FINALITY_FINALS_KEPT);
    if (get_u64(f->cfg.kv, &height, at) != CD_OK) {
        return;
    }
    cd_kv_batch_del(batch, at);
    if (cd_kv_get(f->cfg.kv, &cert, key_at(key, 'C', &c->id, height)) == CD_OK &&
        cd_fin_cert_parse(&old, cd_buf_bytes(&cert)) == CD_FLAW_NONE) {
        u64 hour = old.msg.time_ns / 1000000000 / HOUR_S + 1;
        if (hour == c->kept_hour) {
            forget(batch, c, height, cd_buf_bytes(&cert));
        }
        c->kept_hour = hour;
    }
    cd_buf_fini(&cert);
}

/* Certificates of BLS alone go when they are that far behind. */
static void thin_bls(cd_finality *f, cd_kv_batch *batch, const cd__fin_chain *c, u64 height)
{
    u8 key[KEY_MAX];
    cd_buf cert = {0};
    if (height > CD_FINALITY_BLS_KEPT &&
        cd_kv_get(f->cfg.kv, &cert, key_at(key, 'C', &c->id, height - CD_FINALITY_BLS_KEPT)) == CD_OK && cert.n > 2 &&
        cert.p[2] == CD_FIN_BLS) {
        forget(batch, c, height - CD_FINALITY_BLS_KEPT, cd_buf_bytes(&cert));
    }
    cd_buf_fini(&cert);
}

static bool store(cd_finality *f, cd__fin_chain *c, const cd__fin_block *b, cd_fin_type type, cd_bytes cert)
{
    u8 key[KEY_MAX];
    u8 figures[16];
    cd_kv_batch batch;
    memset(&batch, 0, sizeof batch);
    cd_kv_batch_for(&batch, f->cfg.kv);
    cd_kv_batch_put(&batch, key_at(key, 'C', &c->id, b->height), cert);
    put_u64(&batch, key_of(key, 'I', &c->id, b->msg.block.b, 32), b->height);
    if (cd_fin_is_final(type)) {
        thin_finals(f, &batch, c);
        put_u64(&batch, key_of(key, 'L', &c->id, NULL, 0), b->height);
        put_u64(&batch, key_at(key, 'R', &c->id, c->finals), b->height);
        cd_put_be64(figures, c->finals + 1);
        cd_put_be64(figures + 8, c->kept_hour);
        cd_kv_batch_put(&batch, key_of(key, 'N', &c->id, NULL, 0), cd_bytes_of(figures, sizeof figures));
    } else {
        thin_bls(f, &batch, c, b->height);
    }
    bool is_in = cd_kv_commit(f->cfg.kv, &batch, CD_KV_NOSYNC, NULL) == CD_OK;
    c->finals += is_in && cd_fin_is_final(type) ? 1 : 0;
    cd_kv_batch_fini(&batch);
    return is_in;
}

/* --- a certificate that is true --- */

static void note_bls(cd__fin_block *b, const cd_fin_cert *cert, u64 now)
{
    if (!b->is_bls) {
        b->is_bls = true;
        b->bls_ns = now;
        memcpy(b->aggregate, cert->bls.p, CD_BLS_SIG_LEN);
        cd_buf_clear(&b->bits);
        cd_buf_put(&b->bits, cert->bits);
        b->signed_by = cert->signed_by;
    }
}

static void note_final(cd__fin_chain *c, const cd__fin_block *b)
{
    c->has_final = true;
    c->final_height = b->height;
    for (u32 i = 0; i < c->cnt && c->blocks[i]->height <= b->height; i++) {
        c->blocks[i]->is_done = true;
    }
    if (c->session != NULL && c->session->block->is_done) {
        cd__fin_session_drop(c);
    }
    c->retry = c->retry != NULL && c->retry->is_done ? NULL : c->retry;
}

static void take_in(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, const cd_fin_cert *cert, cd_bytes bytes,
                    u64 now)
{
    u64 *counts[] = {&f->stats.bls, NULL, &f->stats.lattice, &f->stats.mldsa};
    (*counts[cert->type])++;
    note_bls(b, cert, now);
    if (cd_fin_is_final(cert->type)) {
        note_final(c, b);
        c->pace_ns = cd_max_u64(c->pace_ns, now + (u64)CD_FINALITY_PACE_MS * CD__FIN_MS);
    }
    c->progress_ns = now;
    c->has_news = true;
    f->cfg.out.certified(f->cfg.out.ctx, b->height, b->begun_ns, cert, bytes);
}

bool cd__fin_certify(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, cd_fin_cert *cert, cd_buf *bytes, u64 now)
{
    const cd_fin_span *s = cd__fin_span(f, b);
    cd_fin_cert read;
    if (s == NULL) {
        return false;
    }
    cert->chain = c->id;
    cert->msg = b->msg;
    cert->total = s->set.total;
    if (cert->type != CD_FIN_BLS) {
        cert->signed_by = b->signed_by;
        cert->bits = cd_buf_bytes(&b->bits);
        cert->bls = cd_bytes_of(b->aggregate, CD_BLS_SIG_LEN);
    }
    cd_fin_set set = cd__fin_set(f, s);
    cd_fin_cert_put(bytes, cert);
    if (cd_fin_verify_bytes(&read, cd_buf_bytes(bytes), &set, &c->id, f->room) != CD_FLAW_NONE ||
        !store(f, c, b, cert->type, cd_buf_bytes(bytes))) {
        return false;
    }
    take_in(f, c, b, &read, cd_buf_bytes(bytes), now);
    return true;
}

cd__fin_fate cd__fin_on_cert(cd_finality *f, cd__fin_chain *c, const cd_fin_says *says, u64 now)
{
    cd_fin_cert cert;
    if (cd_fin_cert_parse(&cert, says->bytes) != CD_FLAW_NONE || !cd_hash32_eq(&cert.chain, &c->id)) {
        return CD__FIN_REFUSED;
    }
    cd__fin_block *b = cd__fin_find(c, &cert.msg);
    if (b == NULL) {
        return CD__FIN_LATER;
    }
    const cd_fin_span *s = cd__fin_span(f, b);
    bool is_better = cd_fin_is_final(cert.type) ? !b->is_done : cert.type == CD_FIN_BLS && !b->is_bls;
    bool is_ignored = cert.type == CD_FIN_MLDSA && f->cfg.wants_threshold;
    if (s == NULL || !is_better || is_ignored) {
        return CD__FIN_DONE;
    }
    cd_fin_set set = cd__fin_set(f, s);
    cd_fin_flaw flaw = cd_fin_verify(&cert, &set, &c->id, f->room);
    if (flaw == CD_FLAW_NO_MLDSA) {
        return CD__FIN_LATER; /* a key is not known here yet */
    }
    if (flaw != CD_FLAW_NONE) {
        return CD__FIN_REFUSED;
    }
    if (store(f, c, b, cert.type, says->bytes)) {
        take_in(f, c, b, &cert, says->bytes, now);
    }
    return CD__FIN_DONE;
}

/* --- reading --- */

cd_err cd_finality_cert_at(cd_kv *kv, cd_buf *out, const cd_hash32 *chain, u64 height)
{
    u8 key[KEY_MAX];
    return cd_kv_get(kv, out, key_at(key, 'C', chain, height));
}

cd_err cd_finality_cert(cd_kv *kv, cd_buf *out, u64 *height, const cd_hash32 *chain, const cd_hash32 *block)
{
    u8 key[KEY_MAX];
    u64 at;
    CD_TRY(get_u64(kv, &at, key_of(key, 'I', chain, block->b, 32)));
    CD_TRY(cd_finality_cert_at(kv, out, chain, at));
    if (height != NULL) {
        *height = at;
    }
    return CD_OK;
}

/* The newest certificate of type 2: from the newest final one back, as far as they are numbered. */
static cd_err last_by_threshold(cd_kv *kv, cd_buf *out, u64 *height, const cd_hash32 *chain)
{
    u8 key[KEY_MAX];
    cd_buf figures = {0};
    cd_err e = cd_kv_get(kv, &figures, key_of(key, 'N', chain, NULL, 0));
    e = e == CD_OK && figures.n != 16 ? CD_ECORRUPT : e;
    u64 number = e == CD_OK ? cd_be64(figures.p) : 0;
    bool is_found = false;
    for (u32 i = 0; e == CD_OK && !is_found && i < CD_FINALITY_FINALS_KEPT; i++) {
        e = number == 0 ? CD_ENOENT : get_u64(kv, height, key_at(key, 'R', chain, --number));
        e = e == CD_OK ? cd_finality_cert_at(kv, out, chain, *height) : e;
        is_found = e == CD_OK && out->n > 2 && out->p[2] == CD_FIN_BOTH;
    }
    cd_buf_fini(&figures);
    return e == CD_OK && !is_found ? CD_ENOENT : e;
}

cd_err cd_finality_last(cd_kv *kv, cd_buf *out, u64 *height, const cd_hash32 *chain, bool by_threshold)
{
    u8 key[KEY_MAX];
    u64 at = 0;
    if (by_threshold) {
        CD_TRY(last_by_threshold(kv, out, &at, chain));
    } else {
        CD_TRY(get_u64(kv, &at, key_of(key, 'L', chain, NULL, 0)));
        CD_TRY(cd_finality_cert_at(kv, out, chain, at));
    }
    if (height != NULL) {
        *height = at;
    }
    return CD_OK;
}

cd_err cd_finality_serve(cd_kv *kv, cd_buf *out, cd_bytes request)
{
    cd_fin_says says;
    if (request.n > SHORT_MAX) {
        return CD_ELIMIT;
    }
    CD_TRY(cd_fin_says_read(&says, request));
    if (says.kind != CD_FIN_SAYS_WANTED) {
        return CD_EFORMAT;
    }
    return cd_hash32_is_zero(&says.msg.block) ? cd_finality_last(kv, out, NULL, &says.chain, false)
                                              : cd_finality_cert(kv, out, NULL, &says.chain, &says.msg.block);
}

cd_err cd__fin_load(cd_finality *f, cd__fin_chain *c)
{
    u8 key[KEY_MAX];
    cd_buf v = {0};
    cd_err e = get_u64(f->cfg.kv, &c->final_height, key_of(key, 'L', &c->id, NULL, 0));
    c->has_final = e == CD_OK;
    e = e == CD_ENOENT ? CD_OK : e;
    if (e == CD_OK && c->has_final) {
        e = cd_kv_get(f->cfg.kv, &v, key_of(key, 'N', &c->id, NULL, 0));
        e = e == CD_OK && v.n != 16 ? CD_ECORRUPT : e;
        c->finals = e == CD_OK ? cd_be64(v.p) : 0;
        c->kept_hour = e == CD_OK ? cd_be64(v.p + 8) : 0;
    }
    cd_buf_fini(&v);
    return e;
}

cd_err cd__fin_store_epochs(cd_finality *f)
{
    const u8 key = 'E';
    cd_buf bytes = {0};
    cd_fin_epochs_put(&bytes, &f->epochs);
    cd_err e = cd_kv_put(f->cfg.kv, cd_bytes_of(&key, 1), cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    return e;
}

cd_err cd__fin_load_epochs(cd_finality *f)
{
    const u8 key = 'E';
    cd_buf bytes = {0};
    cd_err e = cd_kv_get(f->cfg.kv, &bytes, cd_bytes_of(&key, 1));
    if (e == CD_OK) {
        e = cd_fin_epochs_read(&f->epochs, cd_buf_bytes(&bytes)) == CD_OK ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&bytes);
    return e == CD_ENOENT ? CD_OK : e;
}
