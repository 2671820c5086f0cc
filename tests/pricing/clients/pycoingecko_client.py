"""A public client for Python with another base URL: pycoingecko_client.py URL"""
import json
import sys

from pycoingecko import CoinGeckoAPI

client = CoinGeckoAPI(demo_api_key="of-a-client")
client.api_base_url = sys.argv[1] + "/"
every = {f"include_{name}": True for name in ("market_cap", "24hr_vol", "24hr_change", "last_updated_at")}
price = client.get_price(ids=["bitcoin", "ethereum", "nosuch"], vs_currencies=["usd", "eur"], **every)
rounded = client.get_price(ids="bitcoin", vs_currencies="usd", precision="1")
print(json.dumps([price, rounded]))
