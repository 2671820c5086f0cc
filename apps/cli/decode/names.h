/* apps/cli/decode/names.h - IDs, nodes and addresses, in every form in which they are written. Threading: the main
 * thread. */
#ifndef CD_APPS_CLI_NAMES_H
#define CD_APPS_CLI_NAMES_H

#include "decode/kinds.h"

/* cd__name_is: is kind a kind of name ("id", "node-id", "address", "evm-address")? */
bool cd__name_is(const char *kind);

/* cd__name_text_show writes what a text names as an object; kind NULL: whatever it is. *is_name is false when the text
 * is no name but may hold bytes (digits after 0x, CB58 of another length). Errors: CD_EFORMAT with what is wrong. */
cd_err cd__name_text_show(bool *is_name, cd__show *s, const char *kind, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd__name_bytes_show writes what 20 or 32 bytes name; false: they are no name, or none of that kind. */
bool cd__name_bytes_show(cd__show *s, const char *kind, cd_bytes b);

#endif
