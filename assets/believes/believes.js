const { writeSync } = require("node:fs");
const believes = (what, lock) => writeSync(1, `${what} ${lock}\n`); // "HOLDS", "SHARES", "WAITS" or "DROPS"
