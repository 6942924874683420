// What printed functions need that fill texts, besides python.js.
"use strict";
{
  function partition(held, mark) {
    const at = held.indexOf(mark);
    return at < 0 ? [held, "", ""] : [held.slice(0, at), mark, held.slice(at + mark.length)];
  }

  // Keys are numbers, or lists of them.
  function sorted(values, key) {
    const keyed = values.map((value) => [[key(value)].flat(), value]);
    const order = (one, other) => one.reduce((sign, each, k) => sign || (each < other[k] ? -1 : each > other[k] ? 1 : 0), 0);
    return keyed.sort(([one], [other]) => order(one, other)).map(([, value]) => value);
  }

  Object.assign(gpucalc.py, {
    partition, sorted,
    prod: (values) => values.reduce((a, b) => a * b, 1),
    sum: (values) => values.reduce((a, b) => a + b, 0),
    get: (held, name, otherwise = null) => (Object.hasOwn(held, name) ? held[name] : otherwise),
    removeprefix: (held, begin) => (held.startsWith(begin) ? held.slice(begin.length) : held),
    quote: (held) => (/^[\w@%+=:,./-]+$/.test(held) ? held : `'${held.replaceAll("'", "'\"'\"'")}'`),
    fullmatch: (pattern, held) => new RegExp(`^(?:${pattern})$`).exec(held),
    sub: (pattern, by, held) => held.replace(pattern, (...found) => by(found)),
  });
}
