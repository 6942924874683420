// Draws the charts of the page: each when it comes near, all before printing, and again when the theme changes.
(() => {
  const charts = (window.gpuCharts = []);
  const CATEGORIES = {
    light: ["#0b62b8", "#b25000", "#13794f", "#b3204d", "#6d3fc0", "#7a6a00", "#0e7480", "#6b5a4b"],
    dark: ["#6cb6ff", "#ffb454", "#7ee0b0", "#f58fa8", "#c7a6ff", "#d9d36a", "#79dbe6", "#c9b8a8"],
  };

  // What the stand-ins in a compiled chart mean now: "@text" is the theme's color of text.
  function theme() {
    const { dataset } = document.documentElement;
    const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--pst-color-${name}`).trim();
    const names = { text: color("text-base"), muted: color("text-muted"), line: color("border") };
    names.font = getComputedStyle(document.body).fontFamily;
    CATEGORIES[dataset.theme === "dark" ? "dark" : "light"].forEach((value, number) => (names[`category${number}`] = value));
    return names;
  }

  function themed(json) {
    const names = theme();
    return JSON.parse(json.replace(/"@(\w+)"/g, (text, name) => (name in names ? JSON.stringify(names[name]) : text)));
  }

  const sliders = (spec) => (spec.signals || []).filter((signal) => signal.bind);

  // A slider's value as people read it: 8,192 and 450 G, not 450000000000.
  const PREFIXES = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"], [0, ""]];

  function showValue(input) {
    const [size, prefix] = PREFIXES.find(([least]) => input.valueAsNumber >= least) || [0, ""];
    const digits = (input.valueAsNumber / (size || 1)).toLocaleString("en", { maximumSignificantDigits: 6 });
    input.nextSibling.textContent = digits + prefix;
    input.setAttribute("aria-valuetext", digits + prefix);
  }

  // A drawing that was overtaken by a newer one of the same chart stops at its next pause.
  async function draw(chart, pause) {
    const turn = ++chart.turn, given = { ...chart.given };
    const spec = themed(chart.json);
    for (const slider of sliders(spec)) slider.value = chart.given[slider.name] ?? slider.value;
    // On a phone the names of two columns do not fit beside each other.
    if (chart.frame.clientWidth < 480 && spec.config?.legend) spec.config.legend.columns = 1;
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
    for (const slider of chart.view ? sliders(spec) : []) view.signal(slider.name, chart.view.signal(slider.name));
    await view.runAsync();
    chart.frame.style.minHeight = "";
    show(controls, chart);
    Object.assign(chart, { view, controls, spec });
    // What was set while this was drawn.
    if (Object.entries(chart.given).some(([name, value]) => given[name] !== value)) give(chart);
  }

  function show(controls, chart) {
    const focused = chart.controls.contains(document.activeElement) ? document.activeElement.name : null;
    chart.controls.replaceWith(controls);
    for (const input of controls.querySelectorAll("input[type=range]")) {
      showValue(input);
      input.addEventListener("input", () => showValue(input));
    }
    if (focused) controls.querySelector(`[name="${focused}"]`).focus();
  }

  // One chart after the other, with the page's own work between, so that scrolling and typing never wait.
  const pause = () => new Promise((done) => setTimeout(done));
  let queue = Promise.resolve();
  const later = (chart) => (queue = queue.then(pause).then(() => draw(chart, pause)));

  window.drawAllCharts = () => Promise.all(charts.filter((chart) => !chart.view).map((chart) => draw(chart, () => null)));
  window.addEventListener("beforeprint", window.drawAllCharts);

  // Sets the sliders to what `of` gives for their names, as far as they reach; returns what each has and stands at.
  window.setSliders = (of) => {
    const set = new Map();
    for (const chart of charts) {
      for (const { name, bind: { min, max, step } } of sliders(JSON.parse(chart.json))) {
        const value = of(name);
        if (!Number.isFinite(value)) continue;
        const steps = Math.round((Math.min(Math.max(value, min), max) - min) / step);
        chart.given[name] = Number((min + steps * step).toPrecision(12));
        set.set(name, { name, value, at: chart.given[name], beyond: value < min || value > max });
      }
      if (chart.view) give(chart);
    }
    return [...set.values()];
  };

  function give({ view, given, controls }) {
    for (const [name, value] of Object.entries(given)) view.signal(name, value);
    view.runAsync().then(() => controls.querySelectorAll("input[type=range]").forEach(showValue));
  }

  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      const chart = charts.find(({ frame }) => frame === target);
      if (!chart.view) later(chart);
    }
  }, { rootMargin: "400px 0px" });

  // Vega asks for its width when the window changes. But a page that is laid out anew settles later, and a fold opens by itself.
  const widths = new ResizeObserver((entries) => {
    const changed = entries.filter(({ target, contentRect }) => target.dataset.width !== String(contentRect.width));
    for (const { target, contentRect } of changed) target.dataset.width = contentRect.width;
    if (changed.length) window.dispatchEvent(new Event("resize"));
  });

  for (const element of document.querySelectorAll(".chart")) {
    const json = element.querySelector("script").textContent;
    const [frame, controls] = [".chart-view", ".chart-controls"].map((name) => element.querySelector(name));
    charts.push({ element, frame, controls, json, spec: null, view: null, given: {}, turn: 0 });
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
