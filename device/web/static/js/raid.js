// The raid in progress: card, skulls, eight dice as seen, what it is worth if it ends now, and what can be done.

import { h, icon } from "./dom.js";
import { _, card, ngettext, number, outcome, points, sentence } from "./texts.js";
import { rollsText, sheetLines } from "./pad.js";
import { cardPicture, dieButton } from "./pictures.js";

export function raidView(state) {
  const raid = state.raid;
  const player = state.players[state.turn];
  if (!raid) return player ? waiting(state, player) : null;
  return h("section.raid", { "data-key": `raid-${raid.number}`, "aria-labelledby": "raid-title" },
    h("header.raid-head", {},
      h("h1", { id: "raid-title" }, h("bdi", {}, raid.player)),
      h("p.quiet", {}, raid.rolls ? rollsText(raid.rolls) : _("about to roll"), phaseWord(raid))),
    h("div.hand", {}, cardButton(state, raid), worth(raid)),
    raid.dice.length ? diceGrid(state, raid) : emptyTray(state, raid),
    notes(raid));
}

function phaseWord(raid) {
  if (raid.phase === "island") return ` · ${_("on Skull Island")}`;
  if (raid.watchwoman) return ` · ${_("only the Watchwoman helps")}`;
  return "";
}

function waiting(state, player) {
  return h("section.raid.waiting", { "data-key": `wait-${state.raids.length}`, "aria-labelledby": "raid-title" },
    h("header.raid-head", {}, h("h1", { id: "raid-title" }, h("bdi", {}, player.name)),
      h("p.quiet", {}, _("is next"))),
    h("div.hand", {},
      h("button.card-button", { type: "button", "data-act": "card", "data-command": true, disabled: !state.can_act || !state.can.draw_card?.ok,
        "aria-label": _("Choose the card that was drawn") }, cardPicture(null)),
      h("div.worth", {}, h("p.big-words", {}, _("Draw a card")),
        h("p.quiet", {}, ["running", "streaming"].includes(state.camera?.state) ? _("The lookout sees card and dice by himself; or tap the card.") : _("Tap the card that was drawn.")))),
    emptyTray(state, null));
}

function cardButton(state, raid) {
  const name = raid.card ? card(raid.card) : _("no card yet");
  return h("button.card-button", { type: "button", "data-act": "card", "data-command": true, "data-key": "card",
    disabled: !state.can_act || !state.can.draw_card?.ok, "aria-label": _("Card: {card}. Choose another one", { card: name }) },
  cardPicture(raid.card), h("span.card-name", {}, name));
}

function worth(raid) {
  const now = raid.worth_now;
  const value = now ? number(now.total) : "–";
  return h("div.worth", { "data-key": "worth" },
    h("p.value", { class: now && now.total < 0 ? "minus" : "", role: "status" }, h("span.hidden", {}, _("Worth if it ends now:"), " "), value),
    h("p.quiet", {}, _("if it ends now"), now?.others ? ` · ${_("each other player {points}", { points: points(now.others) })}` : ""),
    skulls(raid),
    now && now.lines.length > 0 && h("details.how", { "data-key": "how" },
      h("summary", {}, now.outcome === "scored" ? _("How it counts") : outcome(now.outcome), icon("down")), sheetLines(now)));
}

function skulls(raid) {
  const n = raid.skulls;
  const text = ngettext("{n} skull", "{n} skulls", n);
  return h("p.skulls", { class: n >= 3 ? "deadly" : n === 2 ? "near" : "", "data-key": "skulls" },
    h("span", { "aria-hidden": "true" }, Array.from({ length: Math.max(3, Math.min(n, 10)) }, (unused, i) => icon("skull", i < n ? "on" : "off"))),
    h("span.count", {}, text));
}

function diceGrid(state, raid) {
  const asked = new Set(state.questions.filter((q) => q.kind === "face" || q.die !== null).map((q) => q.die));
  return h("div.dice", { role: "group", "aria-label": _("The eight dice; tap one to correct it"), "data-key": "dice" },
    raid.dice.map((die) => dieButton(die, { doubtful: asked.has(die.index), disabled: !state.can_act || !state.can.correct_die?.ok })));
}

function emptyTray(state, raid) {
  const asked = new Map(state.questions.filter((q) => q.kind === "face").map((q) => [q.die, q]));
  if (asked.size) return seenTray(state, asked);
  return h("div.dice.empty", { "aria-hidden": "true", "data-key": "tray" },
    Array.from({ length: 8 }, (unused, i) => h("span.die.empty", { "data-key": `e${i}` })));
}

/** A first roll that waits for an answer: the dice as the camera sees them, not yet the pad's. */
function seenTray(state, asked) {
  const seen = (state.reading?.dice || []).slice(0, 8);
  return h("div.dice.pending", { role: "group", "aria-label": _("The dice as seen"), "data-key": "seen" },
    Array.from({ length: 8 }, (unused, i) => dieButton(
      { index: i, face: asked.get(i)?.choices[0].value || seen[i]?.face || "coin", certainty: seen[i]?.certainty ?? null },
      { doubtful: asked.has(i), disabled: true, pictured: asked.has(i) || seen.length === 8 })));
}

function notes(raid) {
  if (!raid.problems.length) return null;
  return h("ul.notes", { "data-key": "notes" }, raid.problems.map((problem) => h("li", {}, sentence(problem))));
}

/** What the lookout sees at the moment, in two or three words. */
export function lookout(state) {
  const camera = state.camera || { state: "none" };
  const phase = state.reading?.phase;
  const words = {
    empty: _("table is empty"), moving: _("dice are rolling"), hand: _("a hand is in view"), settling: _("dice come to rest"),
    settled: _("dice lie still"), doubtful: _("something is doubtful"), dark: _("too dark to see"), camera_moved: _("the camera was moved"),
    taken_away: _("dice are being taken"), roll: _("dice lie still"), card: _("dice lie still"), raid_ended: _("table is empty"), back: _("dice lie still"),
    moved: _("dice were moved"), changed: _("dice were moved"),
  };
  const running = ["running", "streaming"].includes(camera.state);
  const text = running ? words[phase] || _("the lookout is watching")
    : { starting: 1, opening: 1 }[camera.state] ? _("the camera is starting")
      : { silent: 1, broken: 1, failed: 1 }[camera.state] ? _("the camera does not answer")
        : camera.state === "ended" ? _("the clip has ended: tap the dice in") : _("no camera: tap the dice in");
  return h("p.lookout", { class: running ? `seeing ${phase || ""}` : "blind", "data-key": "lookout" }, icon("eye"), h("span", {}, text));
}

/** The bar at the foot: end the raid, and the tools. */
export function actionBar(state) {
  const can = state.can;
  const raid = state.raid;
  const value = raid?.worth_now ? points(raid.worth_now.total) : "";
  const announced = state.status === "announced";
  return h("div.actions", { "data-key": "actions" },
    announced ? null : raid
      ? h("button.primary.end", { type: "button", "data-act": "end", "data-command": true, "data-key": "end", "aria-disabled": String(!can.end_raid?.ok) },
        h("span", {}, _("End raid")), value && h("b", {}, value))
      : h("button.primary.end", { type: "button", "data-act": "card", "data-command": true, "data-key": "draw", disabled: !can.draw_card?.ok },
        h("span", {}, _("Choose the card"))),
    h("div.tools", { role: "group", "aria-label": _("Tools") },
      tool("undo", "undo", _("Undo"), can.undo, undone(state.undo)),
      tool("redo", "redo", _("Redo"), can.redo, undone(state.redo)),
      tool("tap", "dice", _("Tap dice"), state.can_act ? can.roll?.ok ? can.roll : can.enter_raid : can.roll),
      h("label.tool", { class: can.roll?.ok || can.enter_raid?.ok ? "" : "off", "data-key": "photo" }, icon("photo"), h("span", {}, _("Picture")),
        h("input.hidden", { type: "file", id: "photo", accept: "image/*", capture: "environment", disabled: !(can.roll?.ok || can.enter_raid?.ok), "data-command": true }))));
}

function tool(act, drawing, text, allowed, what = "") {
  return h("button.tool", { type: "button", "data-act": act, "data-command": true, disabled: !allowed?.ok, "data-key": act,
    "aria-label": what ? `${text}: ${what}` : null }, icon(drawing), h("span", {}, text));
}

function undone(entry) {
  if (!entry) return "";
  const words = {
    draw_card: _("the card"), correct_card: _("the card"), roll: _("the roll"), correct_die: _("the correction"), end_raid: _("the end of the raid"),
    enter_raid: _("the raid"), correct_raid: _("the correction"), correct_points: _("the correction"), place_on_card: _("dice on the card"), take_off: _("dice off the card"),
    rename_player: _("the name"),
  };
  return words[entry.what] || "";
}
