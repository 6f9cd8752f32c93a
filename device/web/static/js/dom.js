// Elements, and bringing a shown tree up to date with a new one without losing focus, open details or typed text.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("button.big", {type: "button", vars: {"--p": 0.5}}, "text", child, [children]). */
export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) set(element, key, value);
  add(element, children);
  return element;
}

function set(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (key === "vars") for (const [name, number] of Object.entries(value)) element.style.setProperty(name, number);
  else if (key === "class") element.className = `${element.className} ${value}`.trim();
  else if (key === "value" || key === "checked") element[key] = value;
  else element.setAttribute(key, value === true ? "" : String(value));
}

function add(element, children) {
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** A drawing of icons.svg; decoration, so that every button also has words. */
export function icon(name, classes = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", `icon ${classes}`.trim());
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `/static/icons.svg#${name}`);
  svg.append(use);
  return svg;
}

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Make `place` show `fresh` (one node or a list). Elements with data-key keep their identity. */
export function show(place, fresh) {
  morphChildren(place, [fresh].flat(3).filter((node) => node instanceof Node || typeof node === "string")
    .map((node) => (node instanceof Node ? node : document.createTextNode(node))));
}

function key(node) {
  return node.nodeType === 1 ? node.dataset?.key : undefined;
}

function same(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
}

function morphChildren(place, wanted) {
  const kept = new Map();
  for (const node of place.childNodes) if (key(node)) kept.set(key(node), node);
  let old = place.firstChild;
  for (const node of wanted) {
    const known = key(node) && kept.get(key(node));
    if (known && same(known, node)) {
      if (known !== old) place.insertBefore(known, old);
      else old = old.nextSibling;
      morph(known, node);
    } else if (old && !key(old) && same(old, node)) {
      const next = old.nextSibling;
      morph(old, node);
      old = next;
    } else place.insertBefore(node, old);
  }
  while (old) {
    const next = old.nextSibling;
    old.remove();
    old = next;
  }
}

function morph(old, fresh) {
  if (old === fresh) return;
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    const stays = name === "style" || (name === "open" && old.nodeName === "DETAILS");
    if (!stays && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    const stays = name === "style" || (name === "open" && old.nodeName === "DETAILS");
    if (!stays && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (fresh.style?.length || old.style?.length) morphStyle(old.style, fresh.style);
  morphChildren(old, [...fresh.childNodes]);
}

function morphStyle(old, fresh) {
  for (const name of [...old]) if (!fresh.getPropertyValue(name)) old.removeProperty(name);
  for (const name of fresh) {
    const value = fresh.getPropertyValue(name);
    if (old.getPropertyValue(name) !== value) old.setProperty(name, value);
  }
}

/** Taps on anything with data-act inside `root` call actions[act](dataset, element). */
export function taps(root, actions) {
  root.addEventListener("click", (event) => {
    const element = event.target.closest("[data-act]");
    if (!element || !root.contains(element) || element.disabled || element.getAttribute("aria-disabled") === "true") return;
    const action = actions[element.dataset.act];
    if (action) action(element.dataset, element);
  });
}
