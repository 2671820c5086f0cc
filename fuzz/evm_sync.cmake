cd_fuzz(evm_sync DEPS chains_evmchain_sync)
