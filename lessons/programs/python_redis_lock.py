"""Takes a lock with python-redis-lock, which renews it, and works in steps: python_redis_lock.py LEASE_MS WORK_MS [own-clock]"""

import os
import sys
import time

import redis
import redis_lock

STEP = 0.5
# When the renewing thread fails, Python prints its exception; the line that names it is enough.
sys.tracebacklimit = 0

lease, work = (int(word) / 1000 for word in sys.argv[1:3])
client = redis.Redis(host=os.environ["REDIS_HOST"], port=int(os.environ["REDIS_PORT"]))


class Dated(redis_lock.Lock):
    """The same lock, which knows until when it surely holds: counted from before each request, on a clock that nobody sets."""

    until = 0.0

    def acquire(self, *args, **kwargs):
        began = time.monotonic()
        while not super().acquire(*args, **kwargs, blocking=False):
            time.sleep(STEP)
            began = time.monotonic()
        self.until = began + lease
        return True

    def extend(self, *args, **kwargs):
        began = time.monotonic()
        super().extend(*args, **kwargs)
        self.until = began + lease


own_clock = "own-clock" in sys.argv
kind = Dated if own_clock else redis_lock.Lock
lock = kind(client, "lock", expire=int(lease), auto_renewal=True)
print("WAITS lock")
lock.acquire()
print("HOLDS lock")
left = work
while left > 0:
    if own_clock and time.monotonic() + STEP > lock.until:
        print("stops: nobody has confirmed the lock in time")
        break
    time.sleep(STEP)
    left -= STEP
print("DROPS lock")
try:
    lock.release()
    print("released")
except redis_lock.NotAcquired as error:
    print(f"{type(error).__name__}: {error}")
