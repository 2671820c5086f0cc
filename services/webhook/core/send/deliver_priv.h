/* services/webhook/core/send/deliver_priv.h - what the files of the deliverer share.
 *
 *   deliver.c  queue, classes, turns      deliver_hook.c  webhooks as they are sent to      deliver_try.c  one attempt
 *
 * Threading: confined. */
#ifndef CD_WEBHOOK_CORE_DELIVER_PRIV_H
#define CD_WEBHOOK_CORE_DELIVER_PRIV_H

#include "base/os/rng.h"
#include "base/table/hmap.h"
#include "base/table/list.h"
#include "net/http/client.h"
#include "services/webhook/core/send/deliver.h"
#include "services/webhook/core/send/schedule.h"
#include "services/webhook/core/send/sign.h"

enum { CD__WH_CAPTURE_MAX = 4096 };

typedef enum cd__wh_class {
    CD__WH_PROVEN,  /* answers soon */
    CD__WH_FRESH,   /* has not answered yet */
    CD__WH_SUSPECT, /* answers late */
    CD__WH_HUNG,    /* the last attempt ended by time, or one does not end */
    CD__WH_CLASSES_CNT,
} cd__wh_class;

/* A webhook as it is sent to. */
typedef struct cd__wh_hook {
    cd_wh_deliverer *owner;
    i64 key;
    cd_list ring;    /* of its class, while it has something to start */
    cd_list waiting; /* items, in order */
    cd_list resting; /* among those without items, oldest first */
    u32 waiting_cnt;
    u32 running;
    u32 items; /* all, those too that wait to be recorded */
    cd__wh_class class;
    bool is_slow; /* as the store was told */
    bool is_loaded, is_gone;
    u64 loaded_ms;
    cd_arena mem;    /* of what follows */
    cd_wh_hook view; /* without lists and secrets */
    cd_wh_target target;
    cd_err target_err;
    cd_wh_sign_key key_now, key_next;
    cd_wh_standard standard;
    cd_bytes client; /* PEM: certificate and key; empty: those of all, if any */
    bool has_sequence;
    u64 grace_until_ms;
    const char *head;  /* of a request: what curl says by itself, for the record */
    const char *lines; /* that are the same in all requests, each with CR LF */
} cd__wh_hook;

/* A delivery in hand. */
typedef struct cd__wh_item {
    cd_list link; /* waiting of its webhook, or running */
    cd__wh_hook *hook;
    cd_wh_delivery d;   /* its event's body lies behind this struct */
    cd__wh_class class; /* that it counts for, while it runs */
    bool is_running;
    bool is_slow;
    u64 since_ms; /* loop time since which it waits, or runs */
    u64 since_round;
    u64 at_ms; /* wall clock at the beginning of the attempt */
    u64 begin_ns;
    cd_wh_vetting *vetting;
    u32 vet_ms;
    cd_wh_addresses to; /* addresses that the request may go to */
    usize to_at;        /* index of the one that is being tried */
    cd_http_call *call;
    cd_buf head; /* of the request, as it is recorded */
    cd_wh_deliver_test_fn *test_fn;
    void *test_ctx;
} cd__wh_item;

/* What a turn has to record of an item. Texts lie in the turn's arena. */
typedef struct cd__wh_outcome {
    cd__wh_item *item;
    bool has_attempt;
    cd_wh_attempt attempt;
    cd_wh_state state;
    u64 next_ms;
    bool ends_hook;
    bool has_ended; /* this attempt ended the delivery, which was open before */
    cd_wh_status hook_status;
    cd_err err;
} cd__wh_outcome;

/* A webhook that the store has to hold back from now on, or no longer. */
typedef struct cd__wh_slow {
    i64 hook;
    bool is_slow;
} cd__wh_slow;

typedef struct cd__wh_turn {
    cd_arena mem;
    cd__wh_outcome *outcomes;
    usize cnt, cap;
    cd_buf slow; /* cd__wh_slow */
} cd__wh_turn;

struct cd_wh_deliverer {
    cd_wh_deliver_cfg cfg;
    cd_loop *loop;
    cd_http_client *client;
    cd_rng rng;
    cd_hmap hooks; /* key -> cd__wh_hook * */
    cd_hmap items; /* key of the delivery -> cd__wh_item *: what is in hand */
    cd_list resting;
    usize resting_cnt;
    struct {
        cd_list ring;  /* of hooks */
        cd_list young; /* running items that are not slow yet, oldest first */
        u32 waiting;   /* items */
        u32 running;
        u32 max;
    } classes[CD__WH_CLASSES_CNT];
    u32 running;
    u32 credit; /* starts of others since one of a hung webhook, see may_start */
    bool is_pumping;
    bool is_pacing; /* pace runs */
    cd_list slow;
    cd_timer *pace;

    cd__wh_turn turns[2]; /* one gathers outcomes while the other is being written */
    cd__wh_turn *fills;
    cd_job job;
    cd__wh_turn *under_way; /* NULL: none */
    bool wants_claim;
    u32 claim_max;
    u32 claim_slow;    /* of them of hung webhooks */
    usize slow_left;   /* hung webhooks that have more in the store than was taken */
    usize slow_queued; /* the same as of the last turn that is done */
    cd_wh_delivery *claimed;
    usize claimed_cnt;
    u64 next_due_ms; /* wall clock */
    cd_timer *due;
    cd_timer *turn_due;
    bool is_turn_due; /* it runs */
    u64 turned_ms;    /* of the loop: when the last turn ended */

    cd_job load_job;
    bool is_loading;
    i64 *to_load;
    usize to_load_cnt, to_load_cap, loading_cnt;
    cd_arena load_mem;
    struct cd__wh_loaded *loaded;

    bool is_draining;
    cd_timer *grace;
    void (*drained)(void *ctx);
    void *drained_ctx;

    cd_counter *outcomes[3][4]; /* by face: delivered, retried, failed, given back */
    cd_hist *seconds;
    cd_counter *ended;
};

/* deliver.c */
u64 cd__wh_wall_ms(const cd_wh_deliverer *d);
cd__wh_outcome *cd__wh_outcome_add(cd_wh_deliverer *d, cd__wh_item *item);
/* cd__wh_try_ended: the attempt is over, met says how; texts are copied but for the request, which is the
 * item's. */
void cd__wh_try_ended(cd__wh_item *item, const cd_wh_attempt *attempt, const cd_wh_met *met);
/* cd__wh_slow_tell: the store is told what the webhook is now. */
void cd__wh_slow_tell(cd__wh_hook *h, bool is_slow);
/* cd__wh_hook_hang: it hangs, one attempt at a time is enough for it. */
void cd__wh_hook_hang(cd__wh_hook *h);
/* cd__wh_hook_ready: its view came, its items may start. */
void cd__wh_hook_ready(cd__wh_hook *h);

/* deliver_hook.c */
cd__wh_hook *cd__wh_hook_of(cd_wh_deliverer *d, i64 key);
void cd__wh_hook_set(cd__wh_hook *h, const cd_wh_hook *from);
void cd__wh_hook_load(cd__wh_hook *h);
void cd__wh_hook_rest(cd__wh_hook *h); /* it has no items any more */
void cd__wh_hook_free(cd__wh_hook *h);

/* deliver_try.c */
void cd__wh_try(cd__wh_item *item);
void cd__wh_try_drop(cd__wh_item *item);

#endif
