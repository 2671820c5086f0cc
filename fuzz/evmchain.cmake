cd_fuzz(chain_config DEPS chains_evmchain)
