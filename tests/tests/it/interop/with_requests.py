"""Asks twice with requests, which comes back by urllib3's Retry if it is refused."""

import sys

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

address = sys.argv[1]
for _ in range(2):
    # A session for each, so that no cookie gets the second one in.
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", HTTPAdapter(max_retries=Retry(total=1)))
        print(session.get(address, timeout=10).status_code)
