// What the engine answered: the cards, the options, what would flip the choice, and two cases side by side.
(() => {
  const gpucalc = (window.gpucalc ||= {});
  const { cases, make, button, sentence: { shown } } = gpucalc;
  const WINS = { first: "A", second: "this case", tie: "too close to call", same: "the same" };

  function svg(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  // A button that paper has no use for, and what it is called where its text says too little.
  const small = (text, ariaLabel, click) => Object.assign(button(text, click, "case-small case-screen"), { ariaLabel });

  // The page of a lesson with the case in its address; a page that is no name of one gets no link.
  const lesson = (page, state) => (/^[\w-]+(\.html)?$/.test(page)
    ? `${page.replace(/\.html$/, "")}.html#${cases.address(state)}` : null);

  // Track, band, plan and bound; their places are shares of the scale, so that the bar needs no style.
  function bar() {
    const drawing = svg("svg", { class: "case-bar", width: "100%", height: "18", "aria-hidden": "true" });
    const parts = {
      track: svg("rect", { class: "case-track", x: "0", y: "4", width: "100%", height: "10", rx: "5" }),
      band: svg("rect", { class: "case-band", y: "4", height: "10", rx: "5" }),
      bound: svg("rect", { class: "case-bound", y: "5", width: "2", height: "8" }),
      plan: svg("rect", { class: "case-plan", y: "1", width: "4", height: "16", rx: "2" }),
    };
    drawing.append(...Object.values(parts));
    return { drawing, parts };
  }

  function draw({ drawing, parts }, { low, plan, high, bound, scale }) {
    const known = (value) => typeof value === "number" && Number.isFinite(value);
    const [from, to] = scale || [];
    drawing.toggleAttribute("hidden", !(known(plan) && known(from) && known(to) && to > from));
    if (drawing.hasAttribute("hidden")) return;
    const at = (value) => Math.min(100, Math.max(0, (100 * (value - from)) / (to - from)));
    const mark = (part, value) => {
      part.toggleAttribute("hidden", !known(value));
      if (known(value)) part.setAttribute("x", `${Math.min(99, at(value))}%`);
    };
    mark(parts.bound, bound);
    mark(parts.plan, plan);
    mark(parts.band, known(high) ? low : null);
    if (known(low) && known(high)) parts.band.setAttribute("width", `${Math.max(0, at(high) - at(low))}%`);
  }

  // A card stays where it is and only its texts change, so that a button keeps the focus.
  function card(apply, id) {
    const picture = bar();
    const parts = {
      title: make("h3"), big: make("p", { className: "case-big" }), small: make("p", { className: "case-soft" }),
      note: make("p", { className: "case-note" }), binds: make("p"), helps: make("p"), why: make("p", { className: "case-why" }),
    };
    let change = {};
    const help = button("", () => apply(change), "case-apply"), link = make("a");
    parts.helps.append("Helps most: ", help);
    parts.why.append(link);
    const { title, big, ...rest } = parts;
    const element = make("li", { className: id === "decision" ? "case-card case-decision" : "case-card" }, title, big, picture.drawing, ...Object.values(rest));
    const write = (part, text) => {
      part.textContent = text || "";
      part.hidden = !text;
    };
    return { element, show: (answer, state) => {
      for (const name of ["title", "big", "small", "note"]) write(parts[name], answer[name]);
      write(parts.binds, answer.binds && `What binds: ${answer.binds}`);
      draw(picture, answer);
      parts.helps.hidden = !answer.helps;
      help.textContent = answer.helps?.text || "";
      change = answer.helps?.change || {};
      const to = answer.why && lesson(answer.why.page, state);
      parts.why.hidden = !to;
      if (to) link.setAttribute("href", to);
      link.textContent = answer.why ? `${answer.why.text} →` : "";
    } };
  }

  function cards(apply) {
    const element = make("ul", { className: "case-cards", attributes: { role: "list" } }), made = new Map();
    function show(answers, state) {
      for (const answer of answers) {
        if (!made.has(answer.id)) made.set(answer.id, card(apply, answer.id));
        made.get(answer.id).show(answer, state);
      }
      const wanted = answers.map((answer) => made.get(answer.id).element);
      if (wanted.some((each, place) => element.children[place] !== each) || wanted.length !== element.children.length) {
        element.replaceChildren(...wanted);
      }
    }
    return { element, show };
  }

  function cautions(texts) {
    const items = texts.map((textContent) => make("li", { textContent }));
    return items.length ? [make("h3", { textContent: "Be careful" }), make("ul", {}, ...items)] : [];
  }

  const FEW = 8;
  const figure = (value) => (Number.isFinite(value) ? value.toLocaleString("en-US", { maximumSignificantDigits: 3 }) : "–");
  const range = ({ low_usd: low, high_usd: high }) => (Number.isFinite(low) && Number.isFinite(high)
    ? `${figure(low)} to ${figure(high)}` : "");

  function table(titles, rows, caption, className = "") {
    const heads = titles.map(([text, kind = ""]) => make("th", { textContent: text, className: kind, scope: "col" }));
    const attributes = { role: "region", "aria-label": caption }, head = make("tr", {}, ...heads);
    return make("div", { className: `table-scroll case-table ${className}`, tabIndex: 0, attributes },
      make("table", {}, make("caption", { className: "case-hidden", textContent: caption }), make("thead", {}, head),
        make("tbody", {}, ...rows)));
  }

  const cell = (text, className = "") => make("td", { className }, text);
  const rowOf = (name, ...cells) => make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells);

  function options(answers, apply, title = "What else would do, and why the rest would not") {
    const rows = answers.map((answer) => {
      const use = button("use this", () => apply(answer.state || {}), "case-small");
      use.ariaLabel = `Use this: ${answer.words}`;
      const usd = cell(figure(answer.usd), "case-number");
      if (range(answer)) usd.append(make("span", { className: "case-soft case-line", textContent: range(answer) }));
      return rowOf(answer.words, cell(figure(answer.gpus), "case-number"), usd, cell(answer.reason || ""),
        cell(answer.state ? use : "", "case-screen"));
    });
    const titles = [["option"], ["GPUs", "case-number"], ["USD", "case-number"], ["what decides"], ["take it", "case-screen"]];
    return answers.length ? [make("h2", { textContent: title }), table(titles, rows, title, "case-options"), ...shownAll(rows)] : [];
  }

  // The rows beyond the first few wait for a button that says how many there are.
  function shownAll(rows) {
    const rest = rows.slice(FEW);
    if (!rest.length) return [];
    const show = (all) => rest.forEach((row) => row.classList.toggle("case-later", !all));
    show(false);
    const every = small(`show all ${rows.length}`, null, () => (show(true), every.remove()));
    return [every];
  }

  function flips(answers, apply, textContent = "What would flip the choice") {
    const items = answers.map(({ key, value, text, change = { [key]: value } }) => (
      make("li", {}, text, " ", small("try it", `Try it: ${text}`, () => apply(change)))));
    return items.length ? [make("h3", { textContent }), make("ul", { className: "case-flips" }, ...items)] : [];
  }

  const all = ({ helps = [], layouts = [] }, apply) => [...flips(helps, apply, "What helps"),
    ...(layouts.length > 1 ? options(layouts, apply, "Other layouts on the same GPU") : [])];

  // What runs the plan, to copy; the same as files is folded.
  function commands(answers, copy) {
    return answers.map(({ title, text, note, files }) => {
      const taken = small("copy", `Copy: ${title}`, () => copy(text, "a command")), command = make("pre", { className: "case-command", textContent: text, tabIndex: 0 });
      const folded = files.length ? [make("details", { className: "case-screen" }, make("summary", { textContent: "The same for Compose, Kubernetes or SkyPilot" }), ...commands(files, copy))] : [];
      return make("div", {}, make("h3", {}, title, " ", taken), command, make("p", { className: "case-soft", textContent: note }), ...folded);
    });
  }

  // Two jobs of one kind in a table; of others no figure is like one of the other.
  function compare(a, b, answers, buttons) {
    const title = "A and this case side by side", [one, other] = [a, b].map(({ job }) => gpucalc.catalogue.jobs[job]);
    const framed = (...parts) => [make("h2", { textContent: title }), ...parts, make("p", { className: "case-screen" }, ...buttons)];
    if (one.kind !== other.kind) {
      return framed(make("p", { textContent: `A is to ${one.title}, this case to ${other.title}: the two differ in kind, so no figure `
        + "of one is better than the other's." }));
    }
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((key) => a[key] !== b[key]);
    const text = (state, key) => (Object.hasOwn(state, key) ? shown(key, state[key]) : "–");
    const inputs = keys.map((key) => rowOf(cases.label(key), cell(text(a, key)), cell(text(b, key)), cell("")));
    const { apart, better } = gpucalc.words, real = apart(answers.a.likeness ?? {}, answers.b.likeness ?? {});
    const figures = answers.b.cards.flatMap((answer) => {
      const other = answers.a.cards.find(({ id }) => id === answer.id);
      const both = (each) => cell([each.big, each.small].filter(Boolean).join("; "));
      return other && !other.pending ? [rowOf(answer.title, both(other), both(answer), cell(WINS[better(other.bar, answer.bar, answer.id, real)] ?? ""))] : [];
    });
    return framed(keys.length ? "" : make("p", { textContent: "The two are the same so far: change the case above." }),
      table([["", ""], ["A"], ["this case"], ["better"]], [...inputs, ...figures], title));
  }

  gpucalc.views = { all, cards, cautions, commands, compare, flips, options };
})();
