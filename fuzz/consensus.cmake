cd_fuzz(snow DEPS consensus)
