/* web/page.h - what stands around every page: top bar, sections, footer, and the headers it is sent with.
 *
 *   cd_page_begin ─► the page's own templates ─► cd_page_end
 *
 * A page is finished when it leaves the server and works without scripts; the script adds copying, live rows, keys and
 * hints. Nothing is loaded from elsewhere, and the content security policy (CD_PAGE_CSP) holds browsers to that.
 * Threading: confined. */
#ifndef CD_WEB_PAGE_H
#define CD_WEB_PAGE_H

#include "web/html.h"

/* What pages are sent with, besides their type. */
#define CD_PAGE_CSP                                                                                                    \
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "                                \
    "object-src 'none'"

/* A link of the navigation. */
typedef struct cd_page_link {
    const char *name;
    const char *href;
    const char *key; /* "g" and this key lead there; NULL: no key */
} cd_page_link;

/* One product, the same for all of its pages. */
typedef struct cd_page_site {
    const char *product;      /* "Explorer" */
    const char *home;         /* "/explorer" */
    const char *assets;       /* where cd_web_assets_route put them: "/explorer/assets/" */
    const cd_page_link *tabs; /* its sections */
    usize tabs_cnt;
    const cd_page_link *foot;
    usize foot_cnt;
    const char *search_action; /* NULL: no search box in the bar */
    const char *search_label;
} cd_page_site;

/* The head of a page. */
typedef struct cd_page {
    const cd_page_site *site;
    cd_bytes title;    /* "Block 1,204,881", without the product's name */
    const char *tab;   /* href of the current section; NULL: none */
    cd_bytes searched; /* what stands in the search box; anybody may have written it */
    cd_markup bar_end; /* what must always be seen: network, health */
} cd_page;

/* cd_page_begin writes up to and into <main>, cd_page_end the rest. */
void cd_page_begin(cd_html *h, const cd_page *p);
void cd_page_end(cd_html *h, const cd_page *p);

#endif
