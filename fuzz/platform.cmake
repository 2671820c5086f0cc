cd_fuzz(pservice DEPS chains_platform_service chains_platform_genesis)
cd_fuzz(platform_block DEPS chains_platform vm_shared SYSTEM cmocka)
cd_fuzz(warp_claim DEPS chains_platform)
