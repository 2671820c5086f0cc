/* web/json_view.h - a JSON document as an indented tree that folds.
 *
 * Objects and arrays below the second level, or with more than 20 members, are folded (without scripts: <details>).
 * Text is shown as it is, escaped; nesting beyond CD_JSON_VIEW_DEPTH is written on one line. How large a document
 * may be is the caller's to decide: offer larger ones as a download. Threading: confined. */
#ifndef CD_WEB_JSON_VIEW_H
#define CD_WEB_JSON_VIEW_H

#include "codec/json.h"
#include "web/html.h"

enum { CD_JSON_VIEW_DEPTH = 32 };

/* cd_json_view writes v as a block. */
void cd_json_view(cd_html *h, cd_json v);

#endif
