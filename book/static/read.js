// The text of a Hugging Face config.json as a row of a case, by the rules of data/architectures.json.
//
//   gpucalc.readConfig(text)                  // { name, row }, with the columns of data/models.csv; or { fault: "text" }
//   gpucalc.readConfig(text, { file, params, reading })
//
// file: the path that messages and the source name. params: the count of a row, else the law of that name. reading: what
// gpucalc/page/reading.py wrote, else gpucalc.reading. Whatever the text is, nothing is thrown.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const text = () => gpucalc.text;
  const OPERATORS = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "//": (a, b) => Math.floor(a / b),
    max: Math.max };
  const isFormula = (rule) => typeof rule === "string" && rule.startsWith("=");

  // Columns by the rules of one architecture, each worked out when it is asked for; `fields` says which field gave it.
  class Architecture {
    constructor(c, rules) {
      Object.assign(this, { c, rules, fields: {}, values: new Map() });
    }

    row() {
      const every = Object.keys(this.rules).map((column) => [column, this.of(column)]);
      return Object.fromEntries(every.filter(([column]) => !column.startsWith("_")));
    }

    of(column) {
      if (!this.values.has(column)) this.values.set(column, this.by(this.rules[column], column));
      return this.values.get(column);
    }

    by(given, column) {
      const rule = typeof given === "string" && !isFormula(given) ? { count: given } : given;
      if (rule === null || typeof rule !== "object") return this.value(rule);
      const value = KINDS[Object.keys(rule)[0]](this, rule, column);
      this.check(rule, column, value);
      return value;
    }

    // A plain value, or what `= 4 * hidden` says, worked out from left to right.
    value(text) {
      if (!isFormula(text)) return text;
      const [first, ...rest] = text.split(" ").slice(1);
      const term = (word) => (/^\d+$/.test(word) ? Number(word) : this.of(word));
      const step = (value, word, place) => (place % 2 ? OPERATORS[rest[place - 1]](value, term(word)) : value);
      return rest.reduce(step, term(first));
    }

    check(rule, column, value) {
      const bad = (allowed) => this.c.bad(this.fields[column], allowed);
      if (rule.even && value % 2) throw bad(rule.even.replaceAll("{}", value));
      if (rule.divides && this.of(rule.divides) % value) throw bad(`a divisor of ${this.shown(rule.divides)}`);
      if (rule.multiple_of && value % this.of(rule.multiple_of)) throw bad(`a multiple of ${this.shown(rule.multiple_of)}`);
    }

    shown(column) {
      return `${this.fields[column]}, ${this.of(column)}`;
    }
  }

  const KINDS = {
    count(of, rule, column) {
      const field = rule.count;
      of.fields[column] = field;
      const state = of.c.fields.has(field) ? (of.c.get(field) === null ? "null" : "") : "missing";
      if (state && state in rule) return of.by(rule[state], column);
      return of.c.count(field, of.value(rule.least ?? 1), of.value(rule.most), "null" in rule);
    },
    flag: (of, rule) => of.c.flag(rule.flag, rule.missing),
    choice: (of, rule) => of.c.choice(rule.choice, rule.allowed.map((each) => of.value(each)), of.value(rule.missing)),
    divide(of, rule, column) {
      const [whole, by] = [of.of(rule.divide), of.of(rule.by)];
      of.fields[column] = of.fields[rule.by];
      if (whole % by) throw of.c.bad(of.fields[rule.by], `a divisor of ${of.shown(rule.divide)}`);
      return whole / by;
    },
    if: (of, rule, column) => of.by(of.of(rule.if) ? rule.then : rule.else, column),
    text: (of, rule) => rule.text,
    // How many of the layers, which the field names one by one, are of a kind.
    kinds(of, rule, column) {
      const types = of.c.get(rule.kinds) ?? null;
      if (types === null) return of.by(rule.missing, column);
      if (!Array.isArray(types) || types.length !== of.of("layers") || !types.every((each) => rule.known.includes(each))) {
        throw of.c.bad(rule.kinds, `a list of ${of.of("layers")}, each ${rule.known.join(" or ")}`);
      }
      return types.filter((each) => each === rule.counted).length;
    },
    // How many of every so many layers there are, but for those that the field names.
    but(of, rule) {
      const layers = of.of("layers");
      const named = text().isOff(of.c.get(rule.but)) ? [] : of.c.get(rule.but);
      if (!Array.isArray(named) || !named.every((each) => text().isCount(each, 0, layers - 1))) {
        throw of.c.bad(rule.but, `a list of layers from 0 to ${layers - 1}`);
      }
      const dense = new Set(named);
      return Array.from({ length: layers }, (_, layer) => layer)
        .filter((layer) => (layer + 1) % of.of(rule.every) === 0 && !dense.has(layer)).length;
    },
  };

  // A field that changes parameters or cache must not be switched on where the architecture does not read it.
  function refuseOthers(c, type, refused) {
    const other = refused.find((name) => !text().isOff(c.get(name)));
    if (other) throw c.bad(other, `none for ${type}, which does not have it`);
  }

  // A language model: its output head is one of the parameters that are counted.
  function checkHead(c, ends) {
    const classes = c.get("architectures") ?? null;
    const isHead = (each) => typeof each === "string" && ends.some((end) => each.endsWith(end));
    if (classes !== null && !(Array.isArray(classes) && classes.every(isHead))) {
      throw c.bad("architectures", `a list of classes that end in ${ends.join(" or ")}`);
    }
  }

  function nameOf(c, file, longest) {
    const name = c.get("_name_or_path");
    if (typeof name !== "string" || !name.trim()) return text().shortened(file.replace(/\.\w+$/, ""));
    if (text().HIDDEN.test(name) || Array.from(name).length > longest) {
      throw c.bad("_name_or_path", `at most ${longest} characters, none of them control or invisible`);
    }
    return name;
  }

  function attention({ heads, kv_heads: kvHeads, kv_lora_rank: latent }) {
    if (latent) return "MLA";
    return heads === kvHeads ? "MHA" : kvHeads === 1 ? "MQA" : "GQA";
  }

  const counted = (model) => new gpucalc.Case({ model }).law("params").number;

  function read(pasted, { file, params, reading }) {
    const { columns, texts, unit, most, types, class_ends: ends, longest_name: longest } = reading.configs;
    const parts = file.split("/");
    const c = new gpucalc.text.Fields(pasted, parts.at(-1), most);
    const type = c.choice("model_type", Object.keys(types));
    checkHead(c, ends);
    const blank = Object.fromEntries(columns.map((column) => [column, texts.includes(column) ? "" : 0]));
    const row = { ...blank, ...new Architecture(c, types[type].rules).row() };
    refuseOthers(c, type, types[type].refused);
    const source = `Hugging Face config ${text().shortened(parts.slice(-2).join("/"))}`;
    Object.assign(row, { family: row.moe_layers ? "MoE" : "dense", attention: attention(row), unit, source, confidence: "seen" });
    delete row.params;
    row.params = params(row);
    const ordered = new Set([...columns, ...Object.keys(row)]);
    return { name: nameOf(c, parts.at(-1), longest), row: Object.fromEntries([...ordered].map((name) => [name, row[name]])) };
  }

  gpucalc.readConfig = (pasted, { file = "config.json", params = counted, reading = gpucalc.reading } = {}) => {
    try {
      return read(String(pasted), { file, params, reading });
    } catch (error) {
      const known = error instanceof gpucalc.text.Fault;
      return { fault: known ? error.message : `${file}: ${error.message}; allowed: the config.json of a model` };
    }
  };
}
