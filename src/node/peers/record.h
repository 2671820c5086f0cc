/* node/peers/record.h - what the engine of a chain hears, asks and thinks, written down for the debugger in the
 * format of sim/trace.h.
 *
 *   link ── heard, asked, not answered ──► record ──► DIR/C.trace        ──► candela replay
 *   engine ◄── looked at behind each ───────┘
 *
 * A record that is as long as it may be, or cannot be written, ends; the node goes on. Everything may be called with
 * NULL: nothing is recorded. Threading: confined to the chain's executor. */
#ifndef CD_NODE_RECORD_H
#define CD_NODE_RECORD_H

#include "base/os/clock.h"
#include "consensus/snow/snowman.h"

typedef struct cd_record cd_record;

/* Bytes of one record. */
#define CD_RECORD_MAX (1ull << 30)

/* cd_record_open begins the record of a chain of this node, in a directory that is there. Errors: CD_EIO. */
cd_err cd_record_open(cd_record **out, const char *dir, const char *chain, const cd_node_id *own, const cd_clock *clock,
                      cd_errinfo *why) CD_CHECK;
void cd_record_close(cd_record *r);

/* A peer has come, or gone. */
void cd_record_peer(cd_record *r, const cd_node_id *node, bool is_there);

/* A block is asked about; is_shown: with its bytes. */
void cd_record_query(cd_record *r, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id, bool is_shown);

/* A vote has come, or has not. */
void cd_record_vote(cd_record *r, const cd_node_id *from, u32 request, const cd_snow_chits *chits);
void cd_record_silence(cd_record *r, const cd_node_id *from, u32 request);

/* A message goes out to cnt nodes. op: its name. */
void cd_record_message(cd_record *r, const cd_node_id *to, u32 cnt, const char *op, usize bytes);

/* cd_record_look writes what the engine has come to think. */
void cd_record_look(cd_record *r, const cd_engine *e);

#endif
