/* One attempt: is the webhook one to be sent to, where does its name lead, the request, what came of it. */
#include "services/webhook/core/send/deliver_priv.h"

#include "base/hex.h"
#include "base/num_text.h"
#include "services/webhook/core/names.h"

enum {
    BODY_READ_MAX = 64 << 10,
    HEAD_LEN = 1500,
    NEXT_MS = 3000, /* for a connection, while there is another address to go to */
};

static u32 gone_ms(const cd__wh_item *item)
{
    return (u32)((cd_clock_mono_ns(item->hook->owner->cfg.clock) - item->begin_ns) / CD_NS_PER_MS);
}

/* An attempt that ends without a request. */
static void end_early(cd__wh_item *item, const char *error)
{
    const cd_wh_attempt a = {
        .number = item->d.attempts + 1,
        .at_ms = item->at_ms,
        .ms = gone_ms(item),
        .dns_ms = item->vet_ms,
        .error = error,
        .request = "",
        .response = "",
    };
    const cd_wh_met met = {.is_hopeless = strcmp(error, "payload_too_large") == 0};
    cd__wh_try_ended(item, &a, &met);
}

static const char *class_of(const cd_http_result *r, const cd_http_times *t)
{
    if (r->status >= 200 && r->status <= 299) {
        return "";
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
    switch (r->err) { /* those that a call ends with */
    case CD_OK:
    case CD_ELIMIT: /* a body that nobody wants to read to its end */
        return r->status != 0 ? "status" : "protocol";
    case CD_ETIMEOUT:
        return "timeout";
    case CD_ENOENT:
        return "dns";
    case CD_EACCES:
        return "ssrf";
    case CD_ESIG:
        return "tls";
    case CD_EIO:
        return t->is_refused ? "refused" : t->was_sent ? "protocol" : "connect";
    default:
        return "protocol";
    }
#pragma GCC diagnostic pop
}

static void post(cd__wh_item *item);

/* There was no connection, so nothing was sent; another address may take it. */
static bool try_next(cd__wh_item *item, const cd_http_result *r, const cd_http_times *t)
{
    const cd_wh_deliverer *d = item->hook->owner;
    bool is_unreached =
        r->status == 0 && !t->was_sent && t->connect_ms == 0 && (r->err == CD_EIO || r->err == CD_ETIMEOUT);
    if (!is_unreached || item->to_at + 1 >= item->to.cnt || gone_ms(item) >= d->cfg.timeout_ms) {
        return false;
    }
    item->to_at++;
    post(item);
    return true;
}

static void on_result(void *ctx, const cd_http_result *r)
{
    cd__wh_item *item = ctx;
    cd_wh_deliverer *d = item->hook->owner;
    item->call = NULL;
    cd_http_times t;
    cd_http_call_times(r->call, &t);
    if (try_next(item, r, &t)) {
        return;
    }
    if (item->to_at > 0 && t.connect_ms != 0) {
        cd_wh_guard_good(d->cfg.guard, &item->hook->target, item->to.text[item->to_at]);
    }
    char response[CD__WH_CAPTURE_MAX + 1];
    cd_bytes head = cd_http_call_head(r->call);
    usize n = head.n < CD__WH_CAPTURE_MAX ? head.n : CD__WH_CAPTURE_MAX;
    if (n != 0) {
        memcpy(response, head.p, n);
    }
    response[n] = '\0';
    const cd_wh_attempt a = {
        .number = item->d.attempts + 1,
        .at_ms = item->at_ms,
        .ms = gone_ms(item),
        .dns_ms = item->vet_ms,
        .connect_ms = t.connect_ms,
        .tls_ms = t.tls_ms,
        .ttfb_ms = t.ttfb_ms,
        .status = r->status,
        .error = class_of(r, &t),
        .request = cd_buf_cstr(&item->head),
        .response = response,
        .body = cd_bytes_sub(r->body, 0, r->body.n < CD__WH_CAPTURE_MAX ? r->body.n : CD__WH_CAPTURE_MAX),
    };
    const cd_wh_met met = {
        .status = r->status,
        .retry_after = cd_http_call_header(r->call, "Retry-After"),
    };
    cd__wh_try_ended(item, &a, &met);
}

/* --- the request --- */

/* "X-BRAND-NAME: value" */
static void put_line(cd_buf *out, const char *brand, const char *name, cd_bytes value)
{
    cd_buf_str(out, "X-");
    cd_buf_str(out, brand);
    cd_buf_str(out, name);
    cd_buf_put(out, value);
    cd_buf_str(out, "\r\n");
}

static void put_number(cd_buf *out, const char *brand, const char *name, u64 v)
{
    char text[CD_U64_TEXT_MAX];
    put_line(out, brand, name, cd_bytes_of(text, cd_u64_fmt(text, v)));
}

static void put_hash(cd_buf *out, const char *brand, const char *name, const u8 hash[32])
{
    char text[64];
    cd_hex_fmt(text, cd_bytes_of(hash, 32));
    put_line(out, brand, name, cd_bytes_of(text, 64));
}

/* Lines that belong to this attempt alone, each with CR LF. */
static void put_lines(cd_buf *out, const cd__wh_item *item, u64 now_s)
{
    const cd__wh_hook *h = item->hook;
    const cd_wh_delivery *row = &item->d;
    const char *brand = h->owner->cfg.brand;
    char id[2 * CD_U64_TEXT_MAX + 1];
    usize n = cd_i64_fmt(id, row->key);
    id[n++] = '-';
    n += cd_u64_fmt(id + n, row->attempts + 1);
    put_line(out, brand, "-Delivery: ", cd_bytes_of(id, n));
    put_number(out, brand, "-Attempt: ", row->attempts + 1);
    if (h->has_sequence && row->sequence != 0) {
        put_number(out, brand, "-Sequence: ", row->sequence);
        put_hash(out, brand, "-Event-Hash: ", row->event.h);
        put_hash(out, brand, "-Chain: ", row->chain_hash);
    }
    if (h->view.face == CD_WH_C) {
        cd_buf_fmt(out, "X-Webhook-Event: %s\r\nX-Webhook-Idempotency-Key: %s\r\n", cd_wh_type_name(row->event.type),
                   row->event.id);
    }
    const cd_wh_signing s = {
        .face = h->view.face,
        .standard = h->standard,
        .brand = brand,
        .key = &h->key_now,
        .next = &h->key_next,
        .id = row->event.id,
        .now_s = now_s,
        .body = row->event.body,
    };
    cd_wh_sign(out, &s);
}

/* At the end of the grace the new secret is the one, even if nobody has said so yet. */
static void rotate(cd__wh_hook *h, u64 now_ms)
{
    if (h->key_next.is_set && h->grace_until_ms != 0 && h->grace_until_ms <= now_ms) {
        h->key_now = h->key_next;
        h->key_next = (cd_wh_sign_key){0};
    }
}

static void put_length(cd_buf *out, usize n)
{
    char text[CD_U64_TEXT_MAX];
    cd_buf_str(out, "Content-Length: ");
    cd_buf_put(out, cd_bytes_of(text, cd_u64_fmt(text, n)));
    cd_buf_str(out, "\r\n\r\n");
}

/* To the address whose turn it is. */
static void post(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    const char *address = item->to.text[item->to_at];
    u32 gone = gone_ms(item);
    rotate(h, item->at_ms);
    cd_buf_clear(&item->head);
    (void)cd_buf_reserve(&item->head, HEAD_LEN);
    cd_buf_str(&item->head, h->head);
    usize from = item->head.n;
    cd_buf_str(&item->head, h->lines);
    put_lines(&item->head, item, item->at_ms / 1000);
    usize to = item->head.n;
    put_length(&item->head, item->d.event.body.n);
    const cd_http_ask ask = {
        .method = CD_HTTP_POST,
        .url = h->view.url,
        .lines = cd_bytes_sub(cd_buf_bytes(&item->head), from, to - from),
        .body = item->d.event.body,
        .timeout_ms = d->cfg.timeout_ms > gone ? d->cfg.timeout_ms - gone : 1,
        .connect_timeout_ms = item->to_at + 1 < item->to.cnt ? NEXT_MS : 0,
        .is_once = true,
        .body_max = BODY_READ_MAX,
        .address = h->target.is_literal && strcmp(address, h->target.host) == 0 ? NULL : address,
        .client_cert = h->client.n != 0 ? h->client : d->cfg.client_cert,
        .client_key = h->client.n != 0 ? h->client : d->cfg.client_key,
    };
    item->call = cd_http_client_call(d->client, &ask, on_result, item);
}

static void go(cd__wh_item *item, cd_err err, const cd_wh_addresses *to)
{
    if (err == CD_OK) {
        item->to = *to;
        item->to_at = 0;
        post(item);
    } else {
        end_early(item, err == CD_EACCES ? "ssrf" : "dns");
    }
}

static void on_vetted(void *ctx, cd_err err, const cd_wh_addresses *to)
{
    cd__wh_item *item = ctx;
    item->vetting = NULL;
    item->vet_ms = gone_ms(item);
    if (item->vet_ms >= item->hook->owner->cfg.timeout_ms) {
        end_early(item, "timeout");
    } else {
        go(item, err, to);
    }
}

void cd__wh_try(cd__wh_item *item)
{
    cd__wh_hook *h = item->hook;
    cd_wh_deliverer *d = h->owner;
    const cd_wh_addresses *to;
    cd_err err;
    item->at_ms = cd__wh_wall_ms(d);
    item->begin_ns = cd_clock_mono_ns(d->cfg.clock);
    item->vet_ms = 0;
    if (item->d.event.body.n > CD_WH_BODY_MAX) {
        end_early(item, "payload_too_large");
    } else if (h->target_err != CD_OK) {
        end_early(item, "ssrf"); /* the rules are not those under which it was made */
    } else if (cd_wh_guard_known(d->cfg.guard, &h->target, &err, &to)) {
        go(item, err, to);
    } else {
        item->vetting = cd_wh_guard_look_up(d->cfg.guard, &h->target, h->view.project, on_vetted, item);
    }
}

void cd__wh_try_drop(cd__wh_item *item)
{
    if (item->vetting != NULL) {
        cd_wh_vetting_drop(item->vetting);
        item->vetting = NULL;
    }
    if (item->call != NULL) {
        cd_http_call_cancel(item->call);
        item->call = NULL;
    }
}
