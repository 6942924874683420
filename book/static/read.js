// What is read from a text that somebody pasted: the text of a Hugging Face config.json as a row of a case, and behind it the
// index of its safetensors. Its fields mean what functions of gpucalc/rows/config.py say, which book/web/printed.py prints as
// gpucalc.configs. Here is what Python has besides: JSON with nothing lost.
//
//   gpucalc.readConfig(text)                  // { name, row }, with the columns of data/models.csv; or { fault: "text" }
//   gpucalc.readConfig(text, { file, params })
//
// file: the path that messages and the source name. params: the count of a row, else the law of that name. Whatever the text is,
// nothing is thrown.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const { py, configs } = gpucalc, { shortened } = gpucalc.text;

  class Twice extends py.Fault {}

  // How many letters a text has; a pair of surrogates is one.
  const letters = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g) || []).length;

  // JSON with what JSON.parse drops: a name that is there twice is a fault, names keep their order, and a number with a point is
  // a Decimal, since 32.0 is no count.
  const ORDER = new WeakMap();

  class Decimal extends Number {
    // As Python writes it: an exponent below 1e-4 and from 1e16 on.
    toString() {
      const value = this.valueOf();
      if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
      const [digits, power] = value.toExponential().split("e");
      if (power < -4 || power >= 16) return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
      const plain = Object.is(value, -0) ? "-0" : String(value);
      return plain.includes(".") ? plain : `${plain}.0`;
    }
  }

  const DEEPEST = 900, MOST_DIGITS = 4300, MOST_BYTES = 10_000_000;
  const WORDS = new Map([["null", null], ["true", true], ["false", false], ["NaN", new Decimal(NaN)],
    ["Infinity", new Decimal(Infinity)], ["-Infinity", new Decimal(-Infinity)]]);

  class Json {
    constructor(text) {
      this.text = text;
      this.at = 0;
    }

    // The value, and one more behind it where that is an object.
    read() {
      const found = [];
      do {
        found.push(this.value(0));
        this.space();
      } while (found.length < 2 && this.text[this.at] === "{");
      if (this.at < this.text.length) throw this.wrong("Extra data");
      return found;
    }

    wrong(what, at = this.at) {
      const before = this.text.slice(0, at);
      const line = before.split("\n").length;
      const column = letters(before.slice(before.lastIndexOf("\n") + 1)) + 1;
      return new py.Fault(`${what}: line ${line} column ${column} (char ${letters(before)})`);
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
      this.space();
      if (depth > DEEPEST) throw new py.Fault("nested too deeply");
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
        throw new py.Fault(`Exceeds the limit (${MOST_DIGITS} digits) for integer string conversion: value has ${digits} digits`);
      }
      const value = Number(found[0]);
      return Number.isSafeInteger(value) ? value : BigInt(found[0]);
    }

    string() {
      const start = this.at;
      this.at += 1;
      while (this.match(/(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,9999}/y)[0]);
      const [next, escaped] = this.text.slice(this.at, this.at + 2);
      if (next === '"') return JSON.parse(this.text.slice(start, this.at += 1));
      if (next === undefined || (next === "\\" && !escaped)) throw this.wrong("Unterminated string starting at", start);
      if (next !== "\\") throw this.wrong("Invalid control character at");
      throw escaped === "u" ? this.wrong("Invalid \\uXXXX escape", this.at + 1) : this.wrong("Invalid \\escape");
    }

    // What stands between the brackets, one by one.
    items(end, item) {
      this.at += 1;
      this.space();
      if (this.text[this.at] === end) return void (this.at += 1);
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
      const found = Object.create(null), names = new Set(), twice = new Set();
      this.items("}", () => {
        if (this.text[this.at] !== '"') throw this.wrong("Expecting property name enclosed in double quotes");
        const name = this.string();
        this.space();
        if (this.text[this.at] !== ":") throw this.wrong("Expecting ':' delimiter");
        this.at += 1;
        if (names.has(name)) twice.add(name);
        names.add(name);
        found[name] = this.value(depth + 1);
      });
      if (twice.size) throw new Twice([...names].find((name) => twice.has(name)));
      ORDER.set(found, names);
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
    if (py.type(value) !== "dict") return Object.is(value, -0) ? "0" : String(value);
    return `{${[...(ORDER.get(value) ?? Object.keys(value))].map((name) => `${written(name)}: ${written(value[name])}`).join(", ")}}`;
  }

  function loaded(text, file) {
    const bytes = text.length > MOST_BYTES ? text.length : new Blob([text]).size;
    if (bytes > MOST_BYTES) throw new py.Fault(`${file}: more than ${py.format(MOST_BYTES, ",")} bytes; allowed: at most that`);
    try {
      const found = new Json(text.replace(/^\ufeff/, "")).read(), kind = py.type(found[0]);
      if (kind === "dict") return found;
      throw new py.Fault(`a JSON ${kind}`);
    } catch (error) {
      if (!(error instanceof py.Fault)) throw error;
      throw new py.Fault(error instanceof Twice
        ? `${file}, field ${shortened(error.message)}: there twice; allowed: each once`
        : `${file}: ${error.message}; allowed: a JSON object of fields, such as model_type`);
    }
  }

  const counted = (model) => new gpucalc.Case({ model }).law("params").number;
  const held = (model) => new gpucalc.Case({ model, weight_format: gpucalc.row("formats", model.native_format) })
    .law("weight_bytes").number;

  function read(pasted, file, params) {
    const path = file.split("/").slice(-2), name = shortened(path.at(-1)), { most, columns } = gpucalc.reading.configs;
    const [config, index] = loaded(pasted, name);
    const [fields, row] = configs.described(new configs.Fields(name, config, most), columns, path.join("/"));
    const { params: _, ...others } = row;
    row.params = params(others);
    if (index) Object.assign(row, configs.released(index, row, held(row)));
    const folder = path.at(-1) === "config.json" && path.length > 1;
    return { name: configs.named(fields, folder ? path[0] : path.at(-1).replace(/\.\w+$/, "")), row };
  }

  gpucalc.text.written = written;
  gpucalc.readConfig = (pasted, { file = "config.json", params = counted } = {}) => {
    try {
      return read(String(pasted), file, params);
    } catch (error) {
      const known = error instanceof py.Fault;
      return { fault: known ? error.message : `${file}: ${error.message}; allowed: the config.json of a model` };
    }
  };
}
