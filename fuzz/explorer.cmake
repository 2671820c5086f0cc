cd_fuzz(explorer_page DEPS explorer chains_evmchain consensus SYSTEM cmocka)
