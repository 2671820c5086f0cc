/* chains/platform/l1/diagnosis.h - what is wrong with an L1, or soon will be, each with what helps.
 *
 *   facts: members, manager, chain, time ──► findings: what halts it first, then warnings, then notes
 *
 * A cause is named only when the facts bear it: validators are away; whether they lost their key, or are down, nobody
 * sees from outside. Texts lie in the caller's arena. Threading: pure. [spec:pchain-xchain#4] */
#ifndef CD_CHAINS_PLATFORM_L1_DIAGNOSIS_H
#define CD_CHAINS_PLATFORM_L1_DIAGNOSIS_H

#include "chains/platform/l1/forecast.h"
#include "codec/json.h"

/* Where the manager lives, as the P-Chain knows it. */
typedef enum cd_l1_manager {
    CD_L1_MANAGER_OWN,     /* on a chain of the L1 itself */
    CD_L1_MANAGER_OTHER,   /* on another chain that exists */
    CD_L1_MANAGER_NOWHERE, /* on none that the P-Chain knows */
} cd_l1_manager;

/* What is known of an L1. */
typedef struct cd_l1_facts {
    const cd_l1_member *v;
    usize cnt;
    cd_l1_manager manager;
    bool has_address;    /* the manager's address is 20 bytes that are not all zero */
    bool has_reach;      /* somebody looked who is there */
    u64 last_block_s;    /* when its chain decided last, Unix time; 0: unknown */
    u64 now_s;           /* Unix time */
    u64 within_s;        /* balances that end within this time are warned of; 0: none */
    cd_l1_quorum quorum; /* what agreement takes */
} cd_l1_facts;

/* How bad a finding is. */
typedef enum cd_l1_severity {
    CD_L1_NOTE,
    CD_L1_WARNING,
    CD_L1_HALT,
} cd_l1_severity;

/* Causes; the words of programs are those of cd_l1_cause_name. */
typedef enum cd_l1_cause {
    CD_L1_NO_VALIDATORS,
    CD_L1_BALANCES,     /* balances have ended, or end soon */
    CD_L1_CONCENTRATED, /* one validator decides alone whether it goes on */
    CD_L1_NO_KEY,       /* validators without a BLS key */
    CD_L1_UNREACHABLE,  /* validators are away */
    CD_L1_RELEASES,     /* validators report different versions or upgrades */
    CD_L1_MANAGER,      /* the manager cannot change the validators */
    CD_L1_SILENT,       /* a quorum is there, and nothing is decided */
    CD_L1_CAUSES,
} cd_l1_cause;

/* cd_l1_cause_name gives "balances", "unreachable"…; cd_l1_severity_name "note", "warning", "halt". */
const char *cd_l1_cause_name(cd_l1_cause c);
const char *cd_l1_severity_name(cd_l1_severity s);

/* One thing that is wrong. */
typedef struct cd_l1_finding {
    cd_l1_severity severity;
    cd_l1_cause cause;
    const char *text; /* what is so */
    const char *help; /* what mends it */
} cd_l1_finding;

/* How an L1 is. */
typedef struct cd_l1_health {
    cd_l1_standing standing;
    cd_l1_outlook outlook;
    cd_l1_state active_state; /* if everybody who pays were there */
    usize finding_cnt;
    cd_l1_finding findings[CD_L1_CAUSES]; /* worst first */
} cd_l1_health;

/* cd_l1_diagnose finds out. The members' forecast is set. */
void cd_l1_diagnose(cd_l1_health *out, cd_arena *a, const cd_l1_facts *f);

/* cd_l1_is_well: nothing halts it, and there is no warning. */
bool cd_l1_is_well(const cd_l1_health *h);

/* cd_l1_span_text gives "3 days", "5 hours", "more than 10 years". */
const char *cd_l1_span_text(cd_arena *a, u64 seconds);

/* cd_l1_health_put writes the members state, quorum, findings of an object, and with_members its validators. */
void cd_l1_health_put(cd_json_w *w, cd_arena *a, const cd_l1_health *h, const cd_l1_facts *f, bool with_members);

#endif
