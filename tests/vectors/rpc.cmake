cd_vector_test(jsonrpc DEPS rpc)
