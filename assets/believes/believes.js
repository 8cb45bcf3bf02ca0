const { writeSync } = require("node:fs");
const believes = (what, lock) => writeSync(1, `${what} ${lock}\n`); // "HOLDS", "WAITS" or "DROPS"
