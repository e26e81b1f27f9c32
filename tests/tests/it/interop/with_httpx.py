"""Sends two requests with httpx. With httpx-retries, it retries refused requests."""

import sys

import httpx
from httpx_retries import Retry, RetryTransport

address = sys.argv[1]
for _ in range(2):
    # A new client for each request, so that the second one brings no cookie.
    with httpx.Client(transport=RetryTransport(retry=Retry(total=1))) as client:
        print(client.get(address).status_code)
