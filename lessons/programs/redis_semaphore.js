// Works under a Mutex of redis-semaphore: redis_semaphore.js LEASE_MS WORK_MS RETRY_MS [no-refresh]
const Redis = require("ioredis");
const { Mutex } = require("redis-semaphore");

const STEP = 500;
const [lease, work, retry] = process.argv.slice(2, 5).map(Number);
const sleep = (millis) => new Promise((done) => setTimeout(done, millis));

const redis = new Redis({ host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) });
let lost = false;
const mutex = new Mutex(redis, "lock", {
  lockTimeout: lease,
  acquireTimeout: 60000,
  retryInterval: retry,
  ...(process.argv.includes("no-refresh") && { refreshInterval: 0 }),
  onLockLost: (error) => {
    lost = true;
    console.log(`onLockLost: ${error.message}`);
  },
});

(async () => {
  console.log("WAITS lock");
  await mutex.acquire();
  console.log("HOLDS lock");
  for (let left = work; left > 0 && !lost; left -= STEP) await sleep(STEP);
  console.log(`release() answers ${await mutex.release()}`);
  console.log("DROPS lock");
  redis.disconnect();
})();
