/* types/addr_text.h - account addresses as text with the checksum of EIP-55. Threading: pure. */
#ifndef CD_TYPES_ADDR_TEXT_H
#define CD_TYPES_ADDR_TEXT_H

#include "base/bytes.h"

/* Room for "0x", 40 digits and a NUL. */
enum { CD_ADDR_TEXT_SIZE = 43 };

/* cd_addr_fmt writes an address in mixed case and returns out: a letter is upper-case where the hash of the
 * lower-case digits has a nibble of 8 or more (EIP-55). */
const char *cd_addr_fmt(char out[CD_ADDR_TEXT_SIZE], const cd_addr20 *addr);

#endif
