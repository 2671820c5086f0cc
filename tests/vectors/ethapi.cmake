cd_vector_test(ethapi DEPS chains_evmchain)
