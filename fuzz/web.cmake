cd_fuzz(web DEPS web)
