#include "node/budget.h"

cd_budget cd_budget_of(u64 memory)
{
    enum { CONN = 8 * 1024, CONNS_MIN = 2048, CONNS_MAX = 8192 };
    usize part = (usize)(memory / 16);
    usize requests = (usize)memory - 14 * part;
    return (cd_budget){
        .store = 4 * part,
        .state = 4 * part,
        .tries = 6 * part - part / 2,
        .texts = part / 2,
        .requests = requests,
        .http = requests / 2,
        .ws_in = requests / 8,
        .ws_out = requests / 8,
        .writing = requests / 16 * 3,
        .conns_max = (u32)cd_min_u64(CONNS_MAX, cd_max_u64(CONNS_MIN, requests / 8 / CONN)),
    };
}

cd_budget cd_budget_part(const cd_budget *b, u32 cnt)
{
    cd_budget part = *b;
    part.state /= cnt;
    part.tries /= cnt;
    part.texts /= cnt;
    part.ws_out /= cnt;
    return part;
}
