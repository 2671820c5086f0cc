/* net/smtp.h - mail through a server that takes it: composing a message, and handing it over.
 *
 *   cd_mail ─► cd_mail_compose: headers, quoted-printable ─► cd_smtp_send ─► EHLO, STARTTLS, AUTH, MAIL, RCPT, DATA
 *
 * Encryption is required unless the server is on this machine. Each message has a thread of its own for as long as it
 * takes: mail is rare. Wraps libcurl. Threading: cd_mail_compose is pure, the rest confined to the loop.
 * [RFC 5321, RFC 5322] */
#ifndef CD_NET_SMTP_H
#define CD_NET_SMTP_H

#include "base/mem/buf.h"
#include "net/loop.h"

typedef struct cd_smtp cd_smtp;

/* Strings are copied. */
typedef struct cd_smtp_cfg {
    const char *url;     /* smtp://user:password@host:587, or smtps:// */
    const char *ca_file; /* PEM, instead of the system's certificates; NULL: those */
    u32 timeout_ms;      /* 0: 30000, for a message */
    bool needs_tls;      /* even of a server on this machine */
} cd_smtp_cfg;

/* cd_smtp_new makes a sender. Errors: CD_EFORMAT (the URL). cd_smtp_free ends what runs without telling; NULL is
 * allowed. */
cd_err cd_smtp_new(cd_smtp **out, cd_loop *loop, const cd_smtp_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_smtp_free(cd_smtp *s);

/* How it ended. CD_OK: the server has it. CD_EACCES: log-in or address refused for good; CD_EAGAIN: not now; CD_ESIG:
 * no encryption, or a certificate that does not fit; CD_ETIMEOUT; CD_ENOENT (no such host); CD_EIO. */
typedef void cd_smtp_fn(void *ctx, cd_err err, const char *reason);

/* cd_smtp_send hands over a message (copied); fn is called once, later. */
void cd_smtp_send(cd_smtp *s, const char *from, const char *to, cd_bytes message, cd_smtp_fn *fn, void *ctx);

/* A message to one person. */
typedef struct cd_mail {
    const char *from, *to; /* addresses: "a@b.example" */
    const char *name;      /* name of the sender, shown before the address; NULL: none */
    const char *subject;   /* UTF-8; control characters become blanks */
    cd_bytes body;         /* UTF-8 text */
    const char *id;        /* unique to the left of the "@" of the message id */
    u64 unix_s;
} cd_mail;

/* cd_mail_compose appends a message. Errors: CD_EINVAL (an address that is none). */
cd_err cd_mail_compose(cd_buf *out, const cd_mail *m, cd_errinfo *why) CD_CHECK;

/* cd_mail_is_address: text is one plain address, safe to stand in a header. */
bool cd_mail_is_address(const char *text);

#endif
