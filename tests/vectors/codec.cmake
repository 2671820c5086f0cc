cd_vector_test(rlp DEPS codec)
cd_vector_test(json DEPS codec)
cd_vector_test(abi DEPS codec)
cd_vector_test(tx DEPS evm)
