cd_fuzz(keyfile DEPS wallet)
