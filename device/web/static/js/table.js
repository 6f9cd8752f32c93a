// The score pad's page.

import { $, h, icon, show, taps } from "./dom.js";
import { _, sentence } from "./texts.js";
import { markBusy, onState, send, table } from "./link.js";
import { course, lastRound, pad, scoreboard } from "./pad.js";
import { actionBar, lookout, raidView } from "./raid.js";
import { announcement, announcementBanner, lookCloser, openQuestion, questionSheet, tick } from "./questions.js";
import { note, trying } from "./sheet.js";
import "./shell.js";

const main = $("#main");
const foot = $("#foot");

function join(state) {
  if (state.can_act) return null;
  return h("p.banner.join", { "data-key": "join" }, icon("join"), h("span", {}, _("You are watching. To play along, enter the table’s code.")), " ",
    h("a.button", { href: "/join" }, _("Join")));
}

function welcome(state) {
  return h("section.welcome", { "data-key": "welcome" },
    h("img", { src: "/static/icon.svg", alt: "", width: 120, height: 120 }),
    h("h1", {}, _("Ahoy!")),
    h("p", {}, _("Put the dice under the lookout, name the players, and raid.")),
    state.can_act ? h("a.button.primary", { href: "/setup" }, _("New game"))
      : h("p", {}, _("Somebody who has joined the table begins the game.")));
}

function finale(state) {
  if (state.status !== "finished") return null;
  const winners = state.winners.map((index) => state.players[index].name);
  return h("section.finale", { "data-key": "finale" }, icon("crown"),
    h("h1", {}, winners.length === 1 ? _("{player} wins!", { player: winners[0] }) : _("{players} win together!", { players: winners.join(" & ") })),
    h("ol.ranking", {}, [...state.players].sort((a, b) => b.total - a.total).map((p) => h("li", {}, h("bdi", {}, p.name), h("b", {}, p.total.toLocaleString(document.documentElement.lang))))),
    h("div.answers", {}, state.can_act && h("a.button.primary", { href: "/setup?again" }, _("Another game")),
      state.can_act && h("button", { type: "button", "data-act": "undo", "data-command": true, disabled: !state.can.undo?.ok }, icon("undo"), _("Take the last raid back")),
      h("a.button", { href: "/history" }, _("All raids"))));
}

const shown = { raids: null, players: "", pad: null };

/** The pad grows long, and the camera speaks ten times a second: drawn anew only when it says something new. */
function padOf(state) {
  const players = JSON.stringify([state.players, state.turn]);
  if (shown.raids !== state.raids || shown.players !== players) {
    Object.assign(shown, { raids: state.raids, players });
    const fresh = pad(state);
    if (shown.pad?.isConnected) show(shown.pad, [...fresh.childNodes]);
    else shown.pad = fresh;
  }
  return shown.pad;
}

function draw(state) {
  document.body.dataset.status = state.status;
  if (state.status === "no_game") {
    show(main, [join(state), welcome(state)]);
    show(foot, []);
    return;
  }
  const announced = announcement(state);
  show(main, [
    join(state),
    h("div.top", { "data-key": "top" }, scoreboard(state), h("div.meta", { "data-key": "meta" }, course(state), lookout(state)), lastRound(state)),
    h("div.stage", { "data-key": "stage" }, finale(state), announced && announcementBanner(state), raidView(state)),
    padOf(state),
  ]);
  const asks = openQuestion(state);
  show(foot, asks ? questionSheet(state) : state.can_act && state.status !== "finished" ? actionBar(state) : []);
  document.body.classList.toggle("asking-die", asks?.kind === "face");
  markBusy();
  tick(document);
  lookCloser(foot, state);
  document.documentElement.style.setProperty("--foot", `${foot.offsetHeight}px`);
}

/** What is done by hand is fetched when a finger comes down: most phones only watch. */
const byHand = () => import("./dice.js");
const open = (work) => () => trying(async () => work(await byHand().catch(() => {
  throw new Error(_("The table cannot be reached. Try again when it is back."));
})));
document.addEventListener("pointerdown", () => table.state?.can_act && byHand().catch(() => {}), { once: true });

const raidNumber = () => table.state.raid?.number ?? table.state.raids.length;

const actions = {
  die: ({ die }) => open((dice) => dice.correctDie(Number(die)))(),
  card: open((dice) => dice.chooseCard()),
  tap: open((dice) => (table.state.can.roll?.ok ? dice.tapRoll() : dice.wholeRaid())),
  undo: () => trying(() => send("undo")),
  redo: () => trying(() => send("redo")),
  end: () => trying(() => send("end_raid", { raid: raidNumber() })),
  answer: ({ question, choice }) => trying(() => send("answer", { question, choice })),
};
taps(main, actions);
taps(foot, actions);
// A greyed "End raid" says why.
foot.addEventListener("click", (event) => {
  const end = event.target.closest("[data-act=end][aria-disabled=true]");
  if (end) note(sentence(table.state.can.end_raid), "error");
});
foot.addEventListener("change", (event) => {
  if (event.target.id !== "photo" || !event.target.files.length) return;
  const file = event.target.files[0];
  event.target.value = "";
  open((dice) => dice.sendPhoto(file))();
});

onState(draw);
setInterval(() => tick(document), 250);

// Where the browser has it (on https pages only), the screen stays on while the table is watched. Never promised.
const stayAwake = () => document.visibilityState === "visible" && navigator.wakeLock?.request("screen").catch(() => {});
document.addEventListener("visibilitychange", stayAwake);
stayAwake();
