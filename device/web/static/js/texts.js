// Words, sentences, numbers and dates in the language of the page. English is the source; the catalogue comes from
// the server's gettext files.

const root = document.documentElement;
export const language = root.lang || "en";
const given = await fetch(root.dataset.texts).then((r) => r.json()).catch(() => null);
const catalogue = given || { plural: "", messages: {}, sentences: {}, faces: {}, cards: {} };

const fill = (text, args) => text.replace(/\{(\w+)\}/g, (whole, name) => (name in args ? args[name] : whole));

/** The text in this language: _("Raid {number}", {number: 3}). */
export function _(text, args = {}) {
  const found = catalogue.messages[text];
  return fill((typeof found === "string" && found) || text, args);
}

/** One or several: ngettext("{n} roll", "{n} rolls", n). */
export function ngettext(one, many, n, args = {}) {
  const forms = catalogue.messages[one];
  const index = Number(catalogue.plural[Math.abs(n) % 100] ?? (n === 1 ? 0 : 1));
  return fill((Array.isArray(forms) && forms[index]) || (n === 1 ? one : many), { n: number(n), ...args });
}

const plain = new Intl.NumberFormat(language);
const signed = new Intl.NumberFormat(language, { signDisplay: "exceptZero" });
const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 });
const joined = new Intl.ListFormat(language, { type: "conjunction" });

export const number = (n) => plain.format(n).replace("-", "−");
export const points = (n) => signed.format(n).replace("-", "−");
export const percent = (p) => share.format(Math.min(p, 0.99));
export const list = (items) => joined.format(items);

export function when(text, options = { dateStyle: "medium", timeStyle: "short" }) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "" : new Intl.DateTimeFormat(language, options).format(date);
}

export const FACES = ["coin", "diamond", "monkey", "parrot", "sabers", "skull"];
export const CARDS = Object.keys(catalogue.cards);
export const face = (name, n = 1) => (catalogue.faces[name] || [name, name])[n === 1 ? 0 : 1];
export const card = (name) => (name ? catalogue.cards[name] || name : _("no card"));
export const counted = (n, name) => `${number(n)} ${face(name, n)}`;

/** What the table's demo answers with; the page's own buttons have the same words. */
const CHOICES = { yes: "Yes", no: "No", ignore: "Leave it as it was", misread: "It was misread", rolled: "It was rolled" };

function word(name, value) {
  if (Array.isArray(value)) return list(value.map((item) => word(name, item)));
  if (typeof value === "number") return number(value);
  if (catalogue.faces[value] && name !== "card") return face(value);
  if (name === "card" || (catalogue.cards[value] && ["seen", "entered", "came"].includes(name))) return card(value);
  if (name === "outcome") return outcome(value);
  return String(value ?? "");
}

/** A sentence of the table by its code; where it has none, the table's own English. */
export function sentence({ code, args, sentence: own, error, message }) {
  const template = catalogue.sentences[code];
  const fallback = own || error || message || "";
  if (!template) return fallback;
  const words = Object.fromEntries(Object.entries(args || {}).map(([name, value]) => [name, word(name, value)]));
  const inner = args?.code && { code: args.code, args: args.args || {}, sentence: "" };
  if (inner && catalogue.sentences[inner.code]) words.why = sentence(inner);
  const text = fill(template, words);
  return /\{\w+\}/.test(text) ? fallback || text : text;
}

/** A line of a score sheet. */
export function line(entry) {
  const template = catalogue.sentences[`line.${entry.kind}`];
  if (!template) return entry.what;
  const dice = entry.face ? counted(entry.count, entry.face) : number(entry.count ?? 0);
  return fill(template, { dice, count: number(entry.count ?? 0), each: points(entry.each ?? 0) });
}

export function outcome(name) {
  return catalogue.sentences[`outcome.${name}`] || name;
}
