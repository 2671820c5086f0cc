#include "node/chain/validators.h"

static const cd_vm_validators *who_of(const cd_vm_validators *v)
{
    return atomic_load(&((cd_node_validators *)(usize)(const void *)v)->who);
}

static cd_err current(const cd_vm_validators *v, u64 *height)
{
    const cd_vm_validators *who = who_of(v);
    return who == NULL ? CD_EAGAIN : who->current(who, height);
}

static cd_err minimum(const cd_vm_validators *v, u64 *height)
{
    const cd_vm_validators *who = who_of(v);
    return who == NULL ? CD_EAGAIN : who->minimum(who, height);
}

static cd_err subnet_of(const cd_vm_validators *v, cd_hash32 *subnet, const cd_hash32 *chain)
{
    const cd_vm_validators *who = who_of(v);
    return who == NULL ? CD_EAGAIN : who->subnet_of(who, subnet, chain);
}

static cd_err at(const cd_vm_validators *v, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    const cd_vm_validators *who = who_of(v);
    return who == NULL ? CD_EAGAIN : who->at(who, out, cnt, a, subnet, height);
}

static cd_err uptime(const cd_vm_validators *v, u64 *up_s, u64 *span_s, const cd_node_id *node)
{
    const cd_vm_validators *who = who_of(v);
    return who == NULL || who->uptime == NULL ? CD_EAGAIN : who->uptime(who, up_s, span_s, node);
}

void cd_node_validators_init(cd_node_validators *v)
{
    v->for_vms =
        (cd_vm_validators){.current = current, .minimum = minimum, .subnet_of = subnet_of, .at = at, .uptime = uptime};
    atomic_init(&v->who, NULL);
}

void cd_node_validators_set(cd_node_validators *v, const cd_vm_validators *who)
{
    atomic_store(&v->who, who);
}
