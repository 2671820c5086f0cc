#include "web/chart.h"

#include "web/fmt.h"

#include <math.h>
#include <stdio.h>

enum { SPARK_W = 96, SPARK_H = 26, SPARK_PAD = 3, AREA_W = 600, AREA_H = 180, BARS_H = 100, ROW_PX = 22 };

/* A coordinate of an SVG with two decimals; snprintf follows the C locale, which no program of ours changes. */
static void number(cd_buf *out, double v)
{
    cd_buf_fmt(out, "%.2f", v);
}

static void bounds(double *low, double *high, cd_series s)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (usize i = 0; i < s.cnt; i++) {
        if (isfinite(s.v[i])) {
            *low = fmin(*low, s.v[i]);
            *high = fmax(*high, s.v[i]);
        }
    }
}

/* A picture's frame: how values become places in it. */
typedef struct frame {
    double w;
    double top;
    double bottom;
    double low;
    double high;
} frame;

static double x_of(const frame *f, usize i, usize cnt)
{
    return cnt < 2 ? 0 : f->w * (double)i / (double)(cnt - 1);
}

static double y_of(const frame *f, double v)
{
    double span = f->high - f->low;
    return span <= 0 ? (f->top + f->bottom) / 2 : f->bottom - (v - f->low) / span * (f->bottom - f->top);
}

/* Writes a path for each run of points without a gap: a line or, when closed, an area down to base. */
static void runs(cd_buf *out, cd_series s, const frame *f, bool closed, double base)
{
    for (usize i = 0; i < s.cnt;) {
        if (!isfinite(s.v[i])) {
            i++;
            continue;
        }
        usize from = i;
        for (; i < s.cnt && isfinite(s.v[i]); i++) {
            cd_buf_str(out, i == from ? "M" : " ");
            number(out, x_of(f, i, s.cnt));
            cd_buf_u8(out, ' ');
            number(out, y_of(f, s.v[i]));
        }
        if (i == from + 1) { // a single value is a line of no length, which round caps show as a dot
            cd_buf_str(out, "h0");
        }
        if (closed) {
            cd_buf_str(out, "V");
            number(out, base);
            cd_buf_str(out, "H");
            number(out, x_of(f, from, s.cnt));
            cd_buf_u8(out, 'z');
        }
    }
}

static void line_and_area(cd_html *h, cd_series s, const frame *f, u32 colour, double base)
{
    cd_buf d = {0};
    runs(&d, s, f, true, base);
    cd_html_put(h, "<path class=\"f{} a\" d=\"{}\"/>", colour, cd_buf_bytes(&d));
    cd_buf_clear(&d);
    runs(&d, s, f, false, base);
    cd_html_put(h, "<path class=\"ln l{}\" d=\"{}\"/>", colour, cd_buf_bytes(&d));
    cd_buf_fini(&d);
}

void cd_chart_spark(cd_html *h, cd_series s, u32 colour, const char *label)
{
    frame f = {.w = SPARK_W, .top = SPARK_PAD, .bottom = SPARK_H - SPARK_PAD};
    usize there = 0;
    for (usize i = 0; i < s.cnt; i++) {
        there += isfinite(s.v[i]) ? 1 : 0;
    }
    if (there < 2) {
        return;
    }
    bounds(&f.low, &f.high, s);
    if (f.low == 0 && f.high == 0) { /* all values are zero: the line lies at the bottom */
        f.high = 1;
    }
    cd_html_put(h,
                "<svg class=\"spark\" viewBox=\"0 0 96 26\" preserveAspectRatio=\"none\" role=\"img\" "
                "aria-label=\"{}\">",
                label);
    line_and_area(h, s, &f, colour, SPARK_H);
    cd_html_put(h, "</svg>");
}

/* --- area --- */

cd_axis cd_axis_around(cd_series s, bool from_zero)
{
    double low;
    double high;
    bounds(&low, &high, s);
    if (!isfinite(low)) {
        return (cd_axis){.low = 0, .high = 1, .steps = 1};
    }
    low = from_zero ? fmin(low, 0) : low;
    high = from_zero ? fmax(high, 0) : high;
    double span = high - low;
    if (span <= fabs(high) * 1e-9) { // a constant series: its line stands in the middle
        span = high == 0 ? 1 : fabs(high) * 0.02;
        low -= span / 2;
        high = low + span;
    }
    double unit = pow(10, floor(log10(span / 2)));
    double rest = span / 2 / unit;
    double step = rest <= 1 ? unit : rest <= 2 ? 2 * unit : rest <= 2.5 ? 2.5 * unit : rest <= 5 ? 5 * unit : 10 * unit;
    double first = floor(low / step);
    double last = ceil(high / step);
    double steps = fmin(fmax(last - first, 1), 4);
    return (cd_axis){.low = first * step, .high = (first + steps) * step, .steps = (u32)steps};
}

static void grid(cd_html *h, u32 steps)
{
    for (u32 i = 0; i <= steps; i++) {
        char d[48];
        (void)snprintf(d, sizeof d, "M0 %.2fH%d", (double)AREA_H * i / steps, AREA_W);
        cd_html_put(h, "<path class=\"{}\" d=\"{}\"/>", i == steps ? "base" : "grid", d);
    }
}

void cd_chart_area_put(cd_html *h, cd_arena *a, const cd_chart_area *c)
{
    cd_axis axis = cd_axis_around(c->s, false);
    const frame f = {.w = AREA_W, .bottom = AREA_H, .low = axis.low, .high = axis.high};
    cd_html_put(h, "<div class=\"chart tall\"><div class=\"y\" aria-hidden=\"true\">");
    for (u32 i = 0; i <= axis.steps; i++) {
        double v = axis.high - (axis.high - axis.low) * i / axis.steps;
        cd_html_put(h, "<span>{}</span>", c->y(a, v));
    }
    cd_html_put(h,
                "</div><svg viewBox=\"0 0 600 180\" preserveAspectRatio=\"none\" role=\"img\" "
                "aria-label=\"{}\">",
                c->label);
    grid(h, axis.steps);
    line_and_area(h, c->s, &f, c->colour, AREA_H);
    cd_html_put(h, "</svg><div class=\"x\" aria-hidden=\"true\">");
    for (usize i = 0; i < c->x_cnt; i++) {
        cd_html_put(h, "<span>{}</span>", c->x[i]);
    }
    cd_html_put(h, "</div></div>");
}

/* --- bars --- */

static void bar(cd_html *h, const cd_bar *b, usize i, double scale)
{
    double y = BARS_H;
    for (usize k = 0; k < CD_BAR_PARTS; k++) {
        double tall = isfinite(b->part[k]) && b->part[k] > 0 ? b->part[k] * scale : 0;
        if (tall <= 0) {
            continue;
        }
        char place[96];
        tall = fmax(fmin(tall, y), 0);
        y -= tall;
        (void)snprintf(place, sizeof place, "M%.1f %.2fh8v%.2fh-8z", (double)i * 10 + 1, y, tall);
        cd_html_put(h, "<path class=\"f{}\" d=\"{}\"/>", b->colour[k], place);
    }
}

void cd_chart_bars(cd_html *h, const cd_bar *bars, usize cnt, usize slots, double high, const char *label)
{
    usize left = slots > cnt ? slots - cnt : 0; // free slots are on the left: the right end is now
    bool has_links = false;
    slots = left + cnt;
    for (usize i = 0; i < cnt; i++) {
        has_links = has_links || bars[i].href.n != 0;
    }
    cd_html_put(h,
                "<svg class=\"bars\" viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" role=\"{}\" "
                "aria-label=\"{}\">",
                (u64)slots * 10, has_links ? "group" : "img", label);
    cd_html_put(h, "<path class=\"grid\" d=\"M0 0H{}M0 50H{}\"/><path class=\"base\" d=\"M0 100H{}\"/>",
                (u64)slots * 10, (u64)slots * 10, (u64)slots * 10);
    for (usize i = 0; i < cnt; i++) {
        const cd_bar *b = &bars[i];
        if (b->href.n != 0) {
            cd_html_put(h, "<a href=\"{}\" aria-label=\"{}\">", b->href, b->title);
        }
        cd_html_put(h, "<g><title>{}</title><path class=\"hit\" d=\"M{} 0h10v100h-10z\"/>", b->title,
                    (u64)(left + i) * 10);
        bar(h, b, left + i, high > 0 ? BARS_H / high : 0);
        cd_html_put(h, "</g>");
        if (b->href.n != 0) {
            cd_html_put(h, "</a>");
        }
    }
    cd_html_put(h, "</svg>");
}

void cd_chart_meter(cd_html *h, u64 part, u64 whole, u32 colour)
{
    char wide[16];
    double share = whole == 0 ? 0 : fmin((double)part / (double)whole, 1);
    (void)snprintf(wide, sizeof wide, "%.2f", share * 100);
    cd_html_put(h,
                "<svg class=\"meter\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
                "aria-hidden=\"true\"><rect class=\"bg\" width=\"100\" height=\"10\"/>"
                "<rect class=\"f{}\" width=\"{}\" height=\"10\"/></svg>",
                colour, wide);
}

/* --- flame graph --- */

void cd_chart_flame(cd_html *h, const cd_flame *bars, usize cnt, const char *label)
{
    u32 deepest = 0;
    for (usize i = 0; i < cnt; i++) {
        deepest = bars[i].depth > deepest ? bars[i].depth : deepest;
    }
    cd_html_put(h, "<svg class=\"flame\" width=\"100%\" height=\"{}\" role=\"img\" aria-label=\"{}\">",
                (u64)(deepest + 1) * ROW_PX, label);
    for (usize i = 0; i < cnt; i++) {
        const cd_flame *b = &bars[i];
        char begin[16];
        char size[16];
        (void)snprintf(begin, sizeof begin, "%.3f%%", b->begin / 1e4);
        (void)snprintf(size, sizeof size, "%.3f%%", b->size / 1e4);
        cd_html_put(h, "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"20\"><title>{}</title>", begin,
                    (u64)b->depth * ROW_PX, size, b->label);
        if (b->is_bad || b->is_idle) {
            cd_html_put(h, "<rect class=\"{}\" width=\"100%\" height=\"20\"/>", b->is_bad ? "db" : "dx");
        } else {
            cd_html_put(h, "<rect class=\"d{}\" width=\"100%\" height=\"20\"/>", b->depth < 3 ? b->depth : 3);
        }
        if (b->size / 1e6 * 125 >= (double)b->label.text.n) {
            cd_html_put(h, "<text x=\"6\" y=\"14\">{}</text>", b->label);
        }
        cd_html_put(h, "</svg>");
    }
    cd_html_put(h, "</svg>");
}
