// The sentence with blanks, and every further input of the job below it. `change(names, done)` hears what the reader gives.
(() => {
  const gpucalc = (window.gpucalc ||= {});
  const { cases, make } = gpucalc;
  const said = () => gpucalc.catalogue.said;
  const phrases = (job) => said().sentences[gpucalc.catalogue.jobs[job].kind];

  const keysIn = (phrase) => [...phrase.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const asked = (job) => phrases(job).flatMap(keysIn);
  // Cards are any, one that the reader may have, or theirs, which nobody rents to them.
  function spoken(phrase, state) {
    const keys = keysIn(phrase), mine = Object.hasOwn(state, "own_cards"), [cards, own] = ["cards", "own_cards"].map((key) => keys.includes(key));
    if (own) return cards === mine && (mine || !/^any$|,/.test(state.cards ?? "any"));
    return !mine || !keys.some((key) => ["cards", "provider", "region", "term"].includes(key));
  }
  const defaultOf = (job, key) => gpucalc.catalogue.jobs[job].defaults[key];

  function shown(key, value) {
    if (key === "job") return gpucalc.catalogue.jobs[value].title;
    if (key === "sure") return `${Math.round(100 * value)} %`;
    if (cases.quantity(key)) return gpucalc.limits.named[key]?.[value] ?? cases.show(key, value);
    return value === "any" ? `any ${{ cards: "GPU", ways: "way" }[key] || key}` : String(value);
  }

  // Each control: its element, `show`, which writes a state into it, and `say`, which tells what is wrong with it.
  function field(key, input, show) {
    const fault = make("span", { className: "case-fault", id: `fault-${key}`, attributes: { "aria-live": "polite" } });
    input.id = `case-${key}`;
    input.setAttribute("aria-describedby", fault.id);
    const say = (text = "") => {
      if (fault.textContent !== text) fault.textContent = text;
      text ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
    };
    return { key, element: make("span", { className: "case-blank" }, input, fault), input, say, show };
  }

  // A text that is on the way to a value stays as it is, until another value comes from elsewhere.
  function textual(key, change, { reads, placeholder }) {
    const input = make("input", { type: "text", autocomplete: "off", spellcheck: false });
    const fit = () => { input.size = Math.max(2, (input.value || input.placeholder).length); };
    let last;
    const heard = (done) => {
      fit();
      if (!input.value.trim() && !done) return;
      const { value, fault, asks, beside } = input.value.trim() ? reads(input.value, done) : {};
      control.wrong = asks && fault;
      if (fault && done) control.say(asks ? fault : `${fault} The answers keep the last good value.`);
      if (fault && !asks) return;
      if (!fault) control.say();
      last = value;
      change({ [key]: value, ...beside }, done, asks);
      if (done && value !== undefined) input.value = shown(key, value);
      fit();
    };
    const control = field(key, input, (state) => {
      input.placeholder = placeholder(state);
      if ((control.wrong || document.activeElement === input) && state[key] === last) return;
      control.wrong = "";
      last = state[key];
      input.value = Object.hasOwn(state, key) ? shown(key, state[key]) : "";
      fit();
    });
    input.addEventListener("input", () => heard(false));
    input.addEventListener("change", () => heard(true));
    return control;
  }

  // The format of fewer than 16 bits in which a model is released, the book's or a pasted one; a model just chosen is taken in it.
  function released({ model, model_row: row }) {
    const { natives = {}, narrow = [] } = gpucalc.catalogue, own = /(?:^|,)native_format:([^,]+)/.exec(row ?? "")?.[1];
    return row ? narrow.find((name) => name === own) : natives[model];
  }

  const inItsFormat = (names) => (released(names) ? { ...names, weight_format: undefined } : names);

  const waiting = (key) => (state) => {
    const value = defaultOf(state.job, key);
    if (value !== undefined) return shown(key, value);
    if (cases.choices(key)?.includes("any")) return shown(key, "any");
    if (key === "weight_format") return `${released(state) ?? "16 bits"}, as released`;
    return said().blanks[key] ?? (/limit|deadline|budget|usd/.test(key) ? "no limit" : "not given");
  };

  const number = (key, change) => textual(key, change, { reads: (text) => cases.read(key, text), placeholder: waiting(key) });
  const words = (key, change) => textual(key, change,
    { reads: (text) => ({ value: text.trim().slice(0, 200) }), placeholder: waiting(key) });

  function model(key, change) {
    // A name that leaves open which counts once it is done; until then, as one that nobody knows, it has no answers.
    const reads = (text, done) => {
      const { value, stored, others, fault } = gpucalc.names.typed(key, text.trim(), done);
      const asks = others.length ? [{ key, words: text.trim().slice(0, 60), taken: value ?? (/^data/.test(fault) && ""), others }] : [];
      return { value: value ?? undefined, asks, beside: stored && { weight_format: stored }, fault };
    };
    const heard = ({ model: name, ...beside }, done, asks) => change(
      { ...inItsFormat({ model: name }), model_row: undefined, ...beside }, done, asks);
    const control = textual(key, heard, { reads, placeholder: waiting(key) }), { input } = control;
    const { labels = {} } = gpucalc.catalogue, told = (name) => (labels[name] ? `${name}: ${labels[name]}` : name);
    input.setAttribute("list", "case-models");
    control.element.append(make("datalist", { id: "case-models" },
      ...cases.choices(key).map((name) => make("option", { value: name, label: told(name) }))));
    // A list offers what contains the text that is there, so the text steps aside for it.
    let aside = "";
    input.addEventListener("focus", () => { [aside, input.placeholder, input.value] = [input.value, input.value, ""]; });
    input.addEventListener("blur", () => { input.value ||= aside; });
    return control;
  }

  function choice(key, change) {
    const select = make("select");
    let listed = "";
    const control = field(key, select, (state) => {
      const value = Object.hasOwn(state, key) ? String(state[key]) : "", given = cases.choices(key).map(String);
      const extra = value && !given.includes(value) ? [value] : [];
      const left = value && !control.optional && key !== "weight_format" ? [] : [""];
      const options = [...left, ...extra, ...given], now = [waiting(key)(state), ...options].join("|");
      if (listed !== now) select.replaceChildren(...options.map((word) => option(key, word, state)));
      if (gpucalc.limits.lists.includes(key) && !select.querySelector("[value=several]")) {
        select.append(make("option", { value: "several", textContent: "choose several …" }));
      }
      listed = now;
      select.value = value;
    });
    select.addEventListener("change", () => {
      if (select.value === "several") return gpucalc.front.askSeveral(key);
      const given = cases.choices(key).find((word) => String(word) === select.value) ?? select.value;
      change({ [key]: given === "" ? undefined : given }, true);
    });
    return control;
  }

  function option(key, word, state) {
    if (word === "") return make("option", { value: "", textContent: waiting(key)(state) });
    const many = cases.listed(word).length;
    const title = many > 2 ? `${many} of them` : shown(key, word);
    return make("option", { value: word, textContent: title });
  }

  function control(key, change) {
    if (key === "model") return model(key, change);
    if (cases.choices(key)) return choice(key, change);
    return cases.quantity(key) ? number(key, change) : words(key, change);
  }

  // How a load is given is a choice in the sentence: the other way's names go, and come with their defaults.
  function loadSwitch(ways, state, change) {
    const select = make("select", { id: `case-load-${ways[0][0]}`, attributes: { "aria-label": "How the load is given" } },
      ...ways.map(([key]) => make("option", { value: key, textContent: said().loads[key] || cases.label(key) })));
    select.value = cases.chosen(state, ways)[0];
    select.addEventListener("change", () => {
      const way = ways.find(([key]) => key === select.value);
      const gone = Object.fromEntries(ways.flat().map((key) => [key, undefined]));
      const come = way.map((key) => [key, defaultOf(state.job, key)]);
      cases.prefer(select.value, ways);
      change({ ...gone, ...Object.fromEntries(come) }, true);
    });
    return select;
  }

  // What the sentence is made of for a state: the same again means that only the values differ.
  const shape = (state) => [phrases(state.job).map((phrase) => spoken(phrase, state)), state.job, ...cases.either(state.job).map((ways) => cases.chosen(state, ways)[0])].join(" ");

  function sentence(state, change, controls) {
    const ways = cases.either(state.job);
    const others = ways.flatMap((way) => way.filter((each) => each !== cases.chosen(state, way)).flat());
    const parts = ["I want to ", blank("job", controls, change)];
    const fits = (key) => cases.takes(state.job, key) && !others.includes(key);
    for (const phrase of phrases(state.job).filter((each) => keysIn(each).every(fits) && spoken(each, state))) {
      for (const [index, text] of phrase.split(/\{(\w+)\}/).entries()) {
        if (index % 2 === 0) { parts.push(text); continue; }
        parts.push(blank(text, controls, change));
        const load = ways.find((way) => way.length > 1 && cases.chosen(state, way)[0] === text);
        if (load) parts.push(" ", loadSwitch(load, state, change));
      }
    }
    return { element: make("p", { className: "case-sentence" }, ...parts), others };
  }

  function blank(key, controls, change) {
    const made = control(key, change);
    made.input.setAttribute("aria-label", cases.label(key));
    controls.set(key, made);
    return made.element;
  }

  function more(keys, change, controls) {
    const rows = keys.map((key) => {
      const made = control(key, change), given = cases.choices(key) ? "" : cases.quantity(key)?.unit, unit = said().units[given] ?? given;
      made.optional = true;
      controls.set(key, made);
      const name = make("label", { htmlFor: `case-${key}` }, cases.label(key));
      if (unit) name.append(make("span", { className: "case-soft", textContent: ` (${unit})` }));
      return make("div", { className: "case-row" }, name, made.element);
    });
    const title = make("summary", { textContent: `More inputs (${rows.length})` });
    const list = make("div", { className: "case-rows" }, ...rows);
    return rows.length ? make("details", { className: "case-more" }, title, list) : "";
  }

  // The form; it is built again only where the job, or the way a load is given, changes.
  function form(change) {
    const element = make("form", { className: "case-ask", attributes: { "aria-label": "Your case" } });
    element.addEventListener("submit", (event) => event.preventDefault());
    let built = "", controls = new Map();

    function build(state) {
      const focused = document.activeElement?.id, open = element.querySelector("details")?.open;
      controls = new Map();
      const { element: line, others } = sentence(state, change, controls);
      const rest = cases.namesOf(state.job).filter((key) => !controls.has(key) && !others.includes(key) && key !== "rents");
      element.replaceChildren(line, more(rest, change, controls));
      element.querySelector("details")?.toggleAttribute("open", Boolean(open));
      built = shape(state);
      return focused;
    }

    // Shows a state, and the faults beside their inputs; faults that have no input are returned.
    function show(state, faults) {
      const focused = shape(state) === built ? null : build(state);
      for (const [key, each] of controls) {
        each.show(state);
        each.say(each.wrong || faults.find((fault) => fault.key === key)?.text);
      }
      if (focused && element.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
      return faults.filter((fault) => !controls.has(fault.key));
    }
    return { element, show };
  }

  gpucalc.sentence = { asked, form, inItsFormat, shown };
})();
