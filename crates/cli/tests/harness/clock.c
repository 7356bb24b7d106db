/* For LD_PRELOAD before libfaketime: jemalloc's start, which reads the clock and makes conditions, does without it.
   libfaketime starts at its first call and allocates then, which would wait for jemalloc's start for ever. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int (*next_gettime)(clockid_t, struct timespec *);
static int (*next_init)(pthread_cond_t *, const pthread_condattr_t *);

__attribute__((constructor)) static void start(void) {
    struct timespec now;
    int (*gettime)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    gettime(CLOCK_REALTIME, &now);
    next_init = dlsym(RTLD_NEXT, "pthread_cond_init");
    next_gettime = gettime;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    return next_gettime ? next_gettime(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
}

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
    if (next_init) return next_init(condition, attributes);
    memset(condition, 0, sizeof *condition);
    return 0;
}
