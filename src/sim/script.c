#include "sim/script.h"

#include "base/num_text.h"
#include "sim/disk.h"

enum { WORDS_MAX = 12, FRACTION_DIGITS = 9 };

typedef struct line {
    cd_bytes word[WORDS_MAX];
    u32 cnt;
    u32 no;
} line;

static bool is(cd_bytes word, const char *s)
{
    return cd_bytes_eq(word, cd_bytes_str(s));
}

static cd_err wrong(const line *l, cd_errinfo *why, const char *what, cd_bytes word)
{
    return cd_fail(why, CD_EFORMAT, "line %u: %s: \"%.*s\"", l->no, what, (int)cd_min_u64(word.n, 60),
                   word.n == 0 ? "" : (const char *)word.p);
}

/* --- values --- */

/* Reads "12" or "0.25" as parts of 10^9. */
static cd_err decimal(u64 *billionths, cd_bytes text)
{
    usize dot = 0;
    u64 whole = 0;
    u64 part = 0;
    while (dot < text.n && text.p[dot] != '.') {
        dot++;
    }
    CD_TRY(cd_u64_parse(&whole, cd_bytes_sub(text, 0, dot)));
    usize digits = dot == text.n ? 0 : text.n - dot - 1;
    if (whole > 1000000 || digits > FRACTION_DIGITS || (dot < text.n && digits == 0)) {
        return CD_EFORMAT;
    }
    for (usize i = 0; i < FRACTION_DIGITS; i++) {
        u8 c = i < digits ? text.p[dot + 1 + i] : '0';
        if (c < '0' || c > '9') {
            return CD_EFORMAT;
        }
        part = part * 10 + (u64)(c - '0');
    }
    *billionths = whole * 1000000000 + part;
    return CD_OK;
}

cd_err cd_sim_share_parse(u32 *ppm, cd_bytes text)
{
    u64 v = 0;
    u64 num;
    u64 den;
    usize slash = 0;
    while (slash < text.n && text.p[slash] != '/') {
        slash++;
    }
    if (slash < text.n) {
        CD_TRY(cd_u64_parse(&num, cd_bytes_sub(text, 0, slash)));
        CD_TRY(cd_u64_parse(&den, cd_bytes_sub(text, slash + 1, text.n - slash - 1)));
        if (den == 0 || den > CD_SIM_MILLION || num > den) {
            return CD_ERANGE;
        }
        v = (num * CD_SIM_MILLION + den - 1) / den;
    } else if (text.n != 0 && text.p[text.n - 1] == '%') {
        CD_TRY(decimal(&v, cd_bytes_sub(text, 0, text.n - 1)));
        v /= 100000;
    } else {
        CD_TRY(decimal(&v, text));
        v /= 1000;
    }
    if (v > CD_SIM_MILLION) {
        return CD_ERANGE;
    }
    *ppm = (u32)v;
    return CD_OK;
}

/* Takes the piece before the next comma; false: there is none. */
static bool next_piece(cd_bytes *piece, cd_bytes *rest)
{
    usize n = 0;
    if (rest->n == 0) {
        return false;
    }
    while (n < rest->n && rest->p[n] != ',') {
        n++;
    }
    *piece = cd_bytes_sub(*rest, 0, n);
    usize skip = n < rest->n ? n + 1 : n;
    *rest = cd_bytes_sub(*rest, skip, rest->n - skip);
    return true;
}

cd_err cd_sim_roles_parse(u32 *roles, cd_bytes text)
{
    cd_bytes rest = text;
    cd_bytes piece;
    u32 all = is(text, "all") ? CD_SIM_ROLES : 0;
    while (all != CD_SIM_ROLES && next_piece(&piece, &rest)) {
        u32 bit = 1;
        while (bit <= CD_SIM_ROLES && !is(piece, cd_sim_role_name(bit))) {
            bit <<= 1;
        }
        if (bit > CD_SIM_ROLES) {
            return CD_EFORMAT;
        }
        all |= bit;
    }
    if (all == 0) {
        return CD_EFORMAT;
    }
    *roles = all;
    return CD_OK;
}

cd_err cd_sim_latency_parse(cd_sim_latency *out, cd_bytes text)
{
    static const char *const names[] = {[CD_SIM_LAN] = "lan", [CD_SIM_REGION] = "region", [CD_SIM_WORLD] = "world"};
    for (u32 i = 0; i < CD_COUNT(names); i++) {
        if (is(text, names[i])) {
            *out = (cd_sim_latency)i;
            return CD_OK;
        }
    }
    return CD_EFORMAT;
}

/* Reads "0-3,7" or "all". */
static cd_err parse_nodes(cd_sim_nodes *out, const cd_sim_cfg *cfg, cd_bytes text)
{
    cd_bytes rest = text;
    cd_bytes piece;
    *out = (cd_sim_nodes){0};
    if (is(text, "all")) {
        out->r[0].to = cfg->nodes - 1;
        out->cnt = 1;
        return CD_OK;
    }
    while (next_piece(&piece, &rest)) {
        u64 from;
        u64 to;
        usize dash = 0;
        while (dash < piece.n && piece.p[dash] != '-') {
            dash++;
        }
        CD_TRY(cd_u64_parse(&from, cd_bytes_sub(piece, 0, dash)));
        to = from;
        if (dash < piece.n) {
            CD_TRY(cd_u64_parse(&to, cd_bytes_sub(piece, dash + 1, piece.n - dash - 1)));
        }
        if (out->cnt == CD_SIM_RANGES_MAX || from > to || to >= cfg->nodes) {
            return CD_ERANGE;
        }
        out->r[out->cnt].from = (u32)from;
        out->r[out->cnt++].to = (u32)to;
    }
    return out->cnt == 0 ? CD_EFORMAT : CD_OK;
}

static cd_err duration_us(u64 *us, cd_bytes text)
{
    u64 ns;
    CD_TRY(cd_duration_parse(&ns, text));
    *us = ns / 1000;
    return CD_OK;
}

/* --- what happens --- */

/* What follows the nodes after a verb. */
typedef enum form {
    NOTHING,
    SHARE,
    NUMBER,
    FAULT,
    INDEX,
    SKEW,
    SECONDS,
    MOMENT,
} form;

static const struct {
    const char *name;
    cd_sim_verb verb;
    bool has_nodes;
    form form;
} verbs[] = {
    {"crash", CD_SIM_CRASH, true, NOTHING},    {"partition", CD_SIM_PARTITION, true, NOTHING},
    {"loss", CD_SIM_LOSS, false, SHARE},       {"double", CD_SIM_DOUBLE, false, SHARE},
    {"reorder", CD_SIM_REORDER, false, SHARE}, {"slow", CD_SIM_SLOW, true, NUMBER},
    {"disk", CD_SIM_DISK, true, FAULT},        {"index", CD_SIM_INDEX, true, INDEX},
    {"clock", CD_SIM_CLOCK, true, SKEW},       {"weight", CD_SIM_WEIGHT, true, NUMBER},
    {"late", CD_SIM_LATE, true, SECONDS},      {"liars", CD_SIM_LIARS, false, NOTHING},
    {"rules", CD_SIM_RULES, true, MOMENT},     {"quiet", CD_SIM_QUIET, false, NOTHING},
    {"mark", CD_SIM_MARK, false, NOTHING},     {"unpaid", CD_SIM_UNPAID, true, NOTHING},
};

static cd_err parse_skew(u64 *out, cd_bytes w)
{
    i64 v;
    bool has_plus = w.n > 1 && w.p[0] == '+';
    CD_TRY(cd_i64_parse(&v, has_plus ? cd_bytes_sub(w, 1, w.n - 1) : w));
    *out = (u64)v;
    return v > -100000 && v < 100000 ? CD_OK : CD_ERANGE;
}

static cd_err parse_fault(u64 *out, cd_bytes w)
{
    *out = is(w, "fails") ? CD_SIM_DISK_FAILS : is(w, "full") ? CD_SIM_DISK_FULL : CD_SIM_DISK_DIES;
    return *out != CD_SIM_DISK_DIES || is(w, "dies") ? CD_OK : CD_EFORMAT;
}

static cd_err parse_index(u64 *out, cd_bytes side, cd_bytes blocks)
{
    CD_TRY(cd_u64_parse(out, blocks));
    if (*out > 1000 || (!is(side, "ahead") && !is(side, "behind"))) {
        return CD_EFORMAT;
    }
    *out |= is(side, "behind") ? CD_SIM_BEHIND : 0;
    return CD_OK;
}

static cd_err parse_value(u64 *out, form f, const line *l, u32 at)
{
    static const u32 takes[] = {
        [NOTHING] = 0, [SHARE] = 1, [NUMBER] = 1, [FAULT] = 1, [INDEX] = 2, [SKEW] = 1, [SECONDS] = 1, [MOMENT] = 1};
    u32 ppm = 0;
    u64 us = 0;
    cd_err e = l->cnt == at + takes[f] ? CD_OK : CD_EFORMAT;
    if (e != CD_OK) {
        return e;
    }
    switch (f) {
    case NOTHING:
        return CD_OK;
    case SHARE:
        e = cd_sim_share_parse(&ppm, l->word[at]);
        *out = ppm;
        return e;
    case NUMBER:
        e = cd_u64_parse(out, l->word[at]);
        return e != CD_OK || *out <= 1000000000000 ? e : CD_ERANGE;
    case FAULT:
        return parse_fault(out, l->word[at]);
    case INDEX:
        return parse_index(out, l->word[at], l->word[at + 1]);
    case SKEW:
        return parse_skew(out, l->word[at]);
    case SECONDS:
    case MOMENT:
        if (f == MOMENT && is(l->word[at], "never")) {
            *out = UINT64_MAX / 4;
            return CD_OK;
        }
        e = duration_us(&us, l->word[at]);
        *out = us / CD_SIM_MILLION;
        return e;
    }
    CD_UNREACHABLE();
}

/* Reads a line: at TIME [for TIME] VERB [NODES] [VALUE …] */
static cd_err parse_act(cd_sim_act *out, const cd_sim_cfg *cfg, const line *l, cd_errinfo *why)
{
    cd_sim_act a = {.until_us = UINT64_MAX};
    u32 at = 2;
    u32 v = 0;
    if (l->cnt < 3 || duration_us(&a.at_us, l->word[1]) != CD_OK) {
        return wrong(l, why, "no time such as 90s behind \"at\"", l->word[1]);
    }
    if (is(l->word[at], "for")) {
        u64 span = 0;
        if (l->cnt < 5 || duration_us(&span, l->word[at + 1]) != CD_OK || !cd_add_u64(&a.until_us, a.at_us, span)) {
            return wrong(l, why, "no time such as 90s behind \"for\"", l->cnt > 3 ? l->word[3] : (cd_bytes){0});
        }
        at += 2;
    }
    while (v < CD_COUNT(verbs) && !is(l->word[at], verbs[v].name)) {
        v++;
    }
    if (v == CD_COUNT(verbs)) {
        return wrong(l, why, "nothing that can happen", l->word[at]);
    }
    a.verb = verbs[v].verb;
    at++;
    if (verbs[v].has_nodes && (at >= l->cnt || parse_nodes(&a.nodes, cfg, l->word[at]) != CD_OK)) {
        return wrong(l, why, "no nodes such as 0-3,7 (\"nodes\" stands before)",
                     at < l->cnt ? l->word[at] : (cd_bytes){0});
    }
    at += verbs[v].has_nodes ? 1 : 0;
    if (parse_value(&a.value, verbs[v].form, l, at) != CD_OK) {
        return wrong(l, why, "wrong values behind", l->word[at - 1]);
    }
    *out = a;
    return CD_OK;
}

/* --- what it is made of --- */

/* still TIME TIME, moves TIME TIME */
static cd_err parse_span(cd_sim_expect *e, const line *l)
{
    u64 from = 0;
    u64 until = 0;
    bool moves = is(l->word[1], "moves");
    if ((!moves && !is(l->word[1], "still")) || e->span_cnt == CD_SIM_SPANS_MAX) {
        return CD_EFORMAT;
    }
    CD_TRY(duration_us(&from, l->word[2]));
    CD_TRY(duration_us(&until, l->word[3]));
    e->spans[e->span_cnt].from_us = from;
    e->spans[e->span_cnt].until_us = until;
    e->spans[e->span_cnt++].moves = moves;
    return from < until ? CD_OK : CD_ERANGE;
}

static cd_err parse_expect(cd_sim_expect *e, const line *l)
{
    const struct {
        const char *name;
        u64 *to;
    } rows[] = {{"accepted", &e->accepted},
                {"accepted-most", &e->accepted_most},
                {"refused", &e->refused},
                {"halted", &e->halted}};
    if (l->cnt == 4) {
        return parse_span(e, l);
    }
    for (u32 i = 0; l->cnt == 3 && i < CD_COUNT(rows); i++) {
        if (is(l->word[1], rows[i].name)) {
            return cd_u64_parse(rows[i].to, l->word[2]);
        }
    }
    return CD_EFORMAT;
}

static cd_err parse_number(u64 *out, cd_bytes w, u64 max)
{
    u64 v;
    CD_TRY(cd_u64_parse(&v, w));
    *out = v;
    return v != 0 && v <= max ? CD_OK : CD_ERANGE;
}

static cd_err parse_one(cd_sim_cfg *cfg, const line *l)
{
    cd_bytes key = l->word[0];
    cd_bytes value = l->cnt == 2 ? l->word[1] : (cd_bytes){0};
    u64 n = 0;
    cd_err e = CD_OK;
    if (is(key, "expect")) {
        return parse_expect(&cfg->expect, l);
    }
    if (l->cnt == 1 && (is(key, "troubles") || is(key, "bare") || is(key, "always"))) {
        cfg->has_troubles = cfg->has_troubles || is(key, "troubles");
        cfg->is_bare = cfg->is_bare || is(key, "bare");
        cfg->has_liars_always = cfg->has_liars_always || is(key, "always");
        return CD_OK;
    }
    if (is(key, "seed")) {
        return cd_u64_parse(&cfg->seed, value);
    }
    if (is(key, "nodes")) {
        e = parse_number(&n, value, CD_SIM_NODES_MAX);
        cfg->nodes = (u32)n;
        return e;
    }
    return is(key, "byzantine")  ? cd_sim_share_parse(&cfg->byzantine_ppm, value)
           : is(key, "roles")    ? cd_sim_roles_parse(&cfg->roles, value)
           : is(key, "latency")  ? cd_sim_latency_parse(&cfg->latency, value)
           : is(key, "loss")     ? cd_sim_share_parse(&cfg->loss_ppm, value)
           : is(key, "duration") ? duration_us(&cfg->duration_us, value)
           : is(key, "interval") ? duration_us(&cfg->interval_us, value)
           : is(key, "bound")    ? duration_us(&cfg->bound_us, value)
           : is(key, "rules")    ? duration_us(&cfg->second_rules_us, value)
           : is(key, "line")     ? parse_number(&cfg->bits_per_s, value, 1000000000000)
                                 : CD_ENOENT;
}

/* --- lines --- */

static bool is_blank(u8 c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static cd_err split(line *l, cd_bytes text, cd_errinfo *why)
{
    l->cnt = 0;
    for (usize i = 0; i < text.n && text.p[i] != '#';) {
        usize from = i;
        while (i < text.n && !is_blank(text.p[i]) && text.p[i] != '#') {
            i++;
        }
        if (i != from) {
            if (l->cnt == WORDS_MAX) {
                return wrong(l, why, "too many words, from", cd_bytes_sub(text, from, i - from));
            }
            l->word[l->cnt++] = cd_bytes_sub(text, from, i - from);
        }
        i += i < text.n && is_blank(text.p[i]) ? 1 : 0;
    }
    return CD_OK;
}

static cd_err parse_line(cd_sim_cfg *cfg, cd_sim_act *acts, const line *l, cd_errinfo *why)
{
    if (is(l->word[0], "at")) {
        if (cfg->act_cnt == CD_SIM_SCRIPT_ACTS_MAX) {
            return cd_fail(why, CD_ELIMIT, "line %u: more than %d things happen", l->no, CD_SIM_SCRIPT_ACTS_MAX);
        }
        CD_TRY(parse_act(&acts[cfg->act_cnt], cfg, l, why));
        cfg->act_cnt++;
        return CD_OK;
    }
    cd_err e = parse_one(cfg, l);
    return e == CD_OK       ? CD_OK
           : e == CD_ENOENT ? wrong(l, why, "no word that begins a line", l->word[0])
                            : wrong(l, why, "wrong values behind", l->word[0]);
}

cd_err cd_sim_script_parse(cd_sim_cfg *cfg, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    cd_sim_act *acts = cd_arena_array(a, cd_sim_act, CD_SIM_SCRIPT_ACTS_MAX);
    line l = {.no = 0};
    cfg->acts = acts;
    cfg->act_cnt = 0;
    for (usize at = 0; at < text.n;) {
        usize end = at;
        while (end < text.n && text.p[end] != '\n') {
            end++;
        }
        l.no++;
        CD_TRY(split(&l, cd_bytes_sub(text, at, end - at), why));
        if (l.cnt != 0) {
            CD_TRY(parse_line(cfg, acts, &l, why));
        }
        at = end + 1;
    }
    return CD_OK;
}
