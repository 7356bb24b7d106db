#!/usr/bin/env python3
"""Moves money between accounts over HTTP, and checks that the sum never changes.

    bank.py http://127.0.0.1:8080,http://127.0.0.1:8081 [--seconds 20] [--accounts 100] [--clients 8]

Half of the transfers are transactions over several requests, which lock the first account; the others read, then check
and write in one request. Needs a transactional keyspace; makes it if there is none. Only Python's standard library is used.
"""

import argparse
import json
import random
import threading
import time
import urllib.error
import urllib.request

KEYSPACE = "bank"
EACH = 100


def account(number):
    return f"{number:02d}"


class Node:
    """One node after another, the next where one does not answer."""

    def __init__(self, urls, accounts):
        self.urls, self.accounts, self.chance = urls, accounts, random.Random()

    def send(self, method, path, body=None, timeout=15):
        """Status and answer; status None where it is not known what happened."""
        url = self.chance.choice(self.urls) + path
        request = urllib.request.Request(url, body, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")
        except (OSError, ValueError):
            return None, {}

    def post(self, path, body, timeout=15):
        return self.send("POST", path, json.dumps(body).encode(), timeout)


def snapshot(node):
    """All balances at one moment, or None."""
    reads = [{"keyspace": KEYSPACE, "key": account(n)} for n in range(node.accounts)]
    status, answer = node.post("/v1/txn", {"reads": reads})
    if status != 200:
        return None
    return {read["key"]: int(read["value"]) for read in answer["reads"]}


ENDS = {200: "done", 412: "changed meanwhile", 409: "conflict", None: "unknown", 504: "unknown"}


def transfer_in_steps(node):
    """Moves something from one account to another, over several requests: the first account is locked."""
    one, other = (account(n) for n in node.chance.sample(range(node.accounts), 2))
    status, begun = node.send("POST", "/v1/txn/begin")
    if status != 201:
        return "unavailable"
    path = f"/v1/txn/{begun['id']}"
    keys = f"{path}/keyspaces/{KEYSPACE}/keys/"
    balances = []
    for key, query in ((one, "?lock=true"), (other, "")):
        # A balance is a number, so it is JSON as it is.
        status, balance = node.send("GET", keys + key + query)
        if status != 200:
            return "conflict" if status == 409 else "unavailable"
        balances.append(balance)
    amount = node.chance.randint(1, 10)
    if balances[0] < amount:
        node.send("POST", path + "/abort")
        return "too poor"
    for key, balance in ((one, balances[0] - amount), (other, balances[1] + amount)):
        status, _ = node.send("PUT", keys + key, str(balance).encode())
        if status != 202:
            return "unavailable"
    status, _ = node.send("POST", f"{path}/commit?first={KEYSPACE}/{one}")
    return ENDS.get(status, "unavailable")


def transfer(node):
    """Moves something from one account to another: what was read must still be there when it is written."""
    one, other = node.chance.sample(range(node.accounts), 2)
    keys = [{"keyspace": KEYSPACE, "key": account(n)} for n in (one, other)]
    status, answer = node.post("/v1/txn", {"reads": keys})
    if status != 200:
        return "unavailable"
    balances = [int(read["value"]) for read in answer["reads"]]
    amount = node.chance.randint(1, 10)
    if balances[0] < amount:
        return "too poor"
    checks = [dict(key, version=read["version"]) for key, read in zip(keys, answer["reads"])]
    changed = (balances[0] - amount, balances[1] + amount)
    writes = [dict(key, value=str(balance)) for key, balance in zip(keys, changed)]
    status, _ = node.post("/v1/txn", {"checks": checks, "writes": writes})
    return ENDS.get(status, "unavailable")


def prepare(node):
    """Makes the keyspace and the accounts."""
    splits = [account(node.accounts * part // 4) for part in (1, 2, 3)]
    keyspace = {"name": KEYSPACE, "mode": "transactional", "split_at": splits}
    status, answer = node.post("/v1/keyspaces", keyspace, timeout=60)
    if status not in (201, 409):
        raise SystemExit(f"the keyspace was not made: {status} {answer.get('error', '')}")
    for _ in range(30):
        writes = [{"keyspace": KEYSPACE, "key": account(n), "value": str(EACH)} for n in range(node.accounts)]
        status, answer = node.post("/v1/txn", {"writes": writes})
        if status == 200:
            return
        time.sleep(0.5)
    raise SystemExit(f"the accounts were not made: {status} {answer.get('error', '')}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("urls", help="nodes, separated by commas")
    arguments.add_argument("--seconds", type=float, default=20)
    arguments.add_argument("--clients", type=int, default=8)
    arguments.add_argument("--accounts", type=int, default=100, choices=range(4, 101), metavar="4..100")
    arguments = arguments.parse_args()
    urls, accounts = arguments.urls.split(","), arguments.accounts
    prepare(Node(urls, accounts))
    end, counts, sums, lock = time.time() + arguments.seconds, {}, [], threading.Lock()

    def move():
        node = Node(urls, accounts)
        while time.time() < end:
            what = node.chance.choice((transfer, transfer_in_steps))(node)
            with lock:
                counts[what] = counts.get(what, 0) + 1
            if what in ("unavailable", "unknown"):
                time.sleep(0.1)

    def look():
        node = Node(urls, accounts)
        while time.time() < end:
            balances = snapshot(node)
            if balances is not None:
                with lock:
                    sums.append(sum(balances.values()))
            time.sleep(0.02)

    threads = [threading.Thread(target=move) for _ in range(arguments.clients)]
    threads += [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    wrong = [total for total in sums if total != accounts * EACH]
    print(f"{len(sums)} snapshots; the sum was {accounts * EACH} in {len(sums) - len(wrong)} of them")
    if wrong or not sums or not counts.get("done"):
        raise SystemExit(f"WRONG: {wrong[:5] or 'nothing was done'}")
    print("total constant")


if __name__ == "__main__":
    main()
