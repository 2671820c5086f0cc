cd_fuzz(http_request DEPS net)
