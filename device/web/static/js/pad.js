// The score pad: everybody's total, and under each name every raid.

import { h, icon } from "./dom.js";
import { _, card, line, ngettext, number, outcome, points } from "./texts.js";

/** What is special about a raid's end, as a small drawing; plain raids have none. */
export const OUTCOME_ICONS = {
  bust: "skull", skull_island: "island", ship_lost: "anchor", peace_broken: "close", zombie_lost: "close",
  pirate_magic: "crown",
};

/** The players with their totals, in seat order; whose turn it is carries the flag. */
export function scoreboard(state) {
  const target = state.settings.target || 1;
  const n = state.players.length;
  return h("ol.board", { class: n > 4 ? "many" : `n${n}`, "aria-label": _("Players and totals"), "data-key": "board" },
    state.players.map((player) => tile(player, state, target)));
}

function tile(player, state, target) {
  const turn = state.turn === player.index;
  const leads = player.place === 1 && state.players.some((other) => other.total !== player.total);
  return h("li.tile", { class: `${turn ? "turn" : ""} ${player.winner ? "winner" : ""}`, "data-key": `p${player.index}`,
    "aria-current": turn ? "true" : null },
  h("span.who", {}, turn && icon("flag", "flag"), (player.winner || (leads && !turn)) && icon("crown", "crown"),
    h("bdi", {}, player.name), turn && h("span.hidden", {}, _("(raids now)"))),
  h("span.total", { class: player.total < 0 ? "minus" : "" }, number(player.total)),
  h("span.way", { vars: { "--way": Math.max(0, Math.min(1, player.total / target)).toFixed(3) } }));
}

/** Target, round, last round: one quiet line. */
export function course(state) {
  const parts = [_("to {target}", { target: number(state.settings.target) })];
  const raids = state.game.number_of_raids;
  const round = Math.floor(raids / Math.max(1, state.players.length)) + 1;
  if (state.status !== "finished") parts.push(_("round {n}", { n: round }));
  return h("p.course", { "data-key": "course" }, parts.join(" · "));
}

export function lastRound(state) {
  const last = state.last_round;
  if (!last) return null;
  const names = (last.left || []).map((index) => state.players[index]?.name).filter(Boolean);
  const by = state.players[last.by]?.name;
  let text;
  if (last.sudden_death) text = _("Whoever is first at {target} wins at once.", { target: number(state.settings.target) });
  else if (last.stage === "leaders_raid") text = _("{player} was topped and has one more raid.", { player: names[0] || by });
  else text = _("Last round: {player} is at the target.", { player: by ?? "" });
  const left = !last.sudden_death && last.stage !== "leaders_raid" && names.length > 0;
  return h("div.last-round", { role: "status", "data-key": "last" }, icon("flag"),
    h("p", {}, h("strong", {}, text), " ", left && _("Still to raid: {players}.", { players: names.join(", ") })));
}

/** Every raid under its player; what it did to the others stands in their columns. */
export function pad(state, { link = true } = {}) {
  const players = state.players;
  const rows = rounds(state);
  return h("section.pad", { "aria-label": _("Score pad"), "data-key": "pad" },
    h("div.scroll", { tabindex: players.length > 4 ? "0" : null, role: players.length > 4 ? "region" : null,
      "aria-label": players.length > 4 ? _("Score pad") : null },
    h("table", {},
      h("caption.hidden", {}, _("Every raid, by round and player")),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span.hidden", {}, _("Round"))),
        players.map((p) => h("th", { scope: "col", class: state.turn === p.index ? "turn" : "" }, h("bdi", {}, p.name))))),
      h("tbody", {}, rows.map((row, i) => h("tr", { "data-key": `r${i}` },
        h("th", { scope: "row" }, number(i + 1)),
        players.map((p) => h("td", {}, (row[p.index] || []).map((raid) => cell(raid, link))))))),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, h("span.hidden", {}, _("Total"))),
        players.map((p) => h("td", { class: p.total < 0 ? "minus" : "" }, number(p.total))))))));
}

/** Raids in rounds: a new row begins when a player raids again. Losses through others go into the row of the raid. */
function rounds(state) {
  const rows = [];
  for (const raid of state.raids) {
    const column = raid.player_index;
    const last = rows.at(-1);
    const full = !last || (last[column] || []).some((entry) => !entry.by);
    const row = full ? {} : last;
    if (full) rows.push(row);
    (row[column] ||= []).unshift({ raid, value: raid.total });
    if (!raid.others) continue;
    for (const player of state.players) {
      if (player.index !== column) (row[player.index] ||= []).push({ raid, value: raid.others, by: raid.player });
    }
  }
  return rows;
}

function cell({ raid, value, by }, link) {
  const sign = OUTCOME_ICONS[raid.outcome];
  const words = by
    ? _("{points} through {player}’s raid", { points: points(value), player: by })
    : `${points(value)}, ${card(raid.card)}, ${outcome(raid.outcome)}`;
  const content = [h("span", { "aria-hidden": "true" }, value === 0 && !by ? "0" : points(value)),
    sign && icon(sign), raid.corrected && !by && icon("pencil", "faint"), h("span.hidden", {}, words)];
  const classes = `${by ? "from-others" : ""} ${value < 0 ? "minus" : ""} ${raid.counts === false ? "void" : ""}`;
  if (!link || by) return h("span.cell", { class: classes }, content);
  return h("a.cell", { class: classes, href: `/history#raid-${raid.number + 1}` }, content);
}

/** The lines of a score sheet as a small table. */
export function sheetLines(score) {
  if (!score.lines.length) return h("p.quiet", {}, _("Nothing counts so far."));
  return h("table.lines", {}, h("caption.hidden", {}, _("How it counts")), h("tbody", {},
    score.lines.map((entry) => h("tr", {}, h("th", { scope: "row" }, line(entry)),
      h("td", { class: entry.points < 0 ? "minus" : "" }, points(entry.points)))),
    score.others ? h("tr.others", {}, h("th", { scope: "row" }, _("each other player")),
      h("td", { class: score.others < 0 ? "minus" : "" }, points(score.others))) : null));
}

export const rollsText = (n) => ngettext("{n} roll", "{n} rolls", n);
