cd_fuzz(interp DEPS evm)
