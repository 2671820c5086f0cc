#include "chains/evmchain/dev/tell.h"

#include "base/hex.h"
#include "base/log/log.h"
#include "base/os/term.h"
#include "chains/evmchain/core/revert.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

#include <stdio.h>

enum { DECIMALS = 18, WEI_DIGITS = 12, DATA_SHOWN = 36 };

/* Below the block's line, where its transactions begin. */
static const char indent[] = "\n                                       ";

/* --- words --- */

static void put_addr(cd_buf *out, const cd_addr20 *a)
{
    char text[CD_ADDR_TEXT_SIZE];
    (void)cd_addr_fmt(text, a);
    cd_buf_fmt(out, "%.6s…%s", text, text + 38);
}

/* Digits in groups of three. */
static void put_grouped(cd_buf *out, const char *digits, usize n)
{
    for (usize i = 0; i < n; i++) {
        if (i != 0 && (n - i) % 3 == 0) {
            cd_buf_u8(out, ',');
        }
        cd_buf_u8(out, (u8)digits[i]);
    }
}

static const char *grouped(cd_arena *a, u64 v)
{
    char digits[24];
    cd_buf text = {0};
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
    put_grouped(&text, digits, (usize)n);
    const char *out = cd_arena_str(a, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return out;
}

void cd__dev_put_amount(cd_buf *out, const cd_u256 *wei)
{
    char digits[CD_U256_TEXT_MAX + DECIMALS];
    usize n = cd_u256_fmt_dec(digits, wei);
    if (n <= WEI_DIGITS) {
        put_grouped(out, digits, n);
        cd_buf_str(out, " wei");
        return;
    }
    if (n <= DECIMALS) {
        usize more = DECIMALS + 1 - n;
        memmove(digits + more, digits, n);
        memset(digits, '0', more);
        n += more;
    }
    usize whole = n - DECIMALS;
    put_grouped(out, digits, whole);
    while (n > whole && digits[n - 1] == '0') {
        n--;
    }
    if (n > whole) {
        cd_buf_u8(out, '.');
        cd_buf_put(out, cd_bytes_of(digits + whole, n - whole));
    }
    cd_buf_str(out, " LUX");
}

/* The call that a transaction makes. */
static void put_call(cd_buf *out, const cd_dev *d, const cd_tx *tx)
{
    put_addr(out, &tx->to);
    if (tx->data.n >= 4) {
        cd_buf_u8(out, '.');
        if (cd_names_put(d->names, out, tx->data)) {
            return;
        }
        cd_hex_put(out, cd_bytes_sub(tx->data, 0, 4));
        cd_buf_fmt(out, " (%zu bytes)", tx->data.n - 4);
    } else if (tx->data.n != 0) {
        cd_buf_u8(out, ' ');
        cd_hex_put(out, tx->data);
    }
}

/* Why a message failed. */
static void put_failure(cd_buf *out, cd_arena *a, cd_names *names, const cd_console_tx *seen)
{
    cd_bytes output = seen->output;
    if (seen->status != CD_EVM_REVERT) {
        cd_buf_fmt(out, "failed: %s", seen->words);
        return;
    }
    const char *reason = cd_revert_reason(a, output);
    cd_buf_str(out, "reverted");
    if (reason != NULL) {
        cd_buf_str(out, ": ");
        cd_console_put(out, cd_bytes_str(reason));
    } else if (output.n != 0) {
        cd_buf_str(out, ": ");
        if (cd_names_put(names, out, output)) {
            return;
        }
        cd_hex_put(out, cd_bytes_sub(output, 0, cd_min_u64(output.n, DATA_SHOWN)));
        if (output.n > DATA_SHOWN) {
            cd_buf_fmt(out, "… (%zu bytes)", output.n);
        }
    }
}

static void put_tx(cd_buf *out, cd_arena *a, const cd_dev *d, const cd_tx *tx, const cd_receipt *r,
                   const cd_console_tx *seen)
{
    if (!r->ok) {
        put_failure(out, a, d->names, seen);
        cd_buf_str(out, indent);
        if (tx->is_create) {
            put_addr(out, &tx->sender);
            cd_buf_str(out, " creating a contract");
        } else {
            put_call(out, d, tx);
        }
        return;
    }
    put_addr(out, &tx->sender);
    if (tx->is_create) {
        cd_buf_str(out, " created ");
        put_addr(out, &r->created);
    } else {
        cd_buf_str(out, " → ");
        put_call(out, d, tx);
    }
    if (!cd_u256_is_zero(&tx->value)) {
        cd_buf_str(out, "   ");
        cd__dev_put_amount(out, &tx->value);
    }
}

/* --- lines --- */

/* Appends text as terminals that show nothing beyond ASCII have it. */
static void put_ascii(cd_buf *out, cd_bytes text)
{
    static const struct {
        const char *sign;
        const char *ascii;
    } rows[] = {{"…", "..."}, {"→", "->"}};
    for (usize i = 0; i < text.n;) {
        usize k = 0;
        while (k < CD_COUNT(rows) && (text.n - i < 3 || memcmp(text.p + i, rows[k].sign, 3) != 0)) {
            k++;
        }
        if (k < CD_COUNT(rows)) {
            cd_buf_str(out, rows[k].ascii);
            i += 3;
        } else {
            cd_buf_u8(out, text.p[i++]);
        }
    }
}

static void tell(const cd_dev *d, const cd_buf *text, const char *msg, const cd_log_field *fields, usize cnt)
{
    cd_buf ascii = {0};
    if (!cd_term_has_utf8()) {
        put_ascii(&ascii, cd_buf_bytes(text));
        text = &ascii;
    }
    cd_log_tell(d->api->log, CD_LOG_INFO, cd_buf_bytes(text), msg, fields, cnt);
    cd_buf_fini(&ascii);
}

static void tell_lines(const cd_dev *d, const cd_console_tx *tx)
{
    for (const cd_console_line *l = tx->lines; l != NULL; l = l->next) {
        cd_buf text = {0};
        cd_log_field field = CD_F("text", l->text);
        cd_buf_fmt(&text, "console.log  %s", l->text);
        tell(d, &text, "console.log", &field, 1);
        cd_buf_fini(&text);
    }
}

static void tell_head(const cd_dev *d, cd_buf *text, u64 height, u64 txs, u64 gas)
{
    const cd_log_field fields[] = {
        CD_F("chain", "C"),
        CD_F("height", height),
        CD_F("txs", txs),
        CD_F("gas", gas),
    };
    tell(d, text, "block accepted", fields, CD_COUNT(fields));
}

void cd__dev_tell_block(const cd_dev *d, const cd_chain_block *b, const cd_console_watch *watch)
{
    cd_arena a = {0};
    cd_buf text = {0};
    const cd_header *h = &b->block.header;
    if (!d->is_logging || !cd_log_is_on(d->api->log, CD_LOG_INFO)) {
        return;
    }
    cd_buf_fmt(&text, "C %-5llu %zu tx %9s gas", (unsigned long long)h->number, b->block.tx_cnt,
               grouped(&a, h->gas_used));
    const cd_console_tx *seen = watch->txs;
    for (usize i = 0; i < b->block.tx_cnt && seen != NULL; i++, seen = seen->next) {
        cd_buf_str(&text, i == 0 ? "   " : indent);
        put_tx(&text, &a, d, &b->block.txs[i], &b->receipts[i], seen);
    }
    tell_head(d, &text, h->number, b->block.tx_cnt, h->gas_used);
    for (seen = watch->txs; seen != NULL; seen = seen->next) {
        tell_lines(d, seen);
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

void cd__dev_tell_run(const cd_dev *d, u64 first, u64 count)
{
    cd_arena a = {0};
    cd_buf text = {0};
    if (!d->is_logging || !cd_log_is_on(d->api->log, CD_LOG_INFO)) {
        return;
    }
    u64 last = first + count - 1;
    if (count == 1) {
        cd_buf_fmt(&text, "C %-5llu empty", (unsigned long long)last);
    } else {
        cd_buf_fmt(&text, "C %llu to %llu   %s empty blocks", (unsigned long long)first, (unsigned long long)last,
                   grouped(&a, count));
    }
    tell_head(d, &text, last, 0, 0);
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

static void tell_call(const cd_dev *d, const cd_console_watch *watch)
{
    cd_arena a = {0};
    const cd_console_tx *tx = watch->txs;
    if (tx == NULL || !d->is_logging || !cd_log_is_on(d->api->log, CD_LOG_INFO)) {
        return;
    }
    tell_lines(d, tx);
    if (tx->status != CD_EVM_OK) {
        cd_buf text = {0};
        put_failure(&text, &a, d->names, tx);
        cd_log_field field = CD_F("why", cd_buf_bytes(&text));
        cd_buf line = {0};
        cd_buf_str(&line, "call  ");
        cd_buf_put(&line, cd_buf_bytes(&text));
        tell(d, &line, "call failed", &field, 1);
        cd_buf_fini(&line);
        cd_buf_fini(&text);
    }
    cd_arena_fini(&a);
}

cd_err cd__dev_watched(const cd_api_dev *dev, cd_evm *evm, cd_err (*run)(void *arg), void *arg)
{
    const cd_dev *d = (const cd_dev *)(const void *)dev;
    cd_console_watch w;
    cd_console_watch_init(&w, d->console);
    cd_evm_set_tracer(evm, &w.tracer);
    cd_err e = run(arg);
    cd_evm_set_tracer(evm, NULL);
    tell_call(d, &w);
    cd_console_watch_fini(&w);
    return e;
}
