"""Takes a lock with redis-py's Lock, works, gives it back: redis_py_lock.py LEASE_MS WORK_MS POLL_MS [read-back]"""

import os
import sys
import time
import uuid

import redis

lease, work, poll = (int(word) / 1000 for word in sys.argv[1:4])
client = redis.Redis(host=os.environ["REDIS_HOST"], port=int(os.environ["REDIS_PORT"]))
lock = client.lock("lock", timeout=lease, sleep=poll)
token = f"{os.environ['LOCKSTEP_CLIENT']}-{uuid.uuid4()}"

print("WAITS lock")
if "read-back" in sys.argv:
    # acquire() answers False both where the lock is somebody else's and where it is our own: only the value tells.
    while not lock.acquire(blocking=False, token=token) and client.get("lock") != token.encode():
        time.sleep(poll)
else:
    lock.acquire(token=token)
print("HOLDS lock")
time.sleep(work)
try:
    lock.do_release(token.encode())
    print("released")
except redis.exceptions.LockError as error:
    print(f"{type(error).__name__}: {error}")
print("DROPS lock")
