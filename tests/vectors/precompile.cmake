cd_vector_test(precompile DEPS evm codec)
