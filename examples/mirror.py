#!/usr/bin/env python3
"""Mirrors a Dunlin keyspace into SQLite: mirror.py http://HOST:PORT[,URL..] KEYSPACE FILE [--until-end]

Data and token are stored in one transaction, so it may be killed at any moment and goes on where it was.
Read it with: sqlite3 FILE 'SELECT key, value FROM pairs WHERE value IS NOT NULL'
"""
import base64, json, sqlite3, sys, time, urllib.error, urllib.parse, urllib.request


def field(event, name):
    """Bytes come as text, or in base64 where they are no text."""
    if name in event:
        return event[name].encode()
    return base64.b64decode(event[name + "_base64"]) if name + "_base64" in event else None


def store(db, event):
    """Deleted keys are kept without a value: an older change may come behind a newer one."""
    if event["event"] == "change":
        row = (field(event, "key"), event["partition"], event["rank"], field(event, "value"))
        db.execute("INSERT INTO pairs VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET partition = excluded.partition,"
                   " rank = excluded.rank, value = excluded.value WHERE excluded.rank > rank", row)
    elif event["event"] == "snapshot_begins" and event["scope"] == "complete":
        db.execute("DELETE FROM pairs WHERE partition = ?", (event["partition"],))
    if "token" in event:
        db.execute("INSERT OR REPLACE INTO place VALUES (0, ?)", (event["token"],))
        db.commit()


def follow(db, url, query):
    """One connection; why the stream ended."""
    with urllib.request.urlopen(url + "?" + urllib.parse.urlencode(query), timeout=20) as answer:
        for line in answer:
            event = json.loads(line)
            store(db, event)
            if event["event"] in ("end", "dropped"):
                return event.get("reason", "dropped")


def main(servers, keyspace, file, until_end=""):
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE IF NOT EXISTS pairs (key BLOB PRIMARY KEY, partition INT, rank TEXT, value BLOB)")
    db.execute("CREATE TABLE IF NOT EXISTS place (one INT PRIMARY KEY, token TEXT)")
    for turn in range(1 << 62):
        server = servers.split(",")[turn % len(servers.split(","))]
        place = db.execute("SELECT token FROM place").fetchone()
        query = {"from": place[0] if place else "beginning", **({"until": "end"} if until_end else {})}
        try:
            reason = follow(db, f"{server}/v1/keyspaces/{keyspace}/changes", query)
            if reason in ("until", "dropped", "forbidden"):
                return print("mirror ends:", reason)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                sys.exit(f"{server}: {error.read().decode()}")
        except OSError as error:
            print(f"{server}: {error}", file=sys.stderr)
        db.rollback()  # what came behind the last token comes again
        time.sleep(0.2)


main(*sys.argv[1:])
