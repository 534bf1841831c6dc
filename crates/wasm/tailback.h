/* Tailback's C interface: run a scenario, or step through it.
 *
 * Texts are UTF-8 without a terminating zero; pointers to texts are not null. Times are picoseconds since the start of
 * the run, in answers as decimal numbers. A handle belongs to the thread that opened it. The answer of a call, or the
 * text of its error, is read at tailback_result_ptr() and is valid until the next call in the same thread. The rules of
 * stepping are in docs/stepping.md. Build the library with `cargo build --release -p tailback-wasm`.
 */
#ifndef TAILBACK_H
#define TAILBACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status of calls that return uint32_t, except tailback_open and tailback_open_traced, which return a handle. A call with
 * an unknown handle is refused. */
enum {
    TAILBACK_DONE = 0,    /* Done; the last result is the answer, or empty. */
    TAILBACK_REFUSED = 1, /* Refused; the last result is the text of the error. */
    TAILBACK_RUNNING = 2  /* Only tailback_run_until: the budget was used up, and events may remain. */
};

/* Address of the last result, and its length in bytes. */
const uint8_t *tailback_result_ptr(void);
size_t tailback_result_len(void);

/* Runs one replication of a scenario in TOML; the answer is the report as JSON. */
uint32_t tailback_run(const uint8_t *toml, size_t len, uint64_t seed);

/* For editors. The answer of the first is the JSON Schema of a scenario. That of the second is JSON: the lists `errors` and
 * `warnings` with message, path, line, column, help and text; without an error also title, seed, warmup, declared (run.tunable),
 * network (nodes, links, flows), and tunable, the values that can change during a run. The third replaces values: the text is `pairs_len`
 * bytes of lines `path=value` and then the scenario; the answer is the changed scenario in TOML. */
uint32_t tailback_schema(void);
uint32_t tailback_check(const uint8_t *toml, size_t len);
uint32_t tailback_set(const uint8_t *text, size_t len, size_t pairs_len);

/* Assembles a module of WebAssembly in the text format (a user's component, .wat); the answer is its binary format. */
uint32_t tailback_assemble(const uint8_t *text, size_t len);

/* Opens a simulation that is stepped through. Returns its handle; 0: refused, and the last result is the text of the
 * error. */
uint32_t tailback_open(const uint8_t *toml, size_t len, uint64_t seed);

/* Opens a simulation as tailback_open does, with a packet trace of all events. The rows are kept until
 * tailback_take_trace takes them. */
uint32_t tailback_open_traced(const uint8_t *toml, size_t len, uint64_t seed);

/* Opens a simulation as tailback_open_traced does, with the selected kinds of events and frames: bit k of `events` and of
 * `frames` for the kind at index k of the lists that tailback_names gives. */
uint32_t tailback_open_selected(const uint8_t *toml, size_t len, uint64_t seed, uint32_t events, uint32_t frames);

/* Closes a simulation and frees its memory. */
uint32_t tailback_close(uint32_t handle);

/* Time up to which all events have been handled, last instant of the run (both 0 for an unknown handle), and time of the
 * next event (UINT64_MAX: there is none, or the handle is unknown). */
uint64_t tailback_now(uint32_t handle);
uint64_t tailback_end(uint32_t handle);
uint64_t tailback_next_event(uint32_t handle);

/* Handles at most `budget` events (0: all) at and before `at_ps`, or up to the end of the run if `at_ps` is later. */
uint32_t tailback_run_until(uint32_t handle, uint64_t at_ps, uint64_t budget);

/* Moves to `at_ps`. If `at_ps` is before the current time, the run is replayed from its start without the changes after
 * `at_ps`, and the answer is "replayed"; otherwise the answer is empty. */
uint32_t tailback_jump(uint32_t handle, uint64_t at_ps);

/* The answer is the state of the network as JSON. */
uint32_t tailback_view(uint32_t handle);

/* Schedules a change of tunable keys at `at_ps`, or, if `at_ps` is not after the current time, 1 ps from now. The text has
 * a line `path=value` for each key. The answer is the time of the change. */
uint32_t tailback_change(uint32_t handle, const uint8_t *pairs, size_t len, uint64_t at_ps);

/* Schedules `bytes` of payload (1 to 2^40) of the flow with the given name, in addition to that of its source, at `at_ps`
 * or, if `at_ps` is not after the current time, 1 ps from now. The answer is the time of sending. */
uint32_t tailback_send(uint32_t handle, const uint8_t *flow, size_t len, uint64_t bytes, uint64_t at_ps);

/* Records the data that arrives from now on at the host with the given name; refuses an unknown host. */
uint32_t tailback_record(uint32_t handle, const uint8_t *host, size_t len);

/* The answer has a line for each recorded packet since the last call, in order of time. Its fields, separated by spaces:
 * time of arrival, sequence number, payload bytes, time of generation, flow. */
uint32_t tailback_receive(uint32_t handle);

/* The answer has a line for each row of the packet trace since the last call. Its fields, separated by spaces: time, event,
 * frame, port, class, number of the packet or segment, identity of the packet, payload bytes, buffer bytes, wire bytes,
 * waiting packets, waiting bytes, flow (`-` in rows without a flow). See docs/traces.md. Empty without a trace. */
uint32_t tailback_take_trace(uint32_t handle);

/* The answer has a record of 40 bytes for each row of the packet trace since the last call; it is not text. Its numbers,
 * unsigned and little-endian: time, identity of the packet (8 bytes each); port, flow (UINT32_MAX: none), number of the
 * packet or segment, waiting bytes (4 each); buffer bytes, wire bytes (2 each); event, frame, class, reason of a drop in
 * the order of `reason` in docs/traces.md (255: none) (1 each). */
uint32_t tailback_take_rows(uint32_t handle);

/* The answer is JSON with the names of the indices in records: the lists `ports`, `flows`, `events` and `frames`. */
uint32_t tailback_names(uint32_t handle);

/* The answer is the number of rows that were taken so far, a space, and their hash. Refused without a trace. */
uint32_t tailback_trace_hash(uint32_t handle);

/* The answer is the scenario with all changes made so far in its timeline, as TOML. */
uint32_t tailback_scenario(uint32_t handle);

/* The answer is the report of a run that ends now, as JSON; closes the simulation. */
uint32_t tailback_report(uint32_t handle);

/* A host of users' components (queue laws, schedulers, congestion controls and sources): function that answers for the
 * components of the scenarios opened afterwards on the same thread. Its arguments are a task, a number, `len` bytes of input, and the place of the result; it returns 0, or another number if
 * the task failed. Tasks, with records of tailback_law.h:
 *
 *     0  load a class: the input is file, zero, class; the result is the description, the number of the class (4 bytes) and
 *        the hash of the file (64 bytes of text)
 *     1  make an instance of the class `number`: the input is four numbers of 4 bytes, the size of the memory that a
 *        WebAssembly module of this role lends, the offset of the answer in it, the size of the answer, and the offset of
 *        `event` in the call; the result is the number of the instance (4 bytes)
 *     2  call the instance `number`: the input is the call, the result the answer
 *     3  read a state variable of the instance `number`: the input is its number (4 bytes), the result a double
 *     4  free the instance `number`
 *     5  note the name of the instance `number` (optional): the input is the component and its place, and after a zero each
 *        the names of its calls in the order of their numbers
 */
typedef int32_t (*tailback_law_host_function)(uint32_t task, uint32_t number, const uint8_t *input, size_t len, void *result);
void tailback_set_law_host(tailback_law_host_function host);

/* The functions of tailback_law.h for the law of the present task: the reason of a failure, draws, parameters (text: the
 * last result), and functions of numbers, by their order in tailback_host from ln (0) to pow (8). */
void tailback_law_fail(const uint8_t *reason, size_t len);
double tailback_law_random(void);
uint64_t tailback_law_below(uint64_t n);
double tailback_law_exponential(double mean);
double tailback_law_normal(void);
double tailback_law_parameter(const uint8_t *name, size_t len, uint32_t unit, double otherwise);
uint32_t tailback_law_text(const uint8_t *name, size_t len);
double tailback_law_maths(uint32_t function, double x, double y);

#ifdef __cplusplus
}
#endif

#endif
