import os
def believes(what, lock): os.write(1, f"{what} {lock}\n".encode())  # "HOLDS", "SHARES", "WAITS" or "DROPS"
