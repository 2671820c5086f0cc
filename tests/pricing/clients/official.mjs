// The provider's own client for JavaScript with another base URL: official.mjs URL
import Coingecko from '@coingecko/coingecko-typescript';

const client = new Coingecko({ demoAPIKey: 'of-a-client', baseURL: process.argv[2], maxRetries: 0 });
const all = {
  include_market_cap: true, include_24hr_vol: true, include_24hr_change: true, include_last_updated_at: true,
};
const price = await client.simple.price.get({ ids: 'bitcoin,ethereum,nosuch', vs_currencies: 'usd,eur', ...all });
const rounded = await client.simple.price.get({ ids: 'bitcoin', vs_currencies: 'usd', precision: '1' });
console.log(JSON.stringify([price, rounded]));
