cd_fuzz(sim_script DEPS sim)
cd_fuzz(sim_film DEPS sim)
