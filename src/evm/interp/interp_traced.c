/* Tier 0 with a hook before every instruction; every traced message runs here. */
#define TRACED   1
#define RUN      cd__run_traced
#define HANDLERS cd__traced_handlers
#include "evm/interp/interp_direct.inc"
