/* p2p/average.h - a moving average: what was observed a half-life ago counts half.
 *
 * Floating point: it is nobody's consensus. Threading: confined; time is an argument. */
#ifndef CD_P2P_AVERAGE_H
#define CD_P2P_AVERAGE_H

#include "base/bytes.h"

/* The average. */
typedef struct cd_p2p_average {
    double sum;
    double weight;
    u64 half_ns;
    u64 at_ns;
} cd_p2p_average;

/* cd_p2p_average_init begins with a first value, which counts like one observation. */
void cd_p2p_average_init(cd_p2p_average *a, double first, u64 half_ns, u64 now_ns);

/* cd_p2p_average_add takes in one observation, cd_p2p_average_of gives the average. */
void cd_p2p_average_add(cd_p2p_average *a, double value, u64 now_ns);
double cd_p2p_average_of(const cd_p2p_average *a);

#endif
