"""Sends two requests with requests. With urllib3's Retry, it retries refused requests."""

import sys

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

address = sys.argv[1]
for _ in range(2):
    # A new session for each request, so that the second one brings no cookie.
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", HTTPAdapter(max_retries=Retry(total=1)))
        print(session.get(address, timeout=10).status_code)
