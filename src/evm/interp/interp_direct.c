/* Tier 0 without hooks, as it runs when no instructions are traced. */
#define TRACED   0
#define RUN      cd__run_direct
#define HANDLERS cd__direct_handlers
#include "evm/interp/interp_direct.inc"
