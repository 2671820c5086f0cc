#include "net/smtp.h"

#include "base/mem/mem.h"
#include "base/mem/secret.h"
#include "base/os/clock.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "codec/base64.h"
#include "net/http/http.h"

#include <curl/curl.h>

#include <stdatomic.h>
#include <stdio.h>

enum { TIMEOUT_MS = 30000, ADDRESS_MAX = 254, LINE_MAX_QP = 76, WORD_MAX = 45 };

struct cd_smtp {
    cd_loop *loop;
    char *url; /* without user and password */
    char *user, *password;
    char *ca_file;
    u32 timeout_ms;
    bool needs_tls;
    cd_list letters;
};

typedef struct letter {
    cd_list link;
    cd_smtp *smtp;
    cd_thread thread;
    cd_loop_task task;
    _Atomic bool is_dropped;
    char *from, *to;
    cd_buf message;
    usize at;
    cd_smtp_fn *fn;
    void *ctx;
    cd_err err;
    char reason[CURL_ERROR_SIZE];
} letter;

/* --- messages --- */

bool cd_mail_is_address(const char *text)
{
    usize n = strlen(text);
    const char *at = strchr(text, '@');
    if (n > ADDRESS_MAX || at == NULL || at == text || at[1] == '\0' || strchr(at + 1, '@') != NULL) {
        return false;
    }
    for (usize i = 0; i < n; i++) {
        if (text[i] <= ' ' || text[i] > '~' || strchr("<>()[],;:\\\"", text[i]) != NULL) {
            return false;
        }
    }
    return true;
}

/* Text of a header: as it is when it is plain ASCII, else in encoded words. [RFC 2047] */
static void put_text(cd_buf *out, const char *text)
{
    usize n = strlen(text);
    bool is_plain = true;
    cd_buf clean = {0};
    for (usize i = 0; i < n; i++) {
        u8 c = (u8)text[i];
        cd_buf_u8(&clean, c < ' ' || c == 0x7f ? ' ' : c);
        is_plain &= c < 0x80;
    }
    for (usize at = 0; !is_plain && at < clean.n;) {
        usize len = clean.n - at < WORD_MAX ? clean.n - at : WORD_MAX;
        while (at + len < clean.n && (clean.p[at + len] & 0xc0) == 0x80) {
            len--; /* not within a character */
        }
        cd_buf_str(out, at == 0 ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?");
        cd_base64_enc(out, cd_bytes_of(clean.p + at, len));
        cd_buf_str(out, "?=");
        at += len;
    }
    if (is_plain) {
        cd_buf_put(out, cd_buf_bytes(&clean));
    }
    cd_buf_fini(&clean);
}

/* Quoted-printable, lines ended by CR LF. [RFC 2045 6.7] */
static void put_body(cd_buf *out, cd_bytes body)
{
    static const char digits[] = "0123456789ABCDEF";
    usize column = 0;
    for (usize i = 0; i < body.n; i++) {
        u8 c = body.p[i];
        if (c == '\r' && i + 1 < body.n && body.p[i + 1] == '\n') {
            continue;
        }
        if (c == '\n') {
            cd_buf_str(out, "\r\n");
            column = 0;
            continue;
        }
        bool is_last = i + 1 == body.n || body.p[i + 1] == '\n' || body.p[i + 1] == '\r';
        bool is_plain = (c > ' ' && c <= '~' && c != '=') || ((c == ' ' || c == '\t') && !is_last);
        if (column + (is_plain ? 1 : 3) > LINE_MAX_QP - 1) {
            cd_buf_str(out, "=\r\n");
            column = 0;
        }
        if (is_plain) {
            cd_buf_u8(out, c);
        } else {
            cd_buf_u8(out, '=');
            cd_buf_u8(out, (u8)digits[c >> 4]);
            cd_buf_u8(out, (u8)digits[c & 15]);
        }
        column += is_plain ? 1 : 3;
    }
    cd_buf_str(out, "\r\n");
}

cd_err cd_mail_compose(cd_buf *out, const cd_mail *m, cd_errinfo *why)
{
    if (!cd_mail_is_address(m->from) || !cd_mail_is_address(m->to)) {
        return cd_fail(why, CD_EINVAL, "the address of a mail is none");
    }
    char date[CD_HTTP_DATE_LEN];
    cd_http_date_fmt(date, m->unix_s);
    cd_buf_fmt(out, "Date: %.*s +0000\r\nFrom: ", CD_HTTP_DATE_LEN - 4, date);
    if (m->name != NULL) {
        cd_buf_u8(out, '"');
        for (const char *p = m->name; *p != '\0'; p++) {
            if (*p > ' ' - 1 && *p <= '~' && *p != '"' && *p != '\\') {
                cd_buf_u8(out, (u8)*p);
            }
        }
        cd_buf_str(out, "\" ");
    }
    cd_buf_fmt(out, "<%s>\r\nTo: <%s>\r\nMessage-ID: <%s%s>\r\nSubject: ", m->from, m->to, m->id, strchr(m->from, '@'));
    put_text(out, m->subject);
    cd_buf_str(out, "\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                    "Content-Transfer-Encoding: quoted-printable\r\nAuto-Submitted: auto-generated\r\n\r\n");
    put_body(out, m->body);
    return CD_OK;
}

/* --- handing over --- */

static char *dup_part(const char *p, usize n)
{
    char *s = cd_alloc(n + 1);
    memcpy(s, p, n);
    return s;
}

static bool is_local(const char *host, usize n)
{
    static const char *const names[] = {"localhost", "[::1]"};
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (n == strlen(names[i]) && memcmp(host, names[i], n) == 0) {
            return true;
        }
    }
    return n > 4 && memcmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n;
}

/* A part of a URL without its percent signs; NULL when it is malformed. */
static char *unescape(const char *p, usize n)
{
    int len = 0;
    char *plain = curl_easy_unescape(NULL, p, (int)n, &len);
    if (plain == NULL || strlen(plain) != (usize)len || strpbrk(plain, "\r\n") != NULL) {
        curl_free(plain);
        return NULL;
    }
    char *s = dup_part(plain, (usize)len);
    curl_free(plain);
    return s;
}

cd_err cd_smtp_new(cd_smtp **out, cd_loop *loop, const cd_smtp_cfg *cfg, cd_errinfo *why)
{
    const char *rest = strstr(cfg->url, "://");
    bool is_smtps = strncmp(cfg->url, "smtps://", 8) == 0;
    if (rest == NULL || (!is_smtps && strncmp(cfg->url, "smtp://", 7) != 0)) {
        return cd_fail(why, CD_EFORMAT, "the mail server's URL does not begin with smtp:// or smtps://");
    }
    rest += 3;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return cd_fail(why, CD_EIO, "the mail client cannot start");
    }
    const char *at = strrchr(rest, '@');
    const char *host = at == NULL ? rest : at + 1;
    const char *colon = at == NULL ? NULL : memchr(rest, ':', (usize)(at - rest));
    usize host_n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
    cd_smtp *s = cd_new(cd_smtp);
    s->loop = loop;
    cd_list_init(&s->letters);
    if (at != NULL) {
        const char *user_end = colon == NULL ? at : colon;
        s->user = unescape(rest, (usize)(user_end - rest));
        s->password = colon == NULL ? dup_part("", 0) : unescape(colon + 1, (usize)(at - colon - 1));
    }
    s->url = cd_alloc(strlen(host) + 9);
    memcpy(s->url, cfg->url, is_smtps ? 8 : 7);
    memcpy(s->url + (is_smtps ? 8 : 7), host, strlen(host));
    s->ca_file = cfg->ca_file == NULL ? NULL : dup_part(cfg->ca_file, strlen(cfg->ca_file));
    s->timeout_ms = cfg->timeout_ms != 0 ? cfg->timeout_ms : TIMEOUT_MS;
    s->needs_tls = cfg->needs_tls || !is_local(host, host_n);
    if (*host == '\0' || (at != NULL && (s->user == NULL || s->password == NULL))) {
        cd_smtp_free(s);
        return cd_fail(why, CD_EFORMAT, "the mail server's URL is malformed");
    }
    *out = s;
    return CD_OK;
}

static void wipe_free(char *s)
{
    if (s != NULL) {
        cd_wipe(s, strlen(s));
        cd_free(s);
    }
}

static void letter_free(letter *m)
{
    cd_list_del(&m->link);
    cd_free(m->from);
    cd_free(m->to);
    cd_buf_fini(&m->message);
    cd_free(m);
}

void cd_smtp_free(cd_smtp *s)
{
    if (s == NULL) {
        return;
    }
    cd_list_each(it, &s->letters)
    {
        atomic_store(&cd_list_of(it, letter, link)->is_dropped, true);
    }
    while (!cd_list_is_empty(&s->letters)) {
        letter *m = cd_list_of(s->letters.next, letter, link);
        cd_thread_join(&m->thread);
        if (m->task.fn != NULL) {
            cd_list_del(&m->link); /* its task is on the way and frees it */
            m->smtp = NULL;
        } else {
            letter_free(m);
        }
    }
    cd_free(s->url);
    wipe_free(s->user);
    wipe_free(s->password);
    cd_free(s->ca_file);
    cd_free(s);
    curl_global_cleanup();
}

static size_t on_read(char *out, size_t size, size_t n, void *ctx)
{
    letter *m = ctx;
    usize left = m->message.n - m->at;
    usize take = left < size * n ? left : size * n;
    if (take != 0) {
        memcpy(out, m->message.p + m->at, take);
    }
    m->at += take;
    return take;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const letter *m = ctx;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return atomic_load(&m->is_dropped) ? 1 : 0;
}

static cd_err err_of(CURL *easy, CURLcode code)
{
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wswitch-enum"
    switch (code) { /* a hundred codes, most of other protocols */
    case CURLE_OK:
        return CD_OK;
    case CURLE_OPERATION_TIMEDOUT:
        return CD_ETIMEOUT;
    case CURLE_COULDNT_RESOLVE_HOST:
        return CD_ENOENT;
    case CURLE_USE_SSL_FAILED:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
        return CD_ESIG;
    default:
        return status >= 500 ? CD_EACCES : status >= 400 ? CD_EAGAIN : CD_EIO;
    }
#pragma GCC diagnostic pop
}

static bool set_options(CURL *easy, letter *m, struct curl_slist *to)
{
    const cd_smtp *s = m->smtp;
    const struct {
        CURLoption id;
        long v;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_UPLOAD, 1},
        {CURLOPT_SASL_IR, 1},
        {CURLOPT_NOPROGRESS, 0},
        {CURLOPT_SSL_VERIFYPEER, 1},
        {CURLOPT_SSL_VERIFYHOST, 2},
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_USE_SSL, s->needs_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE},
        {CURLOPT_TIMEOUT_MS, (long)s->timeout_ms},
    };
    const struct {
        CURLoption id;
        void *v;
    } pointers[] = {
        {CURLOPT_URL, s->url},        {CURLOPT_PROTOCOLS_STR, "smtp,smtps"},
        {CURLOPT_PROXY, ""},          {CURLOPT_MAIL_FROM, m->from},
        {CURLOPT_MAIL_RCPT, to},      {CURLOPT_READDATA, m},
        {CURLOPT_XFERINFODATA, m},    {CURLOPT_ERRORBUFFER, m->reason},
        {CURLOPT_USERNAME, s->user},  {CURLOPT_PASSWORD, s->password},
        {CURLOPT_CAINFO, s->ca_file},
    };
    bool ok = to != NULL;
    for (usize i = 0; ok && i < CD_COUNT(numbers); i++) {
        ok = curl_easy_setopt(easy, numbers[i].id, numbers[i].v) == CURLE_OK;
    }
    for (usize i = 0; ok && i < CD_COUNT(pointers); i++) {
        ok = pointers[i].v == NULL || curl_easy_setopt(easy, pointers[i].id, pointers[i].v) == CURLE_OK;
    }
    return ok && curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK;
}

static void on_sent(cd_loop_task *t)
{
    letter *m = cd_list_of(t, letter, task);
    if (m->smtp != NULL) {
        cd_thread_join(&m->thread);
        m->fn(m->ctx, m->err, m->reason);
    }
    letter_free(m);
}

/* On a thread of its own. */
static void run(void *arg)
{
    letter *m = arg;
    cd_loop *loop = m->smtp->loop;
    CURL *easy = curl_easy_init();
    struct curl_slist *to = curl_slist_append(NULL, m->to);
    m->err = CD_EIO;
    if (easy != NULL && set_options(easy, m, to)) {
        CURLcode code = curl_easy_perform(easy);
        m->err = err_of(easy, code);
        if (m->reason[0] == '\0' && code != CURLE_OK) {
            (void)snprintf(m->reason, sizeof m->reason, "%s", curl_easy_strerror(code));
        }
    }
    curl_slist_free_all(to);
    curl_easy_cleanup(easy);
    if (!atomic_load(&m->is_dropped)) {
        m->task.fn = on_sent;
        cd_loop_post(loop, &m->task);
    }
}

static void on_no_thread(cd_loop_task *t)
{
    letter *m = cd_list_of(t, letter, task);
    if (m->smtp != NULL) {
        m->fn(m->ctx, CD_EAGAIN, "no thread is to be had");
    }
    letter_free(m);
}

void cd_smtp_send(cd_smtp *s, const char *from, const char *to, cd_bytes message, cd_smtp_fn *fn, void *ctx)
{
    CD_ASSERT(cd_mail_is_address(from) && cd_mail_is_address(to));
    letter *m = cd_new(letter);
    m->smtp = s;
    m->from = dup_part(from, strlen(from));
    m->to = dup_part(to, strlen(to));
    cd_buf_put(&m->message, message);
    m->fn = fn;
    m->ctx = ctx;
    cd_list_init(&m->link);
    if (cd_thread_start(&m->thread, "mail", run, m, NULL) == CD_OK) {
        cd_list_push_back(&s->letters, &m->link);
    } else {
        m->task.fn = on_no_thread;
        cd_loop_post(s->loop, &m->task);
    }
}
