#include "base/mem/secret.h"
#include "commands.h"

#include <stdio.h>

static void line(cd_buf *out, usize depth)
{
    cd_buf_u8(out, '\n');
    cd_buf_fill(out, ' ', 2 * depth);
}

/* Copies the JSON string at the front of json with its quotes; gives its length in bytes. */
static usize put_string(cd_buf *out, cd_bytes json)
{
    usize n = 1;
    while (n < json.n && json.p[n] != '"') {
        n += json.p[n] == '\\' ? 2 : 1;
    }
    n = n < json.n ? n + 1 : json.n;
    cd_buf_put(out, cd_bytes_sub(json, 0, n));
    return n;
}

static void put_pretty(cd_buf *out, cd_bytes json)
{
    usize depth = 0;
    for (usize i = 0; i < json.n; i++) {
        u8 c = json.p[i];
        bool is_open = c == '{' || c == '[';
        if (c == '"') {
            i += put_string(out, cd_bytes_sub(json, i, json.n - i)) - 1;
        } else if (is_open && i + 1 < json.n && (json.p[i + 1] == '}' || json.p[i + 1] == ']')) {
            cd_buf_put(out, cd_bytes_sub(json, i++, 2)); /* an empty object or array stays on one line */
        } else if (is_open || c == ',') {
            depth += is_open ? 1 : 0;
            cd_buf_u8(out, c);
            line(out, depth);
        } else if (c == '}' || c == ']') {
            depth--;
            line(out, depth);
            cd_buf_u8(out, c);
        } else {
            cd_buf_u8(out, c);
            if (c == ':') {
                cd_buf_u8(out, ' ');
            }
        }
    }
}

void cd__print_json(const cd_buf *json, bool is_one_line)
{
    cd_buf text = {0};
    (void)cd_buf_reserve(&text, 2 * json->n + 4096); /* enough for keys, so that no move leaves a copy behind */
    if (is_one_line) {
        cd_buf_put(&text, cd_buf_bytes(json));
    } else {
        put_pretty(&text, cd_buf_bytes(json));
    }
    cd_buf_u8(&text, '\n');
    (void)fwrite(text.p, 1, text.n, stdout);
    (void)fflush(stdout);
    cd_wipe(text.p, text.n);
    cd_buf_fini(&text);
}
