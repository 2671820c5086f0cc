cd_fuzz(http2 DEPS net)
