// What printed functions need that fill texts, besides python.js and python_patterns.js.
"use strict";
{
  function partition(held, mark) {
    const at = held.indexOf(mark);
    return at < 0 ? [held, "", ""] : [held.slice(0, at), mark, held.slice(at + mark.length)];
  }

  // What is left over, of the sign of what it is divided by.
  function mod(value, by) {
    const left = value % by;
    return left !== 0 && left < 0 !== by < 0 ? left + by : left;
  }

  // What shows nothing, or changes how what follows is shown, or what a terminal does with it, as gpucalc/rows/files.py names it.
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
  const codePoint = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

  // A text for a message: without what shows nothing, and not longer than `most` characters.
  function shortened(text, most = 120) {
    const letters = Array.from(text.slice(0, 2 * most + 2));
    const shown = letters.slice(0, most).map((each) => (HIDDEN.test(each) ? `<${codePoint(each)}>` : each)).join("");
    return letters.length <= most ? shown : `${Array.from(shown).slice(0, most - 3).join("")}...`;
  }

  gpucalc.text = { shortened, hidden: (text) => HIDDEN.test(text), shown: (value) => shortened(gpucalc.py.repr(value), 60) };
  Object.assign(gpucalc.py, {
    partition, mod,
    prod: (values) => values.reduce((a, b) => a * b, 1),
    sum: (values) => values.reduce((a, b) => a + b, 0),
    get: (held, name, otherwise = null) => (Object.hasOwn(held, name) ? held[name] : otherwise),
    removeprefix: (held, begin) => (held.startsWith(begin) ? held.slice(begin.length) : held),
    quote: (held) => (/^[\w@%+=:,./-]+$/.test(held) ? held : `'${held.replaceAll("'", "'\"'\"'")}'`),
  });
}
