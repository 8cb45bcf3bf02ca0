#!/usr/bin/env bash
# Makes the pictures in assets/pictures from the recordings that Lockstep carries: assets/pictures.sh [DIRECTORY]
# That of free play, free-play.svg, is drawn by tests/screens/free_picture.rs, from a recording of its own:
# LOCKSTEP_DRAW=1 cargo nextest run --test screens free_picture
# LOCKSTEP names the program to make them with; without it, it is built.
set -euo pipefail
directory=$(realpath -m "${1:-$(dirname "${BASH_SOURCE[0]}")/pictures}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ -z "${LOCKSTEP:-}" ]; then
    LOCKSTEP=(cargo run --quiet --locked --)
else
    LOCKSTEP=("$LOCKSTEP")
fi
mkdir -p "$directory"

# picture NAME LESSON VARIANT STEP SIZE LANGUAGE THEME
picture() {
    "${LOCKSTEP[@]}" export "$2" --variant "$3" --recorded --at "$4" --size "$5" --lang "$6" --theme "$7" \
        --output "$directory/$1.svg"
}

# Each lesson at the moment that it is about, on a small, a usual and a large screen.
for size in 80x24 120x40 200x60; do
    picture "oversell-$size" oversell lost-update 14 "$size" en dark
    picture "setnx-without-expire-$size" setnx-without-expire two-commands 14 "$size" en dark
    picture "unlock-someone-elses-lock-$size" unlock-someone-elses-lock blind-del 16 "$size" en dark
    picture "watchdog-$size" watchdog no-renewal 11 "$size" en dark
    picture "master-failover-$size" failover replication-lag 12 "$size" en dark
    picture "zk-herd-$size" zk-herd herd 13 "$size" en dark
done
# Other people's programs as clients.
picture redis-py-lock redis-py-lock frozen-holder 11 120x40 en dark
# The other language, the other ground.
picture unlock-someone-elses-lock-zh unlock-someone-elses-lock blind-del 16 120x40 zh light
