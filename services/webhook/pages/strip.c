/* The sequence numbers of a webhook's newest events as a strip: what became of each, and where one is missing. */
#include "services/webhook/pages/visit.h"

#include "web/fmt.h"

enum { NUMBERS = 300, ROWS = 600, SLOTS_MIN = 60, WIDE = 4 };

/* What a number means to its receiver; the lower the bar, the worse. */
typedef enum fate { FATE_MISSING, FATE_FAILED, FATE_SKIPPED, FATE_WAITING, FATE_DELIVERED, FATES } fate;

static const struct {
    const char *word;
    u32 colour, height;
} looks[FATES] = {
    [FATE_MISSING] = {"no longer kept", 0, 2}, [FATE_FAILED] = {"never delivered", 6, 10},
    [FATE_SKIPPED] = {"not sent", 5, 14},      [FATE_WAITING] = {"waiting", 4, 19},
    [FATE_DELIVERED] = {"delivered", 1, 24},
};

static fate fate_of(cd_wh_state s)
{
    switch (s) {
    case CD_WH_DELIVERED:
        return FATE_DELIVERED;
    case CD_WH_PENDING:
    case CD_WH_DELIVERING:
    case CD_WH_RETRYING:
    case CD_WH_HELD:
        return FATE_WAITING;
    case CD_WH_SKIPPED:
    case CD_WH_QUOTA_EXCEEDED:
    case CD_WH_CANCELLED:
        return FATE_SKIPPED;
    case CD_WH_FAILED:
    case CD_WH_STATES_CNT:
        break;
    }
    return FATE_FAILED;
}

/* A shape for each, or where there are many, for those of the same fate beside each other; the last at the right
 * end. */
static void put_shapes(cd__wpage_visit *v, const fate *fates, u64 first, usize cnt, usize slots)
{
    cd_html *h = &v->h;
    for (usize i = 0, to; i < cnt; i = to) {
        for (to = i + 1; cnt > SLOTS_MIN && to < cnt && fates[to] == fates[i]; to++) {
        }
        unsigned long long from = first + i;
        unsigned long long last = first + to - 1;
        const char *which =
            from == last ? cd_arena_fmt(&v->mem, "%llu", from) : cd_arena_fmt(&v->mem, "%llu to %llu", from, last);
        cd_html_put(h, "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">",
                    (const char *)cd_arena_fmt(&v->mem, "f%u", looks[fates[i]].colour), (u64)(slots - cnt + i) * WIDE,
                    24 - looks[fates[i]].height, (u64)(to - i) * WIDE - 1, looks[fates[i]].height);
        cd_html_put(h, "<title>{}: {}</title></rect>", which, looks[fates[i]].word);
    }
}

static void put_strip(cd__wpage_visit *v, const fate *fates, u64 first, usize cnt)
{
    cd_html *h = &v->h;
    u64 counts[FATES] = {0};
    usize slots = cnt < SLOTS_MIN ? SLOTS_MIN : cnt;
    cd_buf said = {0};
    for (usize i = 0; i < cnt; i++) {
        counts[fates[i]]++;
    }
    for (u32 f = FATES; f-- > 0;) {
        if (counts[f] != 0) {
            cd_buf_fmt(&said, "%s%llu %s", said.n == 0 ? "" : ", ", (unsigned long long)counts[f], looks[f].word);
        }
    }
    const char *text = cd_arena_str(&v->mem, cd_buf_bytes(&said));
    cd_buf_fini(&said);
    cd_html_put(h, "<p>Numbers {} to {}: {}.</p>", cd_fmt_count(&v->mem, first), cd_fmt_count(&v->mem, first + cnt - 1),
                text);
    cd_html_put(h,
                "<svg class=\"strip\" viewBox=\"0 0 {} 24\" preserveAspectRatio=\"none\" "
                "role=\"img\" aria-label=\"Sequence numbers {} to {}: {}\">",
                (u64)slots * WIDE - 1, first, first + cnt - 1, text);
    put_shapes(v, fates, first, cnt, slots);
    cd_html_put(h, "</svg><ul class=\"legend\">");
    for (u32 f = FATES; f-- > 0;) {
        if (counts[f] != 0) {
            cd_html_put(h,
                        "<li><svg viewBox=\"0 0 10 24\" width=\"8\" height=\"16\" "
                        "aria-hidden=\"true\"><rect class=\"{}\" y=\"{}\" width=\"10\" "
                        "height=\"{}\"/></svg>{}</li>",
                        (const char *)cd_arena_fmt(&v->mem, "f%u", looks[f].colour), 24 - looks[f].height,
                        looks[f].height, looks[f].word);
        }
    }
    cd_html_put(h, "</ul>");
}

cd_err cd__wpage_put_strip(cd__wpage_visit *v, cd_wh_store *s, cd_errinfo *why)
{
    const cd_wh_delivery_query q = {.hook = v->hook.key, .limit = ROWS};
    cd_wh_delivery *rows;
    usize cnt;
    u64 last = 0;
    CD_TRY(cd_wh_delivery_list(s, &rows, &cnt, &v->mem, &q, why));
    for (usize i = 0; i < cnt; i++) {
        last = rows[i].sequence > last ? rows[i].sequence : last;
    }
    cd_html_put(&v->h, "<section class=\"panel\"><header><h2>Sequence</h2><div class=\"end\">"
                       "the number that each event carries</div></header>"
                       "<div class=\"body stack\">");
    if (last == 0) {
        cd_html_put(&v->h, "<p class=\"mut\">No event yet. The first one has number 1; a receiver "
                           "that sees a number left out has missed something.</p>");
    } else {
        u64 first = last < NUMBERS ? 1 : last - NUMBERS + 1;
        usize n = (usize)(last - first + 1);
        fate *fates = cd_arena_zalloc_array(&v->mem, n, sizeof *fates);
        for (usize i = 0; i < cnt; i++) { /* an event that was replayed has several rows */
            if (rows[i].sequence >= first) {
                fate *at = &fates[rows[i].sequence - first];
                fate f = fate_of(rows[i].state);
                *at = f > *at ? f : *at;
            }
        }
        put_strip(v, fates, first, n);
    }
    cd_html_put(&v->h, "</div></section>");
    return CD_OK;
}
