cd_fuzz(bls_decode DEPS crypto)
