// What printed functions need that fill texts, besides python.js.
"use strict";
{
  function partition(held, mark) {
    const at = held.indexOf(mark);
    return at < 0 ? [held, "", ""] : [held.slice(0, at), mark, held.slice(at + mark.length)];
  }

  Object.assign(gpucalc.py, {
    partition,
    sum: (values) => values.reduce((a, b) => a + b, 0),
    get: (held, name, otherwise = null) => (Object.hasOwn(held, name) ? held[name] : otherwise),
    removeprefix: (held, begin) => (held.startsWith(begin) ? held.slice(begin.length) : held),
    quote: (held) => (/^[\w@%+=:,./-]+$/.test(held) ? held : `'${held.replaceAll("'", "'\"'\"'")}'`),
    fullmatch: (pattern, held) => new RegExp(`^(?:${pattern})$`).exec(held),
    sub: (pattern, by, held) => held.replace(pattern, (...found) => by(found)),
  });
}
