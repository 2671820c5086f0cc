cd_fuzz(rangeproof DEPS crypto)
cd_fuzz(voprf DEPS crypto)
cd_fuzz(hpke DEPS crypto)
