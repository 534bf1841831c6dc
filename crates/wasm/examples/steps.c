/* Steps through a run, sends a message before and one after the link is slowed down, and prints when they arrive.
 *
 *     cargo build --release -p tailback-wasm
 *     cc -Icrates/wasm crates/wasm/examples/steps.c -Ltarget/release -ltailback_wasm -o steps
 *     LD_LIBRARY_PATH=target/release ./steps
 */
#include "tailback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A millisecond in picoseconds. */
#define MS UINT64_C(1000000000)

static const char SCENARIO[] =
    "tailback = 1\n"
    "run = { duration = \"100ms\", tunable = [\"links[0].rate\"] }\n"
    "network = { framing = \"none\" }\n"
    "hosts = { a = {}, b = {} }\n"
    "links = [{ between = [\"a\", \"b\"], rate = \"8Mbit/s\", delay = \"5ms\" }]\n"
    "[[flows]]\n"
    "name = \"message\"\n"
    "from = \"a\"\n"
    "to = \"b\"\n"
    "start = \"99ms\"\n"
    "source = { kind = \"bulk\", size = \"1B\" }\n";

static const uint8_t *bytes(const char *text) { return (const uint8_t *)text; }

/* Prints the text of the error and ends the program if a call was refused. */
static void check(uint32_t status) {
    if (status == TAILBACK_REFUSED) {
        fprintf(stderr, "%.*s\n", (int)tailback_result_len(), (const char *)tailback_result_ptr());
        exit(1);
    }
}

int main(void) {
    uint32_t run = tailback_open(bytes(SCENARIO), strlen(SCENARIO), 1);
    if (run == 0) check(TAILBACK_REFUSED);
    check(tailback_record(run, bytes("b"), 1));

    /* At 8 Mbit/s, 1000 B take 1 ms to transmit and 5 ms to propagate: the message of 10 ms arrives at 16 ms. */
    check(tailback_send(run, bytes("message"), strlen("message"), 1000, 10 * MS));
    check(tailback_run_until(run, 50 * MS, 0));

    /* At 2 Mbit/s, the transmission takes 4 ms: the message of 60 ms arrives at 69 ms. */
    const char *slower = "links[0].rate=2Mbit/s";
    check(tailback_change(run, bytes(slower), strlen(slower), 0));
    check(tailback_send(run, bytes("message"), strlen("message"), 1000, 60 * MS));
    while (tailback_run_until(run, 90 * MS, 1000) == TAILBACK_RUNNING) {
    }
    printf("now %" PRIu64 "\n", tailback_now(run));

    check(tailback_receive(run));
    printf("%.*s", (int)tailback_result_len(), (const char *)tailback_result_ptr());
    check(tailback_close(run));
    return 0;
}
