/* For LD_PRELOAD: while the file named by STALL_FILE is there, syncs hang of files whose path holds the text STALL_BELOW. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for(int file) {
    const char *flag = getenv("STALL_FILE"), *below = getenv("STALL_BELOW");
    char link[64], path[4096];
    if (!flag || !below || access(flag, F_OK) != 0) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    while (strstr(path, below) && access(flag, F_OK) == 0) usleep(20000);
}

int fsync(int file) {
    int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
    wait_for(file);
    return next(file);
}

int fdatasync(int file) {
    int (*next)(int) = dlsym(RTLD_NEXT, "fdatasync");
    wait_for(file);
    return next(file);
}
