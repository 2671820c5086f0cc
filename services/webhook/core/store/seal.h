/* services/webhook/core/store/seal.h - secrets as they lie in a file: AES-256-GCM under the master key.
 *
 *   nonce (12) ‖ cipher text ‖ tag (16)
 *
 * What a secret is for goes in as associated data, so that one cannot be put in the place of another. The master key is
 * 32 bytes in a file of its own that only its owner may read; made at the first start. Threading: pure.
 * [spec:webhooks#4, #8] */
#ifndef CD_WEBHOOK_CORE_SEAL_H
#define CD_WEBHOOK_CORE_SEAL_H

#include "base/mem/arena.h"

/* cd_wh_seal gives text sealed for what it is about. */
cd_bytes cd_wh_seal(cd_arena *mem, const u8 key[32], cd_bytes text, const char *about);

/* cd_wh_unseal opens it. CD_ECORRUPT when it was sealed with another key, about something else, or changed. */
cd_err cd_wh_unseal(cd_bytes *out, cd_arena *mem, const u8 key[32], cd_bytes sealed, const char *about,
                    cd_errinfo *why) CD_CHECK;

/* cd_wh_master_key reads the key at path, or draws one and makes the file (mode 0600). CD_EACCES when others may read
 * it, CD_EFORMAT when it holds no 64 hexadecimal digits. */
cd_err cd_wh_master_key(u8 key[32], const char *path, cd_errinfo *why) CD_CHECK;

#endif
