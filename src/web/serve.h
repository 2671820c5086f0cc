/* web/serve.h - pages and their files as HTTP answers.
 *
 * Threading: confined to the loop for routes; cd_web_reply_page from whoever holds the request. */
#ifndef CD_WEB_SERVE_H
#define CD_WEB_SERVE_H

#include "net/http/server.h"

/* cd_web_assets_route serves the files of web/ below prefix ("/explorer/assets/"), to be kept for ever by browsers. */
void cd_web_assets_route(cd_http_server *s, const char *prefix);

/* cd_web_reply_asset does the same for a service that routes for itself: it answers with the file of that name. false:
 * there is none, and r is still to be answered. */
bool cd_web_reply_asset(cd_http_req *r, cd_bytes name);

/* cd_web_reply_page answers with the page in cd_http_req_out, compressed when the client likes it, its security
 * headers and a tag; with 304 when the client has these bytes already. */
void cd_web_reply_page(cd_http_req *r, u32 status);

/* cd_web_redirect answers 303 to a place on this service; what leads elsewhere is a bug. */
void cd_web_redirect(cd_http_req *r, const char *to);

/* cd_web_query finds the first value of name in a query and appends it decoded ('+' is a blank, a broken escape stays
 * as it is), at most max bytes of it. false: it is not there. */
bool cd_web_query(cd_buf *out, cd_bytes query, const char *name, usize max);

/* cd_web_form_part borrows the first part called name from a body of multipart/form-data, whose header content_type is.
 * false: it is not there. */
bool cd_web_form_part(cd_bytes *out, cd_bytes content_type, cd_bytes body, const char *name);

#endif
