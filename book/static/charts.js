// Draws the charts of the page: each when it comes near, all before printing, and again when the theme changes.
(() => {
  const charts = (window.gpuCharts = []);
  const CATEGORIES = 8, NARROW = 480;

  // What the stand-ins in a compiled chart mean now: "@text" is the theme's color of text, "@category0" the style's --category-0.
  function theme() {
    const style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name).trim();
    const names = { font: getComputedStyle(document.body).fontFamily };
    const shared = { text: "text-base", muted: "text-muted", line: "border", paper: "background" };
    for (const [name, at] of Object.entries(shared)) names[name] = color(`--pst-color-${at}`);
    for (let number = 0; number < CATEGORIES; number++) names[`category${number}`] = color(`--category-${number}`);
    return names;
  }

  function themed(json) {
    const names = theme();
    return JSON.parse(json.replace(/"@(\w+)"/g, (text, name) => (name in names ? JSON.stringify(names[name]) : text)));
  }

  const about = (chart) => chart.spec.usermeta ?? {};
  const bound = (spec) => (spec.signals || []).filter((signal) => signal.bind);

  // Where there is room the names of lines stand at their ends, else in a legend above. As fitted() in book/build/charts.py.
  function fit(spec, narrow) {
    if (narrow) {
      spec.marks = spec.marks.filter(({ name }) => !name?.startsWith("line_labels"));
      if (spec.config?.legend) spec.config.legend.columns = 1;
    } else if (spec.usermeta?.direct) {
      delete spec.legends;
    }
  }

  // Within a closed fold nothing has a width: then the width of what is around it.
  function widthOf({ frame }) {
    let around = frame;
    while (!around.clientWidth && around.parentElement) around = around.parentElement;
    return around.clientWidth;
  }

  // The reader's own rows among those to choose from.
  function withOwn(spec, own) {
    for (const [kind, { label, values }] of Object.entries(own)) {
      const signal = (name) => spec.signals.find((each) => each.name === name);
      signal(`${kind}_rows`).value = { ...signal(`${kind}_rows`).value, [label]: values };
      signal(kind).bind.options = [label, ...signal(kind).bind.options];
    }
  }

  // A drawing that was overtaken by a newer one of the same chart stops at its next pause.
  async function draw(chart, pause) {
    const turn = ++chart.turn, given = { ...chart.given }, width = widthOf(chart);
    const spec = themed(chart.json);
    Object.assign(chart, { width, narrow: width < NARROW });
    fit(spec, chart.narrow);
    withOwn(spec, chart.own);
    for (const signal of bound(spec)) signal.value = given[signal.name] ?? signal.value;
    // Its width is set from here: Vega would ask for it whenever the window changes, also in a closed fold.
    spec.signals = spec.signals.map((signal) => (signal.name === "width" ? { name: "width", value: width } : signal));
    await pause();
    if (chart.turn !== turn) return;
    const runtime = vega.parse(spec, {}, { ast: true });
    await pause();
    if (chart.turn !== turn) return;
    const controls = document.createElement("div");
    controls.className = "chart-controls";
    chart.view?.finalize();
    chart.frame.style.minHeight = `${chart.frame.offsetHeight}px`; // an empty view has no height for a moment
    const view = new vega.View(runtime, {
      expr: vega.expressionInterpreter, tooltip: vega.tooltip,
      renderer: "svg", container: chart.frame, bind: controls, hover: true,
    });
    await pause();
    if (chart.turn !== turn) return view.finalize();
    await view.runAsync();
    chart.frame.style.minHeight = "";
    show(controls, chart, spec);
    Object.assign(chart, { view, controls, spec, width });
    say(chart);
    for (const { name } of bound(spec)) {
      view.addSignalListener(name, (_, value) => {
        chart.given[name] = value;
        view.runAfter(() => {
          showValues(controls, spec); // after Vega, which writes the bare number
          say(chart, true);
        });
      });
    }
    // What was set while this was drawn.
    if (Object.entries(chart.given).some(([name, value]) => given[name] !== value)) give(chart);
    follow(chart);
  }

  function show(controls, chart, spec) {
    const focused = chart.controls.contains(document.activeElement) ? document.activeElement.name : null;
    chart.controls.replaceWith(controls);
    showValues(controls, spec);
    controls.addEventListener("input", () => showValues(controls, spec));
    if (focused) controls.querySelector(`[name="${focused}"]`)?.focus();
  }

  // The words beside a slider and above a chart

  const SCALES = {
    small: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
    count: [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]],
    large: [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]],
  };

  // A slider's value as people read it: 8,192, 450 GB/s, 0.6 µs, 90 %. It has the figures of its step, so no more are cut.
  function sliderText(value, form, units) {
    const digits = (number) => number.toLocaleString("en", { maximumSignificantDigits: 6 });
    if (form === "percent") return `${digits(100 * value)} %`;
    const [symbol, prefixes] = units[form] ?? ["", "none"];
    const scales = SCALES[symbol === "" && Math.abs(value) >= 1e6 ? "count" : prefixes];
    const one = value === 1 && !symbol.includes("/");
    if (!scales || !value) return `${digits(value)} ${one ? symbol.replace(/s$/, "") : symbol}`.trim();
    const [scale, prefix] = scales.find(([least]) => Math.abs(value) >= least) ?? scales.at(-1);
    return `${digits(value / scale)} ${prefix}${prefixes === "large" ? symbol : ""}`;
  }

  function showValues(controls, { usermeta: { sliders = {}, units = {} } = {} }) {
    for (const input of controls.querySelectorAll("input[type=range]")) {
      const text = sliderText(input.valueAsNumber, sliders[input.name] ?? "", units);
      input.nextSibling.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
  }

  // The finding with the figures of where the sliders stand; once they rest it is spoken.
  function say(chart, moved = false) {
    const choices = about(chart).finding;
    if (!choices) return;
    const signal = (name) => chart.view.signal(name);
    const { parts } = choices.find(({ when }) => !when || signal(when)) ?? choices.at(-1);
    const text = parts.map((part) => (typeof part === "string" ? part : figure(signal(part.signal), part.form))).join("");
    if (chart.finding.textContent === text) return;
    chart.finding.textContent = text;
    if (!moved) return;
    chart.picture.setAttribute("aria-label", text);
    clearTimeout(chart.resting);
    chart.resting = setTimeout(() => (chart.spoken.textContent = text), 600);
  }

  function figure(value, form) {
    const { figures } = gpucalc;
    if (typeof value === "string") return value.replace(/^yours: /, ""); // a row that was added
    if (typeof value !== "number" || Number.isNaN(value)) return "no value";
    return Object.hasOwn(figures, form) ? figures[form](value) : figures.number(value, form);
  }

  // One chart after the other, with the page's own work between, so that scrolling and typing never wait.
  const pause = () => new Promise((done) => setTimeout(done));
  let queue = Promise.resolve();
  const later = (chart) => (queue = queue.then(pause).then(() => draw(chart, pause)));

  window.drawAllCharts = () => Promise.all(charts.filter((chart) => !chart.view).map((chart) => draw(chart, () => null)));
  window.addEventListener("beforeprint", window.drawAllCharts);

  // Puts the reader's case into each chart that it can fill as a whole: `of` gives numbers by name, `names` the reader's rows by
  // kind. A slider goes as far as it reaches. Returns what the sliders of the lesson, not those in a fold, have and stand at.
  window.setSliders = (of, names = {}) => {
    const set = new Map();
    for (const chart of charts) {
      const spec = JSON.parse(chart.json), sliders = bound(spec).filter((signal) => !rowsOf(spec)[signal.name]);
      if (!isFilled(spec, sliders, of)) continue;
      for (const { name, bind } of sliders) {
        const value = of(name);
        chart.given[name] = nearest(value, bind);
        const beyond = value < bind.min || value > bind.max;
        if (!chart.element.closest("details")) set.set(name, { name, value, at: chart.given[name], beyond });
      }
      const added = Object.keys(rowsOf(spec)).filter((kind) => choose(chart, spec, kind, of, names[kind]));
      if (chart.view && added.length) later(chart);
      else if (chart.view) give(chart);
    }
    return [...set.values()];
  };

  // Whether a case gives every slider and row of a chart, and nothing else than what the chart holds fast.
  function isFilled(spec, sliders, of) {
    const rows = Object.values(rowsOf(spec)).flat(), moved = new Set([...rows, ...sliders.map(({ name }) => name)]);
    const held = (spec.usermeta?.gpucalc?.lines ?? []).flatMap(({ given }) => Object.entries(given));
    const agrees = ([name, value]) => moved.has(name) || !Number.isFinite(value) || !Number.isFinite(of(name))
      || isClose(of(name), value);
    return rows.every((name) => Number.isFinite(of(name))) && held.every(agrees)
      && sliders.every(({ name, bind }) => Number.isFinite(of(name)) && nearest(of(name), bind) !== null);
  }

  const isClose = (a, b) => Math.abs(a - b) <= 1e-9 * Math.abs(b);

  const rowsOf = (spec) => spec.usermeta?.gpucalc?.rows ?? {};

  // Where a slider can stand next to a value; a switch has the value or stays.
  function nearest(value, { options, min, max, step }) {
    if (options) return options.includes(value) ? value : null;
    const steps = Math.round((Math.min(Math.max(value, min), max) - min) / step);
    return Number((min + steps * step).toPrecision(12));
  }

  // Chooses the reader's row of the kind; whether it had to be added to the list.
  function choose(chart, spec, kind, of, name) {
    const values = rowsOf(spec)[kind].map(of);
    const known = spec.signals.find((each) => each.name === `${kind}_rows`).value;
    const label = same(known[name], values) ? name : name ? `yours: ${name}` : "yours";
    const added = !(label in known) && !(chart.own[kind]?.label === label && same(chart.own[kind].values, values));
    if (added) chart.own[kind] = { label, values };
    chart.given[kind] = label;
    return added;
  }

  const same = (a, b) => a !== undefined && a.every((value, k) => value === b[k]);

  function give({ view, given }) {
    for (const [name, value] of Object.entries(given)) view.signal(name, value);
    view.runAsync();
  }

  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      const chart = charts.find(({ frame }) => frame === target);
      if (!chart.view) later(chart);
    }
  }, { rootMargin: "400px 0px" });

  // A page that is laid out anew settles after the window has changed, also while a chart is drawn, and a fold opens by itself.
  function follow(chart) {
    const width = chart.frame.clientWidth;
    if (!width || !chart.view || chart.width === width) return;
    if (chart.narrow !== width < NARROW) later(chart);
    else chart.view.signal("width", width).runAsync();
    chart.width = width;
  }

  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) follow(charts.find(({ frame }) => frame === target));
  });

  for (const element of document.querySelectorAll(".chart")) {
    const json = element.querySelector("script").textContent;
    const [frame, controls, finding, picture] = [".chart-view", ".chart-controls", ".chart-finding", "[role=img]"]
      .map((name) => element.querySelector(name));
    const spoken = Object.assign(document.createElement("p"), { className: "chart-spoken" });
    spoken.setAttribute("aria-live", "polite");
    if (finding) element.append(spoken);
    const { units = {} } = JSON.parse(json).usermeta ?? {};
    const { data = {} } = (window.gpucalc ??= {});
    gpucalc.data = { ...data, units: { ...units, ...data.units } };
    const parts = { element, frame, controls, finding, picture, spoken };
    charts.push({ ...parts, json, spec: null, view: null, given: {}, own: {}, turn: 0 });
    near.observe(frame);
    widths.observe(frame);
  }

  let drawn = document.documentElement.dataset.theme;
  new MutationObserver(() => {
    if (drawn === document.documentElement.dataset.theme) return;
    drawn = document.documentElement.dataset.theme;
    for (const chart of charts) if (chart.view) later(chart);
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
})();
