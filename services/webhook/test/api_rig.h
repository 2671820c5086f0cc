/* services/webhook/test/api_rig.h - routes and pages behind a real server and a real store, with an engine that is
 * played. */
#ifndef CD_WEBHOOK_TEST_API_RIG_H
#define CD_WEBHOOK_TEST_API_RIG_H

#include "base/thread/thread.h"
#include "services/webhook/pages/pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct api_rig {
    char dir[64];
    u8 master_key[32];
    cd_clock_virtual clock;
    cd_loop *loop;
    cd_jobs *db;
    cd_wh_api *api;
    cd_wh_pages *pages;
    cd_metrics *metrics;
    cd_logger *log;
    cd_thread thread;
    cd_loop_task stop;
    cd_wh_engine engine;
    u16 port;
    char keys[3][48]; /* of projects of faces A, B, C: they may write */
    char reader[48];  /* B's, which may not */
    char cookie[2048];
    _Atomic u32 lag; /* of the chain, whose head is 1204906 */
    /* what the engine was told */
    _Atomic u32 changed, gone, due, tested;
    cd_buf answer;
} api_rig;

/* api_rig_open makes projects "pa", "pb", "pc" of the free tier (pc with a quota of 1000 a day). The clock stands
 * still. */
void api_rig_open(api_rig *g);
void api_rig_close(api_rig *g);

/* api_rig_ask sends a request and gives the whole answer, until the next one. face's key goes in the face's header;
 * face < 0: none. head: further lines, each with CR LF. */
const char *api_rig_ask(api_rig *g, int face, const char *method, const char *path, const char *head, const char *body);

/* api_rig_status gives the status of an answer, api_rig_body what stands behind its head. api_rig_value copies the
 * value of the first `"key":"…"` in it. */
int api_rig_status(const char *answer);
const char *api_rig_body(const char *answer);
void api_rig_value(char out[128], const char *answer, const char *key);

/* api_rig_work runs a function on the store, as a write job. */
void api_rig_work(api_rig *g, cd_err (*run)(cd_job *job, void *store, cd_errinfo *why));

#endif
