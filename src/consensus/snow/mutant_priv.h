/* consensus/snow/mutant_priv.h - faults that a test builds into its own copy of the engine, to see that its invariants
 * notice them. In every other build CD_MUTANT is false, and no fault is compiled. Threading: confined. */
#ifndef CD_CONSENSUS_MUTANT_PRIV_H
#define CD_CONSENSUS_MUTANT_PRIV_H

/* The faults. */
typedef enum cd_mutant {
    CD_MUTANT_NONE,
    CD_MUTANT_NO_QUORUM,        /* one vote is a quorum */
    CD_MUTANT_NO_BETA,          /* one poll decides */
    CD_MUTANT_KEEPS_SIBLINGS,   /* the VM does not hear of rejected blocks */
    CD_MUTANT_NO_REPOLL,        /* nobody is asked a second time */
    CD_MUTANT_NO_FETCH,         /* missing parents are not asked for */
    CD_MUTANT_NO_DROP,          /* a query that failed stays outstanding */
    CD_MUTANT_STALE_PREFERENCE, /* the VM does not hear what is preferred */
    CD_MUTANT_COUNTS_STRANGERS, /* an answer counts whoever gives it and however often */
    CD_MUTANT_UNBOUNDED,        /* the bounds on what a peer can make us keep are off */
    CD_MUTANT_KEEPS_FETCH,      /* a fetch that failed stays open */
    CD_MUTANT_SKIPS_VERIFY,     /* votes are given to blocks that the VM has refused */
    CD_MUTANTS,
} cd_mutant;

#ifdef CD_WITH_MUTANTS
extern cd_mutant cd__mutant;
#define CD_MUTANT(name) (cd__mutant == CD_MUTANT_##name)
#else
#define CD_MUTANT(name) false
#endif

#endif
