/* web/chart.h - charts as inline SVG, finished when they leave the server.
 *
 * Shapes are stretched to their box, so axis text stands in HTML beside them. Every chart carries a sentence that
 * says its result, for those who do not see it. Colours are classes of the style sheet (series 1 to 6). Threading:
 * confined. */
#ifndef CD_WEB_CHART_H
#define CD_WEB_CHART_H

#include "base/mem/arena.h"
#include "web/html.h"

/* Values from left to right at equal distances; NaN leaves a gap. */
typedef struct cd_series {
    const double *v;
    usize cnt;
} cd_series;

/* cd_chart_spark draws a line over a light area, 96 × 26 pixels; nothing when there are fewer than two values. label:
 * "24 hours, rising". */
void cd_chart_spark(cd_html *h, cd_series s, u32 colour, const char *label);

/* The bounds of an axis: round numbers around what is shown, cnt + 1 grid lines with equal steps. */
typedef struct cd_axis {
    double low;
    double high;
    u32 steps;
} cd_axis;
/* cd_axis_around gives the axis of a series, with zero on it when from_zero. */
cd_axis cd_axis_around(cd_series s, bool from_zero);

/* cd_chart_area draws a line over a light area with its axes. y formats a value of the axis; x names cnt places from
 * left to right. label is the result in words. */
typedef struct cd_chart_area {
    cd_series s;
    u32 colour;
    cd_bytes label;
    cd_bytes (*y)(cd_arena *a, double v);
    const char *const *x;
    usize x_cnt;
} cd_chart_area;
void cd_chart_area_put(cd_html *h, cd_arena *a, const cd_chart_area *c);

enum { CD_BAR_PARTS = 3 };
/* One bar, made of up to three stacked parts, bottom first. */
typedef struct cd_bar {
    double part[CD_BAR_PARTS];
    cd_bytes title; /* "06:00: 2,031 at once, 22 failed" */
    cd_bytes href;  /* empty: no link */
    u32 colour[CD_BAR_PARTS];
} cd_bar;

/* cd_chart_bars draws cnt bars of equal width on an axis from 0 to high; with fewer bars than slots the left ones stay
 * empty. For screen readers it is a group when bars have links, else one picture. */
void cd_chart_bars(cd_html *h, const cd_bar *bars, usize cnt, usize slots, double high, const char *label);

/* cd_chart_meter draws a strip that is filled by the share part / whole, in the colour of a series; a part larger than
 * whole fills it. Decoration: the numbers must stand beside it. */
void cd_chart_meter(cd_html *h, u64 part, u64 whole, u32 colour);

/* One bar of a flame graph: depth from the top, begin and size as shares of the whole width in millionths. */
typedef struct cd_flame {
    u32 depth;
    u32 begin;
    u32 size;
    cd_foreign_flat label;
    bool is_bad;  /* this call failed */
    bool is_idle; /* no call: what the transaction costs by itself */
} cd_flame;

/* cd_chart_flame draws nested calls; labels stand where they fit. */
void cd_chart_flame(cd_html *h, const cd_flame *bars, usize cnt, const char *label);

#endif
