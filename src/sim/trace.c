#include "sim/trace.h"

#include "base/hex.h"

#include <stdarg.h>
#include <stdio.h>

enum { WORDS_MAX = 4096 };

static void out(cd_sim_trace *t)
{
    t->write(t->ctx, cd_buf_bytes(&t->line));
    t->written += t->line.n;
    cd_buf_clear(&t->line);
}

void cd_sim_trace_begin(cd_sim_trace *t)
{
    cd_buf_str(&t->line, "candela-trace 1\n");
    out(t);
}

void cd_sim_trace_end(cd_sim_trace *t)
{
    cd_buf_fini(&t->line);
}

void cd_sim_trace_put(cd_sim_trace *t, char kind, u64 us, const char *fmt, ...)
{
    char words[WORDS_MAX];
    va_list args;
    if (t == NULL || (t->max != 0 && t->written > t->max)) {
        return;
    }
    va_start(args, fmt);
    int n = vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    if (n < 0) {
        return;
    }
    cd_buf_fmt(&t->line, "%c %llu %s\n", kind, (unsigned long long)us, words);
    out(t);
    if (t->max != 0 && t->written > t->max) {
        cd_buf_fmt(&t->line, "w %llu the record ends here: it is as long as it may be\n", (unsigned long long)us);
        out(t);
    }
}

cd_sim_id_text cd_sim_trace_id(const cd_hash32 *id)
{
    cd_sim_id_text t;
    cd_hex_fmt(t.s, cd_bytes_of(id->b, CD_SIM_TRACE_ID_LEN / 2));
    t.s[CD_SIM_TRACE_ID_LEN] = '\0';
    return t;
}
