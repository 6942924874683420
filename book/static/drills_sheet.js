// A sheet of drills for paper, with its key on a page of its own: gpucalc.drills.sheet(names, 20, 4711) is the same each time.
"use strict";
{
  const { drills, make, generator, shuffled } = gpucalc;

  // So many questions of these drills, each once before any comes again.
  function drawn(names, count, seed) {
    const random = generator(`sheet ${seed}`), found = [];
    while (names.length && found.length < count) found.push(...shuffled(names, random));
    return found.slice(0, count).map((name, k) => drills.draw(name, seed + k));
  }

  const unitOf = (unit) => make("span", { className: "drill-unit", textContent: `Answer in ${drills.data.said[unit] ?? unit}.` });
  const asked = ({ text, unit }) => [text, ...(unit ? [" ", unitOf(unit)] : [])];

  function sheet(names, count, seed) {
    const place = document.getElementById("drill-sheet"), questions = drawn(names, count, seed);
    const lines = questions.map((each) => make("li", {}, ...asked(each), make("span", { className: "drill-line" })));
    const strong = ({ answer, unit }) => make("strong", { textContent: gpucalc.figures.in_unit(answer, unit) });
    const answers = questions.map((each) => make("li", {}, strong(each), `. ${drills.drillNamed(each.name).hint}`));
    place.classList.add("drawn");
    place.replaceChildren(
      make("h3", { id: "drill-sheet-title", tabIndex: -1, textContent: `Sheet ${seed}` }), make("ol", {}, ...lines),
      make("section", { className: "drill-key" }, make("h3", { textContent: `Key to sheet ${seed}` }),
        make("ol", {}, ...answers)));
    return questions;
  }

  Object.assign(drills, { sheet });
}
