cd_fuzz(relay_form DEPS relay)
