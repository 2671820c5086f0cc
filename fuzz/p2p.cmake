cd_fuzz(p2p_message DEPS p2p)
