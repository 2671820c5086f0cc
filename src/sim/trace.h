/* sim/trace.h - the record of what nodes did, line by line, as text: written by a simulation or by a node at work, read
 * by the debugger.
 *
 *   candela-trace 1          the first line; then one line for each event: kind, time in microseconds, node, the rest
 *
 *   n T NODE ID LIAR         a node, by number from now on; LIAR 1: it lies
 *   u T NODE   d T NODE      it is up, down
 *   b T NODE BLOCK PARENT H  it built a block          s … the same: it saw and verified another's
 *   x T NODE BLOCK WORDS     it refused a block
 *   q T NODE REQ BLOCK A,B…  it asks nodes A, B … about a block (Q: showing it to them)
 *   v T NODE REQ FROM BLOCK H  FROM's vote has come: its preference, and the height that it has accepted
 *   f T NODE REQ FROM        FROM did not answer
 *   p T NODE BLOCK           its preference is another one
 *   c T NODE BLOCK COUNT     polls in a row that went for a block
 *   a T NODE BLOCK H         it accepted   r T NODE BLOCK: it rejected
 *   m T NODE TO OP BYTES L   it sent a message that takes L microseconds; L -: it got lost
 *   w T WORDS                something happened in the world
 *   ! T NODE WORDS           a violation; node -: of the network
 *
 * A block is written as the first 16 hexadecimal digits of its ID. Threading: confined. */
#ifndef CD_SIM_TRACE_H
#define CD_SIM_TRACE_H

#include "codec/ids.h"

/* Where lines go. A record that becomes longer than max bytes (0: no bound) ends with a line that says so. */
typedef struct cd_sim_trace {
    void (*write)(void *ctx, cd_bytes text);
    void *ctx;
    u64 max;
    u64 written;
    cd_buf line;
} cd_sim_trace;

/* cd_sim_trace_begin writes the first line, cd_sim_trace_end frees the memory. */
void cd_sim_trace_begin(cd_sim_trace *t);
void cd_sim_trace_end(cd_sim_trace *t);

/* cd_sim_trace_put writes one line: kind, time and the formatted rest. Without a trace (NULL) it does nothing. */
void cd_sim_trace_put(cd_sim_trace *t, char kind, u64 us, const char *fmt, ...) CD_PRINTF(4, 5);

/* cd_sim_trace_id gives a block's ID in the form that traces have. */
enum { CD_SIM_TRACE_ID_LEN = 16 };
typedef struct cd_sim_id_text {
    char s[CD_SIM_TRACE_ID_LEN + 1];
} cd_sim_id_text;
cd_sim_id_text cd_sim_trace_id(const cd_hash32 *id);

#endif
