cd_vector_test(rpc_compat DEPS chains_evmchain)
cd_vector_test(session DEPS chains_evmchain)
