#include "p2p/average.h"

#include <math.h>

void cd_p2p_average_init(cd_p2p_average *a, double first, u64 half_ns, u64 now_ns)
{
    *a = (cd_p2p_average){.sum = first, .weight = 1, .half_ns = half_ns, .at_ns = now_ns};
}

void cd_p2p_average_add(cd_p2p_average *a, double value, u64 now_ns)
{
    double fade = exp2(-(double)(now_ns - a->at_ns) / (double)a->half_ns);
    a->sum = a->sum * fade + value;
    a->weight = a->weight * fade + 1;
    a->at_ns = now_ns;
}

double cd_p2p_average_of(const cd_p2p_average *a)
{
    return a->sum / a->weight;
}
