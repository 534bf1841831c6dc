// The clock of the guest, nanoseconds, and the end of a program that fails. To be included after the headers of the system, with PROGRAM
// defined as the name in messages.
#define BILLION 1000000000LL

static void fail(const char *what) {
    fprintf(stderr, PROGRAM ": %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * BILLION + t.tv_nsec;
}

static void sleep_until(int64_t at) {
    struct timespec t = {at / BILLION, at % BILLION};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}
