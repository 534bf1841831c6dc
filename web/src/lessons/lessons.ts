// The lessons: scenarios with a question that is answered by moving a slider.

import type { Excerpt, Variant } from "../lab/protocol.ts";
import bcn from "./bcn.toml";
import bufferbloat from "./bufferbloat.toml";
import deadlock from "./deadlock.toml";
import pause from "./pause.toml";
import priority from "./priority.toml";
import red from "./red.toml";
import synchronisation from "./synchronisation.toml";
import unresponsive from "./unresponsive.toml";

/** One part of an answer: what is measured, its value with a unit, the goal, and whether the goal holds. */
export interface Measured {
  name: string;
  value: string;
  goal: string;
  holds: boolean;
}

export interface Lesson {
  /** Name in the address: `#lesson=id`. */
  id: string;
  title: string;
  /** What one sees, and what to try. */
  about: string;
  toml: string;
  /** Lines `path=value` of variant A; absent: none. */
  first?: string[];
  /** Lines `path=value` of variant B; absent: there is one variant. */
  second?: string[];
  /** Keys that can change during the run, in addition to those that the scenario declares. */
  tunable?: string[];
  /** The port whose queue is watched, and the flow that is plotted. */
  port: string;
  flow: string;
  /** Simulated seconds per second at the start. */
  speed: number;
  /** Simulated seconds without a change over which the answer is measured. */
  seconds: number;
  question: string;
  /** Values from the excerpts of all variants. */
  measure: (all: Excerpt[]) => Measured[];
  /** Why, with the source. */
  why: string;
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);
const digits = (value: number) => String(Number(value.toPrecision(3)));

/** Returns whether a value is below (or not above) a limit, as a part of an answer. */
export function below(name: string, value: number, limit: number, unit: string): Measured {
  return { name, value: `${digits(value)} ${unit}`, goal: limit === 0 ? "0" : `below ${limit} ${unit}`, holds: limit === 0 ? value === 0 : value < limit };
}

export function above(name: string, value: number, limit: number, unit: string): Measured {
  return { name, value: `${digits(value)} ${unit}`, goal: `above ${limit} ${unit}`, holds: value > limit };
}

const port = "a->b";
const full = (excerpt: Excerpt) => excerpt.drops["buffer full"] ?? 0;

/** All lessons, in the order of the list. */
export const LESSONS: Lesson[] = [
  {
    id: "synchronisation",
    title: "1. Global synchronisation",
    about:
      "Eight TCP flows share a link. Its queue drops packets only when its 60 kB are full. Then several flows lose packets at once and reduce their windows together, and the queue runs empty. Try: give RED, which drops single packets earlier, a lower threshold.",
    toml: synchronisation,
    port,
    flow: "tcp[1]",
    speed: 2,
    seconds: 10,
    question: "Lower RED's threshold min until no packet is dropped at a full queue, while the link stays busy.",
    measure: ([a]) => [below("Drops at a full queue in 10 s", full(a!), 0, ""), above("Throughput", a!.throughput, 9.5, "Mbit/s")],
    why: "Early drops with a small probability hit flows at different times, so their windows no longer fall together (Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance, 1993).",
  },
  {
    id: "red",
    title: "2. RED with many flows",
    about:
      "Forty TCP flows share a link. RED drops with a probability of at most max-p while the average queue is below 45 kB, and drops every packet above. With a small max-p the flows do not slow down enough: see average_bytes of the discipline. Try a larger max-p.",
    toml: red,
    port,
    flow: "tcp[1]",
    speed: 2,
    seconds: 10,
    question: "Choose max-p such that the average queue stays below 44.5 kB, just under the upper threshold, for 10 s.",
    measure: ([a]) => [
      below("Largest average queue in 10 s", Math.max(...(a!.state["average_bytes"] ?? [Infinity])) / 1000, 44.5, "kB"),
      above("Throughput", a!.throughput, 9.5, "Mbit/s"),
    ],
    why: "The loss rate at which TCP flows fill the link grows with the square of their number, so a max-p for few flows is too small for many (Feng and others, A Self-Configuring RED Gateway, INFOCOM 1999).",
  },
  {
    id: "unresponsive",
    title: "3. A flow that does not respond",
    about:
      "Twenty TCP flows and one UDP flow share a link of 10 Mbit/s. Blue (A) drops packets of all flows with the same probability; SFB (B) has probabilities by flow. Try: raise the rate of the UDP flow in both, and compare what the TCP flows get.",
    toml: unresponsive,
    second: ['switches.a.ports.b.discipline={ kind = "sfb" }'],
    port,
    flow: "udp",
    speed: 2,
    seconds: 10,
    question: "How much UDP leaves TCP less than a tenth of the link in A, while it keeps more than half in B?",
    measure: ([a, b]) => [below("TCP data in A", a!.goodput["tcp"] ?? 0, 1, "Mbit/s"), above("TCP data in B", b!.goodput["tcp"] ?? 0, 5, "Mbit/s")],
    why: "Only the bins of the flow that ignores drops reach a probability of 1 in SFB; TCP has other bins on at least one level (Feng and others, Stochastic Fair Blue, INFOCOM 2001).",
  },
  {
    id: "pause",
    title: "4. Whom PAUSE frames stop",
    about:
      "Bursts and two videos go to d1 behind a slow link; a bystander sends to d2 over the same switches. In A a full queue stops the whole port of the neighbour, in B only the traffic of its class to its destination. Try: raise the rate of the bursts in both.",
    toml: pause,
    second: ["backpressure.scope=class-destination"],
    port: "sw3->d1",
    flow: "bystander",
    speed: 1,
    seconds: 10,
    question: "At which rate of the bursts does the bystander lose more than half of its 10 Mbit/s in A, and less than a tenth in B?",
    measure: ([a, b]) => [
      below("Bystander in A", a!.goodput["bystander"] ?? 0, 5, "Mbit/s"),
      above("Bystander in B", b!.goodput["bystander"] ?? 0, 9, "Mbit/s"),
    ],
    why: "PAUSE stops everything on a link (IEEE 802.3, annex 31B), although the bystander's path is free; a notification that names class and destination stops only the traffic that fills the queue.",
  },
  {
    id: "bcn",
    title: "5. The control loop of BCN",
    about:
      "Four hosts offer 20 Gbit/s to a link of 10 Gbit/s. The core samples frames and tells the senders to slow down or to speed up, so that 16 frames wait. With rare samples the queue overflows, and the rates then recover slowly. Try: sample more often.",
    toml: bcn,
    port: "core->d",
    flow: "data[1]",
    speed: 0.005,
    seconds: 0.02,
    question: "Choose the sampling probability with which the queue stays between empty and 60 kB for 20 ms at a busy link.",
    measure: ([a]) => [
      above("Smallest queue in 20 ms", Math.min(...a!.queue), 0, "kB"),
      below("Largest queue in 20 ms", Math.max(...a!.queue), 60, "kB"),
      above("Throughput", a!.throughput, 9500, "Mbit/s"),
    ],
    why: "The loop gets one signal per sample; with few samples the rates are corrected too late in both directions (Bergamasco, Updates on Backward Congestion Notification, IEEE 802 Plenary, July 2005).",
  },
  {
    id: "priority",
    title: "6. Weighted queues and a priority class",
    about:
      "Voice (3 Mbit/s), video (8 Mbit/s) and TCP data share 10 Mbit/s. Voice has strict priority, but at a congested link only up to its reserved rate; the rest is dropped. Video and data share what remains by their weights. Try: change the reserved rate.",
    toml: priority,
    port,
    flow: "voice[1]",
    speed: 1,
    seconds: 10,
    question: "Which reserved rate delivers all voice and leaves data at least 2 Mbit/s?",
    measure: ([a]) => [above("Voice", a!.goodput["voice"] ?? 0, 2.9, "Mbit/s"), above("Data", a!.goodput["data"] ?? 0, 2, "Mbit/s")],
    why: "A priority class must be limited to protect the others, so its reservation has to cover the real-time load; weights divide the rest (RFC 3246; Cisco, Low Latency Queueing).",
  },
  {
    id: "bufferbloat",
    title: "7. Bufferbloat, CoDel and FQ-CoDel",
    about:
      "Four downloads and a sparse flow share a link. A is a drop-tail queue with a buffer of 1 MB, which TCP fills: packets wait for more than half a second. B has the same buffer with FQ-CoDel, which keeps its queues short. Try: reduce the buffer of A.",
    toml: bufferbloat,
    second: ['switches.a.ports.b.discipline={ kind = "fq-codel" }'],
    port,
    flow: "sparse",
    speed: 2,
    seconds: 10,
    question: "Which buffer gives A a mean delay below 30 ms and still more than 9.5 Mbit/s? B needs no such choice.",
    measure: ([a, b]) => [
      below("Mean delay of the queue in A", mean(a!.delay), 30, "ms"),
      above("Throughput of A", a!.throughput, 9.5, "Mbit/s"),
      { name: "Mean delay of the queues in B", value: `${digits(mean(b!.delay))} ms`, goal: "for comparison", holds: true },
    ],
    why: "A buffer that fits one load and round-trip time is wrong for others; CoDel controls the time that packets wait instead, and separate queues protect sparse flows (RFC 8289, RFC 8290).",
  },
  {
    id: "deadlock",
    title: "8. Deadlock by priority flow control",
    about:
      "Five switches form a ring, and each link carries two flows the same way round, with a load of 0.93 on the wire. A switch whose memory fills stops its neighbour. If every switch waits for the next one, nothing moves again. Try: reduce the memory of the switches.",
    toml: deadlock,
    port: "s1->s2",
    flow: "f1",
    speed: 0.001,
    seconds: 0.002,
    question: "Reduce the memory until the whole ring stops for ever: no data arrives for 2 ms. More memory then does not help; press Start again.",
    measure: ([a]) => [below("Data that arrives, all flows", Object.values(a!.goodput).reduce((x, y) => x + y, 0), 0, "Mbit/s")],
    why: "Buffers that wait for each other in a cycle never empty; only routes without cycles or drops end it (Dally and Towles, Principles and Practices of Interconnection Networks, chapter 14; Guo and others, RDMA over Commodity Ethernet at Scale, SIGCOMM 2016).",
  },
];

/** Variants of a lesson at its start. */
export function variantsOf({ toml, first = [], second, tunable = [] }: Lesson): Variant[] {
  const all = [first, ...(second === undefined ? [] : [second])];
  return all.map((sets) => ({ text: toml, sets, tunable: [...tunable], timeline: [] }));
}

/** The lesson that an address names; `null`: none. */
export function lessonOf(fragment: string): Lesson | null {
  const id = /^#lesson=([\w-]+)$/.exec(fragment)?.[1];
  return LESSONS.find((lesson) => lesson.id === id) ?? null;
}
