/* apps/cli/contract/contract_text.h - what people type for a contract, what compilers write of one, and what it
 * answers.
 *
 * Threading: pure. */
#ifndef CD_APPS_CLI_CONTRACT_TEXT_H
#define CD_APPS_CLI_CONTRACT_TEXT_H

#include "codec/json.h"
#include "types/fn.h"

/* cd__contract_args appends the encoding of typed arguments of a function. Errors: CD_EINVAL with the argument's
 * number. */
cd_err cd__contract_args(cd_buf *out, cd_arena *mem, const cd_fn *f, const char *const *words, usize cnt,
                         cd_errinfo *why) CD_CHECK;

/* cd__contract_file reads FILE, or FILE:NAME for one of several, as compilers write it: an object with abi and
 * bytecode, or such objects by name, perhaps under "contracts". Errors: CD_EINVAL, those of files. */
cd_err cd__contract_file(cd_fn *constructor, cd_bytes *code, cd_arena *mem, const char *word, cd_errinfo *why) CD_CHECK;

/* cd__contract_put writes the members of a tuple as an array: numbers as digits in quotes, bytes as 0x…. */
void cd__contract_put(cd_json_w *w, const cd_abi_type *t, const cd_abi_val *v);

#endif
