/* sim/film.h - a trace that was read back: any moment of it, forwards and backwards.
 *
 *   bytes ──► events, blocks, nodes (indexed once) ──► cd_sim_film_at(step): the world after so many lines
 *                                                      from the nearest kept picture on, or from where it stands
 *
 * Lines that are not understood are counted and left out. Threading: confined. */
#ifndef CD_SIM_FILM_H
#define CD_SIM_FILM_H

#include "base/base.h"
#include "base/bytes.h"

/* Bounds of what is read and kept. */
enum {
    CD_FILM_NODES_MAX = 10000,
    CD_FILM_EVENTS_MAX = 50000000,
    CD_FILM_POLLS = 6,     /* polls of a node that are kept, the newest */
    CD_FILM_VOTES = 32,    /* votes of a poll that are kept */
    CD_FILM_UNDECIDED = 12 /* undecided blocks of a node that are kept */
};

/* In the place of a block or node: there is none. */
#define CD_FILM_NONE UINT32_MAX

/* One line of the trace. */
typedef struct cd_film_event {
    u64 us;
    u32 at; /* offset of its words, after the time */
    u32 n;
    u32 node;  /* CD_FILM_NONE: the line is about the world */
    u32 block; /* its number; CD_FILM_NONE: the line names none */
    char kind;
} cd_film_event;

/* A block that a line names. */
typedef struct cd_film_block {
    char id[17];
    u32 parent;
    u32 maker;
    u64 height;
    u64 us;
} cd_film_block;

/* A vote. block is CD_FILM_NONE when it did not come. */
typedef struct cd_film_vote {
    u32 from;
    u32 block;
} cd_film_vote;

/* A question to several nodes. */
typedef struct cd_film_poll {
    u32 request;
    u32 block;
    u32 asked;
    u32 cnt;
    u64 us;
    bool is_shown;
    cd_film_vote votes[CD_FILM_VOTES];
} cd_film_poll;

/* A block that a node has not decided on. */
typedef struct cd_film_undecided {
    u32 block;
    u32 confidence;
} cd_film_undecided;

/* The state of a node at a moment. */
typedef struct cd_film_node {
    bool is_up;
    u32 accepted; /* number of a block, as is preferred */
    u32 preferred;
    u64 height;
    u64 messages, lost, votes, failures, refused, polls;
    u32 undecided_cnt;
    cd_film_undecided undecided[CD_FILM_UNDECIDED];
    cd_film_poll recent[CD_FILM_POLLS]; /* the poll of number i at i % CD_FILM_POLLS */
} cd_film_node;

/* What nodes have made of a block up to a moment. */
typedef struct cd_film_fate {
    u32 seen, accepted, rejected, refused;
} cd_film_fate;

/* The state of the world at a moment. */
typedef struct cd_film_state {
    u64 step; /* number of lines that have happened */
    u64 us;
    u64 violations;
    cd_film_node *nodes;
    cd_film_fate *fates;
} cd_film_state;

typedef struct cd_film cd_film;

/* cd_film_open takes a trace, whose bytes are borrowed. Errors: CD_EFORMAT (no trace), CD_EVERSION, CD_ELIMIT. */
cd_err cd_film_open(cd_film **out, cd_bytes text, cd_errinfo *why) CD_CHECK;
void cd_film_close(cd_film *f); /* NULL is allowed */

/* Counts: lines that were understood and that were not, nodes, blocks. */
u64 cd_film_steps(const cd_film *f);
u64 cd_film_strange(const cd_film *f);
u32 cd_film_nodes(const cd_film *f);
u32 cd_film_blocks(const cd_film *f);

/* cd_film_node_name gives the node's ID and whether it lies; cd_film_block_get, cd_film_event_get borrow; cd_film_words
 * gives a line's words. */
cd_bytes cd_film_node_name(const cd_film *f, u32 node, bool *is_liar);
const cd_film_block *cd_film_block_get(const cd_film *f, u32 block);
const cd_film_event *cd_film_event_get(const cd_film *f, u64 step);
cd_bytes cd_film_words(const cd_film *f, const cd_film_event *e);

/* cd_film_at gives the world after step lines, borrowed until the next call. */
const cd_film_state *cd_film_at(cd_film *f, u64 step);

/* cd_film_find gives the first line after step, or the last one before it, whose kind is one of kinds and which is
 * about node (CD_FILM_NONE: any node); step itself when there is none. */
u64 cd_film_find(const cd_film *f, u64 step, bool forwards, const char *kinds, u32 node);

#endif
