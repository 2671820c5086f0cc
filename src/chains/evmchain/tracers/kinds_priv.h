/* chains/evmchain/tracers/kinds_priv.h - the tracers, and what they share. */
#ifndef CD_CHAINS_EVMCHAIN_TRACERS_KINDS_PRIV_H
#define CD_CHAINS_EVMCHAIN_TRACERS_KINDS_PRIV_H

#include "chains/evmchain/tracers/tracer_kind.h"

extern const cd_tracer_kind cd__tracer_struct_log;
extern const cd_tracer_kind cd__tracer_call;
extern const cd_tracer_kind cd__tracer_call_flat;
extern const cd_tracer_kind cd__tracer_prestate;
extern const cd_tracer_kind cd__tracer_4byte;
extern const cd_tracer_kind cd__tracer_noop;
extern const cd_tracer_kind cd__tracer_mux;
extern const cd_tracer_kind cd__tracer_opcount;
extern const cd_tracer_kind cd__tracer_unigram;
extern const cd_tracer_kind cd__tracer_bigram;
extern const cd_tracer_kind cd__tracer_trigram;

/* cd__trace_flag reads an optional boolean of a configuration; absent and null leave *out alone. */
cd_err cd__trace_flag(bool *out, cd_json cfg, const char *key, cd_errinfo *why) CD_CHECK;

/* cd__trace_op_name gives an instruction's name as go-ethereum prints it in traces. out has 24 bytes; the result is
 * out or a constant. */
const char *cd__trace_op_name(char *out, u8 op);

#endif
