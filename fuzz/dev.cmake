cd_fuzz(dev DEPS chains_evmchain codec)
