/* apps/cli/relay/relay_config.h - the file that names the chains of a relay.
 *
 *   {"chains": [{"name": "C", "rpc": "http://…/v1/bc/C/rpc", "messenger": "0x…", "keyFile": "relay.key"},
 *               {"name": "mine", "rpc": "…", "messenger": "0x…", "net": "2f…", "keyFile": "relay.key"}],
 *    "senders": ["0x…"], "quorum": 67, "maxGas": 8000000}
 *
 * Names of files are as seen from the file's folder. A name that is unknown is refused, so that nothing is misspelt
 * silently. Threading: the main thread. */
#ifndef CD_APPS_CLI_RELAY_CONFIG_H
#define CD_APPS_CLI_RELAY_CONFIG_H

#include "base/mem/secret.h"
#include "relay/relay.h"

/* What was read; chains and senders lie in the arena. */
typedef struct cd__relay_config {
    cd_relay_chain_cfg chains[CD_RELAY_CHAINS_MAX];
    cd_secret keys[CD_RELAY_CHAINS_MAX];
    usize chain_cnt;
    const cd_addr20 *senders;
    usize sender_cnt;
    u64 quorum;
    u64 gas_max;
    cd_relay_limits limits;
} cd__relay_config;

/* cd__relay_config_read reads a file into a zeroed config. Errors: CD_EINVAL with what is wrong, those of files and
 * keys. cd__relay_config_fini wipes the keys, after an error, too. */
cd_err cd__relay_config_read(cd__relay_config *out, cd_arena *mem, const char *path, cd_errinfo *why) CD_CHECK;
void cd__relay_config_fini(cd__relay_config *c);

#endif
