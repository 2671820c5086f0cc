#include "codec/api_json.h"

#include "base/num_text.h"
#include "base/os/clock.h"

#include <stdio.h>

/* A string in which nothing has to be escaped is written between these two. */
static cd_buf *begin(cd_json_w *w)
{
    cd_json_w_raw(w, cd_bytes_str("\""));
    return w->out;
}

static void finish(cd_json_w *w)
{
    cd_buf_u8(w->out, '"');
}

void cd_json_w_id(cd_json_w *w, const cd_hash32 *id)
{
    cd_id_put(begin(w), id);
    finish(w);
}

void cd_json_w_id_key(cd_json_w *w, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    cd_json_w_key_str(w, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

void cd_json_w_node_id(cd_json_w *w, const cd_node_id *id)
{
    cd_node_id_put(begin(w), id);
    finish(w);
}

void cd_json_w_chain_addr(cd_json_w *w, const char *chain, const char *prefix, const cd_addr20 *addr)
{
    cd_buf text = {0};
    cd_chain_addr_put(&text, chain, prefix, addr);
    cd_json_w_str(w, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

void cd_json_put_id(cd_json_w *w, const char *key, const cd_hash32 *id)
{
    cd_json_w_key(w, key);
    cd_json_w_id(w, id);
}

void cd_json_put_node_id(cd_json_w *w, const char *key, const cd_node_id *id)
{
    cd_json_w_key(w, key);
    cd_json_w_node_id(w, id);
}

void cd_json_w_dec(cd_json_w *w, u64 v)
{
    char text[CD_U64_TEXT_MAX];
    cd_buf_put(begin(w), cd_bytes_of(text, cd_u64_fmt(text, v)));
    finish(w);
}

void cd_json_put_dec(cd_json_w *w, const char *key, u64 v)
{
    cd_json_w_key(w, key);
    cd_json_w_dec(w, v);
}

void cd_json_put_ratio(cd_json_w *w, const char *key, u64 part, u64 whole, u32 scale)
{
    enum { UNIT = 10000 };
    char text[48];
    whole = whole == 0 ? 1 : whole;
    /* A product of 64 bits and at most 10^6 fits into 128 bits. */
    unsigned __int128 v = ((unsigned __int128)part * scale * UNIT + whole / 2) / whole;
    int n = snprintf(text, sizeof text, "%llu.%04u", (unsigned long long)(v / UNIT), (unsigned)(v % UNIT));
    cd_json_put_str(w, key, cd_bytes_of(text, (usize)n));
}

void cd_json_w_encoded(cd_json_w *w, cd_encoding e, cd_bytes b)
{
    cd_encoding_put(begin(w), e, b);
    finish(w);
}

void cd_json_put_encoded(cd_json_w *w, const char *key, cd_encoding e, cd_bytes b)
{
    cd_json_w_key(w, key);
    cd_json_w_encoded(w, e, b);
}

void cd_json_put_time(cd_json_w *w, const char *key, u64 wall_ns)
{
    enum { SECONDS_LEN = 19 };
    char text[CD_TIME_TEXT_LEN + 8];
    cd_time_fmt(text, wall_ns);
    usize n = SECONDS_LEN + (usize)snprintf(text + SECONDS_LEN, sizeof text - SECONDS_LEN, ".%09u",
                                            (unsigned)(wall_ns % CD_NS_PER_SEC));
    while (text[n - 1] == '0') {
        n--;
    }
    n -= text[n - 1] == '.';
    text[n++] = 'Z';
    cd_json_put_str(w, key, cd_bytes_of(text, n));
}
