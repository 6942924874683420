// A case as text: quantities in friendly units, the page's address, YAML, a notebook cell. Nothing here touches the page.
(() => {
  const gpucalc = (window.gpucalc ||= {});
  const LONGEST = 8000; // letters of one value: a table of rents; no address needs more
  const catalogue = () => gpucalc.catalogue;
  const held = (table, key) => (Object.hasOwn(table, key) ? table[key] : null);
  const quantity = (key) => held(catalogue().quantities, key);
  const choice = (key) => held(catalogue().choices, key);
  const label = (key) => choice(key)?.label || quantity(key)?.meaning || key.replaceAll("_", " ");

  // The names of a job in order; what it needs may be one name or another: `requests_per_second|daily_users`.
  function namesOf(job) {
    const { needs, takes } = catalogue().jobs[job];
    return [...new Set([...needs.flatMap((name) => name.split("|")), ...takes, "discount", "rents"])];
  }

  const takes = (job, key) => key === "job" || namesOf(job).includes(key === "model_row" ? "model" : key);

  // For each load that can be given in two ways: lists of names, of which a case gives one. A name that must stand apart from
  // one way belongs to the other: `messages_per_day` to `daily_users`.
  function either(job) {
    const { needs, apart = [] } = catalogue().jobs[job];
    const pairs = apart.map((names) => names.split("|"));
    const beside = (ways, way) => pairs.filter((pair) => pair.some((name) => ways.includes(name) && name !== way)).flat()
      .filter((name) => !ways.includes(name));
    return needs.filter((name) => name.includes("|")).map((name) => name.split("|"))
      .map((ways) => ways.map((way) => [way, ...beside(ways, way)]));
  }

  // The words that a name may have; none for a quantity, and for what is free text.
  function choices(key) {
    const named = held(gpucalc.limits.named, key);
    return named ? Object.keys(named).map(Number) : choice(key)?.names ?? null;
  }

  // {value} in the unit of the quantity, or {fault}.
  function read(key, text) {
    const [value, fault] = gpucalc.typed.read(quantity(key), text);
    return fault ? { fault } : { value };
  }

  const show = (key, value) => gpucalc.typed.shown(quantity(key), value);

  const shortened = (text) => gpucalc.typed.cut(text, 60);

  // The address: names and plain values, in the order in which the job takes them.
  const LEGIBLE = { "%20": "+", "%2C": ",", "%3A": ":", "%2F": "/" };
  const encoded = (text) => encodeURIComponent(text.toWellFormed()).replace(/%(20|2C|3A|2F)/g, (code) => LEGIBLE[code]);

  function ordered(state) {
    const order = ["job", ...namesOf(state.job)];
    const place = (key) => (order.includes(key) ? order.indexOf(key) : order.length);
    return Object.entries(state).sort(([a], [b]) => place(a) - place(b));
  }

  const address = (state) => ordered(state).map(([key, value]) => `${encoded(key)}=${encoded(String(value))}`).join("&");

  // {state, versus, faults} of an address; state is null where it holds no case, as in a link to a heading.
  function fromAddress(text) {
    if (!text.includes("=")) return { state: null, versus: null, faults: [] };
    const pairs = [], faults = [];
    let versus = null;
    for (const part of text.split("&").filter(Boolean)) {
      const [key, value] = decoded(part);
      if (value === undefined) faults.push(`“${shortened(part)}” in the address is no name and value; it is left out.`);
      else if (key === "vs") versus = value;
      else pairs.push([key, value]);
    }
    const read = checked(pairs);
    const other = versus && checked(versus.split("&").filter(Boolean).map(decoded).filter((pair) => pair[1] !== undefined));
    return {
      state: read.state, versus: other ? other.state : null,
      faults: gpucalc.files.few([...faults, ...read.faults, ...(other ? other.faults.map((fault) => `In the case kept as A: ${fault}`) : [])]),
    };
  }

  function decoded(part) {
    const cut = part.indexOf("=");
    try {
      const texts = cut > 0 ? [part.slice(0, cut), part.slice(cut + 1)] : [];
      return texts.map((text) => decodeURIComponent(text.replaceAll("+", " ")));
    } catch {
      return [];
    }
  }

  // The state that pairs of name and text give, without what is unknown, twice given or not allowed: those are faults.
  function checked(pairs) {
    const jobs = Object.keys(catalogue().jobs), faults = [];
    const asked = pairs.find(([key]) => key === "job")?.[1];
    if (asked !== undefined && !jobs.includes(asked)) {
      faults.push(`job: “${shortened(asked)}” is none of ${jobs.join(", ")}; it is left out.`);
    }
    const state = { job: jobs.includes(asked) ? asked : jobs[0] };
    const brought = { model: pairs.some(([key, value]) => key === "model_row" && row(value)) };
    brought.provider = brought.region = pairs.some(([key]) => key === "rents");
    const given = Object.fromEntries(pairs.filter(([key]) => !brought[key])), meant = gpucalc.names.spelled(given, namesOf(state.job));
    const all = [...pairs.map(([key, text]) => [key, given[key] === text ? meant[key] : text]), ...Object.entries(meant)
      .filter(([key]) => !(key in given)).map(([key, value]) => [key, String(value)])];
    for (const [key, text] of all.filter(([name]) => name !== "job")) {
      const fault = !takes(state.job, key) ? `no input of this job` : Object.hasOwn(state, key) ? "given twice; the first counts"
        : refused(key, text, brought[key]);
      if (fault) faults.push(`${shortened(key)}: ${fault.replace(/\.$/, "")}; it is left out.`);
      else state[key] = quantity(key) || key === "sure" ? Number(text) : text.trim();
    }
    return { state, faults };
  }

  // Why a text is no value of a name; a name that the reader brought may be one that the book lacks.
  function refused(key, text, brought) {
    if (text.length > LONGEST) return `longer than ${LONGEST} letters`;
    if (gpucalc.text.hidden(key === "rents" ? text.replace(/[\t\r\n]/g, "") : text)) return "holds a character that nobody sees";
    if (key === "model_row") return row(text) ? null : "no row of a model";
    if (brought) return text.trim() && text.length <= gpucalc.limits.letters ? null : `no name of 1 to ${gpucalc.limits.letters} letters`;
    if (key === "discount") return gpucalc.pasted.discount_fault(text) || null;
    const words = quantity(key) ? null : choices(key);
    const kind = { model: "model", gpu: "gpu", cards: "gpu" }[key], fault = kind && gpucalc.names.typed(kind, text, false).fault;
    if (words) return known(key, text, words) ? null : fault || `“${shortened(text)}” is not in the book`;
    if (!quantity(key)) return null;
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim());
    return number ? gpucalc.typed.outside(quantity(key), Number(text)) || null : `“${shortened(text)}” is no number`;
  }

  const listed = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);
  const known = (key, text, words) => (gpucalc.limits.lists.includes(key) && text !== "any"
    ? listed(text).length > 0 && listed(text).every((word, at, all) => words.includes(word) && all.indexOf(word) === at)
    : words.includes(typeof words[0] === "number" ? Number(text) : text.trim()));

  // A model's row in one line, layers:80,hidden:8192, without what it lacks and without texts of more than words; and back, null
  // unless each part is a name and a value.
  const WORDS = /^[\w. +/-]+$/;
  const packed = (values) => Object.entries(values).filter(([, value]) => value && WORDS.test(String(value)))
    .map(([name, value]) => `${name}:${value}`).join(",");

  function row(text) {
    const parts = text.split(",").map((part) => /^([a-z]\w*):([\w. +/-]+)$/i.exec(part.trim()));
    if (parts.some((part) => !part)) return null;
    return Object.fromEntries(parts.map(([, name, value]) => [name, Number.isFinite(Number(value)) ? Number(value) : value]));
  }

  // YAML: one `name: value` a line, as PyYAML reads it; anything else is a fault with its line.
  const PLAIN = /^(?!(?:true|false|yes|no|on|off|null|y|n)$)[A-Za-z][\w.-]*(?: [\w.-]+)*$/i;
  const yamlValue = (value) => (typeof value === "string" ? (PLAIN.test(value) ? value : JSON.stringify(value))
    : String(value).replace(/^(-?\d+)e/, "$1.0e"));
  const yaml = (state) => ordered(state).map(([key, value]) => `${key}: ${yamlValue(value)}\n`).join("");

  function fromYaml(text) {
    const pairs = [], faults = [];
    text.split(/\r?\n/).forEach((line, number) => {
      if (/^\s*(#.*)?$/.test(line) || line === "---") return;
      const match = /^([A-Za-z_]\w*)\s*:(?:\s+(.*))?$/.exec(line);
      const value = match && scalar((match[2] || "").trim());
      if (typeof value !== "string") faults.push(`Line ${number + 1}, “${shortened(line)}”, is not “name: value”.`);
      else pairs.push([match[1], value]);
    });
    const read = checked(pairs);
    if (!pairs.some(([key]) => key === "job")) faults.push("No line gives the job.");
    return { state: read.state, faults: gpucalc.files.few([...faults, ...read.faults]) };
  }

  function scalar(text) {
    if (text.startsWith('"')) {
      const match = /^("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/.exec(text);
      try { return match ? JSON.parse(match[1]) : null; } catch { return null; }
    }
    if (text.startsWith("'")) return /^'((?:[^']|'')*)'\s*(?:#.*)?$/.exec(text)?.[1].replaceAll("''", "'") ?? null;
    const value = text.replace(/\s+#.*$/, "");
    return value && !/^[[\]{}>|*&!%@`#]|:\s|:$/.test(value) ? value : null;
  }

  // A model of one's own is its row to Python, and rents of one's own are a file of prices.
  function cell({ rents, model_row: own, ...state }) {
    const values = own ? { ...state, model: row(own) } : state;
    const file = rents ? "from pathlib import Path\n\n" : "";
    const write = rents ? `Path("mine.csv").write_text(${JSON.stringify(rents)})\n` : "";
    return `${file}from gpucalc import Case, decide\n\n${write}`
      + `decide(Case(\n${ordered(values).map(([key, value]) => `    ${key}=${JSON.stringify(value)},\n`).join("")}`
      + `)${rents ? ', "mine.csv"' : ""})\n`;
  }

  // The rents of one's own are a file of prices to the command. Each file ends at a word that is not in it, so that nothing in it is
  // taken for a command.
  function command({ rents, ...state }) {
    const end = (text, word = "END") => (text.includes(word) ? end(text, `${word}D`) : word);
    const file = (name, text) => `cat > ${name} <<'${end(text)}'\n${text.trim()}\n${end(text)}\n`;
    return file("mine.yaml", yaml(state)) + (rents ? file("mine.csv", rents) : "")
      + `make decide CASE=mine.yaml${rents ? " PRICES=mine.csv" : ""}\n`;
  }

  // What a job starts with: what was given and it takes, and its defaults for the names that are `asked` for.
  function started(state, asked) {
    const { defaults } = catalogue().jobs[state.job];
    const begun = Object.fromEntries(Object.entries(state).filter(([key]) => takes(state.job, key)));
    const barred = either(state.job).flatMap((ways) => ways.filter((way) => way !== chosen(begun, ways)).flat());
    for (const key of asked.filter((name) => Object.hasOwn(defaults, name) && takes(state.job, name))) {
      if (!Object.hasOwn(begun, key) && !barred.includes(key)) begun[key] = defaults[key];
    }
    return begun;
  }

  // The way in which a load is given: what the state has, else what the reader asked for last, else the first.
  const preferred = new Set();
  const chosen = (state, ways) => ways.find((way) => way.some((key) => Object.hasOwn(state, key)))
    || ways.find(([key]) => preferred.has(key)) || ways[0];

  function prefer(key, ways) {
    for (const [other] of ways) preferred.delete(other);
    preferred.add(key);
  }

  gpucalc.cases = { address, cell, checked, choice, choices, chosen, command, either, fromAddress, fromYaml, label, listed, namesOf,
    packed, prefer, quantity, read, row, show, started, takes, yaml };
})();
