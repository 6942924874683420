// Figures of a lesson that follow the reader, as book/components/sentences.py wrote them: each says in its attributes what it is.
// What a section shows follows as a whole or not at all, so that no two sentences of it are about two cases.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const FIGURES = "[data-yours]";

  // Shows the figures of `held`, a case, with the names of its rows; without one those of the page. Whether any follows.
  gpucalc.follow = (held, names = {}) => {
    const following = [...grouped().values()].filter((figures) => followed(figures, held, names));
    for (const picture of document.querySelectorAll(".bd-article figure.drawing")) {
      picture.classList.toggle("keeps-example", following.length > 0 && !picture.closest(".follows-you"));
    }
    return following.length > 0;
  };

  // The figures that follow together: those of an exercise, and all others of a section.
  function grouped() {
    const groups = new Map();
    for (const figure of document.querySelectorAll(`.bd-article ${FIGURES}`)) {
      const cell = figure.closest(".cell_output"), isExercise = cell.querySelector("details.answer");
      const place = isExercise ? cell : figure.closest("section");
      groups.set(place, [...(groups.get(place) ?? []), figure]);
    }
    return groups;
  }

  function followed(figures, held, names) {
    for (const each of figures) each.dataset.own ??= each.textContent;
    const texts = held ? said(figures, held, names) : null;
    figures.forEach((each, k) => {
      each.textContent = texts ? texts[k] : each.dataset.own;
      each.closest(".cell_output").classList.toggle("follows-you", texts !== null);
    });
    return texts !== null;
  }

  // The texts of all, or nothing where one cannot be told.
  function said(figures, held, names) {
    try {
      return figures.map((each) => text(each.dataset, drilled(each.closest("[data-drawn]"), held, names), names));
    } catch {
      return null;
    }
  }

  // The case of a drill on the page: what its question draws is the reader's, the rest is given.
  function drilled(drill, held, names) {
    if (!drill) return held;
    const given = Object.entries(JSON.parse(drill.dataset.given)), drawn = drill.dataset.drawn.split(" ");
    const isQuantity = (name) => Object.hasOwn(gpucalc.data.quantities, name);
    const value = (name) => (isQuantity(name) ? number(name, held) : gpucalc.rowNamed(name, rowName(name, names[name])));
    const row = (name, value) => (isQuantity(name) ? value : gpucalc.rowNamed(name, value));
    return new gpucalc.Case(Object.fromEntries([...drawn.map((name) => [name, value(name)]),
      ...given.map(([name, value]) => [name, row(name, value)])]));
  }

  function text({ yours: name, but, turn, form = "", times = 1, unit, scale }, held, names) {
    const here = but ? changed(held, JSON.parse(but)) : turn ? turned(held, JSON.parse(turn)) : held, { figures } = gpucalc;
    if (unit !== undefined) return figures.in_unit((number(name, here) * times) / scale, unit);
    if (!Object.hasOwn(gpucalc.data.quantities, name)) return rowName(name, but ? here.rows[name]?.name : names[name]);
    const value = number(name, here);
    if (!form) return figures.quantity(name, value);
    return Object.hasOwn(figures, form) ? figures[form](value) : figures.number(value, form);
  }

  // What the case has, else the law, else a default that has a source.
  function number(name, here) {
    const given = here.given(name) !== undefined, isLaw = !given && Object.hasOwn(gpucalc.laws, name);
    if (!given && !isLaw && !gpucalc.lessons.sourced.includes(name)) throw new Error(`the case has no ${name}`);
    const { number: value } = isLaw ? here.law(name) : here.value(name);
    if (!Number.isFinite(value)) throw new Error(`${name} has no end`);
    return value;
  }

  function rowName(kind, name) {
    if (!name) throw new Error(`the case has no ${kind}`);
    return name;
  }

  // The case with other values; one that has them already shows no change.
  function changed(held, given) {
    for (const [name, value] of Object.entries(given)) {
      const had = Object.hasOwn(gpucalc.data.quantities, name) ? held.given(name) : held.rows[name]?.name;
      if (had === value) throw new Error(`${name} is ${value} already`);
    }
    return held.but(Object.fromEntries(Object.entries(given).map(([name, value]) => [name, meant(name, value)])));
  }

  // The case of a wrong turn: the name of a quantity stands for its value in the case as it was.
  const turned = (held, given) => held.but(Object.fromEntries(Object.entries(given).map(([name, value]) =>
    [name, Object.hasOwn(gpucalc.data.quantities, value) ? number(value, held) : meant(name, value)])));

  // A row by its name, a law by "law:NAME", as the case of a browser takes them.
  function meant(name, value) {
    if (typeof value !== "string") return value;
    return Object.hasOwn(gpucalc.laws, value) ? `law:${value}` : gpucalc.rowNamed(name, value);
  }
}
