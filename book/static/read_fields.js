// What is read from a text that somebody pasted: JSON with nothing lost, and its fields by name, checked, as
// gpucalc/rows/config.py reads those of a file. What is wrong is a gpucalc.text.Fault, with the same message.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  class Fault extends Error {}

  class Twice extends Fault {}

  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
  const codePoint = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

  // A text for a message: without what shows nothing, and not longer than `most` characters.
  function shortened(text, most = 120) {
    const letters = Array.from(text.slice(0, 2 * most + 2));
    const shown = letters.slice(0, most).map((each) => (HIDDEN.test(each) ? `<${codePoint(each)}>` : each)).join("");
    return letters.length <= most ? shown : `${Array.from(shown).slice(0, most - 3).join("")}...`;
  }

  // How many letters a text has; a pair of surrogates is one.
  const letters = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g) || []).length;

  // JSON with what JSON.parse drops: objects are maps, so that no name is special, a name that is there twice is a fault, and
  // a number with a point is a Decimal, since 32.0 is no count.
  class Decimal {
    constructor(value) {
      this.value = value;
    }

    // As Python writes it: an exponent below 1e-4 and from 1e16 on.
    toString() {
      if (!Number.isFinite(this.value)) return Number.isNaN(this.value) ? "NaN" : this.value > 0 ? "Infinity" : "-Infinity";
      const [digits, power] = this.value.toExponential().split("e");
      if (power < -4 || power >= 16) return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
      const plain = Object.is(this.value, -0) ? "-0" : String(this.value);
      return plain.includes(".") ? plain : `${plain}.0`;
    }
  }

  const DEEPEST = 900;
  const MOST_DIGITS = 4300;
  const WORDS = new Map([["null", null], ["true", true], ["false", false], ["NaN", new Decimal(NaN)],
    ["Infinity", new Decimal(Infinity)], ["-Infinity", new Decimal(-Infinity)]]);
  const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

  class Json {
    constructor(text) {
      this.text = text;
      this.at = 0;
    }

    read() {
      this.space();
      const value = this.value(0);
      this.space();
      if (this.at < this.text.length) throw this.wrong("Extra data");
      return value;
    }

    wrong(what, at = this.at) {
      const before = this.text.slice(0, at);
      const line = before.split("\n").length;
      const column = letters(before.slice(before.lastIndexOf("\n") + 1)) + 1;
      return new Fault(`${what}: line ${line} column ${column} (char ${letters(before)})`);
    }

    match(pattern) {
      pattern.lastIndex = this.at;
      const found = pattern.exec(this.text);
      if (found) this.at = pattern.lastIndex;
      return found;
    }

    space() {
      this.match(/[ \t\n\r]*/y);
    }

    value(depth) {
      if (depth > DEEPEST) throw new Fault("nested too deeply");
      const next = this.text[this.at];
      if (next === '"') return this.string();
      if (next === "{") return this.object(depth);
      if (next === "[") return this.list(depth);
      const word = this.match(/null|true|false|NaN|-?Infinity/y);
      return word ? WORDS.get(word[0]) : this.number();
    }

    number() {
      const found = this.match(/(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y);
      if (!found) throw this.wrong("Expecting value");
      if (found[2] || found[3]) return new Decimal(Number(found[0]));
      const digits = found[1].replace("-", "").length;
      if (digits > MOST_DIGITS) {
        throw new Fault(`Exceeds the limit (${MOST_DIGITS} digits) for integer string conversion: value has ${digits} digits`);
      }
      const value = Number(found[0]);
      return Number.isSafeInteger(value) ? value : BigInt(found[0]);
    }

    string() {
      const start = this.at++;
      let held = "";
      for (;;) {
        held += this.match(/[^"\\\x00-\x1f]*/y)[0];
        const next = this.text[this.at++];
        if (next === '"') return held;
        if (next === undefined) throw this.wrong("Unterminated string starting at", start);
        if (next !== "\\") throw this.wrong("Invalid control character at", this.at - 1);
        held += this.escaped(start);
      }
    }

    escaped(start) {
      const next = this.text[this.at++];
      if (next === undefined) throw this.wrong("Unterminated string starting at", start);
      if (next !== "u") {
        if (!Object.hasOwn(ESCAPES, next)) throw this.wrong("Invalid \\escape", this.at - 2);
        return ESCAPES[next];
      }
      const code = this.match(/[0-9a-fA-F]{4}/y);
      if (!code) throw this.wrong("Invalid \\uXXXX escape", this.at - 1);
      return String.fromCharCode(parseInt(code[0], 16));
    }

    // What stands between the brackets, one by one.
    items(end, item) {
      this.at += 1;
      this.space();
      if (this.text[this.at] === end) {
        this.at += 1;
        return;
      }
      for (;;) {
        item();
        this.space();
        const next = this.text[this.at];
        if (next !== end && next !== ",") throw this.wrong("Expecting ',' delimiter");
        this.at += 1;
        if (next === end) return;
        this.space();
      }
    }

    list(depth) {
      const found = [];
      this.items("]", () => found.push(this.value(depth + 1)));
      return found;
    }

    object(depth) {
      const found = new Map();
      const twice = new Set();
      this.items("}", () => {
        if (this.text[this.at] !== '"') throw this.wrong("Expecting property name enclosed in double quotes");
        const name = this.string();
        this.space();
        if (this.text[this.at] !== ":") throw this.wrong("Expecting ':' delimiter");
        this.at += 1;
        this.space();
        if (found.has(name)) twice.add(name);
        found.set(name, this.value(depth + 1));
      });
      if (twice.size) throw new Twice([...found.keys()].find((name) => twice.has(name)));
      return found;
    }
  }

  // A value as Python's json writes it.
  function written(value) {
    if (typeof value === "string") {
      return JSON.stringify(value).replace(/\\\\|\\u(d[89a-f]\w\w)/g,
        (all, code) => (code ? String.fromCharCode(parseInt(code, 16)) : all));
    }
    if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
    if (value instanceof Map) return `{${[...value].map(([name, held]) => `${written(name)}: ${written(held)}`).join(", ")}}`;
    return Object.is(value, -0) ? "0" : String(value);
  }

  const TYPES = { string: "str", number: "int", bigint: "int", boolean: "bool" };
  const typeOf = (value) => (value === null ? "NoneType" : Array.isArray(value) ? "list" : TYPES[typeof value] || "float");
  const isOff = (value) => value === undefined || value === null || value === false || value === 0 || value === ""
    || (value instanceof Decimal && value.value === 0) || (Array.isArray(value) && !value.length)
    || (value instanceof Map && !value.size);
  const isCount = (value, least, most) => typeof value === "number" && value >= least && value <= most;
  const grouped = (number) => number.toLocaleString("en-US");
  const MOST_BYTES = 10_000_000;

  // The fields of one text, read by name and checked.
  class Fields {
    constructor(text, file, most) {
      Object.assign(this, { file: shortened(file), most, prefix: "", lent: [] });
      this.fields = this.load(text);
    }

    load(text) {
      const bytes = text.length > MOST_BYTES ? text.length : new Blob([text]).size;
      if (bytes > MOST_BYTES) throw new Fault(`${this.file}: more than ${grouped(MOST_BYTES)} bytes; allowed: at most that`);
      const found = this.parsed(text.replace(/^\ufeff/, ""));
      if (found instanceof Map) return found;
      throw new Fault(`${this.file}: a JSON ${typeOf(found)}; allowed: an object of fields, such as model_type`);
    }

    parsed(text) {
      try {
        return new Json(text).read();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        throw new Fault(error instanceof Twice
          ? `${this.file}, field ${shortened(error.message)}: there twice; allowed: each once`
          : `${this.file}: ${error.message}; allowed: a JSON object of fields, such as model_type`);
      }
    }

    // The fields of the object that a field holds, and of the outer ones those that it lacks.
    within(name, outer) {
      const held = this.get(name);
      if (!(held instanceof Map)) throw this.bad(name, "an object of fields, such as model_type");
      const lent = outer.filter((each) => this.fields.has(each) && (held.get(each) ?? null) === null);
      const inner = Object.create(Fields.prototype);
      return Object.assign(inner, this, { prefix: `${name}.`, lent,
        fields: new Map([...held, ...lent.map((each) => [each, this.fields.get(each)])]) });
    }

    // What the field holds; `a.b` is field b of the object in field a.
    get(name) {
      const inside = (held, part) => (held instanceof Map ? held.get(part) : undefined);
      return name.split(".").reduce(inside, this.fields);
    }

    has(name) {
      return this.get(name) !== undefined;
    }

    // The field as messages name it.
    shown(name) {
      return this.lent.includes(name.split(".")[0]) ? name : this.prefix + name;
    }

    bad(name, allowed) {
      const value = this.has(name) ? shortened(written(this.get(name)), 60) : "missing";
      return new Fault(`${this.file}, field ${this.shown(name)}: ${value}; allowed: ${allowed}`);
    }

    count(name, least, most, nullable) {
      const highest = most ?? this.most[Object.keys(this.most).find((word) => name.includes(word))];
      if (isCount(this.get(name), least, highest)) return this.get(name);
      throw this.bad(name, `a whole number from ${least} to ${grouped(highest)}${nullable ? " or null" : ""}`);
    }

    flag(name, missing) {
      const value = this.has(name) ? this.get(name) : missing;
      if (typeof value !== "boolean") throw this.bad(name, "true or false");
      return Number(value);
    }

    choice(name, allowed, missing) {
      const value = this.has(name) ? this.get(name) : missing;
      if (allowed.includes(value)) return value;
      throw this.bad(name, allowed.map((each) => (typeof each === "string" ? each : written(each))).join(", "));
    }
  }

  gpucalc.text = { Fault, Fields, HIDDEN, grouped, isCount, isOff, shortened, written };
}
