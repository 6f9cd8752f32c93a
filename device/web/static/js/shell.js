// What every page has: the menu, the language, and the banners that say how the table is.

import { $, h, icon, show } from "./dom.js";
import { _, language, ngettext, sentence } from "./texts.js";
import { begin, onAlone, onState } from "./link.js";

const nav = $("#nav");
const menu = $("#menu");

menu.addEventListener("click", () => {
  const open = nav.classList.toggle("open");
  menu.setAttribute("aria-expanded", String(open));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && nav.classList.contains("open")) {
    menu.click();
    menu.focus();
  }
});
document.addEventListener("click", (event) => {
  if (nav.classList.contains("open") && !event.target.closest("#nav, #menu")) menu.click();
});

for (const button of document.querySelectorAll("[data-lang]")) {
  button.addEventListener("click", () => {
    document.cookie = `ausguck_lang=${button.dataset.lang};path=/;max-age=31536000;SameSite=Lax`;
    window.location.reload();
  });
}

onAlone((alone, seconds) => {
  document.body.classList.toggle("alone", alone);
  const text = seconds < 20 ? _("Cannot reach the table. Trying again …")
    : ngettext("Cannot reach the table. This is how it was {n} second ago.", "Cannot reach the table. This is how it was {n} seconds ago.", seconds);
  show($("#alone"), alone ? h("p.banner.error", {}, icon("alone"), h("span", {}, text)) : []);
});

onState((state) => {
  const banners = (state.messages || []).map((message) => h("p.banner", { class: message.level, "data-key": message.code },
    h("span", {}, message.code === "refused" ? sentence({ ...message.args, sentence: message.sentence }) : sentence(message))));
  const blind = { silent: _("The camera does not answer: check its cable."), broken: _("The camera does not work.") }[state.camera?.state];
  // The camera's own sentence says more, but in English only; the status page has it in any language.
  if (blind) banners.push(h("p.banner.warning", { "data-key": "camera" }, h("span", {}, (language === "en" && state.camera.message) || blind), " ",
    h("a", { href: "/status" }, _("How everything is"))));
  show($("#banners"), banners);
});

begin();
