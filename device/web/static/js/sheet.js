// A sheet that comes up over the page (a modal dialog), and the short notes at the foot of the page.

import { h, icon, show, taps } from "./dom.js";
import { _ } from "./texts.js";
import { markBusy } from "./link.js";

/** Open a sheet. `draw()` gives its content, `actions` its taps; returns {redraw, close, element}. */
export function openSheet(title, draw, actions = {}, { wide = false, closed } = {}) {
  const body = h("div.sheet-body");
  const heading = `sheet-${Date.now()}`;
  const close = () => dialog.close();
  const dialog = h("dialog.sheet", { "aria-labelledby": heading, class: wide ? "wide" : "" },
    h("header.sheet-head", {}, h("h2", { id: heading, tabindex: "-1" }, title),
      h("button.round", { type: "button", "data-act": "close", "aria-label": _("Close") }, icon("close"))),
    body);
  const redraw = () => {
    show(body, draw());
    markBusy();
  };
  taps(dialog, { close, ...actions });
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed?.();
  });
  document.body.append(dialog);
  redraw();
  dialog.showModal();
  return { redraw, close, element: dialog, body };
}

let shown = null;

/** A short sentence at the foot of the page; an error stays longer and is read out at once. */
export function note(text, level = "info") {
  shown?.remove();
  const place = h("div.note", { class: level, role: level === "error" ? "alert" : "status" },
    icon(level === "error" ? "close" : "check"), h("span", {}, text));
  // Into an open sheet, which would hide what lies outside of it.
  ([...document.querySelectorAll("dialog[open]")].pop() || document.body).append(place);
  shown = place;
  setTimeout(() => place.remove(), level === "error" ? 7000 : 3000);
}

/** Do `work()`; what goes wrong is said as a sentence. True when it went well. */
export async function trying(work) {
  try {
    await work();
    return true;
  } catch (error) {
    note(error.message, "error");
    return false;
  }
}
