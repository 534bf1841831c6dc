// The part of the page with the question of a lesson and its measured answer.

import type { Excerpt } from "../lab/protocol.ts";
import type { Lesson } from "./lessons.ts";

/** Shows a lesson's question in an element; returns a function that shows the values measured. */
export function panel(place: HTMLElement, lesson: Lesson): (excerpts: (Excerpt | null)[]) => void {
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
  return (excerpts) => {
    if (excerpts.length < (lesson.second === undefined ? 1 : 2)) {
      answer.textContent = "The question needs both variants: choose the lesson again.";
      return;
    }
    const all = excerpts.filter((excerpt) => excerpt !== null);
    if (all.length < excerpts.length || all.length === 0) {
      if (!answered) answer.textContent = `Measured over ${span} of the run without a change: press Play and wait.`;
      return;
    }
    const measured = lesson.measure(all);
    list.replaceChildren(
      ...measured.map(({ name, value, goal, holds }) => {
        const item = document.createElement("li");
        item.className = holds ? "holds" : "";
        item.textContent = `${name}: ${value} (${goal.startsWith("for") ? "" : "goal: "}${goal})`;
        return item;
      }),
    );
    answered ||= measured.every(({ holds }) => holds);
    answer.textContent = answered ? `Answered. ${lesson.why}` : "Not answered yet: move the slider.";
  };
}
