/* web/ui.h - the small parts that every page is made of, each looking and behaving alike everywhere.
 *
 * Each function writes finished markup into a cd_html that stands between tags. Text arguments of type cd_foreign
 * may come from anyone; const char * and cd_bytes are our own words. Threading: confined. */
#ifndef CD_WEB_UI_H
#define CD_WEB_UI_H

#include "base/mem/arena.h"
#include "web/html.h"

/* cd_ui_icon draws a symbol of web/symbols.svg ("copy", "arrow", "alert" …) as decoration. */
void cd_ui_icon(cd_html *h, const char *name);

/* Finality of a height: the brighter, the more final. cd_ui_lamp draws it with its word for those who do not see it;
 * cd_lamp_word gives "Accepted". */
typedef enum cd_lamp {
    CD_LAMP_ACCEPTED,
    CD_LAMP_BLS,
    CD_LAMP_QUANTUM,
} cd_lamp;
const char *cd_lamp_word(cd_lamp l);
void cd_ui_lamp(cd_html *h, cd_lamp l);

/* How far a chain is final: the highest heights with either signature. A final block makes those before it final. */
typedef struct cd_ui_final {
    bool is_told;    /* false: its blocks are not made final, or nobody says so */
    bool is_stamped; /* the highest final one has ML-DSA signatures in place of a threshold signature */
    u64 bls;
    u64 quantum;
} cd_ui_final;

/* Who says so: get asks, on any thread. get NULL: nobody. */
typedef struct cd_ui_final_source {
    void (*get)(void *ctx, cd_ui_final *out);
    void *ctx;
} cd_ui_final_source;

/* cd_ui_final_of asks a source. cd_lamp_of gives the lamp of a height. */
cd_ui_final cd_ui_final_of(const cd_ui_final_source *s);
cd_lamp cd_lamp_of(const cd_ui_final *f, u64 height);

/* An identifier: hex, CB58, NodeID or bech32 text. It is shortened in the middle, but selecting and copying gives it
 * whole. */
enum {
    CD_ID_GLINT = 1, /* four bars made of its hash stand in front: for addresses and nodes */
    CD_ID_FULL = 2,  /* not shortened, except on phones */
    CD_ID_COPY = 4,  /* with a copy button */
    CD_ID_PAGE = 8,  /* it is what the page is about: the key "c" copies it */
};
/* An identifier; flags: CD_ID_…. */
typedef struct cd_ui_id {
    cd_bytes text;   /* as it is copied, addresses in EIP-55 case */
    cd_bytes href;   /* empty: no link */
    cd_foreign name; /* takes the place of the characters; empty: none */
    u32 flags;
} cd_ui_id;
/* cd_ui_ident writes an identifier. */
void cd_ui_ident(cd_html *h, const cd_ui_id *id);

/* cd_ui_copy is a button that copies text. `what` completes its label ("Copy command"), or is "". */
void cd_ui_copy(cd_html *h, cd_bytes text, const char *what);

/* A word about a state. Its shape tells the kind too: dot, triangle, diamond. */
typedef enum cd_pill {
    CD_PILL_NEUTRAL,
    CD_PILL_OK,
    CD_PILL_WARN,
    CD_PILL_BAD,
    CD_PILL_LIVE,
    CD_PILL_UP,   /* in the colour of OK, without a shape: a rising number */
    CD_PILL_DOWN, /* in the colour of BAD, without a shape: a falling number */
} cd_pill;
/* cd_ui_pill writes a word about a state. */
void cd_ui_pill(cd_html *h, cd_pill kind, cd_bytes text);

/* cd_ui_tag is for machine words: methods, events, opcodes. */
void cd_ui_tag(cd_html *h, cd_foreign text);

/* cd_ui_time is "52 s ago" with the exact time behind it. Unix seconds. */
void cd_ui_time(cd_html *h, cd_arena *a, u64 unix_s, u64 now_s);

/* --- figures: two to five in a strip --- */

/* A figure: one number with its words. */
typedef struct cd_ui_fig {
    const char *label;
    cd_bytes value;
    const char *unit;  /* "" when the value carries it */
    cd_bytes sub;      /* one line of context */
    cd_markup picture; /* a sparkline, or empty */
} cd_ui_fig;

/* cd_ui_figs draws the strip. */
void cd_ui_figs(cd_html *h, const cd_ui_fig *figs, usize cnt);

/* --- tables --- */

enum {
    CD_COL_NUM = 1, /* right-aligned */
    CD_COL_P2 = 2,  /* not shown on phones */
    CD_COL_P3 = 4,  /* not shown below a width of 1260 px */
    CD_COL_FILL = 8 /* takes the width that is left; longer text ends in an ellipsis */
};
/* A column of a table. */
typedef struct cd_ui_col {
    const char *name;
    const char *sort; /* its word in ?sort=; NULL: the table cannot be sorted by it */
    u32 flags;
} cd_ui_col;

/* What a table is sorted by, and the part of the address that stays when that changes ("filter=x", or empty). */
typedef struct cd_ui_sort {
    cd_bytes by;
    bool desc;
    cd_bytes rest;
} cd_ui_sort;

/* cd_ui_table_begin opens a table with its head; the caller writes <tr>s, each cell with cd_ui_cell in front and
 * "</td>" behind. name is for those who do not see the table. live is the path of its event stream, NULL for none. */
void cd_ui_table_begin(cd_html *h, const char *name, const cd_ui_col *cols, usize cnt, const cd_ui_sort *sort,
                       const char *live);
void cd_ui_cell(cd_html *h, const cd_ui_col *col);
void cd_ui_table_end(cd_html *h);

/* cd_ui_pager: links to the first and the next page; an empty address leaves one out. cd_ui_pager_of is for the second
 * list of a page: name tells those who do not see it which ("Pages of transactions"). */
void cd_ui_pager(cd_html *h, cd_bytes newest, cd_bytes next);
void cd_ui_pager_of(cd_html *h, const char *name, cd_bytes newest, cd_bytes next);

/* cd_ui_seg is a switch made of links, one of them current. */
typedef struct cd_ui_link {
    const char *name;
    cd_bytes href;
} cd_ui_link;
void cd_ui_seg(cd_html *h, const char *name, const cd_ui_link *links, usize cnt, usize current);

/* --- messages --- */

/* How urgent a note is. */
typedef enum cd_note {
    CD_NOTE_INFO,
    CD_NOTE_WARN,
    CD_NOTE_BAD,
} cd_note;

/* cd_ui_note says what is the matter and what to do. body is finished markup of inline elements. */
void cd_ui_note(cd_html *h, cd_note kind, const char *title, cd_markup body);

/* cd_ui_empty stands where a list would be: what would fill it, and one thing to do (which may be empty). */
void cd_ui_empty(cd_html *h, const char *title, const char *text, cd_markup act);

/* --- code --- */

/* cd_ui_code is a block of text as it is, whole, with a copy button when what is not NULL ("command"). */
void cd_ui_code(cd_html *h, cd_bytes text, const char *what);

#endif
