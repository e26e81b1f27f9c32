"""Sends one request, and prints what http-sf reads from both fields of draft 11."""

import json
import sys
import urllib.request

import http_sf

with urllib.request.urlopen(sys.argv[1], timeout=10) as answer:
    fields = [answer.headers[name] for name in ("ratelimit-policy", "ratelimit")]
print(json.dumps([http_sf.parse(field.encode(), tltype="list") for field in fields]))
