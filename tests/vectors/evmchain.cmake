cd_vector_test(fee_l1 DEPS chains_evmchain)
cd_vector_test(l1_chain DEPS chains_evmchain)
