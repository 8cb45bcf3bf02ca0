"""Works under kazoo's Lock: kazoo_lock.py SESSION_MS WORK_MS [listens]"""

import logging
import os
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState

STEP = 0.5

logging.basicConfig(level=logging.CRITICAL)
session, work = (int(word) / 1000 for word in sys.argv[1:3])
client = KazooClient(hosts=os.environ["ZOOKEEPER"], timeout=session)
trouble = threading.Event()


def say(line):
    # In one piece: kazoo's own thread says something, too, and print() writes a line and its end apart.
    sys.stdout.write(line + "\n")


@client.add_listener
def heard(state):
    say(f"kazoo says: {state}")
    if state != KazooState.CONNECTED:
        trouble.set()


client.start()
lock = client.Lock("/lock", os.environ["LOCKSTEP_CLIENT"])
say("WAITS /lock")
lock.acquire()
trouble.clear()
say("HOLDS /lock")
left = work
while left > 0 and not ("listens" in sys.argv and trouble.is_set()):
    time.sleep(STEP)
    left -= STEP
say("DROPS /lock")
if "listens" not in sys.argv or not trouble.is_set():
    say(f"is_acquired is {lock.is_acquired}")
    lock.release()
    say("release() had nothing to say")
client.stop()
