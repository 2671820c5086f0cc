#include "node/budget.h"

cd_budget cd_budget_of(u64 memory)
{
    usize part = (usize)(memory / 16);
    return (cd_budget){
        .store = 4 * part,
        .state = 4 * part,
        .tries = 6 * part - part / 2,
        .texts = part / 2,
        .requests = (usize)memory - 14 * part,
    };
}
