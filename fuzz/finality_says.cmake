cd_fuzz(finality_says DEPS finality)
