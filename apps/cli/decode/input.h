/* apps/cli/decode/input.h - what a command is given: a word, a file, or standard input. Threading: the main thread. */
#ifndef CD_APPS_CLI_INPUT_H
#define CD_APPS_CLI_INPUT_H

#include "base/mem/arena.h"

/* Bytes of the largest input. */
enum { CD__INPUT_MAX = 8 << 20 };

/* What was given. */
typedef struct cd__input {
    bool is_text; /* b is text without blanks at its ends; false: b is the bytes as they came */
    cd_bytes b;
} cd__input;

/* cd__input_get reads what a word means: "-" is standard input, the name of a file that file, else the word itself.
 * It lies in the arena. Errors: CD_ELIMIT, CD_ENOENT (nothing in it), the system's. */
cd_err cd__input_get(cd__input *out, cd_arena *mem, const char *word, cd_errinfo *why) CD_CHECK;

/* cd__input_is_hex: is text made of pairs of hexadecimal digits, 0x in front or not? */
bool cd__input_is_hex(cd_bytes text);

/* cd__input_bytes reads text as the node's services write bytes: digits, behind 0x or not, with or without the
 * checksum of four bytes; else CB58. Errors: CD_EFORMAT, CD_ELIMIT. */
cd_err cd__input_bytes(cd_bytes *out, cd_arena *mem, cd_bytes text, cd_errinfo *why) CD_CHECK;

#endif
