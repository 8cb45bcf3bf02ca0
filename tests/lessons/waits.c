// Waits with each of libc's functions that only programs other than Lockstep wait on.
//
//   waits SECONDS...  For each number, waits that long with all functions at once, and prints the name of each that
//                     ended.
//   waits NAME        Waits 20 s with one function, and prints its result. A byte on standard input makes a file
//                     ready and posts the semaphore; SIGUSR1 interrupts.
//
// Prints to standard error, which is not buffered.

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
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

static const struct wait { const char *name; struct told (*wait)(long ms); } waits[] = {
    {"nanosleep", by_nanosleep}, {"poll", by_poll}, {"ppoll", by_ppoll},
    {"pselect", by_pselect}, {"select", by_select}, {"sem_clockwait", by_sem_clockwait},
    {"sem_timedwait", by_sem_timedwait}, {"sleep", by_sleep}, {"usleep", by_usleep},
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
    for (int i = 0; i < WAITS; i++)
        if (argc == 2 && !strcmp(argv[1], waits[i].name)) wait_with(&waits[i]);
    fprintf(stderr, "ready\n");
    for (int i = 1; i < argc; i++) wait_in_every_way(atol(argv[i]) * 1000);
}
