// Every raid with its lines and its photographs; each can be corrected.

import { $, h, icon, show, taps } from "./dom.js";
import { _, card, ngettext, outcome, points, sentence, when } from "./texts.js";
import { onState, table } from "./link.js";
import { OUTCOME_ICONS, rollsText, sheetLines } from "./pad.js";
import { cardPicture, faceRow } from "./pictures.js";
import { wholeRaid } from "./dice.js";
import { openSheet } from "./sheet.js";
import "./shell.js";

const place = $("#raids");
let jumped = false;

/** One raid as a fold; `state` null for an old game, which is only looked at. */
export function raidFold(raid, canCorrect) {
  const sign = OUTCOME_ICONS[raid.outcome];
  return h("details.fold", { id: `raid-${raid.number + 1}`, "data-key": `raid-${raid.number}` },
    h("summary", {}, h("span.no", {}, raid.number + 1), cardPicture(raid.card, "", true),
      h("span.what", {}, h("bdi", {}, raid.player), h("small", {}, card(raid.card), raid.outcome !== "scored" ? ` · ${outcome(raid.outcome)}` : "")),
      raid.corrected && h("span.tag", {}, icon("pencil"), _("corrected")),
      h("b.points", { class: raid.total < 0 ? "minus" : "" }, sign && icon(sign), points(raid.total)), icon("down", "chevron")),
    h("div.fold-body", {},
      raid.faces.length ? faceRow(raid.faces, raid.on_card) : null,
      sheetLines(raid),
      h("p.quiet", {}, [raid.rolls ? rollsText(raid.rolls) : null, source(raid.source)].filter(Boolean).join(" · ")),
      raid.counts === false && h("p.quiet", {}, _("This raid came after the end of the game and does not count.")),
      raid.unchecked.length ? h("div.quiet", {}, _("Not checked:"), h("ul.notes", {}, raid.unchecked.map((entry) => h("li", {}, sentence(entry))))) : null,
      photos(raid),
      canCorrect && h("button", { type: "button", "data-act": "correct", "data-raid": raid.number, "data-command": true }, icon("pencil"), _("Correct this raid"))));
}

function source(name) {
  return { camera: _("seen by the camera"), phone: _("entered on a phone"), button: _("ended with the button"), table: _("ended by the table") }[name] || null;
}

function photos(raid) {
  if (!raid.photos?.length) return h("p.quiet", {}, _("No photograph of this raid."));
  return h("ul.photos", {}, raid.photos.map((photo) => {
    const name = photo.roll ? _("Roll {n}", { n: photo.roll }) : _("Photograph");
    return h("li", {}, h("button", { type: "button", "data-act": "photo", "data-url": photo.url, "data-name": name },
      h("img", { src: photo.url, alt: "", loading: "lazy", width: 160, height: 120 }), h("span", {}, name)));
  }));
}

export const photoAction = ({ url, name }) =>
  openSheet(name, () => h("img.evidence", { src: url, alt: _("The table as the camera saw it") }), {}, { wide: true });

function draw(state) {
  if (!state.game) return show(place, h("p.quiet", {}, _("There is no game yet.")));
  if (!state.raids.length) return show(place, h("p.quiet", {}, _("No raid is written down yet.")));
  const can = state.can_act && state.can.correct_raid?.ok;
  show(place, [
    h("p.quiet", { "data-key": "count" }, ngettext("{n} raid", "{n} raids", state.raids.length), state.game.started ? ` · ${when(state.game.started)}` : ""),
    ...[...state.raids].reverse().map((raid) => raidFold(raid, can)),
  ]);
  if (!jumped && window.location.hash) {
    const wanted = document.getElementById(window.location.hash.slice(1));
    if (wanted) {
      wanted.open = true;
      wanted.scrollIntoView({ block: "start" });
    }
  }
  jumped = true;
}

if (place) {
  taps(place, { correct: ({ raid }) => wholeRaid(table.state.raids[Number(raid)]), photo: photoAction });
  onState(draw);
}
