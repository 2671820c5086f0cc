cd_fuzz(pricing_query DEPS services_pricing)
