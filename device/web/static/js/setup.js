// A new game, only on purpose: players and their order, edition, house rules. Names of a running game.

import { $, $$, h, icon, show, taps } from "./dom.js";
import { _, card, number } from "./texts.js";
import { onState, send, table } from "./link.js";
import { openSheet, trying } from "./sheet.js";
import "./shell.js";

const about = JSON.parse($("#about").textContent);
const form = { players: ["", ""], edition: about.default, rules: {} };
const place = $("#setup");
const names = $("#names");
let begun = false;

const settings = () => ({ ...about.editions[form.edition].settings, ...form.rules });

function draw() {
  const most = Math.max(settings().max_players, 2);
  show(place, [
    h("fieldset", { "data-key": "players" }, h("legend", {}, _("Players, in the order of their raids")),
      h("ol.players", {}, form.players.map((name, i) => playerRow(name, i))),
      h("button", { type: "button", "data-act": "add", disabled: form.players.length >= most }, icon("plus"), _("Another player")),
      form.players.length >= most && h("p.quiet", {}, _("At most {n}; the house rules below allow up to 8.", { n: number(most) }))),
    h("fieldset", { "data-key": "edition" }, h("legend", {}, _("Edition")),
      h("ul.editions", {}, Object.entries(about.editions).map(([key, edition]) => h("li", {},
        h("label", {}, h("input", { type: "radio", name: "edition", value: key, checked: key === form.edition }), h("span", {}, edition.title)))))),
    rule("target"),
    h("details.more", { "data-key": "rules" }, h("summary", {}, _("House rules"), icon("down")),
      h("div.rules", {}, about.settings.filter((s) => s.name !== "target").map((s) => rule(s.name)))),
    h("button.primary", { type: "button", "data-act": "begin", "data-command": true, "data-key": "begin", disabled: !table.state?.can_act }, _("Begin the game")),
  ]);
  for (const input of $$("input[type=radio][name=edition]", place)) input.checked = input.value === form.edition;
}

function playerRow(name, i) {
  const who = _("Player {n}", { n: i + 1 });
  return h("li", { "data-key": `player-${i}-of-${form.order ?? 0}` },
    h("label", {}, h("span.hidden", {}, who),
      h("input", { type: "text", value: name, maxlength: 30, autocomplete: "off", autocapitalize: "words", spellcheck: "false", placeholder: who, "data-player": i, enterkeyhint: "next" })),
    h("button.round", { type: "button", "data-act": "up", "data-i": i, disabled: i === 0, "aria-label": _("{who}: earlier", { who: name || who }) }, icon("up")),
    h("button.round", { type: "button", "data-act": "down", "data-i": i, disabled: i === form.players.length - 1, "aria-label": _("{who}: later", { who: name || who }) }, icon("down")),
    h("button.round", { type: "button", "data-act": "drop", "data-i": i, disabled: form.players.length <= 2, "aria-label": _("Remove {who}", { who: name || who }) }, icon("close")));
}

function rule(name) {
  const setting = about.settings.find((s) => s.name === name);
  const value = settings()[name];
  const changed = name in form.rules;
  const mark = changed && h("span.tag", {}, _("house rule"));
  const id = `rule-${name}`;
  const shared = { id, "data-rule": name, "data-kind": setting.kind };
  let control;
  if (setting.kind === "yes_no") control = h("input", { ...shared, type: "checkbox", checked: value });
  else if (setting.kind === "number") control = h("input", { ...shared, type: "number", inputmode: "numeric", min: setting.least, max: setting.most, step: name === "target" ? 100 : 1, value });
  else if (setting.kind === "choice") {
    control = h("select", shared, setting.choices.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  } else {
    return h("fieldset.rule.deck", { "data-key": id }, h("legend", {}, setting.description, mark),
      h("ul", {}, setting.choices.map(([key]) => h("li", {}, h("label", {}, h("input", { type: "checkbox", "data-rule": name, "data-kind": "cards", value: key, checked: value.includes(key) }), h("span", {}, card(key)))))));
  }
  return h("div.rule", { "data-key": id, class: setting.kind }, h("label", { for: id }, setting.description, mark), control);
}

function keep() {
  for (const input of $$("input[data-player]", place)) form.players[Number(input.dataset.player)] = input.value;
}

/** After the order or number of players changed the fields get fresh rows, with the names in their new places. */
function reorder(change) {
  keep();
  change(form.players);
  form.order = (form.order ?? 0) + 1;
  draw();
}

function swap(i, j) {
  reorder((players) => ([players[i], players[j]] = [players[j], players[i]]));
  $(`[data-act=${j < i ? "up" : "down"}][data-i="${j}"]:not([disabled])`, place)?.focus();
}

taps(place, {
  add: () => {
    reorder((players) => players.push(""));
    $(`input[data-player="${form.players.length - 1}"]`, place).focus();
  },
  drop: ({ i }) => reorder((players) => players.splice(Number(i), 1)),
  up: ({ i }) => swap(Number(i), Number(i) - 1),
  down: ({ i }) => swap(Number(i), Number(i) + 1),
  begin: () => {
    keep();
    form.players = form.players.map((name, i) => name.trim() || _("Player {n}", { n: i + 1 }));
    const runs = table.state.game && table.state.status !== "finished";
    if (runs) confirmNew();
    else beginGame();
  },
});

function confirmNew() {
  const who = table.state.players.map((p) => p.name).join(", ");
  const sheet = openSheet(_("Begin a new game?"), () => [
    h("p", {}, _("The game of {players} is still running. It is kept in the list of games, but it ends here.", { players: who })),
    h("div.answers", {}, h("button.primary", { type: "button", "data-act": "yes", "data-command": true }, _("Begin the new game")),
      h("button", { type: "button", "data-act": "close" }, _("Go on with the old one"))),
  ], { yes: async () => (await beginGame()) || sheet.close() });
}

async function beginGame() {
  const done = await trying(() => send("new_game", { edition: form.edition, players: form.players, house_rules: form.rules }));
  if (done) window.location.assign("/");
  return done;
}

place.addEventListener("change", (event) => {
  const input = event.target;
  if (input.name === "edition") {
    keep();
    form.edition = input.value;
    form.rules = {};
    return refresh();
  }
  const name = input.dataset.rule;
  if (!name) return;
  const printed = about.editions[form.edition].settings[name];
  let value = input.value;
  if (input.dataset.kind === "yes_no") value = input.checked;
  else if (input.dataset.kind === "number") value = Number(input.value);
  else if (input.dataset.kind === "cards") value = $$(`input[data-rule=${name}]`, place).filter((box) => box.checked).map((box) => box.value);
  const same = Array.isArray(value) ? value.length === printed.length : value === printed;
  if (same) delete form.rules[name];
  else form.rules[name] = value;
  keep();
  draw();
});

/** Controls keep what was typed; after another edition they have to show that edition's values. */
function refresh() {
  draw();
  const now = settings();
  for (const input of $$("[data-rule]", place)) {
    const value = now[input.dataset.rule];
    if (input.dataset.kind === "cards") input.checked = value.includes(input.value);
    else if (input.type === "checkbox") input.checked = value;
    else input.value = value;
  }
}

onState((state) => {
  if (!begun) {
    begun = true;
    if (state.game) {
      form.players = state.players.map((p) => p.name);
      if (about.editions[state.edition]) form.edition = state.edition;
      form.rules = { ...state.house_rules };
    }
    draw();
    refresh();
  } else $("[data-act=begin]", place).disabled = !state.can_act;
  show($("#join"), state.can_act ? [] : h("p.banner.join", {}, icon("join"), h("span", {}, _("Only who has joined the table can begin a game.")), " ", h("a.button", { href: "/join" }, _("Join"))));
  drawNames(state);
});

function drawNames(state) {
  if (!state.game || !state.can_act) return show(names, []);
  show(names, [h("h2", {}, _("Names in the running game")), h("ul.names", {}, state.players.map((p) => h("li", { "data-key": `n${p.index}` }, h("bdi", {}, p.name),
    h("button", { type: "button", "data-act": "rename", "data-player": p.index, "aria-label": _("Rename {player}", { player: p.name }) }, icon("pencil"), _("Rename")))))]);
}

taps(names, {
  rename: ({ player }) => {
    const old = table.state.players[Number(player)].name;
    const sheet = openSheet(_("Rename {player}", { player: old }), () => h("form.rename", {},
      h("label", {}, _("New name"), h("input", { type: "text", value: old, maxlength: 30, autocomplete: "off" })), h("button.primary", { type: "submit", "data-command": true }, _("Rename"))));
    sheet.body.addEventListener("submit", async (event) => {
      event.preventDefault();
      const name = $("input", sheet.body).value;
      if (await trying(() => send("rename_player", { player: Number(player), name }))) sheet.close();
    });
  },
});
