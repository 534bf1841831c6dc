// The part of the page with the question of a lesson and its measured answer.

import type { Excerpt } from "../lab/protocol.ts";
import type { Lesson } from "./lessons.ts";

/**
 * Shows a lesson's question in an element; returns a function that shows the values measured. Its second argument: whether a value was
 * changed in this run, without which there is no answer.
 */
export function panel(place: HTMLElement, lesson: Lesson): (excerpts: (Excerpt | null)[], changed: boolean) => void {
  const question = document.createElement("p");
  question.className = "question";
  question.textContent = lesson.question;
  const list = document.createElement("ul");
  const answer = document.createElement("p");
  answer.className = "answer";
  answer.setAttribute("role", "status");
  place.replaceChildren(question, list, answer);
  place.hidden = false;
  let answered = false;
  const span = lesson.seconds >= 1 ? `${lesson.seconds} s` : `${lesson.seconds * 1000} ms`;
  return (excerpts, changed) => {
    if (excerpts.length < (lesson.second === undefined ? 1 : 2)) {
      answer.textContent = "The question needs both variants: choose the lesson again.";
      return;
    }
    const all = excerpts.filter((excerpt) => excerpt !== null);
    if (all.length < excerpts.length || all.length === 0) {
      // Values of an earlier run, or of before the change, would be mistaken for those of now.
      list.replaceChildren();
      answer.textContent = `${answered ? "Answered before. " : ""}Measured over ${span} of the run without a change: press Play and wait.`;
      return;
    }
    const measured = lesson.measure(all);
    const over = document.createElement("li");
    over.className = "over";
    over.textContent = `In the last ${span}:`;
    list.replaceChildren(
      over,
      ...measured.map(({ name, value, goal, holds }) => {
        const item = document.createElement("li");
        item.className = holds ? "holds" : "";
        item.textContent = `${name}: ${value} (${goal.startsWith("for") ? "" : "goal: "}${goal})`;
        return item;
      }),
    );
    const holds = changed && measured.every((one) => one.holds);
    answered ||= holds;
    if (holds) answer.textContent = `Answered. ${lesson.why}`;
    else answer.textContent = answered ? "Answered before, but not with the present values." : "Not answered yet: move the slider.";
  };
}
