cd_fuzz(explorer_fn DEPS explorer)
cd_fuzz(explorer_page DEPS explorer chains_evmchain consensus SYSTEM cmocka)
