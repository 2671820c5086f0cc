cd_fuzz(num DEPS num)
