cd_fuzz(precompile DEPS evm)
