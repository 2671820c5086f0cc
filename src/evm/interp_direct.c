/* Tier 0 as it runs blocks: without hooks. */
#define TRACED   0
#define RUN      cd__run_direct
#define HANDLERS cd__direct_handlers
#include "evm/interp_direct.inc"
