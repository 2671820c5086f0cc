/* services/adx/miner/key_file.h - a secret of 32 bytes in a file of its own. Threading: pure but for the file. */
#ifndef CD_ADX_MINER_KEY_FILE_H
#define CD_ADX_MINER_KEY_FILE_H

#include "base/base.h"

enum { CD_KEY_FILE_LEN = 32 };

/* cd_key_file reads the secret at path, or draws one and writes it there, durably. Wipe key after use. Errors:
 * CD_EACCES (not 32 bytes, or others may read it) and those of files. */
cd_err cd_key_file(u8 key[CD_KEY_FILE_LEN], const char *path, cd_errinfo *why) CD_CHECK;

#endif
