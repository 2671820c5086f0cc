cd_fuzz(wallet_draft DEPS chains_wallet)
