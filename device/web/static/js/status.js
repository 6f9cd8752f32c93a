// How everything is: camera, button, network, power, store, and what stands in for what.

import { $, h, icon, show } from "./dom.js";
import { _, ngettext } from "./texts.js";
import { onState } from "./link.js";
import "./shell.js";

const good = ["ok", "running", "streaming"];
const missing = ["unknown", "none", "missing", "starting", "opening", "stopped", "off", "ended"];

function row(name, state, message) {
  const level = good.includes(state) ? "fine" : missing.includes(state) ? "absent" : "bad";
  const words = { fine: _("in order"), absent: state === "unknown" ? _("not known") : _("not there"), bad: _("needs a look") };
  return h("li", { class: level, "data-key": name }, icon(level === "fine" ? "check" : level === "absent" ? "eye" : "close"),
    h("div", {}, h("strong", {}, name), h("span.tag", {}, words[level]), message && h("p.quiet", { lang: message.lang || null }, message)));
}

onState((state) => {
  const camera = state.camera || {};
  const instead = {
    camera: _("No camera: dice are tapped in, or photographed with a phone."),
    panel: _("No button and no lights: the page’s own buttons do all of it."),
    model: _("No network is loaded: dice are tapped in."),
    power: _("This machine does not say how its power is."),
  };
  const said = (part) => part?.message || part?.sentence || "";
  show($("#parts"), h("ul.parts", {},
    row(_("Camera"), camera.state, ["none", "off"].includes(camera.state) ? said(camera) || instead.camera : [camera.name, said(camera)].filter(Boolean).join(": ")),
    row(_("Button and lights"), state.panel?.state, state.panel?.state === "none" ? said(state.panel) || instead.panel : said(state.panel)),
    row(_("Reading of dice"), state.model?.state, state.model?.state === "ok" ? said(state.model) : said(state.model) || instead.model),
    row(_("Power"), state.power?.state === "none" ? "unknown" : state.power?.state, said(state.power) || (["none", "unknown"].includes(state.power?.state) ? instead.power : "")),
    row(_("Memory of the games"), state.store?.state, said(state.store) || _("Every raid is on the disk before anybody sees it."))));
});

async function checks() {
  const answer = await fetch("/api/status", { cache: "no-store" }).then((r) => r.json()).catch(() => null);
  if (!answer) return;
  show($("#checks"), [
    h("p.quiet", { "data-key": "watching" }, ngettext("{n} phone is watching.", "{n} phones are watching.", answer.watching ?? 0)),
    answer.checks?.length ? h("details.more", { "data-key": "checks" }, h("summary", {}, _("All checks"), icon("down")), h("ul.parts", {}, answer.checks.map((check) =>
      row(check.name, check.ok ? (check.stands_in ? "none" : "ok") : "bad", check.message)))) : null,
  ]);
}

checks();
setInterval(() => document.hidden || checks(), 10_000);
