// What people write for columns, GPUs, terms and numbers, as gpucalc/rows/intake.py takes it. Words
// and patterns are theirs: `names`, written by book/web/reading.py. What can't be read is a Fault that says what is allowed.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const has = Object.hasOwn;
  const bare = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const whole = (pattern) => new RegExp(`^(?:${pattern})$`, "i");
  const plain = (text) => text.replaceAll("−", "-").split(/\s+/).filter(Boolean).join(" ");
  const fault = (message) => new gpucalc.text.Fault(message);

  // What a header means: the column of a book, and the currency that it names.
  function columnOf(names, header) {
    const known = header.trim().toLowerCase().replace(/[\s-]+/g, "_");
    if (has(names.columns, known)) return { field: names.columns[known], currency: "" };
    let text = header.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
    for (const [sign, word] of Object.entries(names.signs)) text = text.replaceAll(sign, word);
    const words = text.match(/[a-z]+|\d+|#/g) ?? [];
    const phrase = words.join(" ");
    return moneyColumn(names, words) ?? (has(names.columns, phrase) ? { field: names.columns[phrase], currency: "" } : null);
  }

  function moneyColumn(names, all) {
    const { hour, money, machine, fillers } = names.words;
    const words = [...new Set(all)].filter((word) => !fillers.includes(word));
    const currencies = words.filter((word) => names.codes.includes(word.toUpperCase()));
    const known = [...currencies, ...hour, ...money, ...machine, "gpu", "accelerator"];
    const priced = currencies.length || words.some((word) => money.includes(word) || word === "hourly");
    if (!priced || currencies.length > 1 || words.some((word) => !known.includes(word))) return null;
    const one = words.some((word) => word === "gpu" || word === "accelerator" || hour.includes(word));
    const ofOne = one && !words.some((word) => machine.includes(word));
    return { field: ofOne ? names.per_gpu : names.whole, currency: (currencies[0] ?? "").toUpperCase() };
  }

  // The words of a GPU's name that tell it from others.
  function wordsOf(names, name) {
    let text = name.toLowerCase();
    for (const [pattern, replacement] of names.spelling) text = text.replace(new RegExp(pattern, "g"), replacement);
    const words = text.split(" ").filter(Boolean).map((word) => (has(names.forms, word) ? names.forms[word] : word));
    return [...new Set(words)].filter((word) => !names.noise.includes(word));
  }

  // The GPU that a name means, and what to say where the name leaves open which.
  function gpuOf(names, name) {
    if (has(names.gpus, name)) return [name, ""];
    const given = wordsOf(names, name);
    const family = (key) => names.gpus[key].family.join(" ");
    let found = Object.keys(names.gpus).filter((key) => given.length
      && given.every((word) => names.gpus[key].words.includes(word) || names.gpus[key].memory === word));
    const exact = found.filter((key) => names.gpus[key].family.every((word) => given.includes(word)));
    if (new Set(found.map(family)).size > 1 && exact.length) {
      const longest = exact.reduce((a, b) => (names.gpus[b].family.length > names.gpus[a].family.length ? b : a));
      found = found.filter((key) => family(key) === family(longest));
    }
    if (new Set(found.map(family)).size !== 1) throw fault(`a gpu of data/gpus.csv${alike(names, name, given, found)}`);
    const rank = (key) => Number(key.includes("SXM")) * 1e15 + names.gpus[key].bytes;
    const best = found.reduce((a, b) => (rank(b) > rank(a) ? b : a));
    const others = found.filter((key) => key !== best);
    return [best, others.length ? `${gpucalc.text.shortened(name, 60)} is taken as ${best}, not ${others.join(" or ")}` : ""];
  }

  function alike(names, name, given, found) {
    if (found.length) return `; it may be ${found.slice(0, 4).join(", ")}`;
    const keys = Object.keys(names.gpus);
    const within = keys.filter((key) => key.toLowerCase().includes(name.toLowerCase()));
    const close = within.length ? within : keys.filter((key) => names.gpus[key].family.some((word) => given.includes(word)));
    return close.length ? `; close: ${close.slice(0, 4).join(", ")}` : "";
  }

  // The name of a GPU without the number of them in it, as in 8x H100, and that number.
  function counted(names, name) {
    const found = whole(names.counted).exec(name);
    const number = found && (found[1] || found[3]);
    return number && found[2] ? [found[2], Number(number)] : [name, 0];
  }

  function termOf(names, text) {
    const word = bare(text);
    const same = names.terms.find((term) => bare(term) === word);
    if (same) return same;
    if (has(names.term_names, word)) return names.term_names[word];
    const length = new RegExp(names.length).exec(word);
    const reserved = length && (word === length[0] || names.reserving.some((name) => word.includes(name)));
    if (!reserved) throw fault(names.terms.join(", "));
    const number = has(names.years, length[1]) ? names.years[length[1]] : Number(length[1]);
    const years = length[2].startsWith("m") ? number / 12 : number;
    return Object.keys(names.reserved_years).find((term) => names.reserved_years[term] === years) ?? "reserved";
  }

  // The currencies that stand beside a number, and the text without them.
  function withoutCurrencies(names, text) {
    const found = [];
    for (const symbol of Object.keys(names.symbols).sort((a, b) => b.length - a.length)) {
      if (text.includes(symbol)) found.push(names.symbols[symbol]);
      text = text.replace(symbol, "");
    }
    const rest = text.replace(/[A-Za-z]+/g, (word) => {
      const lower = word.toLowerCase();
      const code = has(names.currency_words, lower) ? names.currency_words[lower] : word.toUpperCase();
      return names.codes.includes(code) ? (found.push(code), "") : word;
    });
    return [found, rest.trim()];
  }

  // What a number can mean, by its decimal mark; by "" where it has none to tell.
  function readings(number) {
    const spaced = /^(\d{1,3}(?:[ '’]\d{3})+)(?:([.,])(\d+))?$/.exec(number);
    if (spaced) return { [spaced[2] ?? ""]: Number(`${spaced[1].replace(/[ '’]/g, "")}.${spaced[3] ?? 0}`) };
    if (/^\d+$/.test(number)) return { "": Number(number) };
    const found = {};
    for (const [mark, group] of [[".", ","], [",", "."]]) {
      const digits = number.includes(group) ? `\\d{1,3}(?:\\${group}\\d{3})+` : "\\d*";
      const grouping = number.includes(group) && number.startsWith("0"); // 0,123 groups nothing
      if (grouping || !new RegExp(`^${digits}(?:\\${mark}\\d*)?(?:[eE][+-]?\\d+)?$`).test(number)) continue;
      found[mark] = Number(number.replaceAll(group, "").replace(mark, "."));
    }
    return found["."] === found[","] && "." in found ? { "": found["."] } : found;
  }

  const numberIn = (names, text) => new RegExp(names.number).exec(plain(text));

  // The decimal mark that those numbers of a column settle which can be read in one way only.
  function markOf(names, cells) {
    const held = cells.map((cell) => numberIn(names, cell)).filter(Boolean).map((found) => readings(found[0]));
    const marks = new Set(held.filter((each) => Object.keys(each).length === 1).flatMap(Object.keys).filter(Boolean));
    return marks.size === 1 ? [...marks][0] : "";
  }

  gpucalc.names = { columnOf, counted, gpuOf, markOf, numberIn, plain, readings, termOf, whole, withoutCurrencies };
}
