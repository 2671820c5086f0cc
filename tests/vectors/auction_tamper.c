/* Outcomes of made-up auctions, N of them (argument), with every single field of the document changed: none may be
 * taken any more. A field is a value anywhere in the document; elements of lists are also left out and put twice. */
#include "services/adx/test/auction_kit.h"

#include "base/num_text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct count {
    u64 documents, changes, taken;
} count;

/* What may be said about a document that was changed. */
static void judge(count *c, cd_bytes changed, cd_bytes original, const char *what)
{
    cd_arena mem = {0};
    cd_outcome o;
    cd_bytes copy = cd_arena_dup(&mem, changed);
    c->changes++;
    if (cd_outcome_parse(&o, &mem, copy, NULL) == CD_OK && cd_outcome_verify(&o, NULL) == CD_OK) {
        c->taken++;
        (void)printf("TAKEN: %s\n%.*s\n%.*s\n", what, (int)original.n, (const char *)original.p, (int)changed.n,
                     (const char *)changed.p);
    }
    cd_arena_fini(&mem);
}

static bool is_digit(u8 ch)
{
    return ch >= '0' && ch <= '9';
}

/* Another character of the same kind: digits stay digits, so that hexadecimal and decimal text stay what they are. */
static u8 other(u8 ch, cd_rng *rng)
{
    if (is_digit(ch)) {
        return (u8)('1' + (ch - '1' + 1 + (int)cd_rng_below(rng, 7)) % 9);
    }
    if (ch >= 'a' && ch <= 'f') {
        return (u8)('a' + (ch - 'a' + 1 + (int)cd_rng_below(rng, 4)) % 6);
    }
    return ch == 'z' ? 'y' : (u8)(ch + 1);
}

/* The values of a compact document: strings and numbers and null behind ':' , '[' or ','. */
static void change_values(count *c, cd_bytes json, cd_rng *rng)
{
    cd_buf b = {0};
    cd_buf_put(&b, json);
    for (usize i = 1; i + 1 < json.n; i++) {
        u8 before = json.p[i - 1];
        bool is_value = before == ':' || before == '[' || (before == ',' && json.p[i] != '"');
        if (!is_value) {
            continue;
        }
        if (json.p[i] == '"') {
            usize end = i + 1;
            while (json.p[end] != '"') {
                end++;
            }
            if (end > i + 1) {
                usize at = i + 1 + cd_rng_below(rng, end - i - 1);
                b.p[at] = other(b.p[at], rng);
                judge(c, cd_buf_bytes(&b), json, "a string");
                b.p[at] = json.p[at];
            }
        } else if (is_digit(json.p[i])) {
            b.p[i] = other(b.p[i], rng);
            judge(c, cd_buf_bytes(&b), json, "a number");
            b.p[i] = json.p[i];
        } else if (json.p[i] == 'n') {
            memcpy(b.p + i, "   0", 4);
            judge(c, cd_buf_bytes(&b), json, "null");
            memcpy(b.p + i, "null", 4);
        }
    }
    cd_buf_fini(&b);
}

/* Puts `text` in place of n bytes at `at`. */
static void splice(count *c, cd_bytes json, usize at, usize n, cd_bytes text, const char *what)
{
    cd_buf b = {0};
    cd_buf_put(&b, cd_bytes_sub(json, 0, at));
    cd_buf_put(&b, text);
    cd_buf_put(&b, cd_bytes_sub(json, at + n, json.n - at - n));
    judge(c, cd_buf_bytes(&b), json, what);
    cd_buf_fini(&b);
}

static usize find(cd_bytes json, const char *what)
{
    usize n = strlen(what);
    for (usize i = 0; i + n <= json.n; i++) {
        if (memcmp(json.p + i, what, n) == 0) {
            return i;
        }
    }
    return json.n;
}

/* Lists: who forfeited, and the bids. */
static void change_lists(count *c, cd_bytes json, const cd_outcome *o)
{
    usize list = find(json, "\"forfeited\":[") + 13;
    usize end = list;
    while (json.p[end] != ']') {
        end++;
    }
    char seq[CD_U64_TEXT_MAX];
    for (u32 i = 0; i < o->cnt; i++) {
        if (!o->is_forfeited[i] && end == list) {
            splice(c, json, list, 0, cd_bytes_of(seq, cd_u64_fmt(seq, i)), "one more forfeited");
        }
    }
    if (end > list) {
        splice(c, json, list, end - list, (cd_bytes){0}, "none forfeited");
    }
    usize bids = find(json, "\"bids\":[") + 8;
    if (o->cnt != 0) {
        usize stop = bids;
        while (json.p[stop] != '}') {
            stop++;
        }
        stop++;
        cd_bytes first = cd_bytes_sub(json, bids, stop - bids);
        usize comma = json.p[stop] == ',' ? 1 : 0;
        splice(c, json, bids, first.n + comma, (cd_bytes){0}, "a bid left out");
        cd_buf twice = {0};
        cd_buf_put(&twice, first);
        cd_buf_u8(&twice, ',');
        splice(c, json, bids, 0, cd_buf_bytes(&twice), "a bid twice");
        cd_buf_fini(&twice);
    }
    usize proof = find(json, "\"proof\":\"") + 9;
    splice(c, json, proof, 64, (cd_bytes){0}, "a shorter proof");
    splice(c, json, proof, json.n - 2 - proof, (cd_bytes){0}, "no proof");
    usize status = find(json, "\"status\":\"") + 10;
    splice(c, json, status, o->is_void ? 4 : 7, cd_bytes_str(o->is_void ? "settled" : "void"), "the other status");
}

static void one(count *c, cd_rng *rng)
{
    cd_arena mem = {0};
    cd_buf json = {0};
    cd_outcome o;
    cd_outcome back;
    kit k = {.cnt = 0};
    cd_rng_fill(rng, k.auction.b, 32);
    u32 cnt = (u32)cd_rng_below(rng, 5);
    for (u32 i = 0; i < cnt; i++) {
        kit_bid(&k, rng, 1000 + cd_rng_below(rng, 20) * 100, cd_rng_below(rng, 6) == 0);
    }
    kit_settle(&o, &mem, &k, 900 + cd_rng_below(rng, 15) * 100, rng);
    cd_outcome_put(&json, &o);
    c->documents++;
    bool is_valid =
        cd_outcome_parse(&back, &mem, cd_buf_bytes(&json), NULL) == CD_OK && cd_outcome_verify(&back, NULL) == CD_OK;
    if (!is_valid) {
        c->taken++;
        (void)printf("NOT VALID AS IT WAS MADE\n");
    }
    change_values(c, cd_buf_bytes(&json), rng);
    change_lists(c, cd_buf_bytes(&json), &o);
    cd_buf_fini(&json);
    cd_arena_fini(&mem);
}

int main(int argc, char **argv)
{
    u64 n = 0;
    count c = {0};
    if (argc != 2 || cd_u64_parse(&n, cd_bytes_str(argv[1])) != CD_OK) {
        (void)fprintf(stderr, "usage: auction_tamper DOCUMENTS\n");
        return 2;
    }
    cd_rng rng = cd_rng_seeded(2026);
    while (c.documents < n) {
        one(&c, &rng);
    }
    (void)printf("%llu documents, %llu changes, %llu taken\n", (unsigned long long)c.documents,
                 (unsigned long long)c.changes, (unsigned long long)c.taken);
    return c.taken == 0 ? 0 : 1;
}
