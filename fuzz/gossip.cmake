cd_fuzz(gossip DEPS vm_gossip)
