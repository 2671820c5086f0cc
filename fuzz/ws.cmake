cd_fuzz(ws DEPS net)
