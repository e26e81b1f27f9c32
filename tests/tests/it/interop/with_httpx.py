"""Asks twice with httpx, which comes back by httpx-retries if it is refused."""

import sys

import httpx
from httpx_retries import Retry, RetryTransport

address = sys.argv[1]
for _ in range(2):
    # A client for each, so that no cookie gets the second one in.
    with httpx.Client(transport=RetryTransport(retry=Retry(total=1))) as client:
        print(client.get(address).status_code)
