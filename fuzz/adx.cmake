cd_fuzz(adx_openrtb DEPS services_adx)
cd_fuzz(adx_vast DEPS services_adx)
cd_fuzz(adx_beacon DEPS services_adx)
