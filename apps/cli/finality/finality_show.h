/* apps/cli/finality/finality_show.h - certificates, checkpoints and set changes as JSON. Threading: the main thread. */
#ifndef CD_APPS_CLI_FINALITY_SHOW_H
#define CD_APPS_CLI_FINALITY_SHOW_H

#include "codec/json.h"
#include "finality/cert/book.h"

/* What a block is signed by, for each type of certificate. */
extern const char *const cd__fin_types[4];

/* cd__fin_cert_put writes what a certificate says as members of the open object. */
void cd__fin_cert_put(cd_json_w *w, const cd_fin_cert *c);

/* cd__fin_book_open opens a checkpoint in a book with room to grow; the caller frees it (cd_free). Errors:
 * CD_EFORMAT. */
cd_err cd__fin_book_open(cd_fin_book **out, cd_bytes checkpoint, cd_errinfo *why) CD_CHECK;

/* cd__fin_show writes what a certificate, a checkpoint or a list of changes says. Errors: CD_EFORMAT, CD_ESHORT. */
cd_err cd__fin_show(cd_json_w *w, cd_bytes b, cd_errinfo *why) CD_CHECK;

#endif
