// Waits with each of libc's functions that only programs other than Lockstep wait on.
//
//   waits SECONDS...  For each number, waits that long with all functions at once, and prints the name of each that
//                     ended.
//   waits NAME        Waits 20 s with one function, and prints its result. A byte on standard input makes a file
//                     ready and posts the semaphore; SIGUSR1 interrupts.
//
// Prints to standard error, which is not buffered.

#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// Milliseconds left, and a bit for each of the two files that is ready; -1 if the function does not report it.
struct told { int result; long left; int ready; };

// The second file never becomes ready.
static int files[2];
static sem_t semaphore;

static struct timespec span(long ms) { return (struct timespec){ms / 1000, ms % 1000 * 1000000}; }
static long millis(struct timespec t) { return t.tv_sec * 1000 + t.tv_nsec / 1000000; }

static struct timespec now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t;
}

static struct timespec after(clockid_t clock, long ms) {
    struct timespec t = now(clock);
    t.tv_sec += ms / 1000;
    return t;
}

// Both files, for the functions that wait for files.
static fd_set both(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(files[0], &set);
    FD_SET(files[1], &set);
    return set;
}
static int count(void) { return (files[0] > files[1] ? files[0] : files[1]) + 1; }
static int in(fd_set *set) { return (FD_ISSET(files[0], set) ? 1 : 0) + (FD_ISSET(files[1], set) ? 2 : 0); }

static struct told by_sleep(long ms) { return (struct told){sleep(ms / 1000), -1, -1}; }

static struct told by_usleep(long ms) { return (struct told){usleep(ms * 1000), -1, -1}; }

static struct told by_nanosleep(long ms) {
    struct timespec time = span(ms);
    int result = nanosleep(&time, &time);
    return (struct told){result, millis(time), -1};
}

static struct told by_select(long ms) {
    struct timeval time = {ms / 1000, ms % 1000 * 1000};
    fd_set set = both();
    int result = select(count(), &set, NULL, NULL, &time);
    return (struct told){result, time.tv_sec * 1000 + time.tv_usec / 1000, in(&set)};
}

static struct told by_pselect(long ms) {
    struct timespec time = span(ms);
    fd_set set = both();
    int result = pselect(count(), &set, NULL, NULL, &time, NULL);
    return (struct told){result, millis(time), in(&set)};
}

static struct told ready(int result, struct pollfd polled[2], long left) {
    return (struct told){result, left, (polled[0].revents ? 1 : 0) + (polled[1].revents ? 2 : 0)};
}

static struct told by_poll(long ms) {
    struct pollfd polled[2] = {{files[0], POLLIN, 0}, {files[1], POLLIN, 0}};
    int result = poll(polled, 2, ms);
    return ready(result, polled, -1);
}

static struct told by_ppoll(long ms) {
    struct timespec time = span(ms);
    struct pollfd polled[2] = {{files[0], POLLIN, 0}, {files[1], POLLIN, 0}};
    int result = ppoll(polled, 2, &time, NULL);
    return ready(result, polled, millis(time));
}

static struct told by_sem_timedwait(long ms) {
    struct timespec deadline = after(CLOCK_REALTIME, ms);
    return (struct told){sem_timedwait(&semaphore, &deadline), -1, -1};
}

static struct told by_sem_clockwait(long ms) {
    struct timespec deadline = after(CLOCK_MONOTONIC, ms);
    return (struct told){sem_clockwait(&semaphore, CLOCK_MONOTONIC, &deadline), -1, -1};
}

static struct told by_thrd_sleep(long ms) {
    struct timespec time = span(ms);
    int result = thrd_sleep(&time, &time);
    if (result == -1) errno = EINTR;
    return (struct told){result, millis(time), -1};
}

static struct told by_epoll_pwait2(long ms) {
    struct timespec time = span(ms);
    struct epoll_event events[2] = {{EPOLLIN, {.u32 = 0}}, {EPOLLIN, {.u32 = 1}}}, ready;
    int epoll = epoll_create1(0);
    for (int i = 0; i < 2; i++) epoll_ctl(epoll, EPOLL_CTL_ADD, files[i], &events[i]);
    int result = epoll_pwait2(epoll, &ready, 1, &time, NULL);
    return (struct told){result, -1, result > 0 ? 1 + ready.data.u32 : 0};
}

// The functions that return the error.
static struct told failed(int error) {
    errno = error;
    return (struct told){error ? -1 : 0, -1, -1};
}
static int c11(int result) { return result == thrd_timedout ? ETIMEDOUT : result == thrd_success ? 0 : EINVAL; }

// `timespec_get` and the other functions of C11 belong together.
static struct timespec c11_after(long ms) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    t.tv_sec += ms / 1000;
    return t;
}

static struct told by_cnd_timedwait(long ms) {
    struct timespec deadline = c11_after(ms);
    cnd_t condition;
    mtx_t mutex;
    cnd_init(&condition);
    mtx_init(&mutex, mtx_plain);
    mtx_lock(&mutex);
    int result;
    while ((result = cnd_timedwait(&condition, &mutex, &deadline)) == thrd_success);
    return failed(c11(result));
}

// Locks that are taken, each once in `main`.
static mtx_t c11_mutex;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t sleeper;

static void *sleep_on(void *nothing) {
    pause();
    return nothing;
}

static void *hold_rwlock(void *nothing) {
    pthread_rwlock_wrlock(&rwlock);
    return nothing;
}

static struct told by_mtx_timedlock(long ms) {
    struct timespec deadline = c11_after(ms);
    return failed(c11(mtx_timedlock(&c11_mutex, &deadline)));
}

#define BY(name, call, of)                              \
    static struct told by_##name(long ms) {             \
        struct timespec deadline = after(of, ms);       \
        return failed(call);                            \
    }
BY(pthread_mutex_timedlock, pthread_mutex_timedlock(&mutex, &deadline), CLOCK_REALTIME)
BY(pthread_mutex_clocklock, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline), CLOCK_MONOTONIC)
BY(pthread_rwlock_timedrdlock, pthread_rwlock_timedrdlock(&rwlock, &deadline), CLOCK_REALTIME)
BY(pthread_rwlock_timedwrlock, pthread_rwlock_timedwrlock(&rwlock, &deadline), CLOCK_REALTIME)
BY(pthread_rwlock_clockrdlock, pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &deadline), CLOCK_MONOTONIC)
BY(pthread_rwlock_clockwrlock, pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &deadline), CLOCK_MONOTONIC)
BY(pthread_timedjoin_np, pthread_timedjoin_np(sleeper, NULL, &deadline), CLOCK_REALTIME)
BY(pthread_clockjoin_np, pthread_clockjoin_np(sleeper, NULL, CLOCK_MONOTONIC, &deadline), CLOCK_MONOTONIC)

// The functions for which EAGAIN says that the time is over.
static struct told again(int result) {
    if (result == -1 && errno == EAGAIN) errno = ETIMEDOUT;
    return (struct told){result, -1, -1};
}

static struct told by_sigtimedwait(long ms) {
    struct timespec time = span(ms);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return again(sigtimedwait(&set, NULL, &time));
}

static struct told by_semtimedop(long ms) {
    struct timespec time = span(ms);
    int set = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf take = {0, -1, 0};
    struct told told = again(semtimedop(set, &take, 1, &time));
    int error = errno;
    semctl(set, 0, IPC_RMID);
    errno = error;
    return told;
}

static struct told by_aio_suspend(long ms) {
    struct timespec time = span(ms);
    static char byte;
    static struct aiocb reading;
    reading = (struct aiocb){.aio_fildes = files[1], .aio_buf = &byte, .aio_nbytes = 1};
    aio_read(&reading);
    const struct aiocb *list[] = {&reading};
    return again(aio_suspend(list, 1, &time));
}

static struct told by_futex(long ms) {
    struct timespec time = span(ms);
    int word = 0;
    return (struct told){syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0), -1, -1};
}

static mqd_t queue(void) {
    char name[40];
    snprintf(name, sizeof name, "/lockstep-waits-%d-%lx", getpid(), (long)pthread_self());
    struct mq_attr one = {.mq_maxmsg = 1, .mq_msgsize = 1};
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &one);
    mq_unlink(name);
    return queue;
}

static struct told by_mq_timedreceive(long ms) {
    char byte;
    struct timespec deadline = after(CLOCK_REALTIME, ms);
    return (struct told){mq_timedreceive(queue(), &byte, 1, NULL, &deadline), -1, -1};
}

static struct told by_mq_timedsend(long ms) {
    mqd_t full = queue();
    mq_send(full, "", 1, 0);
    struct timespec deadline = after(CLOCK_REALTIME, ms);
    return (struct told){mq_timedsend(full, "", 1, 0, &deadline), -1, -1};
}

static pthread_mutex_t idle_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_condition = PTHREAD_COND_INITIALIZER;

// Not among those that end after a time: in a server this wait has no end.
static struct told by_pthread_cond_clockwait(long ms) {
    struct timespec deadline = after(CLOCK_MONOTONIC, ms);
    pthread_mutex_lock(&idle_mutex);
    int result = pthread_cond_clockwait(&idle_condition, &idle_mutex, CLOCK_MONOTONIC, &deadline);
    pthread_mutex_unlock(&idle_mutex);
    return (struct told){result, -1, -1};
}

static const struct wait { const char *name; struct told (*wait)(long ms); } waits[] = {
#define WAIT(name) {#name, by_##name}
    WAIT(aio_suspend), WAIT(cnd_timedwait), WAIT(epoll_pwait2), WAIT(futex), WAIT(mq_timedreceive),
    WAIT(mq_timedsend), WAIT(mtx_timedlock), WAIT(nanosleep), WAIT(poll), WAIT(ppoll), WAIT(pselect),
    WAIT(pthread_clockjoin_np), WAIT(pthread_mutex_clocklock), WAIT(pthread_mutex_timedlock),
    WAIT(pthread_rwlock_clockrdlock), WAIT(pthread_rwlock_clockwrlock), WAIT(pthread_rwlock_timedrdlock),
    WAIT(pthread_rwlock_timedwrlock), WAIT(pthread_timedjoin_np), WAIT(select), WAIT(sem_clockwait),
    WAIT(sem_timedwait), WAIT(semtimedop), WAIT(sigtimedwait), WAIT(sleep), WAIT(thrd_sleep), WAIT(usleep),
};
enum { WAITS = sizeof waits / sizeof *waits };

static long round_ms;

static void *wait_one(void *one) {
    const struct wait *wait = one;
    long start = millis(now(CLOCK_MONOTONIC));
    struct told told = wait->wait(round_ms);
    int timed_out = (told.result == 0 || errno == ETIMEDOUT) && told.ready <= 0;
    long took = millis(now(CLOCK_MONOTONIC)) - start;
    if (timed_out && took >= round_ms) fprintf(stderr, "%s\n", wait->name);
    else fprintf(stderr, "%s: %d after %ld of %ld ms\n", wait->name, told.result, took, round_ms);
    return NULL;
}

static void wait_in_every_way(long ms) {
    pthread_t threads[WAITS];
    round_ms = ms;
    for (int i = 0; i < WAITS; i++) pthread_create(&threads[i], NULL, wait_one, (void *)&waits[i]);
    for (int i = 0; i < WAITS; i++) pthread_join(threads[i], NULL);
}

static void interrupt(int signal) { (void)signal; }

static void *post(void *nothing) {
    struct pollfd input = {0, POLLIN, 0};
    poll(&input, 1, -1);
    sem_post(&semaphore);
    pthread_mutex_lock(&idle_mutex);
    pthread_cond_signal(&idle_condition);
    pthread_mutex_unlock(&idle_mutex);
    return nothing;
}

static void wait_with(const struct wait *wait) {
    // Only the waiting thread is to be interrupted.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t poster;
    pthread_create(&poster, NULL, post, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = interrupt}, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);

    files[0] = 0;
    fprintf(stderr, "waiting\n");
    struct told told = wait->wait(20000);
    const char *error = told.result >= 0 ? "" : errno == EINTR ? ", interrupted" : strerror(errno);
    fprintf(stderr, "%d%s, left %ld, ready %d\n", told.result, error, told.left, told.ready);
    exit(0);
}

int main(int argc, char **argv) {
    int pipes[2][2];
    if (pipe(pipes[0]) || pipe(pipes[1]) || sem_init(&semaphore, 0, 0)) return 1;
    files[0] = pipes[0][0];
    files[1] = pipes[1][0];
    mtx_init(&c11_mutex, mtx_timed);
    mtx_lock(&c11_mutex);
    pthread_mutex_lock(&mutex);
    // A thread that holds the lock would not wait for it: it would be told of the deadlock.
    pthread_t holder;
    pthread_create(&holder, NULL, hold_rwlock, NULL);
    pthread_join(holder, NULL);
    pthread_create(&sleeper, NULL, sleep_on, NULL);
    static const struct wait idle = {"pthread_cond_clockwait", by_pthread_cond_clockwait};
    if (argc == 2 && !strcmp(argv[1], idle.name)) wait_with(&idle);
    for (int i = 0; i < WAITS; i++)
        if (argc == 2 && !strcmp(argv[1], waits[i].name)) wait_with(&waits[i]);
    fprintf(stderr, "ready\n");
    for (int i = 1; i < argc; i++) wait_in_every_way(atol(argv[i]) * 1000);
}
