#include "base/hex.h"
#include "base/log/log.h"
#include "base/os/term.h"
#include "base/version.h"
#include "commands.h"
#include "crypto/ec/secp256k1.h"
#include "types/addr_text.h"
#include "wallet/hd.h"

#include <stdio.h>
#include <unistd.h>

enum { LABEL = 13, COLUMN = 32, ACCOUNTS = 10, SHOWN = 3, WIDE = 100 };

/* What the terminal can show, and escape sequences for it (empty without colours). */
typedef struct style {
    const char *mark;  /* colour of the lamp */
    const char *dim;   /* colour of labels */
    const char *alarm; /* colour of warnings */
    const char *off;
    bool has_utf8;
    usize width;
} style;

static style style_of(int fd)
{
    bool has_color = cd_term_has_color(fd);
    return (style){
        .mark = has_color ? "\x1b[33m" : "",
        .dim = has_color ? "\x1b[2m" : "",
        .alarm = has_color ? "\x1b[31m" : "",
        .off = has_color ? "\x1b[0m" : "",
        .has_utf8 = cd_term_has_utf8(),
        .width = cd_term_width(fd),
    };
}

/* Prints "  Label      first                          second"; closer together on a narrow terminal. */
static void row(const style *s, const char *label, const char *first, const char *second)
{
    int pad = s->width < WIDE ? (int)strlen(first) + 2 : COLUMN;
    (void)printf("  %s%-9s%s  %-*s%s\n", s->dim, label, s->off, second[0] == '\0' ? 0 : pad, first, second);
}

/* An account whose key is public, as text. */
typedef struct account {
    char addr[CD_ADDR_TEXT_SIZE];
    char secret[67];
} account;

static bool account_of(account *out, const u8 seed[64], u32 nr)
{
    u8 secret[32];
    u8 pub[64];
    cd_addr20 addr;
    if (cd_hd_account(secret, seed, nr) != CD_OK || cd_secp256k1_pub(pub, secret) != CD_OK) {
        return false;
    }
    cd_secp256k1_addr(&addr, pub);
    *out = (account){.secret = "0x"};
    cd_hex_fmt(out->secret + 2, cd_bytes_of(secret, 32));
    (void)cd_addr_fmt(out->addr, &addr);
    return true;
}

static void print_accounts(const style *s)
{
    const char *more = s->has_utf8 ? "…" : "...";
    u8 seed[64];
    bool is_wide = s->width >= WIDE;
    (void)printf("  %s%-9s%s  10 with 10,000 LUX each, from the public phrase", s->dim, "Accounts", s->off);
    (void)printf("%s%*s\"test test %s junk\": %snever use them elsewhere%s\n", is_wide ? "" : "\n", is_wide ? 1 : LABEL,
                 "", more, s->alarm, s->off);
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    account a;
    for (u32 i = 0; i < SHOWN && account_of(&a, seed, i); i++) {
        (void)printf("    %u  %s%s%s\n", i, a.addr, is_wide ? "  " : "\n       ", a.secret);
    }
    (void)printf("    %s  %d more: eth_accounts\n", more, ACCOUNTS - SHOWN);
}

void cd__banner_print(const cd__banner *b)
{
    style s = style_of(STDOUT_FILENO);
    char url[300];
    char text[400];
    char chain[80];
    const char *dot = s.has_utf8 ? "·" : "-";
    (void)snprintf(url, sizeof url, "%s://%s:%u", b->scheme, b->host, b->port);
    (void)printf("  %s%s%s\n  %s%s%s  candela %s %s %s network %u %s ready in %llu ms\n  %s%s%s\n\n", s.mark,
                 s.has_utf8 ? "╭──" : ".--", s.off, s.mark, s.has_utf8 ? "│ ●───" : "| o---", s.off, CD_VERSION, dot,
                 b->network->name, b->network->id, dot, (unsigned long long)b->ready_ms, s.mark,
                 s.has_utf8 ? "╰──" : "'--", s.off);
    (void)snprintf(text, sizeof text, "%s://%s:%u/v1/bc/C/ws", strcmp(b->scheme, "https") == 0 ? "wss" : "ws", b->host,
                   b->port);
    row(&s, "RPC", url, text);
    for (u32 i = 1; i < b->validators; i++) {
        (void)snprintf(url, sizeof url, "%s://%s:%u", b->scheme, b->host, b->ports[i]);
        (void)snprintf(text, sizeof text, "the same chain, held by validator %u", i + 1);
        row(&s, i == 1 ? "Others" : "", url, text);
    }
    (void)snprintf(url, sizeof url, "%s://%s:%u", b->scheme, b->host, b->port);
    if (b->has_explorer) {
        (void)snprintf(text, sizeof text, "%s/explorer", url);
        row(&s, "Explorer", text, "");
    }
    (void)snprintf(text, sizeof text, "%s/v1/metrics", url);
    row(&s, "Metrics", text, "");
    (void)snprintf(chain, sizeof chain, "EVM chain id %llu, a block whenever a transaction arrives",
                   (unsigned long long)b->network->evm_chain_id);
    row(&s, "Chains", "C", chain);
    usize home = b->home == NULL ? 0 : strlen(b->home);
    if (b->dir == NULL) {
        row(&s, "Data", "in memory, gone at the end", "");
    } else if (home > 1 && strncmp(b->dir, b->home, home) == 0 && b->dir[home] == '/') {
        (void)snprintf(text, sizeof text, "~%s", b->dir + home);
        row(&s, "Data", text, "");
    } else {
        row(&s, "Data", b->dir, "");
    }
    (void)printf("\n");
    if (b->network->is_dev) {
        print_accounts(&s);
    }
    (void)printf("\n  %s%-9s%s  curl -s %s:%u -H 'content-type: application/json' \\\n"
                 "               -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_blockNumber\"}'\n"
                 "             candela top --http-port=%u\n\n  Ctrl-C stops it.\n\n",
                 s.dim, "Try", s.off, strcmp(b->scheme, "https") == 0 ? url : b->host, b->port, b->port);
    (void)fflush(stdout);
}

void cd__banner_log(const cd__banner *b, cd_logger *log)
{
    char rpc[300];
    char ws[320];
    char explorer[320] = "";
    u8 seed[64];
    account a;
    (void)snprintf(rpc, sizeof rpc, "%s://%s:%u", b->scheme, b->host, b->port);
    (void)snprintf(ws, sizeof ws, "ws%s/v1/bc/C/ws", rpc + 4); /* behind "http": ":…" or "s:…" */
    if (b->has_explorer) {
        (void)snprintf(explorer, sizeof explorer, "%s/explorer", rpc);
    }
    cd_log_info(log, "ready", CD_F("version", "candela/" CD_VERSION), CD_F("network", b->network->name),
                CD_F("network_id", b->network->id), CD_F("ms", b->ready_ms), CD_F("rpc", (const char *)rpc),
                CD_F("ws", (const char *)ws), CD_F("explorer", (const char *)explorer));
    for (u32 i = 1; i < b->validators; i++) {
        (void)snprintf(rpc, sizeof rpc, "%s://%s:%u", b->scheme, b->host, b->ports[i]);
        cd_log_info(log, "another validator of the chain", CD_F("nr", i + 1), CD_F("rpc", (const char *)rpc));
    }
    if (!b->network->is_dev || !cd_log_is_on(log, CD_LOG_INFO)) {
        return;
    }
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < ACCOUNTS && account_of(&a, seed, i); i++) {
        cd_log_info(log, "account of the public phrase, never to be used elsewhere", CD_F("nr", i),
                    CD_F("address", (const char *)a.addr), CD_F("key", (const char *)a.secret));
    }
}

void cd__farewell_print(u64 ms, bool is_saved, u64 blocks)
{
    (void)printf("\n  stopped in %llu ms%s %s %llu C-block%s\n", (unsigned long long)ms,
                 is_saved ? ", everything saved" : "", cd_term_has_utf8() ? "·" : "-", (unsigned long long)blocks,
                 blocks == 1 ? "" : "s");
    (void)fflush(stdout);
}
