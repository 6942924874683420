// The text of a Hugging Face config.json as a row of a case, by the rules of data/architectures.json.
//
//   gpucalc.readConfig(text)                  // { name, row }, with the columns of data/models.csv; or { fault: "text" }
//   gpucalc.readConfig(text, { file, params, reading })
//
// file: the path that messages and the source name. params: the count of a row, else the law of that name. reading: what
// book/web/reading.py wrote, else gpucalc.reading. Whatever the text is, nothing is thrown.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const text = () => gpucalc.text;
  const OPERATORS = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "//": (a, b) => Math.floor(a / b),
    max: Math.max };
  const isFormula = (rule) => typeof rule === "string" && rule.startsWith("=");

  // Columns by the rules of one architecture, each worked out when it is asked for; `fields` says which field gave it.
  class Architecture {
    constructor(c, rules, quantized) {
      Object.assign(this, { c, rules, quantized, fields: {}, values: new Map() });
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
      if (rule.equals && value !== this.value(rule.equals)) throw bad(`the other ${this.value(rule.equals)} layers`);
    }

    shown(column) {
      return `${this.c.shown(this.fields[column])}, ${this.of(column)}`;
    }
  }

  const WEIGHTS = "config_groups.group_0.weights";
  const LEFT_OUT = ["ignore", "modules_to_not_convert"];
  const isNone = (value) => value === undefined || value === null;
  const isNoList = (value) => isNone(value) || (Array.isArray(value) && !value.length);
  const areLayers = (named, first, last) => Array.isArray(named) && named.every((each) => text().isCount(each, first, last));
  const distinct = (texts) => [...new Set(texts)].join(", ");

  const KINDS = {
    count(of, rule, column) {
      const field = rule.count;
      of.fields[column] = field;
      const state = of.c.has(field) ? (of.c.get(field) === null ? "null" : "") : "missing";
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
    // What stands for the text in the field.
    pick(of, rule, column) {
      const held = of.c.get(rule.pick);
      if (isNone(held) && "missing" in rule) return of.by(rule.missing, column);
      if (typeof held === "string" && Object.hasOwn(rule.of, held)) return rule.of[held];
      throw of.c.bad(rule.pick, Object.keys(rule.of).join(", "));
    },
    // How many of the layers, which the field names one by one in a list or a text, are of a kind.
    kinds(of, rule, column) {
      const held = of.c.get(rule.kinds);
      if (isNoList(held) && "missing" in rule) return of.by(rule.missing, column);
      const types = typeof held === "string" ? Array.from(held) : held;
      if (!Array.isArray(types) || types.length !== of.of("layers") || !types.every((each) => rule.known.includes(each))) {
        throw of.c.bad(rule.kinds, `a list of ${of.of("layers")}, each ${rule.known.join(" or ")}`);
      }
      return types.filter((each) => [rule.counted].flat().includes(each)).length;
    },
    // How many layers the field names one by one.
    length(of, rule, column) {
      const held = of.c.get(rule.length);
      if (isNoList(held) && "missing" in rule) return of.by(rule.missing, column);
      const many = Array.isArray(held) ? held.length : typeof held === "string" ? Array.from(held).length : 0;
      const most = of.c.most.layer;
      if (many >= 1 && many <= most) return many;
      throw of.c.bad(rule.length, `a list of 1 to ${text().grouped(most)} layers`);
    },
    // How many layers the field lists by their numbers.
    named(of, rule, column) {
      const [named, first, last] = [of.c.get(rule.named), rule.from, rule.from + of.of("layers") - 1];
      of.fields[column] = rule.named;
      if (isNone(named) && "missing" in rule) return of.by(rule.missing, column);
      if (areLayers(named, first, last) && new Set(named).size === named.length) return named.length;
      throw of.c.bad(rule.named, `a list of layers from ${first} to ${last}, each once`);
    },
    // How many of every so many layers there are, but for those that the field names.
    but(of, rule) {
      const layers = of.of("layers");
      const named = text().isOff(of.c.get(rule.but)) ? [] : of.c.get(rule.but);
      if (!areLayers(named, 0, layers - 1)) throw of.c.bad(rule.but, `a list of layers from 0 to ${layers - 1}`);
      const dense = new Set(named);
      return Array.from({ length: layers }, (_, layer) => layer)
        .filter((layer) => (layer + 1) % of.of(rule.every) === 0 && !dense.has(layer)).length;
    },
    // The format that the block of quantization in the field gives.
    quantized(of, rule, column) {
      const field = rule.quantized;
      if (text().isOff(of.c.get(field))) return of.by(rule.missing, column);
      const inside = (name) => text().written(of.c.get(`${field}.${name}`) ?? null);
      const asked = ({ of: block, weights = {} }) => [...Object.entries(block),
        ...Object.entries(weights).map(([name, value]) => [`${WEIGHTS}.${name}`, value])];
      const named = LEFT_OUT.map((name) => of.c.get(`${field}.${name}`)).filter(Array.isArray).flat();
      const isApart = (word) => !word || named.some((each) => typeof each === "string" && each.includes(word));
      const isAsAsked = (each) => asked(each).every(([name, value]) => inside(name) === text().written(value));
      const found = of.quantized.find((each) => isAsAsked(each) && isApart(each.apart));
      if (found) return found.format;
      const methods = of.quantized.map((each) => each.of.quant_method);
      if (methods.includes(of.c.get(`${field}.quant_method`) ?? null)) {
        const formats = distinct(of.quantized.map((each) => each.format));
        throw of.c.bad(field, `none, or one that data/architectures.json names for ${formats}`);
      }
      throw of.c.bad(`${field}.quant_method`, distinct(methods.filter(Boolean)));
    },
  };

  // A field that changes parameters or cache must not be switched on where the architecture does not read it.
  function refuseOthers(c, type, refused) {
    const other = refused.find((name) => !text().isOff(c.get(name)));
    if (other) throw c.bad(other, `none for ${type}, which does not have it`);
  }

  // What is an object of fields, or off: a text that stands there is not read, and so refused.
  function checkBlocks(c, blocks) {
    const wrong = blocks.find((name) => !text().isOff(c.get(name)) && !(c.get(name) instanceof Map));
    if (wrong) throw c.bad(wrong, "an object of fields, or null");
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

  // The rules of an architecture by column, with those of the parts that it is like; the last one of a column counts.
  function wholeOf({ like, rules }, parts) {
    return Object.assign({}, ...like.map((name) => wholeOf(parts[name], parts)), rules);
  }

  function attention({ heads, kv_heads: kvHeads, kv_lora_rank: latent }) {
    if (latent) return "MLA";
    return heads === kvHeads ? "MHA" : kvHeads === 1 ? "MQA" : "GQA";
  }

  const counted = (model) => new gpucalc.Case({ model }).law("params").number;

  // The fields of the model that reads and writes text, and its type: those of the file, or of its text_config.
  function textModel(c, { lacking, types, nesting, class_ends: ends, text_class_ends: textEnds, outer }) {
    const given = c.get("model_type");
    if (typeof given === "string" && Object.hasOwn(lacking, given)) {
      throw c.bad("model_type", `a type that the formulas count; they lack ${lacking[given]}`);
    }
    const type = c.choice("model_type", [...Object.keys(types), ...Object.keys(nesting)].sort());
    if (!Object.hasOwn(nesting, type)) {
      checkHead(c, ends);
      return [c, type];
    }
    checkHead(c, [...ends, ...textEnds]);
    const inner = c.within("text_config", outer);
    return [inner, inner.choice("model_type", nesting[type], nesting[type][0])];
  }

  function read(pasted, { file, params, reading }) {
    const { columns, texts, unit, most, types, parts, shaping, quantized } = reading.configs;
    const { text_note: textNote, longest_name: longest } = reading.configs;
    const path = file.split("/");
    const whole = new gpucalc.text.Fields(pasted, path.at(-1), most);
    const [c, type] = textModel(whole, reading.configs);
    for (const each of [whole, c]) checkBlocks(each, reading.configs.blocks);
    const blank = Object.fromEntries(columns.map((column) => [column, texts.includes(column) ? "" : 0]));
    const row = { ...blank, ...new Architecture(c, wholeOf(types[type], parts), quantized).row() };
    if (c !== whole) row.note = [textNote, row.note].filter(Boolean).join("; ");
    refuseOthers(c, type, shaping.filter((name) => !types[type].reads.includes(name)));
    const source = `Hugging Face config ${text().shortened(path.slice(-2).join("/"))}`;
    Object.assign(row, { family: row.moe_layers ? "MoE" : "dense", attention: attention(row), unit, source, confidence: "seen" });
    delete row.params;
    row.params = params(row);
    const ordered = new Set([...columns, ...Object.keys(row)]);
    return { name: nameOf(c, path.at(-1), longest), row: Object.fromEntries([...ordered].map((name) => [name, row[name]])) };
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
