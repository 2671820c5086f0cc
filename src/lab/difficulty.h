/* lab/difficulty.h - the proof-of-work difficulty of a block, computed from its parent. No network of ours has proof of
 * work; lab/t8n.h uses this where the environment does not give the difficulty. Threading: pure. (Yellow paper 4.3.4,
 * EIP-2, EIP-100, EIP-649) */
#ifndef CD_LAB_DIFFICULTY_H
#define CD_LAB_DIFFICULTY_H

#include "evm/rules/rules.h"
#include "num/u256.h"

/* What the difficulty depends on in the parent. */
typedef struct cd_difficulty_parent {
    cd_u256 difficulty;
    u64 number;
    u64 time;
    bool has_uncles;
} cd_difficulty_parent;

/* cd_difficulty_delay gives by how many blocks the rules of that name put off the growth by age ("ice age"). The name
 * is that of a fork or of rules that changed nothing else (MuirGlacier, ArrowGlacier, GrayGlacier). */
u64 cd_difficulty_delay(cd_fork fork, const char *name);

/* cd_difficulty_of gives the difficulty of the block behind parent, made at time, which is later than the parent's. */
void cd_difficulty_of(cd_u256 *out, const cd_difficulty_parent *parent, u64 time, cd_fork fork, u64 delay);

#endif
