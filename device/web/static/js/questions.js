// What the table asks: one doubt at a time at the foot of the page, likeliest answers first; and what it announces.

import { $, h, icon } from "./dom.js";
import { _, card, face, ngettext, number, percent, points, sentence } from "./texts.js";
import { secondsTo } from "./link.js";
import { cardPicture, facePicture } from "./pictures.js";

const ANNOUNCED = ["bust", "island", "over"];
const words = {
  yes: () => _("Yes"), no: () => _("No"), misread: () => _("It was misread"), ignore: () => _("Leave it as it was"),
  accept: () => _("Accept it"), rolled: () => _("It was rolled"), still_skull: () => _("It is still a skull"),
  never_skull: () => _("It never was a skull"),
};

const answerWord = (value) => (words[value] ? words[value]() : null);
export const openQuestion = (state) => state.questions.find((q) => !ANNOUNCED.includes(q.kind)) || null;
export const announcement = (state) => state.questions.find((q) => ANNOUNCED.includes(q.kind)) || null;

/** The sheet with the question at hand. */
export function questionSheet(state) {
  const question = openQuestion(state);
  if (!question) return null;
  const others = state.questions.filter((q) => !ANNOUNCED.includes(q.kind)).length - 1;
  return h("section.question", { role: "group", "aria-labelledby": "question-text", "data-key": question.id },
    h("div.question-head", {},
      question.box && ["running", "streaming"].includes(state.camera?.state) && h("canvas.look", { width: 96, height: 96, "data-box": question.box.join(","), "data-key": "look",
        role: "img", "aria-label": _("The die as the camera sees it") }),
      h("div", {}, h("h2", { id: "question-text" }, sentence(question)),
        h("p.quiet", {}, others > 0 ? ngettext("{n} more question after this one.", "{n} more questions after this one.", others)
          : _("Nothing is scored until somebody says."), countdown(question)))),
    answers(question, state));
}

function answers(question, state) {
  const can = state.can_act;
  if (question.kind === "face") return faceAnswers(question, can);
  if (question.choices.some((choice) => state.settings.cards?.includes(choice.value))) return cardAnswers(question, can);
  return h("div.answers", {}, question.choices.map((choice, i) =>
    answer(question, choice, can, { class: i === 0 ? "primary" : "" }, answerWord(choice.value) || choice.value)));
}

function answer(question, choice, can, attributes, ...content) {
  return h("button", {
    type: "button", "data-act": "answer", "data-question": question.id, "data-choice": choice.value, "data-command": true,
    disabled: !can, ...attributes,
  }, content);
}

function faceAnswers(question, can) {
  const [first, second, ...rest] = question.choices;
  const one = (choice, big) => answer(question, choice, can, {}, facePicture(choice.value), h("span", {}, face(choice.value)),
    big && choice.probability >= 0.01 && h("small", {}, percent(choice.probability)));
  return [
    h("div.two", {}, [first, second].filter(Boolean).map((choice) => one(choice, true))),
    rest.length ? h("div.rest", { role: "group", "aria-label": _("Other faces") }, rest.map((choice) => one(choice, false))) : null,
  ];
}

function cardAnswers(question, can) {
  return h("div.card-answers", {}, question.choices.map((choice, i) => answer(question, choice, can, {},
    cardPicture(choice.value, "", i > 3), h("span", {}, card(choice.value)))));
}

function countdown(question) {
  if (question.deadline === null || question.deadline === undefined) return null;
  return h("span.countdown", { "data-deadline": question.deadline }, "");
}

/** Bust, the end of Skull Island, a raid that the rules have ended. */
export function announcementBanner(state) {
  const question = announcement(state);
  if (!question) return null;
  const args = question.args || {};
  const titles = { bust: _("Sunk!"), island: _("Back from Skull Island"), over: _("The raid is over") };
  const detail = question.kind === "island"
    ? ngettext("{n} skull on the island", "{n} skulls on the island", args.skulls ?? 0)
    : question.kind === "bust" ? ngettext("{n} skull", "{n} skulls", args.skulls ?? 0) : null;
  const value = question.kind === "island"
    ? _("each other player {points}", { points: points(args.others ?? 0) })
    : _("{player} gets {points}", { player: args.player ?? "", points: number(args.total ?? 0) });
  return h("section.announcement", { class: question.kind, role: "alert", "data-key": `a-${question.id}` },
    h("div.mark", {}, question.kind === "over" ? icon("flag") : facePicture("skull")),
    h("div.said", {}, h("h2", {}, titles[question.kind] || sentence(question)), h("p", {}, [detail, value].filter(Boolean).join(" · "))),
    h("div.answers", {}, question.choices.map((choice) => answer(question, choice, state.can_act,
      { class: choice.value === "misread" ? "ghost" : "primary" },
      choice.value === "misread" ? _("No, that was misread") : choice.value === "yes" ? _("Write it down") : choice.value))),
    question.deadline !== null && h("span.fuse", { "aria-hidden": "true", "data-deadline": question.deadline, "data-grace": Math.max(1, question.deadline - state.now).toFixed(2) }));
}

/** Count what has a deadline down; called a few times a second. */
export function tick(root) {
  for (const element of root.querySelectorAll("[data-deadline]")) {
    const left = Math.max(0, secondsTo(Number(element.dataset.deadline)));
    if (element.classList.contains("fuse")) {
      element.dataset.all ||= Math.max(left, 1).toFixed(2);
      element.style.setProperty("--left", Math.min(1, left / Number(element.dataset.all)).toFixed(3));
    } else {
      const text = left > 0 ? ` ${_("Answers itself in {n} s.", { n: Math.ceil(left) })}` : "";
      if (element.textContent !== text) element.textContent = text;
    }
  }
}

/** Show the asked die as the camera sees it now. */
export async function lookCloser(root, state) {
  const canvas = $("canvas.look", root);
  const size = state.reading?.size;
  if (!canvas || !size || canvas.dataset.shown === canvas.dataset.box) return;
  canvas.dataset.shown = canvas.dataset.box;
  try {
    const answer = await fetch("/live.jpg", { cache: "no-store" });
    if (!answer.ok) return;
    const image = await createImageBitmap(await answer.blob());
    const [x0, y0, x1, y1] = canvas.dataset.box.split(",").map((v) => (Number(v) * image.width) / size[0]);
    const side = Math.max(x1 - x0, y1 - y0) * 1.5;
    canvas.getContext("2d").drawImage(image, (x0 + x1 - side) / 2, (y0 + y1 - side) / 2, side, side, 0, 0, 96, 96);
    canvas.classList.add("shown");
  } catch {
    delete canvas.dataset.shown;
  }
}
