cd_fuzz(http_cond DEPS net)
