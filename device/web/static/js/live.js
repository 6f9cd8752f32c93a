// The live picture, on request: one numbered picture after the other, each asked for when the last one is shown.

import { $, h, show, taps } from "./dom.js";
import { _, card, face, number, percent } from "./texts.js";
import { onState } from "./link.js";
import { lookout } from "./raid.js";
import "./shell.js";

const image = $("#picture");
const place = $("#view");
let looking = false;

async function loop() {
  while (looking) {
    let said = "";
    try {
      const answer = await fetch("/live.jpg", { cache: "no-store" });
      if (answer.ok) {
        const old = image.src;
        image.src = URL.createObjectURL(await answer.blob());
        await image.decode().catch(() => {});
        if (old.startsWith("blob:")) URL.revokeObjectURL(old);
        image.hidden = false;
        $("#number").textContent = _("Picture {n}", { n: number(Number(answer.headers.get("X-Frame-Number") || 0)) });
      } else said = (await answer.json().catch(() => ({}))).error || _("There is no picture.");
    } catch {
      said = _("Cannot reach the table. Trying again …");
    }
    $("#said").textContent = said;
    await new Promise((done) => setTimeout(done, said ? 2000 : document.hidden ? 2000 : 150));
  }
}

taps(place, {
  look: (data, button) => {
    looking = !looking;
    button.textContent = looking ? _("Stop") : _("Show the live picture");
    button.setAttribute("aria-pressed", String(looking));
    if (looking) loop();
  },
});

onState((state) => {
  const reading = state.reading;
  show($("#seen"), [
    lookout(state),
    reading?.dice?.length ? h("table.seen", {}, h("caption", {}, _("Dice in view")), h("tbody", {}, reading.dice.map((die, i) => h("tr", {},
      h("th", { scope: "row" }, face(die.face)), h("td", {}, percent(die.certainty)),
      h("td", {}, die.cocked ? _("leaning") : die.on_card ? _("on the card") : ""))))) : null,
    reading?.card ? h("p", {}, _("Card in view: {card}", { card: card(reading.card.name) })) : null,
  ]);
});
