// The front page: one case in, its address above, its answers below. The formulas and data behind it are the engine's.
(() => {
  const gpucalc = (window.gpucalc ||= {});
  const QUIET = 1200; // milliseconds without a change before a screen reader hears the answers

  const place = document.getElementById("case");
  if (!place) return;
  if (["catalogue", "answer", "asking", "cases", "sentence", "views"].some((name) => !gpucalc[name])) {
    for (const said of place.children) said.className = ""; // what the page says of a lost script, be it this one, is seen at once
    return;
  }

  const { cases, make, views, sentence: { asked, form, inItsFormat, shown: written } } = gpucalc;
  const button = (text, click, className = "case-small") => gpucalc.button(text, click, className);
  const PRESETS = gpucalc.catalogue.examples; // names, cases, and the lines of free words that give them
  let open = [], state = {}, versus = null, faults = [], wrong = false, frame = 0, timer = 0, stop = () => {};
  const status = make("p", { className: "case-hidden", role: "status" });
  const notes = make("ul", { className: "case-faults", attributes: { role: "list", "aria-label": "What was left out" } });
  const paper = make("pre", { className: "case-paper" });
  const prices = make("p", { className: "case-soft" }), care = make("section", { className: "case-care" });
  const [runs, options, changes, comparison] = [0, 1, 2, 3].map(() => make("section"));
  const all = make("details", { className: "case-more", hidden: true }, make("summary", { textContent: "All changes" }), changes);
  const ask = form(change), answers = views.cards((names) => apply(names));
  const [which, took] = [0, 1].map(() => make("p", { className: "case-took" })), line = make("input", { id: "case-words", autocomplete: "off", spellcheck: false, placeholder: PRESETS[0][2] });
  line.addEventListener("change", () => line.value.trim() && worded(line.value));

  // A line of free words as the case: what it says, what it leaves open, and what stands for all else.
  function worded(text) {
    const read = gpucalc.free.understood(line.value = text, cases.choices("provider"));
    if (read.question) return took.replaceChildren("No case is in these words. ", make("a", { href: `search.html?q=${encodeURIComponent(text)}`, textContent: "Search the book for them" }), ".");
    const { state: given, faults: wrong } = cases.checked(Object.entries(read.inputs).map(([key, value]) => [key, String(value)]));
    const all = begun({ ...read.usual, ...given }), said = ([key, value]) => `${/^(job|model|cards|gpu)$/.test(key) ? "" : `${key.replaceAll("_", " ")} `}${written(key, value)}`;
    if (given.output > all.output_p95) all.output_p95 = 0; // an example for other answers: these are alike
    for (const { key } of read.asks.filter(({ taken }) => !taken)) delete all[key];
    state = { job: all.job };
    change(all, true, read.asks);
    const rest = Object.entries(all).filter(([key, value]) => !(key in given) && value !== "any").map(said), left = [...read.left, ...wrong];
    took.replaceChildren(...gpucalc.free.told({ ...read, left }, Object.entries(given).map(said), rest)
      .flatMap(([title, words]) => [make("b", { textContent: `${title}: ` }), `${words}. `]));
  }

  // Names that leave open what they mean, or mean nothing, each with what it may be.
  const offered = ({ key, words, taken, others }) => make("span", {}, taken ? `Which “${words}”? Now ${key === "job" ? written(key, taken) : taken}; or `
    : taken === "" ? `Nothing is called “${words}”. Nearest: ` : `Which “${words}”? `, ...others.filter((name) => name !== taken).slice(0, 6)
    .flatMap((name) => [button(written(key, name), () => change({ [key]: name }, true)), " "]));

  // A change by the reader: to the answers at the next frame, to the address once it is done.
  function change(names, done, asks = open.filter(({ key }) => !(key in names))) {
    const before = state.job;
    open = asks;
    which.replaceChildren(...open.map(offered));
    took.replaceChildren();
    state = { ...state };
    for (const [key, value] of Object.entries(names)) {
      if (value === undefined || value === null) delete state[key];
      else state[key] = value;
    }
    faults = [];
    if (state.job !== before) state = begun(carried(before));
    if (done) keep();
    later();
  }

  const apply = (names) => change(names, true);

  // An example of what a job needs: of its own preset, of one of its kind, or of any.
  function example(job, key) {
    const given = gpucalc.free.example(job, key, PRESETS.map(([, preset]) => preset)) ?? cases.quantity(key)?.example;
    return cases.choices(key)?.includes(given) === false ? undefined : given;
  }

  // What another job takes over: what has the same default in both, or none, what a job of the same kind was given, and no figure
  // that was only the other's example.
  function carried(before) {
    const [was, is] = [before, state.job].map((job) => gpucalc.catalogue.jobs[job]), same = was.kind === is.kind;
    const meant = (key, value) => was.defaults[key] === is.defaults[key] || (same && value !== was.defaults[key]);
    const mere = (key, value) => (key === "model" || cases.quantity(key)) && value === example(before, key) && value !== example(state.job, key);
    return Object.fromEntries(Object.entries(state).filter(([key, value]) => meant(key, value) && !mere(key, value)));
  }

  // A job as it starts: its defaults, an example of each thing that it needs and nobody gave, and figures of its own preset.
  function begun(names) {
    const begins = cases.started(names, asked(names.job));
    for (const ways of gpucalc.catalogue.jobs[names.job].needs.map((need) => need.split("|"))) {
      const given = example(names.job, ways[0]);
      if (given !== undefined && !ways.some((key) => key in begins)) begins[ways[0]] = given;
    }
    const own = PRESETS.find(([, preset]) => preset.job === names.job)?.[1] || {}, barred = cases.either(names.job).flat(2);
    const blank = asked(names.job).filter((key) => key in own && !(key in begins) && !barred.includes(key) && cases.quantity(key));
    return { ...begins, ...Object.fromEntries(blank.map((key) => [key, own[key]])) };
  }

  const here = () => cases.address(state) + (versus ? `&vs=${encodeURIComponent(cases.address(versus))}` : "");

  const keep = () => location.hash === `#${here()}` || history.pushState(null, "", `#${here()}`);

  function arrive() {
    const text = location.hash.slice(1), found = cases.fromAddress(text);
    if (text && !found.state && state.job) return; // a link to a heading
    ({ versus, faults } = found);
    state = found.state || usable(PRESETS[0][1]);
    if (place.contains(ask.element)) later();
    else first();
  }

  // A preset without what this book lacks, and with the defaults of what the sentence asks for.
  const usable = (preset) => begun(cases.checked(Object.entries(preset).map(([key, value]) => [key, String(value)])).state);

  // The form is painted before the answer to the first case, which takes a moment.
  function first() {
    ask.show(state, []);
    place.setAttribute("aria-busy", "true");
    draw();
    frame = requestAnimationFrame(later);
  }

  const later = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(show); };

  // The cards first, then what further solves tell.
  function show() {
    const given = state;
    stop();
    stop = gpucalc.asking(given, (answer) => {
      if (given !== state) return;
      place.removeAttribute("aria-busy");
      shown(answer);
    });
  }

  function shown(answer) {
    const left = [...faults, ...ask.show(state, answer.faults).map(({ text }) => text)];
    wrong = left.length + answer.faults.length > 0;
    notes.replaceChildren(...left.map((text) => make("li", { textContent: text })));
    answers.show(answer.cards, state);
    fill(care, views.cautions(answer.cautions));
    fill(runs, views.commands(answer.commands || [], copy));
    fill(prices, answer.prices ? [`Prices of ${answer.prices.date}. `, answer.prices.note || ""] : []);
    options.toggleAttribute("inert", !answer.options); // those of another case, until this one's are known
    if (answer.options) fill(options, [...views.options(answer.options, apply), ...views.flips(answer.flips, apply)]);
    fill(changes, views.all(answer, apply));
    all.hidden = !changes.firstChild;
    fill(comparison, versus ? compared(answer) : []);
    configs.hidden = !cases.takes(state.job, "model");
    paper.textContent = cases.yaml(state);
    for (const [chip, preset] of chips) chip.setAttribute("aria-pressed", String(cases.address(state) === preset));
    clearTimeout(timer);
    timer = setTimeout(() => say(summary(answer, left)), QUIET);
  }

  // New content in a section; a button in it that had the focus has it again.
  function fill(section, children) {
    const buttons = () => [...section.querySelectorAll("button")];
    const focused = buttons().indexOf(document.activeElement);
    section.replaceChildren(...children);
    if (focused >= 0) buttons()[Math.min(focused, buttons().length - 1)]?.focus();
  }

  function summary(answer, left) {
    const figures = answer.cards.map(({ title, big }) => `${title} ${big}`);
    const faulty = [...left, ...answer.faults.map(({ text }) => text)].map((text) => text.replace(/\.$/, ""));
    return [...faulty, ...figures].join(". ");
  }

  // Said only where it is new: a summary that has not changed is no news.
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };

  function compared(answer) {
    const swap = button("Swap the two", () => { [state, versus] = [versus, state]; keep(); later(); });
    const drop = button("Forget A", () => { versus = null; keep(); later(); });
    return views.compare(versus, state, { a: gpucalc.answered(versus, gpucalc.decided), b: answer }, [swap, " ", drop]);
  }

  function keepAsA() {
    versus = { ...state };
    keep();
    later();
    say("This case is kept as A. Change it above: both stand side by side below.");
  }

  // A dialog with a text; `accept` returns what is wrong with it, line by line, or nothing.
  function dialog({ title, hint, text = "", verb, accept }, ...more) {
    const area = more.length ? "" : make("textarea", { value: text, rows: 10, spellcheck: false,
      attributes: { "aria-label": title, "aria-describedby": "case-wrong" } });
    const wrong = make("ul", { id: "case-wrong", className: "case-faults", attributes: { role: "alert" } });
    const element = make("dialog", { className: "case-dialog", attributes: { "aria-label": title } });
    const go = () => {
      const found = accept(area && area.value);
      wrong.replaceChildren(...found.map((each) => make("li", { textContent: each })));
      if (found.length) return;
      element.close();
      element.remove();
    };
    element.append(make("h2", { textContent: title }), make("p", { textContent: hint }), area, ...more, wrong,
      make("p", {}, ...(verb ? [button(verb, go, "case-go"), " "] : []), button("Close", () => element.close())));
    element.addEventListener("close", () => element.remove());
    place.append(element);
    element.showModal();
    if (area) area.select();
  }

  const askCase = () => dialog({ title: "Paste a case", verb: "Use this case",
    hint: "One “name: value” a line, as the YAML that this page copies, such as “job: serve”.", accept: (text) => {
      const read = cases.fromYaml(text);
      if (!read.faults.length) { state = { job: read.state.job }; change(read.state, true, []); }
      return read.faults;
    } });

  // Pasted names are the case's, where its address can hold them; else what is wrong with them.
  function taken(names) {
    const given = Object.entries(names).filter(([, value]) => value !== undefined);
    const wrong = cases.checked([["job", state.job], ...given]).faults;
    if (!wrong.length) apply(names);
    return wrong;
  }

  const askConfig = () => dialog({ title: "Paste a config.json", verb: "Use this model",
    hint: "The config.json of a model, as on Hugging Face; behind it, for the released bytes, its model.safetensors.index.json. It stays on this page and in its address.", accept: (text) => {
      const { name, row, fault } = gpucalc.readConfig(text);
      return fault ? [fault] : taken(inItsFormat({ model: name, model_row: cases.packed(row) }));
    } });

  // Questions, and what was taken for granted, are shown once before the rents count.
  function askRents(begun) {
    let shown = "";
    const line = (each) => (each.text ? `Line ${each.line}: ${each.text}` : String(each));
    dialog({ title: "Your own rents", verb: "Use these rents", text: state.rents || begun,
      hint: "Lines of two columns or more, as your spreadsheet saves them: gpu,usd_per_hour. They replace the book's of the same GPU and term; with yes in a column quote they stand beside them. Nothing here: the book's own rents.",
      accept: (text) => {
        const { faults: found, said: granted = [] } = text.trim() ? gpucalc.readRents(text) : { faults: [] };
        const wrong = found.filter((fault) => !fault.ask), asked = [...found.filter((fault) => fault.ask), ...granted];
        if (wrong.length) return gpucalc.files.few(wrong.map(line));
        if (asked.length && shown !== text) {
          shown = text;
          return [...asked.map(line), "If that is right, press “Use these rents” again."];
        }
        return taken({ rents: text.trim() || undefined });
      } });
  }

  function askSeveral(key) {
    const now = cases.listed(String(state[key] || ""));
    const boxes = cases.choices(key).filter((word) => word !== "any").map((word) => {
      const box = make("input", { type: "checkbox", value: word, checked: now.includes(word) });
      return [box, make("label", {}, box, ` ${word}`)];
    });
    const list = make("div", { className: "case-several" }, ...boxes.map(([, label]) => label));
    later(); // the select shows the case again, whatever comes of this
    dialog({ title: `Choose several: ${cases.label(key)}`, hint: "None of them means any.", verb: "Use these", accept: () => {
      const chosen = boxes.filter(([box]) => box.checked).map(([box]) => box.value);
      apply({ [key]: chosen.join(", ") || "any" });
      return [];
    } }, list);
  }

  async function copy(text, as) {
    try {
      await navigator.clipboard.writeText(text);
      tell(`Copied as ${as}.`);
    } catch {
      dialog({ title: `Copy as ${as}`, hint: "The browser lets no page copy here: copy the text that is selected.", text });
    }
  }

  function tell(text) {
    said.textContent = "";
    requestAnimationFrame(() => { said.textContent = text; }); // the same again is said again
  }

  const said = make("span", { role: "status", className: "case-said" });
  const chips = PRESETS.map(([name, preset, text]) => [button(name, () => worded(text), "case-chip"),
    cases.address(usable(preset))]);
  const configs = button("Paste a config.json", askConfig);
  const tools = make("p", { className: "case-tools case-spaced" }, configs, button("Your own rents", () => askRents("")),
    button("A quote", () => askRents("gpu,usd_per_hour,quote\nH100,2.95,yes")), button("Keep as A to compare", keepAsA));
  const copies = [["YAML", cases.yaml], ["a notebook cell", cases.cell], ["a command", cases.command]]
    .flatMap(([as, text]) => [button(as, () => (wrong ? tell("Not copied: the page names what is wrong.") : copy(text(state), as))), ", "]);
  const share = make("p", { className: "case-tools" }, "The address of this page holds the case: share it, or copy it as ",
    ...copies, "or ", button("print it", () => window.print()), ". ", said);

  function draw() {
    place.replaceChildren(
      make("div", { className: "case-chips", attributes: { role: "group", "aria-label": "Examples" } },
        ...chips.map(([chip]) => chip), button("Paste a case", askCase, "case-chip")),
      make("label", { className: "case-words" }, "Ask in your own words, or fill the blanks below", line), took, which,
      ask.element, notes, make("h2", { className: "case-hidden", textContent: "The answers" }), answers.element,
      care, prices, tools, share, comparison, runs, options, all, paper, status);
  }

  gpucalc.front = { askSeveral };
  addEventListener("hashchange", arrive);
  addEventListener("popstate", arrive);
  arrive();
  const searched = new URLSearchParams(location.search).get("ask"); // of a search without a hit
  if (searched && !location.hash) worded(searched);
})();
