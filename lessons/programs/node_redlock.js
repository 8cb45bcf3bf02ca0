// Works under redlock's using(), and counts what was done: node_redlock.js LEASE_MS WORK_MS RETRY_MS [each-try-anew]
const Redis = require("ioredis");
const { default: Redlock } = require("redlock");

const STEP = 500;
const [lease, work, retry] = process.argv.slice(2, 5).map(Number);
const eachTryAnew = process.argv.includes("each-try-anew");
const sleep = (millis) => new Promise((done) => setTimeout(done, millis));

const redis = new Redis({ host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) });
const redlock = new Redlock([redis], {
  retryCount: eachTryAnew ? 0 : 20,
  retryDelay: retry,
  retryJitter: 0,
  automaticExtensionThreshold: 500,
});
// Each refusal is told here, too.
redlock.on("error", () => {});

const routine = async (signal) => {
  console.log("HOLDS lock");
  try {
    for (let left = work; left > 0; left -= STEP) {
      await sleep(STEP);
      // As the README shows it.
      if (signal.aborted) throw signal.error;
    }
    await redis.incr("done");
  } finally {
    console.log("DROPS lock");
  }
};

(async () => {
  console.log("WAITS lock");
  for (;;) {
    try {
      await redlock.using(["lock"], lease, routine);
      break;
    } catch (error) {
      // With one try for each using(), a refusal is no more than that.
      if (!eachTryAnew || !error.message.includes("quorum")) {
        console.log(`gives up: ${error.message}`);
        break;
      }
      await sleep(retry);
    }
  }
  redis.disconnect();
})();
