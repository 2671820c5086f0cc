cd_fuzz(evm_api DEPS chains_evmchain consensus codec)
