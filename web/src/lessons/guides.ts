// Questions of scenarios of the gallery, as in the lessons: what the experiment is about, by one slider.

import { above, below, type Lesson } from "./lessons.ts";

type Guide = Omit<Lesson, "id" | "title" | "toml">;

/** Guides by the id of the scenario in the gallery. */
const GUIDES: Record<string, Guide> = {
  "lan-b1": {
    about:
      "Two videos (class 0, first in priority) and bursts of data (class 1) share a 10 Mbit/s link behind sw3. In A a congested queue stops everything that arrives at its switch, in B only the traffic of its class. Watch sw1, through which only video goes. Try: move the rate of the data.",
    first: ["backpressure.scope=plain"],
    second: ["backpressure.scope=class"],
    tunable: ["flows[data].source.rate"],
    port: "sw1->sw2",
    flow: "video[1]",
    speed: 5,
    seconds: 20,
    question: "Video has priority. At which rate of the data does it lose nothing in A, too, for 20 s?",
    measure: ([a, b]) => [
      below("Video frames lost in A", a!.lost["video"] ?? 0, 0, "packets"),
      below("Video frames lost in B", b!.lost["video"] ?? 0, 0, "packets"),
    ],
    why: "A notification that does not name the class stops the video as well, which then overflows the small buffer of sw1: congestion of the low class harms the high one. With the class only the data waits (Tobagi and others, slides on priority and back-pressure).",
  },
  "internet-e15": {
    about:
      "400 TCP connections and one flow of constant rate, cbr, which does not react to drops, share a link of 45 Mbit/s. In A its queue is managed by RED, in B by SFB, which hashes flows into bins. Watch the data of each that arrives. Try: move the rate of cbr.",
    second: ['switches.r0.ports.r1.discipline={ kind = "sfb" }'],
    tunable: ["flows[cbr].source.rate"],
    port: "r0->r1",
    flow: "cbr",
    speed: 2,
    seconds: 10,
    question: "How slow must cbr be so that TCP gets more than 30 of the 45 Mbit/s with RED (A)? With SFB (B) it gets that at any rate.",
    measure: ([a, b]) => [above("TCP data in A", a!.goodput["tcp"] ?? 0, 30, "Mbit/s"), above("TCP data in B", b!.goodput["tcp"] ?? 0, 30, "Mbit/s")],
    why: "RED drops the same share of all flows, so that the flow that does not react keeps what the others give up. In SFB only the bins of that flow fill and are limited; TCP keeps the rest (Feng and others, Stochastic Fair Blue, INFOCOM 2001).",
  },
};

/** The question of a scenario of the gallery; `null`: it has none. */
export function guideOf(entry: { id: string; title: string; toml: string }): Lesson | null {
  const guide = GUIDES[entry.id];
  return guide === undefined ? null : { id: entry.id, title: entry.title, toml: entry.toml, ...guide };
}

/** Ids of the scenarios that have a question. */
export const GUIDED = Object.keys(GUIDES);
