#include "chains/platform/txs/words.h"

#include "base/os/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static cd_text text_of(cd_buf *b)
{
    cd_text t = {.s = {0}};
    usize n = b->n < sizeof t.s - 1 ? b->n : sizeof t.s - 1;
    memcpy(t.s, b->p, n);
    cd_buf_fini(b);
    return t;
}

cd_text cd_text_id(const cd_hash32 *id)
{
    cd_buf b = {0};
    cd_id_put(&b, id);
    return text_of(&b);
}

cd_text cd_text_node(const cd_node_id *id)
{
    cd_buf b = {0};
    cd_node_id_put(&b, id);
    return text_of(&b);
}

cd_text cd_text_time(u64 unix_s)
{
    enum { DAY = 10, CLOCK = 8 }; /* "2026-11-21", "14:05:02" */
    char rfc[CD_TIME_TEXT_LEN];
    cd_buf b = {0};
    cd_time_fmt(rfc, unix_s * CD_NS_PER_SEC);
    cd_buf_fmt(&b, "%.*s %.*s +0000 UTC", (int)DAY, rfc, (int)CLOCK, rfc + DAY + 1);
    return text_of(&b);
}

cd_err cd_fail_under(cd_errinfo *why, cd_err e, const char *fmt, ...)
{
    if (why != NULL) {
        char front[sizeof why->msg];
        char below[sizeof why->msg];
        va_list ap;
        va_start(ap, fmt);
        (void)vsnprintf(front, sizeof front, fmt, ap);
        va_end(ap);
        (void)snprintf(below, sizeof below, "%s", why->code == e && why->msg[0] != 0 ? why->msg : cd_err_str(e));
        (void)cd_fail(why, e, "%s: %s", front, below);
    }
    return e;
}

cd_err cd_fail_codec(cd_errinfo *why, cd_err e)
{
    static const struct {
        cd_err e;
        const char *words;
    } rows[] = {
        {CD_EVERSION, "unknown codec version"},
        {CD_ESHORT, "packer has insufficient length for input"},
        {CD_ETRAIL, "trailing buffer space"},
        {CD_ETYPE, "couldn't unmarshal interface: unknown type ID"},
    };
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (rows[i].e == e) {
            return cd_fail(why, e, "%s", rows[i].words);
        }
    }
    return cd_fail(why, e, "%s", cd_err_str(e));
}
