cd_fuzz(bn254 DEPS crypto)
