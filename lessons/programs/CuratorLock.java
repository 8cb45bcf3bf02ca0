// Works under Curator's InterProcessMutex, and writes to /stock at the end: CuratorLock.java SESSION_MS WORK_MS [listens] [fenced]
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.KeeperException.BadVersionException;
import org.apache.zookeeper.data.Stat;

class CuratorLock {
    static final int STEP = 500;

    /** Tells the path of its node, which InterProcessMutex keeps to itself. */
    static class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client) {
            super(client, "/lock");
        }

        String node() {
            return getLockPath();
        }
    }

    public static void main(String[] args) throws Exception {
        int session = Integer.parseInt(args[0]);
        int work = Integer.parseInt(args[1]);
        boolean listens = List.of(args).contains("listens");
        boolean fenced = List.of(args).contains("fenced");
        var name = System.getenv("LOCKSTEP_CLIENT");
        var trouble = new AtomicBoolean();
        var retries = new RetryNTimes(3, 1000);
        var client = CuratorFrameworkFactory.newClient(System.getenv("ZOOKEEPER"), session, 15000, retries);
        client.getConnectionStateListenable().addListener((of, state) -> {
            System.out.println("Curator says: " + state);
            if (!state.isConnected()) {
                trouble.set(true);
            }
        });
        client.start();
        client.blockUntilConnected();

        var mutex = new Mutex(client);
        System.out.println("WAITS /lock");
        mutex.acquire();
        trouble.set(false);
        System.out.println("HOLDS /lock");
        long token = fenced ? client.checkExists().forPath(mutex.node()).getCzxid() : 0;
        for (int left = work; left > 0 && !(listens && trouble.get()); left -= STEP) {
            Thread.sleep(STEP);
        }
        if (listens && trouble.get()) {
            System.out.println("stops, and writes nothing");
        } else if (!fenced) {
            System.out.println("writes: isAcquiredInThisProcess() is " + mutex.isAcquiredInThisProcess());
            client.setData().forPath("/stock", name.getBytes(UTF_8));
        } else {
            System.out.println("writes with czxid " + token + (write(client, token, name) ? "" : ": refused"));
        }
        System.out.println("DROPS /lock");
        mutex.release();
        System.out.println("release() had nothing to say");
        client.close();
    }

    /** Writes to /stock, unless somebody has with a later node of the lock's. */
    static boolean write(CuratorFramework client, long token, String name) throws Exception {
        var seen = new Stat();
        var last = new String(client.getData().storingStatIn(seen).forPath("/stock"), UTF_8);
        if (Long.parseLong(last.split(" ")[0]) > token) {
            return false;
        }
        try {
            var data = (token + " " + name).getBytes(UTF_8);
            client.setData().withVersion(seen.getVersion()).forPath("/stock", data);
            return true;
        } catch (BadVersionException meanwhile) {
            return false;
        }
    }
}
