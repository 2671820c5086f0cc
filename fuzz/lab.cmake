cd_fuzz(statetest DEPS lab)
