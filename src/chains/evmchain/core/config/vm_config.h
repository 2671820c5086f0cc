/* chains/evmchain/core/config/vm_config.h - what an operator sets for one EVM chain: a JSON object, every key in
 * vm_config.def.
 *
 * Durations are text ("10m") or integer nanoseconds. Keys that nobody knows change nothing; config_check.h names them.
 * Threading: frozen once parsed. [spec:evm-chain#11] */
#ifndef CD_CHAINS_EVMCHAIN_CONFIG_VM_CONFIG_H
#define CD_CHAINS_EVMCHAIN_CONFIG_VM_CONFIG_H

#include "codec/json.h"

/* A switch that may be left to the program. */
typedef enum cd_tri {
    CD_UNSET,
    CD_OFF,
    CD_ON,
} cd_tri;

/* A list of texts. */
typedef struct cd_str_list {
    const cd_bytes *items;
    usize cnt;
} cd_str_list;

/* One member a row; u64 that may be absent are UINT64_MAX then. */
typedef struct cd_vm_config {
#define CD__BOOL                         bool
#define CD__TRI                          cd_tri
#define CD__U64                          u64
#define CD__NUM                          double
#define CD__DUR                          u64
#define CD__STR                          cd_bytes
#define CD__LIST                         cd_str_list
#define CD__JSON                         cd_bytes
#define X(kind, field, key, alias, dflt) CD__##kind field;
#include "chains/evmchain/core/config/vm_config.def"
#undef CD__BOOL
#undef CD__TRI
#undef CD__U64
#undef CD__NUM
#undef CD__DUR
#undef CD__STR
#undef CD__LIST
#undef CD__JSON
} cd_vm_config;

/* cd_vm_config_parse reads the object, empty text = the defaults; what it borrows lies in the arena.
 * Errors: those of codec/json.h, CD_EINVAL with the words of [spec:evm-chain#11]. */
cd_err cd_vm_config_parse(cd_vm_config *out, cd_arena *a, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_vm_config_json writes it as an object, one member a row, for admin.getVMConfig. */
void cd_vm_config_json(cd_json_w *w, const cd_vm_config *c);

/* cd_vm_config_has: key, or an alias, is a row. */
bool cd_vm_config_has(cd_bytes key);

/* cd_vm_config_alias gives the other name of a key, itself where it has none. */
const char *cd_vm_config_alias(const char *key);

#endif
