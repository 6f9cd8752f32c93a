// Dice and cards by hand: correct one die, tap in a roll, enter or correct a whole raid, choose the card, take a photo.

import { h, icon } from "./dom.js";
import { _, CARDS, FACES, card, face, ngettext, percent } from "./texts.js";
import { send, table, upload } from "./link.js";
import { cardGrid, cardPicture, facePicture } from "./pictures.js";
import { note, openSheet, trying } from "./sheet.js";

const deck = () => CARDS.filter((name) => (table.state.settings.cards || []).includes(name));

/** Six faces to tap; the likeliest come first. */
function palette(act, order = FACES, shares = {}, now = null) {
  return h("ul.palette", {}, order.map((name) => h("li", {},
    h("button", { type: "button", "data-act": act, "data-face": name, "data-command": true, disabled: name === now, "aria-pressed": name === now ? "true" : null },
      facePicture(name), h("span", {}, face(name)),
      shares[name] >= 0.01 && h("small", {}, percent(shares[name]))))));
}

/** The faces with those that the eyes thought likely in front. */
export function likeliest(die) {
  const seen = (die.alternatives || []).map(([name]) => name).filter((name) => name !== die.face);
  return [...new Set([...seen, ...FACES])].filter((name) => name !== die.face);
}

/** One tap opened this, the second one settles it. */
export function correctDie(index) {
  const die = table.state.raid?.dice[index];
  if (!die) return;
  const island = table.state.raid.card === "treasure_island" && die.face !== "skull";
  const act = die.on_card ? "take_off" : "place_on_card";
  const why = table.state.can[act];
  const sheet = openSheet(_("Die {n} is …", { n: index + 1 }), () => [
    palette("face", [...likeliest(die), die.face], Object.fromEntries(die.alternatives || []), die.face),
    island && h("button.wide-button", { type: "button", "data-act": "chest", "data-command": true, disabled: !why.ok },
      icon("chest"), die.on_card ? _("Take it off the card") : _("Put it on Treasure Island")),
  ], {
    face: async ({ face: name }) => (await trying(() => send("correct_die", { die: index, face: name }))) && sheet.close(),
    chest: async () => (await trying(() => send(act, { dice: [index] }))) && sheet.close(),
  });
}

export function chooseCard() {
  const raid = table.state.raid;
  const sheet = openSheet(raid?.card ? _("Another card") : _("Which card was drawn?"),
    () => cardGrid(deck(), raid?.card),
    { "pick-card": async ({ card: name }) => (await trying(() => send("draw_card", { card: name }))) && sheet.close() },
    { wide: true });
}

// -- a roll ----------------------------------------------------------------------------------------------------

/** Tap in a roll: first all eight dice; later tap those that were rolled, then what they show. */
export function tapRoll(prefill = null, seenCard = null) {
  const raid = table.state.raid;
  const first = !raid || !raid.dice.length;
  const slots = Array.from({ length: 8 }, (unused, i) => ({
    face: first ? null : raid.dice[i].face,
    free: first || (raid.rollable || []).includes(i),
    rolled: first,
    doubtful: false,
  }));
  if (prefill) place(slots, prefill, first);
  const title = first ? _("First roll: tap in the eight dice") : _("Which dice were rolled?");
  const sheet = openSheet(title, () => drawRoll(slots, first, seenCard), {
    slot: ({ slot }) => {
      const one = slots[slot];
      one.doubtful = false;
      if (one.rolled && one.face === null && !first) Object.assign(one, { rolled: false, face: raid.dice[slot].face });
      else Object.assign(one, { rolled: true, face: null });
      sheet.redraw();
    },
    put: ({ face: name }) => {
      const one = slots.find((item) => item.face === null);
      if (!one) return note(first ? _("All eight dice are there: tap one to change it.") : _("Tap the dice that were rolled first."));
      Object.assign(one, { face: name, rolled: true });
      sheet.redraw();
    },
    roll: async () => {
      const dice = slots.map((one, i) => (one.rolled ? i : -1)).filter((i) => i >= 0);
      const body = first ? { faces: slots.map((one) => one.face) } : { dice, faces: dice.map((i) => slots[i].face) };
      const number = table.state.raid?.number ?? table.state.raids.length;
      const done = await trying(async () => {
        if (seenCard && !table.state.raid?.card) await send("draw_card", { card: seenCard, raid: number });
        await send("roll", { ...body, raid: number });
      });
      if (done) sheet.close();
    },
    whole: () => {
      sheet.close();
      wholeRaid();
    },
  });
}

/** Put the faces of a photo on the dice that the table knows: what fits stays, the others were rolled. */
function place(slots, dice, first) {
  const seen = [...dice];
  const taken = new Map();
  const take = (index, item) => (taken.set(index, item), seen.splice(seen.indexOf(item), 1));
  if (!first) {
    for (const wanted of [true, false]) {
      slots.forEach((one, i) => {
        if (taken.has(i) || one.free === wanted) return;
        const fits = seen.find((item) => item.face === one.face);
        if (fits) take(i, fits);
      });
    }
  }
  slots.forEach((one, i) => {
    if (taken.has(i) || !one.free || !seen.length) return;
    const item = seen.shift();
    Object.assign(one, { face: item.face, rolled: true, doubtful: item.doubtful });
  });
}

function drawRoll(slots, first, seenCard) {
  const open = slots.filter((one) => one.face === null).length;
  const rolled = slots.filter((one) => one.rolled).length;
  const doubtful = slots.some((one) => one.doubtful);
  const ready = open === 0 && rolled > 0;
  return [
    seenCard && h("p.seen-card", {}, cardPicture(seenCard), _("The card in the picture: {card}", { card: card(seenCard) })),
    h("ul.slots", {}, slots.map((one, i) => h("li", {}, h("button.die", {
      type: "button", "data-act": "slot", "data-slot": i, disabled: !one.free && !first,
      class: [one.face === null && "empty", one.rolled && !first && "rolled", one.doubtful && "doubtful", !one.free && "locked"].filter(Boolean).join(" "),
      "aria-label": one.face === null ? _("Die {n}: tap its face below", { n: i + 1 }) : _("Die {n}: {face}", { n: i + 1, face: face(one.face) }),
    }, one.face ? facePicture(one.face) : h("span", { "aria-hidden": "true" }, i + 1), one.doubtful && h("span.badge.ask", { "aria-hidden": "true" }, "?"))))),
    h("p.hint", { role: "status" }, doubtful ? _("Look at the dice marked ?: tap one to change it.")
      : open ? ngettext("{n} die to go: tap its face.", "{n} dice to go: tap their faces.", open)
        : rolled ? _("Right? Then write it down.") : _("Tap the dice that were rolled, then their new faces.")),
    palette("put"),
    h("button.primary", { type: "button", "data-act": "roll", "data-command": true, disabled: !ready },
      ready ? ngettext("This was rolled ({n} die)", "This was rolled ({n} dice)", rolled) : _("This was rolled")),
    h("button.link", { type: "button", "data-act": "whole" }, _("Enter only the raid’s result")),
  ];
}

// -- a whole raid ----------------------------------------------------------------------------------------------

/** Enter a raid as a result, or correct one that is on the pad (`old`). */
export function wholeRaid(old = null) {
  const raid = old || { card: table.state.raid?.card || null, faces: [], on_card: [] };
  const form = { card: raid.card, faces: raid.faces.slice(), on: new Set(raid.on_card), choosing: !raid.card };
  while (form.faces.length < 8) form.faces.push(null);
  const number = old ? old.number : table.state.raid?.number ?? table.state.raids.length;
  const title = old ? _("Correct raid {n} of {player}", { n: old.number + 1, player: old.player }) : _("The raid’s result");
  const sheet = openSheet(title, () => drawWhole(form, old), {
    "choose": () => ((form.choosing = true), sheet.redraw()),
    "pick-card": ({ card: name }) => {
      Object.assign(form, { card: name, choosing: false });
      if (name !== "treasure_island") form.on.clear();
      sheet.redraw();
    },
    slot: ({ slot }) => {
      const i = Number(slot);
      form.faces[i] = null;
      form.on.delete(i);
      sheet.redraw();
    },
    on: ({ slot }) => {
      const i = Number(slot);
      if (!form.on.delete(i)) form.on.add(i);
      sheet.redraw();
    },
    put: ({ face: name }) => {
      const i = form.faces.indexOf(null);
      if (i < 0) return note(_("All eight dice are there: tap one to change it."));
      form.faces[i] = name;
      sheet.redraw();
    },
    write: async () => {
      const values = { card: form.card, faces: form.faces, raid: number };
      if (form.card === "treasure_island") values.on_card = [...form.on].filter((i) => form.faces[i] !== "skull");
      if (await trying(() => send(old ? "correct_raid" : "enter_raid", values))) sheet.close();
    },
  }, { wide: true });
}

function drawWhole(form, old) {
  if (form.choosing) return [h("p.hint", {}, _("Which card was drawn?")), cardGrid(deck(), form.card)];
  const open = form.faces.filter((name) => !name).length;
  const island = form.card === "treasure_island";
  return [
    h("button.chosen-card", { type: "button", "data-act": "choose" }, cardPicture(form.card),
      h("span", {}, h("strong", {}, card(form.card)), h("small", {}, _("Tap to choose another card")))),
    h("ul.slots", {}, form.faces.map((name, i) => h("li", {}, h("button.die", {
      type: "button", "data-act": "slot", "data-slot": i, class: [!name && "empty", form.on.has(i) && "on-card"].filter(Boolean).join(" "),
      "aria-label": name ? _("Die {n}: {face}", { n: i + 1, face: face(name) }) : _("Die {n}: tap its face below", { n: i + 1 }),
    }, name ? facePicture(name) : h("span", { "aria-hidden": "true" }, i + 1)),
    island && name && name !== "skull" && h("button.mini", {
      type: "button", "data-act": "on", "data-slot": i, "aria-pressed": String(form.on.has(i)),
      "aria-label": _("Die {n} lies on Treasure Island", { n: i + 1 }),
    }, icon("chest"))))),
    h("p.hint", { role: "status" }, open ? ngettext("{n} die to go: tap its face.", "{n} dice to go: tap their faces.", open)
      : island ? _("Mark the dice that lie on the card with the chest.") : _("Tap a die to change it.")),
    palette("put"),
    h("button.primary", { type: "button", "data-act": "write", "data-command": true, disabled: open > 0 || !form.card },
      old ? _("Write the correction down") : _("Write it on the pad")),
  ];
}

// -- a photo ---------------------------------------------------------------------------------------------------

/** Read a photo that the phone took; the player looks at the result before it counts. */
export async function sendPhoto(file) {
  const form = new FormData();
  form.append("photo", await smaller(file));
  note(_("Reading the picture …"));
  let reading = null;
  if (!(await trying(async () => ({ reading } = await upload("/api/photo", form))))) return;
  if (!reading.dice.length) return note(_("No dice were found in that picture. Hold the phone straight above the table and try again."), "error");
  const sure = reading.status === "certain";
  const dice = reading.dice.slice(0, 8).map((die) => ({
    face: die.face, doubtful: !sure && (die.certainty < 0.97 || die.cocked),
  }));
  const known = reading.card && reading.card.certainty > 0.9 && deck().includes(reading.card.name);
  tapRoll(dice, known && !table.state.raid?.card ? reading.card.name : null);
}

/** A phone's picture has 12 million pixels and travels badly: 2000 pixels show eight dice just as well. */
async function smaller(file, most = 2000) {
  if (!window.createImageBitmap || file.size < 1_500_000) return file;
  try {
    const image = await createImageBitmap(file, { imageOrientation: "from-image" });
    const scale = Math.min(1, most / Math.max(image.width, image.height));
    const canvas = h("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.9));
    return blob || file;
  } catch {
    return file;
  }
}

