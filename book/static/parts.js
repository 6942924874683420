// What pages that are made in the browser share, the front page among them: elements, addresses, and chance that can be had again.
//
//   gpucalc.make("p", { className: "x" }, "text", child)    // an element
//   gpucalc.generator("sheet 7")()                          // numbers from 0 to 1, the same from the same text
//   gpucalc.shuffled(list, random)                          // the list in an order that these numbers give
"use strict";
window.gpucalc = window.gpucalc || {};
{
  function make(tag, { attributes = {}, ...properties } = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const button = (textContent, onclick, className = "") => make("button", { type: "button", textContent, onclick, className });
  const labelled = (text, control) => make("label", {}, make("span", { textContent: text }), control);
  const choice = (options) => make("select", {}, ...options.map(([value, text]) => new Option(text, value)));

  // What the address holds, as `kind=design&compare=A,B`: of each name its values.
  function fromAddress() {
    const pairs = location.hash.slice(1).split("&").filter((pair) => pair.includes("=")).map((pair) => pair.split("="));
    const decoded = (text) => { try { return decodeURIComponent(text); } catch { return ""; } };
    return new Map(pairs.map(([key, value]) => [decoded(key), value.split(",").map(decoded)]));
  }

  function toAddress(held) {
    const pairs = [...held].filter(([, values]) => values.some(Boolean))
      .map(([key, values]) => `${encodeURIComponent(key)}=${values.map(encodeURIComponent).join(",")}`);
    history.replaceState(null, "", pairs.length ? `#${pairs.join("&")}` : location.pathname + location.search);
  }

  // Mulberry32, started by the text's FNV-1a.
  function generator(text) {
    let state = 2166136261;
    for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 16777619);
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }

  function shuffled(list, random) {
    const left = [...list];
    for (let k = left.length - 1; k > 0; k--) {
      const at = Math.floor(random() * (k + 1));
      [left[k], left[at]] = [left[at], left[k]];
    }
    return left;
  }

  Object.assign(gpucalc, { make, button, labelled, choice, fromAddress, toAddress, generator, shuffled });
}
