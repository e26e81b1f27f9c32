"""A visit with requests: returns after Retry-After until it is admitted."""

import json
import sys
import time

import requests

address = sys.argv[1]
session = requests.Session()
session.trust_env = False
statuses, positions = [], []
while True:
    answer = session.get(address, headers={"Accept": "application/json"}, timeout=10)
    statuses.append(answer.status_code)
    if answer.ok:
        break
    positions.append(answer.json()["waitingRoom"]["position"])
    time.sleep(int(answer.headers["Retry-After"]))
again = session.get(address, timeout=10)
print(
    json.dumps(
        {
            "statuses": statuses,
            "positions": positions,
            "page": answer.text,
            "again": again.status_code,
            "cookies": sorted(session.cookies.keys()),
        }
    )
)
