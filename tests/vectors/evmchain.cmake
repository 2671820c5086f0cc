cd_vector_test(fee_l1 DEPS chains_evmchain)
