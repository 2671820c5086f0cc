#include "base/hex.h"
#include "base/term.h"
#include "base/version.h"
#include "commands.h"
#include "crypto/secp256k1.h"
#include "types/addr_text.h"
#include "wallet/hd.h"

#include <stdio.h>
#include <unistd.h>

enum { LABEL = 13, COLUMN = 32, SHOWN = 3, WIDE = 100 };

/* How the stream can be written to. */
typedef struct style {
    const char *mark;  /* the lamp */
    const char *dim;   /* labels */
    const char *alarm; /* what to be careful about */
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

/* "  Label      first                          second"; closer together where that is too wide. */
static void row(const style *s, const char *label, const char *first, const char *second)
{
    int pad = s->width < WIDE ? (int)strlen(first) + 2 : COLUMN;
    (void)printf("  %s%-9s%s  %-*s%s\n", s->dim, label, s->off, second[0] == '\0' ? 0 : pad, first,
                 second);
}

static void print_accounts(const style *s)
{
    const char *more = s->has_utf8 ? "…" : "...";
    u8 seed[64];
    bool is_wide = s->width >= WIDE;
    (void)printf("  %s%-9s%s  10 with 10,000 LUX each, from the public phrase", s->dim, "Accounts",
                 s->off);
    (void)printf("%s%*s\"test test %s junk\": %snever use them elsewhere%s\n", is_wide ? "" : "\n",
                 is_wide ? 1 : LABEL, "", more, s->alarm, s->off);
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; i < SHOWN; i++) {
        u8 secret[32];
        u8 pub[64];
        cd_addr20 addr;
        char addr_text[CD_ADDR_TEXT_SIZE];
        char secret_text[65] = {0};
        if (cd_hd_account(secret, seed, i) != CD_OK || cd_secp256k1_pub(pub, secret) != CD_OK) {
            return;
        }
        cd_secp256k1_addr(&addr, pub);
        cd_hex_fmt(secret_text, cd_bytes_of(secret, 32));
        (void)printf("    %u  %s%s0x%s\n", i, cd_addr_fmt(addr_text, &addr),
                     is_wide ? "  " : "\n       ", secret_text);
    }
    (void)printf("    %s  7 more: eth_accounts\n", more);
}

void cd__banner_print(const cd__banner *b)
{
    style s = style_of(STDOUT_FILENO);
    char url[300];
    char text[400];
    char chain[80];
    const char *dot = s.has_utf8 ? "·" : "-";
    (void)snprintf(url, sizeof url, "%s://%s:%u", b->scheme, b->host, b->port);
    (void)printf(
        "  %s%s%s\n  %s%s%s  candela %s %s %s network %u %s ready in %llu ms\n  %s%s%s\n\n", s.mark,
        s.has_utf8 ? "╭──" : ".--", s.off, s.mark, s.has_utf8 ? "│ ●───" : "| o---", s.off,
        CD_VERSION, dot, b->network->name, b->network->id, dot, (unsigned long long)b->ready_ms,
        s.mark, s.has_utf8 ? "╰──" : "'--", s.off);
    (void)snprintf(text, sizeof text, "%s://%s:%u/v1/bc/C/ws",
                   strcmp(b->scheme, "https") == 0 ? "wss" : "ws", b->host, b->port);
    row(&s, "RPC", url, text);
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
    print_accounts(&s);
    (void)printf(
        "\n  %s%-9s%s  curl -s %s:%u -H 'content-type: application/json' \\\n"
        "               -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_blockNumber\"}'\n"
        "             candela top --http-port=%u\n\n  Ctrl-C stops it.\n\n",
        s.dim, "Try", s.off, strcmp(b->scheme, "https") == 0 ? url : b->host, b->port, b->port);
    (void)fflush(stdout);
}

void cd__farewell_print(u64 ms, bool is_saved, u64 blocks)
{
    (void)printf("\n  stopped in %llu ms%s %s %llu C-block%s\n", (unsigned long long)ms,
                 is_saved ? ", everything saved" : "", cd_term_has_utf8() ? "·" : "-",
                 (unsigned long long)blocks, blocks == 1 ? "" : "s");
    (void)fflush(stdout);
}
