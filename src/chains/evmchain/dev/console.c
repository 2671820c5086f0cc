#include "chains/evmchain/dev/console.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "codec/abi.h"
#include "num/u256_text.h"

#include <stdio.h>

enum { ARGS_MAX = 4, WORD = 32, SIGNATURE_MAX = 80 };

/* "console.log" in ASCII, right-aligned. */
static const cd_addr20 console_addr = {
    .b = {0, 0, 0, 0, 0, 0, 0, 0, 0, 'c', 'o', 'n', 's', 'o', 'l', 'e', '.', 'l', 'o', 'g'}};

typedef enum kind { STRING, BOOL, ADDRESS, UINT, INT, BYTES, FIXED } kind;

typedef struct arg {
    u8 kind;
    u8 size; /* FIXED */
} arg;

typedef struct shape {
    arg args[ARGS_MAX];
    u32 cnt;
} shape;

struct cd_console {
    cd_hmap by_selector; /* selector → shape */
};

/* --- the table --- */

static usize put_type(char *out, usize room, arg a, bool is_short)
{
    static const char *const names[] = {[STRING] = "string", [BOOL] = "bool",  [ADDRESS] = "address",
                                        [UINT] = "uint256",  [INT] = "int256", [BYTES] = "bytes"};
    const char *name = a.kind == FIXED ? "bytes" : names[a.kind];
    if (is_short && (a.kind == UINT || a.kind == INT)) {
        name = a.kind == UINT ? "uint" : "int";
    }
    return (usize)(a.kind == FIXED ? snprintf(out, room, "%s%u", name, (unsigned)a.size)
                                   : snprintf(out, room, "%s", name));
}

static void add(cd_console *c, const shape *s)
{
    for (int is_short = 0; is_short < 2; is_short++) {
        char text[SIGNATURE_MAX] = "log(";
        usize n = 4;
        u8 selector[4];
        for (u32 i = 0; i < s->cnt; i++) {
            if (i != 0) {
                text[n++] = ',';
            }
            n += put_type(text + n, sizeof text - n, s->args[i], is_short != 0);
        }
        memcpy(text + n, ")", 2);
        cd_abi_selector(selector, text);
        *(shape *)cd_hmap_put(&c->by_selector, NULL, selector) = *s;
    }
}

cd_console *cd_console_new(void)
{
    static const kind in_tuples[] = {STRING, BOOL, ADDRESS, UINT};
    static const kind alone[] = {STRING, BOOL, ADDRESS, UINT, INT, BYTES};
    cd_console *c = cd_new(cd_console);
    cd_hmap_init(&c->by_selector, CD_HASH_KEYED, 4, sizeof(shape));
    add(c, &(shape){0});
    for (usize i = 0; i < CD_COUNT(alone); i++) {
        add(c, &(shape){.args = {{.kind = (u8)alone[i]}}, .cnt = 1});
    }
    for (u32 size = 1; size <= WORD; size++) {
        add(c, &(shape){.args = {{.kind = FIXED, .size = (u8)size}}, .cnt = 1});
    }
    for (u32 cnt = 2; cnt <= ARGS_MAX; cnt++) {
        for (u32 at = 0; at < 1u << (2 * cnt); at++) {
            shape s = {.cnt = cnt};
            for (u32 i = 0; i < cnt; i++) {
                s.args[i].kind = (u8)in_tuples[at >> (2 * i) & 3];
            }
            add(c, &s);
        }
    }
    return c;
}

void cd_console_free(cd_console *c)
{
    if (c != NULL) {
        cd_hmap_fini(&c->by_selector);
        cd_free(c);
    }
}

usize cd_console_cnt(const cd_console *c)
{
    return cd_hmap_cnt(&c->by_selector);
}

/* --- values --- */

/* The word at off; zeroes where the data has ended. */
static void word_at(u8 out[WORD], cd_bytes data, usize off)
{
    memset(out, 0, WORD);
    if (off < data.n) {
        memcpy(out, data.p + off, cd_min_u64(WORD, data.n - off));
    }
}

/* The byte string whose offset stands at head, clamped to the data. */
static cd_bytes dynamic_at(cd_bytes data, usize head)
{
    u8 word[WORD];
    cd_u256 v;
    word_at(word, data, head);
    cd_u256_load_be(&v, word);
    usize off = cd_min_u64(cd_u256_to_u64_sat(&v), data.n);
    word_at(word, data, off);
    cd_u256_load_be(&v, word);
    usize from = cd_min_u64(off + WORD, data.n);
    return cd_bytes_sub(data, from, cd_min_u64(cd_u256_to_u64_sat(&v), data.n - from));
}

void cd_console_put(cd_buf *out, cd_bytes s)
{
    for (usize i = 0; i < s.n; i++) {
        u8 ch = s.p[i];
        if (ch == '\n') {
            cd_buf_str(out, "\\n");
        } else if (ch == '\t') {
            cd_buf_str(out, "\\t");
        } else if (ch == 0xc2 && i + 1 < s.n && s.p[i + 1] < 0xa0) {
            cd_buf_fmt(out, "\\x%02x", (unsigned)s.p[++i]);
        } else if (ch < 0x20 || ch == 0x7f) {
            cd_buf_fmt(out, "\\x%02x", (unsigned)ch);
        } else {
            cd_buf_u8(out, ch);
        }
    }
}

static void put_number(cd_buf *out, const cd_u256 *v, bool is_signed)
{
    char text[CD_U256_TEXT_MAX];
    cd_u256 abs = *v;
    if (is_signed && cd_u256_is_neg(v)) {
        cd_u256_neg(&abs, v);
        cd_buf_u8(out, '-');
    }
    cd_buf_put(out, cd_bytes_of(text, cd_u256_fmt_dec(text, &abs)));
}

static void put_arg(cd_buf *out, cd_bytes data, const shape *s, u32 i)
{
    u8 word[WORD];
    cd_u256 v;
    usize head = (usize)i * WORD;
    word_at(word, data, head);
    cd_u256_load_be(&v, word);
    switch ((kind)s->args[i].kind) {
    case STRING:
        cd_console_put(out, dynamic_at(data, head));
        return;
    case BOOL:
        cd_buf_str(out, cd_u256_is_zero(&v) ? "false" : "true");
        return;
    case ADDRESS:
        cd_hex_put(out, cd_bytes_of(word + 12, 20));
        return;
    case UINT:
    case INT:
        put_number(out, &v, s->args[i].kind == INT);
        return;
    case BYTES:
        cd_hex_put(out, dynamic_at(data, head));
        return;
    case FIXED:
        cd_hex_put(out, cd_bytes_of(word, s->args[i].size));
        return;
    }
}

/* Fills the placeholders of a format, argument 0; gives the first argument that none took. */
static u32 put_format(cd_buf *out, cd_bytes data, const shape *s)
{
    cd_bytes format = dynamic_at(data, 0);
    u32 next = 1;
    usize from = 0;
    for (usize i = 0; i + 1 < format.n; i++) {
        u8 what = format.p[i + 1];
        if (format.p[i] != '%') {
            continue;
        }
        bool takes = strchr("sdifoOjc", what) != NULL && what != '\0' && next < s->cnt;
        if (what != '%' && !takes) {
            continue;
        }
        cd_console_put(out, cd_bytes_sub(format, from, i - from));
        if (what == '%') {
            cd_buf_u8(out, '%');
        } else {
            if (what != 'c') {
                put_arg(out, data, s, next);
            }
            next++;
        }
        i++;
        from = i + 1;
    }
    cd_console_put(out, cd_bytes_sub(format, from, format.n - from));
    return next;
}

bool cd_console_text(const cd_console *c, cd_buf *out, cd_bytes input)
{
    if (input.n < 4) {
        return false;
    }
    const shape *s = cd_hmap_get(&c->by_selector, input.p);
    if (s == NULL) {
        return false;
    }
    cd_bytes data = cd_bytes_sub(input, 4, input.n - 4);
    u32 next = 0;
    if (s->cnt != 0 && s->args[0].kind == STRING) {
        next = put_format(out, data, s);
    }
    for (u32 i = next; i < s->cnt; i++) {
        if (i != 0) {
            cd_buf_u8(out, ' ');
        }
        put_arg(out, data, s, i);
    }
    return true;
}

/* --- watching --- */

static cd_console_watch *watch_of(cd_tracer *t)
{
    return (cd_console_watch *)(void *)t;
}

static void on_enter(cd_tracer *t, u32 depth, u8 op, const cd_evm_msg *msg)
{
    cd_console_watch *w = watch_of(t);
    (void)op;
    if (depth == 0) {
        cd_console_tx *tx = cd_arena_new(&w->arena, cd_console_tx);
        *w->last = tx;
        w->last = &tx->next;
        w->last_line = &tx->lines;
    }
    if (msg->kind == CD_CREATE || msg->kind == CD_CREATE2 || !cd_addr20_eq(&msg->code, &console_addr)) {
        return;
    }
    cd_buf text = {0};
    if (cd_console_text(w->console, &text, msg->input)) {
        cd_console_line *line = cd_arena_new(&w->arena, cd_console_line);
        line->text = cd_arena_str(&w->arena, cd_buf_bytes(&text));
        *w->last_line = line;
        w->last_line = &line->next;
    }
    cd_buf_fini(&text);
}

static void on_exit(cd_tracer *t, u32 depth, const cd_evm_result *res, u64 gas_used)
{
    cd_console_watch *w = watch_of(t);
    (void)gas_used;
    if (depth == 0) {
        cd_console_tx *tx = (cd_console_tx *)(void *)((u8 *)w->last - offsetof(cd_console_tx, next));
        tx->status = res->status;
        tx->words = cd_arena_str(&w->arena, cd_bytes_str(cd_evm_result_str(res)));
        tx->output = cd_arena_dup(&w->arena, res->output);
    }
}

void cd_console_watch_init(cd_console_watch *w, const cd_console *c)
{
    *w = (cd_console_watch){
        .tracer = {.enter = on_enter, .exit = on_exit, .calls_only = true},
        .console = c,
    };
    w->last = &w->txs;
}

void cd_console_watch_fini(cd_console_watch *w)
{
    cd_arena_fini(&w->arena);
}
