/* web/assets.h - the files of web/, compiled into the executable, under names that carry their hash.
 *
 * A name never means other bytes, so browsers keep them for ever. Threading: pure. */
#ifndef CD_WEB_ASSETS_H
#define CD_WEB_ASSETS_H

#include "base/bytes.h"

/* Files that pages need. */
typedef enum cd_web_file {
    CD_WEB_STYLE,
    CD_WEB_SCRIPT,
    CD_WEB_FAVICON,
    CD_WEB_SYMBOLS, /* the icons; their text is written into every page */
    CD_WEB_PREVIEW, /* for pages with a form that shows what it would do */
    CD_WEB_VERIFY,  /* for outcomes of sealed auctions: the browser checks them itself */
} cd_web_file;

enum { CD_WEB_FILES = 6 };

/* A file as it is served. */
typedef struct cd_web_asset {
    const char *name; /* "candela-1f2e3d4c.css" */
    const char *type; /* "text/css; charset=utf-8" */
    const char *etag; /* W/"1f2e…": weak, since the plain and the compressed form share it */
    cd_bytes body;
    cd_bytes gzip;
} cd_web_asset;

/* cd_web_asset_get gives a file; it lives for ever. */
const cd_web_asset *cd_web_asset_get(cd_web_file f);

#endif
