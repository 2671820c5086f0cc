/* GET /media/{sha256}: bytes of the cache, whole or by range, counted for whoever's impression they are. */
#include "services/adx/miner/home_priv.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "net/http/query.h"
#include "net/http/stream.h"

enum {
    WHOLE_MAX = 8 << 20, /* larger ones go in pieces */
    PIECE = 4 << 20,     /* of a range; the rest is asked for again */
    STREAM_PIECE = 512 << 10,
    STREAM_WAITING = 1 << 20,
    RANGE_TEXT_MAX = 128,
};

typedef struct reading {
    cd_vault_job job;
    cd_home *home;
    cd_http_req *r;
    cd_http_stream *stream; /* instead of r */
    cd_hash32 digest;
    cd_bytes token; /* in mem */
    cd_arena mem;
    char range[RANGE_TEXT_MAX];
    usize range_n;
    cd_range_kind kind;
    cd_byte_range part;
    u64 size, at;
    cd_buf bytes;
    bool is_reading, is_gone;
} reading;

static void reading_free(reading *k)
{
    cd_arena_fini(&k->mem);
    cd_buf_fini(&k->bytes);
    cd_free(k);
}

static void count(reading *k, u64 bytes)
{
    cd_home *h = k->home;
    h->bytes_served += bytes;
    cd_counter_add(h->m.bytes, bytes);
    cd_played_add(h->played, k->token, bytes, cd_clock_wall_s(h->cfg.clock));
}

static void add_headers(cd_http_req *r, const cd_hash32 *digest)
{
    char tag[67] = {0};
    tag[0] = '"';
    cd_hex_fmt(tag + 1, cd_bytes_of(digest->b, 32));
    tag[65] = '"';
    cd_http_req_add_header(r, "ETag", tag);
    cd_http_req_add_lines(r,
                          cd_bytes_str("Accept-Ranges: bytes\r\nCache-Control: public, max-age=31536000, immutable\r\n"
                                       "Access-Control-Allow-Origin: *\r\n"));
}

/* --- in one piece --- */

static cd_err run_read(cd_vault_job *job, cd_cache *c, cd_errinfo *why)
{
    reading *k = (reading *)(void *)job;
    CD_TRY(cd_cache_find(c, &k->size, &k->digest, why));
    k->kind = cd_range_parse(&k->part, cd_bytes_of(k->range, k->range_n), k->size);
    if (k->kind == CD_RANGE_OUTSIDE) {
        return CD_OK;
    }
    if (k->kind == CD_RANGE_WHOLE) {
        k->part = (cd_byte_range){0, k->size - 1};
        if (k->size > WHOLE_MAX) {
            return CD_ELIMIT;
        }
    } else if (k->part.last - k->part.first >= PIECE) {
        k->part.last = k->part.first + PIECE - 1;
    }
    return cd_cache_read(c, &k->bytes, &k->digest, k->part, why);
}

static void add_range(reading *k)
{
    char line[80];
    cd_buf text = {0};
    unsigned long long size = k->size;
    if (k->kind == CD_RANGE_OUTSIDE) {
        cd_buf_fmt(&text, "bytes */%llu", size);
    } else {
        cd_buf_fmt(&text, "bytes %llu-%llu/%llu", (unsigned long long)k->part.first, (unsigned long long)k->part.last,
                   size);
    }
    memcpy(line, cd_buf_cstr(&text), text.n + 1);
    cd_http_req_add_header(k->r, "Content-Range", line);
    cd_buf_fini(&text);
}

static void on_read(cd_vault_job *job)
{
    reading *k = (reading *)(void *)job;
    cd_home *h = k->home;
    cd_http_req *r = k->r;
    if (job->err == CD_ENOENT || job->err == CD_ECORRUPT || job->err == CD_ELIMIT) {
        cd_fill_gone(h->fill, &k->digest);
        cd_counter_add(h->m.refused, 1);
        cd__home_error(r, 404, "not_found", "this miner does not have it");
    } else if (job->err != CD_OK) {
        cd_log_error(h->cfg.log, "object not read", CD_F("why", (const char *)job->why.msg));
        cd__home_error(r, 503, "unreadable", "it cannot be read now");
    } else if (k->kind == CD_RANGE_OUTSIDE) {
        add_range(k);
        cd__home_error(r, 416, "range", "the object ends before that");
    } else {
        if (k->kind == CD_RANGE_PART) {
            add_range(k);
        }
        add_headers(r, &k->digest);
        cd_buf_put(cd_http_req_out(r), cd_buf_bytes(&k->bytes));
        count(k, k->bytes.n);
        cd_http_reply(r, k->kind == CD_RANGE_PART ? 206 : 200, "application/octet-stream");
    }
    reading_free(k);
}

/* --- as a stream --- */

static void next_piece(reading *k);

static cd_err run_piece(cd_vault_job *job, cd_cache *c, cd_errinfo *why)
{
    reading *k = (reading *)(void *)job;
    u64 n = cd_min_u64(STREAM_PIECE, k->size - k->at);
    cd_buf_clear(&k->bytes);
    return cd_cache_read(c, &k->bytes, &k->digest, (cd_byte_range){k->at, k->at + n - 1}, why);
}

static void push(reading *k)
{
    cd_err err = cd_http_stream_write(k->stream, cd_buf_bytes(&k->bytes));
    if (err == CD_EFULL) {
        return; // goes on when it is taken
    }
    if (err != CD_OK) {
        cd_http_stream_cut(k->stream);
        return;
    }
    count(k, k->bytes.n);
    k->at += k->bytes.n;
    cd_buf_clear(&k->bytes);
    if (k->at == k->size) {
        cd_http_stream_end(k->stream);
    } else {
        next_piece(k);
    }
}

static void on_piece(cd_vault_job *job)
{
    reading *k = (reading *)(void *)job;
    k->is_reading = false;
    if (k->is_gone) {
        reading_free(k);
    } else if (job->err != CD_OK) {
        cd_http_stream_cut(k->stream);
    } else {
        push(k);
    }
}

static void next_piece(reading *k)
{
    k->job.run = run_piece;
    k->job.done = on_piece;
    k->is_reading = cd_vault_post(k->home->vault, &k->job) == CD_OK;
    if (!k->is_reading) {
        cd_http_stream_cut(k->stream);
    }
}

static void on_drained(void *ctx)
{
    reading *k = ctx;
    if (!k->is_reading && k->bytes.n != 0) {
        push(k);
    }
}

static void on_gone(void *ctx)
{
    reading *k = ctx;
    k->is_gone = true;
    if (!k->is_reading) {
        reading_free(k);
    }
}

static void stream(reading *k)
{
    static const cd_http_stream_events events = {.drained = on_drained, .closed = on_gone};
    add_headers(k->r, &k->digest);
    k->stream = cd_http_req_stream(k->r, 200, "application/octet-stream", STREAM_WAITING, &events, k);
    if (k->stream == NULL) {
        reading_free(k);
        return;
    }
    next_piece(k);
}

/* --- the request --- */

void cd__home_media(cd_home *h, cd_http_req *r)
{
    static const char folder[] = "/media/";
    cd_bytes path = cd_http_req_path(r);
    cd_bytes range = cd_http_req_header(r, "Range");
    cd_bytes name = cd_bytes_sub(path, sizeof folder - 1, path.n - (sizeof folder - 1));
    reading *k = cd_new(reading);
    h->requests++;
    cd_counter_add(h->m.requests, 1);
    k->home = h;
    k->r = r;
    if (name.n != 64 || cd_hex_parse(k->digest.b, name) != CD_OK ||
        cd_query_get(&k->token, &k->mem, cd_http_req_query(r), "m") != CD_OK) {
        reading_free(k);
        cd__home_error(r, 404, "not_found", "an object is named by 64 hex digits");
        return;
    }
    k->range_n = range.n < RANGE_TEXT_MAX ? range.n : 0;
    memcpy(k->range, k->range_n == 0 ? (const u8 *)"" : range.p, k->range_n);
    k->size = cd_fill_size(h->fill, &k->digest);
    if (k->range_n == 0 && k->size > WHOLE_MAX) {
        stream(k);
        return;
    }
    k->job.run = run_read;
    k->job.done = on_read;
    if (cd_vault_post(h->vault, &k->job) != CD_OK) {
        reading_free(k);
        cd_counter_add(h->m.refused, 1);
        cd_http_req_add_lines(r, cd_bytes_str("Retry-After: 1\r\n"));
        cd__home_error(r, 503, "busy", "too many requests wait, try again");
    }
}
