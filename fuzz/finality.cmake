cd_fuzz(finality DEPS finality_cert)
