// Draws every chart of the page in the theme's colors, and again when the theme changes.
(() => {
  window.gpuCharts = [];

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--pst-color-${name}`).trim();

  function themeConfig() {
    const [text, muted, line] = ["text-base", "text-muted", "border"].map(color);
    const dark = document.documentElement.dataset.theme === "dark";
    const category = dark
      ? ["#6cb6ff", "#ffb454", "#7ee0b0", "#f58fa8", "#c7a6ff", "#d9d36a", "#79dbe6", "#c9b8a8"]
      : ["#0b62b8", "#b25000", "#13794f", "#b3204d", "#6d3fc0", "#7a6a00", "#0e7480", "#6b5a4b"];
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: "transparent" },
      axis: {
        labelColor: text, titleColor: text, labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal",
        domainColor: muted, tickColor: muted, gridColor: line, labelOverlap: true,
      },
      legend: { labelColor: text, titleColor: text, labelFontSize: 12, titleFontSize: 13, orient: "top", labelLimit: 260 },
      title: { color: text, subtitleColor: muted, anchor: "start" },
      text: { color: text, fill: text },
      rule: { color: muted },
      mark: { color: category[0] },
      range: { category },
    };
  }

  const sliders = (spec) => (spec.params || []).filter((param) => param.bind);

  // A slider's value as people read it: 8,192 and 450 G, not 450000000000.
  const PREFIXES = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"], [0, ""]];

  function showValue(input) {
    const [size, prefix] = PREFIXES.find(([least]) => input.valueAsNumber >= least) || [0, ""];
    const digits = (input.valueAsNumber / (size || 1)).toLocaleString("en", { maximumFractionDigits: 6 });
    input.nextSibling.textContent = digits + prefix;
    input.setAttribute("aria-valuetext", digits + prefix);
  }

  async function draw(chart) {
    for (const slider of chart.view ? sliders(chart.spec) : []) slider.value = chart.view.signal(slider.name);
    const controls = document.createElement("div");
    controls.className = "chart-controls";
    const { view } = await vegaEmbed(chart.element.querySelector(".chart-view"), chart.spec, {
      mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, bind: controls, config: themeConfig(),
    });
    if (chart.view) chart.view.finalize();
    const focused = chart.controls.contains(document.activeElement) ? document.activeElement.name : null;
    chart.controls.replaceWith(controls);
    for (const input of controls.querySelectorAll("input[type=range]")) {
      showValue(input);
      input.addEventListener("input", () => showValue(input));
    }
    if (focused) controls.querySelector(`[name="${focused}"]`).focus();
    Object.assign(chart, { view, controls });
  }

  // Vega asks for its width when the window changes. But a page that is laid out anew settles later, and a fold opens by itself.
  const widths = new ResizeObserver(() => window.dispatchEvent(new Event("resize")));

  function add(element) {
    const spec = JSON.parse(element.querySelector("script").textContent);
    const controls = element.appendChild(document.createElement("div"));
    const chart = { element, spec, controls, view: null };
    window.gpuCharts.push(chart);
    widths.observe(element.querySelector(".chart-view"));
    return draw(chart);
  }

  // One redraw at a time: a theme that changes while a chart is being drawn waits for it.
  let drawing = Promise.all([...document.querySelectorAll(".chart")].map(add));
  let theme = document.documentElement.dataset.theme;
  new MutationObserver(() => {
    if (theme === document.documentElement.dataset.theme) return;
    theme = document.documentElement.dataset.theme;
    drawing = drawing.then(() => Promise.all(window.gpuCharts.map(draw)));
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
})();
