cd_fuzz(module DEPS precompile)
cd_fuzz(module_config DEPS precompile)
cd_fuzz(warp_decode DEPS types)
