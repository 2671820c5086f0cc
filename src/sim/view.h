/* sim/view.h - a film as pages: any moment of a trace, forwards and backwards, in a browser.
 *
 *   /?at=STEP&node=N      nodes, blocks and lines of that moment; with a node: its polls, votes, undecided blocks and
 *                         messages
 *
 * Pages are finished when they leave and need no script. Threading: confined to the server's loop. */
#ifndef CD_SIM_VIEW_H
#define CD_SIM_VIEW_H

#include "net/http/server.h"
#include "sim/film.h"

typedef struct cd_film_pages cd_film_pages;

/* cd_film_pages_new adds the pages of a film to a server, both borrowed. name is shown in the bar. cd_film_pages_free:
 * after the server. */
cd_film_pages *cd_film_pages_new(cd_http_server *s, cd_film *f, const char *name);
void cd_film_pages_free(cd_film_pages *p); /* NULL is allowed */

/* cd_film_page writes the contents of the page of a moment, without the frame around it. node CD_FILM_NONE: the network
 * alone. */
void cd_film_page(cd_buf *out, cd_film *f, const char *name, u64 step, u32 node);

#endif
