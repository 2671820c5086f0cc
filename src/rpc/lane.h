/* rpc/lane.h - how work reaches the threads of the lanes, which belong to the node.
 *
 * Threading: a job is handed from thread to thread, one has it at a time. [spec:style#B6] */
#ifndef CD_RPC_LANE_H
#define CD_RPC_LANE_H

#include "rpc/method.h"

typedef struct cd_rpc_job cd_rpc_job;
typedef struct cd_rpc_source cd_rpc_source;

/* Somebody whose jobs take turns with those of others: a session. Counted, because its last job may outlive it for a
 * moment. What is in it belongs to the threads; quick jobs and slow ones wait apart. */
struct cd_rpc_source {
    _Atomic u32 refs;
    struct {
        cd_rpc_job *first;
        cd_rpc_job *last;
        cd_rpc_source *next; /* the source whose turn is next */
        bool is_waiting;
    } turn[2];
    u32 running;
};

/* cd_rpc_source_new makes a source without jobs. ref, unref: any thread; NULL is allowed to unref. */
cd_rpc_source *cd_rpc_source_new(void);
cd_rpc_source *cd_rpc_source_ref(cd_rpc_source *s);
void cd_rpc_source_unref(cd_rpc_source *s);

/* A piece of work, a member of the caller's struct. */
struct cd_rpc_job {
    void (*run)(cd_rpc_job *job);
    cd_rpc_source *source; /* NULL: comes alone */
    const void *kind;      /* jobs of one kind take about as long as each other: a method; NULL: unknown */

    /* The threads' own. */
    cd_rpc_job *next;
    cd_rpc_source alone;
    bool is_slow;
};

/* Answers to batches that threads are writing, in bytes. Beyond max only a batch that is alone gets further results,
 * so that many of them together cost little more than one. */
typedef struct cd_rpc_writing {
    _Atomic usize bytes;
    usize max;
} cd_rpc_writing;

/* The threads of a service. run lets one of lane READ or OWNER call job->run(job), once. From any thread.
 * Errors: CD_EFULL when too many wait, CD_ECLOSED when the service ends; then the job is not run. */
typedef struct cd_rpc_lanes {
    cd_err (*run)(void *ctx, cd_rpc_lane lane, cd_rpc_job *job);
    void *ctx;
    cd_rpc_writing *writing;        /* NULL: not counted */
    struct cd_rpc_origins *origins; /* NULL: refused pages are not logged */
    struct cd_logger *log;          /* for lines about calls, at debug level; NULL: none */
} cd_rpc_lanes;

#endif
