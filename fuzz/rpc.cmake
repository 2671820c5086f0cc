cd_fuzz(rpc DEPS rpc)
