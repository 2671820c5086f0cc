cd_fuzz(miner DEPS services_adx)
cd_fuzz(miner_message DEPS services_adx)
