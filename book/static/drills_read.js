// An answer as a reader types it: gpucalc.drills.read("0.14 TB", "kv-batch") is { value: 140 }, in the unit that the drill asks
// for; what cannot be read is { fault }.
//
// A number alone is in the unit that was asked for; one with a unit or a prefix of its own is put into that.
"use strict";
{
  const { drills } = gpucalc;
  const PREFIXES = { E: 1e18, P: 1e15, T: 1e12, G: 1e9, M: 1e6, k: 1e3, "": 1, m: 1e-3, "µ": 1e-6, u: 1e-6 };
  const BINARY = { TiB: 2 ** 40, GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10, kiB: 2 ** 10 };
  const COUNTS = { k: 1e3, thousand: 1e3, M: 1e6, million: 1e6, mn: 1e6, B: 1e9, G: 1e9, bn: 1e9, billion: 1e9, T: 1e12, tn: 1e12,
    trillion: 1e12 };
  const TIMES = { s: 1, sec: 1, second: 1, seconds: 1, min: 60, minute: 60, minutes: 60, h: 3600, hour: 3600, hours: 3600,
    "GPU-h": 3600, "GPU-hours": 3600, "GPU hours": 3600,
    d: 86400, day: 86400, days: 86400, month: 2628000, months: 2628000, year: 31536000, years: 31536000 };
  const OWN_TIME = { second: 1, hour: 3600, day: 86400, month: 2628000, year: 31536000 };
  const NUMBER = /^([+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*(.*)$/i;
  // What may stand behind a count and changes nothing.
  const COUNTED = /^(?:(?:token|gpu|card|sequence|request|user|step|param|parameter|replica|node|server|hour)s?|times|x|×)$/i;

  // What each unit that may stand behind the number is worth in the law's own.
  function unitsOf(law) {
    const own = gpucalc.data.quantities[law][0], [symbol, prefixes] = gpucalc.data.units[own], found = {};
    if (Object.hasOwn(OWN_TIME, own)) {
      for (const [name, seconds] of Object.entries(TIMES)) found[name] = seconds / OWN_TIME[own];
      for (const small of ["m", "µ", "u"]) found[`${small}s`] = PREFIXES[small] / OWN_TIME[own];
      return found;
    }
    if (!symbol) return { ...COUNTS, "%": 0.01 };
    const names = prefixes === "none" ? [symbol] : [symbol, ""];
    for (const name of names) {
      for (const [prefix, value] of Object.entries(PREFIXES)) if (prefix + name) found[prefix + name] = value;
    }
    if (own.startsWith("byte") && own !== "byte") {
      for (const [name, value] of Object.entries(BINARY)) found[symbol.replace("B", name)] = value;
    }
    if (own === "byte") Object.assign(found, BINARY);
    if (symbol.startsWith("USD")) {
      found[symbol.replace("USD", "$")] = found[symbol.replace("USD", "dollars")] = 1;
      for (const [name, value] of Object.entries(COUNTS)) {
        found[name] = found[`${name} ${symbol}`] = found[`${name}${symbol}`] = value;
      }
    }
    return found;
  }

  // The unit as typed, else without regard to capitals where all letters are of one kind: gb is GB, and Gb would be bits.
  function found(units, typed) {
    if (Object.hasOwn(units, typed)) return units[typed];
    if (typed !== typed.toLowerCase() && typed !== typed.toUpperCase()) return undefined;
    const names = Object.keys(units).filter((name) => name.toLowerCase() === typed.toLowerCase());
    return names.length ? Math.max(...names.map((name) => units[name])) : undefined;
  }

  const fault = (text) => ({ fault: text });
  const example = ({ unit }) => (unit ? `120, or 120 ${unit}` : "120, 12,500 or 1.2e9");

  function read(text, name) {
    const drill = drills.drillNamed(name), units = unitsOf(drill.law);
    let typed = text.trim().replace(/[\u00a0\u2009\u202f]/g, " ").replace("−", "-").replace(/μ/g, "µ");
    typed = typed.replace(/^(?:~|≈|about )\s*/i, "");
    typed = typed.replace(/^(\d{1,3})((?: \d{3})+)(?!\d)/, (_, first, rest) => first + rest.replaceAll(" ", ""));
    typed = typed.replace(/\s*(?:×|x|\*)\s*10\s*\^\s*([+-]?\d+)/, "e$1").replace(/^\$\s*/, "");
    if (!typed) return fault(`Type a number, such as ${example(drill)}.`);
    const parts = NUMBER.exec(typed);
    if (!parts) return fault(`“${short(text)}” is no number. Type one such as ${example(drill)}.`);
    const [, number, behind] = parts, value = Number(number.replaceAll(",", ""));
    if (behind.startsWith(",")) return fault("A comma parts thousands, as in 12,500. Write a fraction with a point, as in 12.5.");
    if (!Number.isFinite(value)) return fault(`${short(number)} is larger than a computer counts.`);
    if (value <= 0) return fault("The answer is above 0.");
    if (!behind || behind === drill.unit) return { value };
    const worth = found(units, behind) ?? (!symbolOf(drill.law) && COUNTED.test(behind) ? 1 : undefined);
    if (worth === undefined) return fault(`“${short(behind)}” is no unit of this answer. ${allowed(drill)}`);
    return { value: (value * worth) / drill.scale };
  }

  const symbolOf = (law) => gpucalc.data.units[gpucalc.data.quantities[law][0]][0];
  const short = (text) => (text.trim().length > 30 ? `${text.trim().slice(0, 30)}…` : text.trim());

  function allowed({ law, unit }) {
    const own = gpucalc.data.quantities[law][0], [symbol, prefixes] = gpucalc.data.units[own];
    if (Object.hasOwn(OWN_TIME, own)) return "Allowed: ms, s, min, h, days, or the number alone.";
    if (own === "byte") return "Allowed: kB, MB, GB, TB, KiB, MiB, GiB, or the number alone.";
    if (!symbol && unit === "%") return "Allowed: %, or the number alone, in percent.";
    if (!symbol) return "Allowed: k, million, billion, trillion, or the number alone.";
    const prefixed = prefixes === "none" ? "" : " with a prefix such as k, M, G or T";
    return `Allowed: ${symbol}${prefixed}, or the number alone in ${unit}.`;
  }

  Object.assign(drills, { read });
}
