"""Takes a lock with redlock-py, works, gives it back: redlock_py.py LEASE_MS WORK_MS RETRY_MS [monotonic]"""

import os
import sys
import time
import types

import redis
import redlock

lease, work, retry = (int(word) for word in sys.argv[1:4])
if "monotonic" in sys.argv:
    # The library counts with time.time(), which somebody may set. Nobody sets this one.
    redlock.time = types.SimpleNamespace(time=time.monotonic, sleep=time.sleep)

server = redis.Redis(host=os.environ["REDIS_HOST"], port=int(os.environ["REDIS_PORT"]))
manager = redlock.Redlock([server], retry_count=20, retry_delay=retry / 1000)

print("WAITS lock")
lock = manager.lock("lock", lease)
print(f"redlock-py says: valid for {lock.validity} ms")
print("HOLDS lock")
time.sleep(work / 1000)
manager.unlock(lock)
print("DROPS lock")
