cd_vector_test(p2p_certs DEPS p2p)
cd_vector_test(p2p_messages DEPS p2p)
cd_vector_test(p2p_gossip DEPS p2p)
cd_vector_test(p2p_session DEPS p2p)
