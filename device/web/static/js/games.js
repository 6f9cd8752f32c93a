// All games in the store; each can be looked at, raid by raid.

import { $, h, icon, show, taps } from "./dom.js";
import { _, list, ngettext, number, when } from "./texts.js";
import { pad, scoreboard } from "./pad.js";
import { raidFold } from "./history.js";
import "./shell.js";

const place = $("#games");

async function get(path) {
  const answer = await fetch(path, { cache: "no-store" }).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

async function all() {
  const games = await get("/api/games");
  if (!games) return show(place, h("p.quiet", {}, _("Cannot reach the table. Trying again …")));
  if (!games.length) return show(place, h("p.quiet", {}, _("There is no game yet.")));
  show(place, h("ul.games", {}, games.map((game) => h("li", { "data-key": `g${game.id}` },
    h("button", { type: "button", "data-act": "game", "data-game": game.id },
      h("span.day", {}, when(game.started)),
      h("strong", {}, list(game.players || [])),
      h("span.quiet", {}, (game.totals || []).map(number).join(" : "), " · ", ngettext("{n} raid", "{n} raids", game.raids ?? 0), game.finished ? "" : ` · ${_("not finished")}`))))));
}

async function one(id) {
  const game = await get(`/api/games/${id}`);
  if (!game) return all();
  const state = { ...game, turn: null, status: "finished", game: { number_of_raids: game.raids.length } };
  show(place, [
    h("p", { "data-key": "back" }, h("button", { type: "button", "data-act": "back" }, icon("undo"), _("All games"))),
    scoreboard(state), pad(state, { link: false }),
    ...game.raids.map((raid) => raidFold(raid, false)),
  ]);
}

taps(place, {
  game: ({ game }) => (window.location.hash = `#${game}`),
  back: () => (window.location.hash = ""),
});
const route = () => (window.location.hash.length > 1 ? one(Number(window.location.hash.slice(1))) : all());
window.addEventListener("hashchange", route);
route();
