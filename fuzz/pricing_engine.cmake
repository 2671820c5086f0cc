cd_fuzz(pricing_market DEPS services_pricing)
cd_fuzz(pricing_snapshot DEPS services_pricing)
