// Dice and cards as drawn.

import { h, icon } from "./dom.js";
import { _, card, face, percent } from "./texts.js";

export const facePicture = (name, alt = "") => h("img", { src: `/static/faces/${name}.svg`, alt, width: 100, height: 100 });

export const cardPicture = (name, alt = "", lazy = false) =>
  h("img.card", { src: `/static/cards/${name || "back"}.svg`, alt, width: 63, height: 100, loading: lazy ? "lazy" : null });

/** One die of the raid as a button: its face, how sure, locked, on the card. */
export function dieButton(die, { doubtful = false, disabled = false, pictured = true } = {}) {
  const certainty = die.certainty;
  const words = [_("Die {n}: {face}", { n: die.index + 1, face: face(die.face) })];
  if (doubtful) words.push(_("doubtful"));
  else if (certainty !== null && certainty < 0.995) words.push(_("{percent} certain", { percent: percent(certainty) }));
  if (die.locked) words.push(_("stays"));
  if (die.on_card) words.push(_("on the card"));
  const sure = certainty === null || certainty === undefined ? 1 : Math.max(0.06, (certainty - 0.5) * 2);
  return h("button.die", {
    type: "button", "data-act": "die", "data-die": die.index, "data-command": true, "data-key": `d${die.index}`,
    "aria-label": words.join(", "), disabled,
    class: [doubtful && "doubtful", die.locked && "locked", die.on_card && "on-card", die.face === "skull" && "is-skull",
      (certainty === null || certainty === undefined) && "by-hand"].filter(Boolean).join(" "),
    vars: { "--sure": sure.toFixed(3) },
  },
  pictured && facePicture(die.face),
  doubtful && h("span.badge.ask", { "aria-hidden": "true" }, "?"),
  die.on_card && h("span.badge.chest", {}, icon("chest")),
  h("span.sure", { "aria-hidden": "true" }));
}

/** Faces as a row of small pictures, read out as a list. */
export function faceRow(faces, onCard = []) {
  return h("ul.faces", { "aria-label": _("Dice") }, faces.map((name, i) =>
    h("li", { class: onCard.includes(i) ? "on-card" : "" }, facePicture(name, face(name)),
      onCard.includes(i) && h("span.hidden", {}, _("on the card")))));
}

/** All cards of the deck to choose from. */
export function cardGrid(deck, chosen, act = "pick-card") {
  return h("ul.cards", {}, deck.map((name) => h("li", {},
    h("button", { type: "button", "data-act": act, "data-card": name, "data-command": true, "aria-pressed": String(name === chosen) },
      cardPicture(name, "", true), h("span", {}, card(name))))));
}
