/* base/args/args_priv.h - what the help text needs to see of an option table. Threading: confined. */
#ifndef CD_BASE_ARGS_PRIV_H
#define CD_BASE_ARGS_PRIV_H

#include "base/args/args.h"

/* cd__args_info / cd__args_defs borrow what cd_args_new was given. */
const cd_args_info *cd__args_info(const cd_args *a);
const cd_arg_def *cd__args_defs(const cd_args *a, usize *cnt);

/* cd__args_env_char turns a character of a flag's name into that of a variable's name: '-' becomes '_', letters become
 * capitals. */
char cd__args_env_char(char c);

#endif
