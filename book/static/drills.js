// Drills in the browser, as book/web/drills.py has them, over the laws of drills_data.js: drawing, asking, judging.
//
//   gpucalc.drills.draw("kv-token", 7)    // { name, seed, choice, text, unit, answer, mistaken, held }, the same each time
//   gpucalc.drills.of("kv-token", { model: "Llama-3-8B", cache_element_bytes: 2 })    // the same of a choice of one's own
//   gpucalc.drills.read("0.14 TB", "kv-batch")    // { value: 140 }, in the unit that is asked for; what cannot be read is { fault }
//   gpucalc.drills.judged(drawn, 131)     // { counts, turn }: near enough, and the wrong turn it comes of, or null
//   gpucalc.drills.steps(drawn)           // [{ law, called, said, numbers, result }]: each formula in words and in numbers
"use strict";
{
  const { Case, figures, drills, generator, judging } = gpucalc, { data } = drills;
  const has = Object.hasOwn, isQuantity = (name) => has(gpucalc.data.quantities, name);
  const BLANK = /\{(\w+)(?::(\w+))?\}/g;

  function drillNamed(name) {
    if (!has(data.drills, name)) throw new Error(`no drill '${name}'`);
    return data.drills[name];
  }

  // Its numbers drawn by a seed; from memory, those of the `system` where it may have them.
  function draw(name, seed, system) {
    const random = generator(`${name} ${seed}`);
    const one = (values, held) => (values.includes(held) ? held : values[Math.floor(random() * values.length)]);
    const choice = Object.entries(drillNamed(name).draw).map(([blank, values]) => [blank, one(values, system?.[blank])]);
    return { ...of(name, Object.fromEntries(choice), system), seed };
  }

  function of(name, choice, recalled) {
    const drill = drillNamed(name), held = caseOf({ ...drill.given, ...choice });
    const answer = held.law(drill.law).number / drill.scale;
    const mistaken = drill.wrong.map((turn) => comesTo(drill, turn, held));
    const text = (recalled ? drill.recall : drill.ask).replace(BLANK, (_, blank, form) => judging.blank_text(held, blank, form));
    return { name, choice, text, unit: drill.unit, answer, mistaken, held, order: drill.order || Boolean(recalled) };
  }

  // Rows by their names; a case of a browser takes laws and rows that stand for a quantity as text.
  const rowOf = (kind, name) => {
    const { names, columns } = data.rows[kind], at = names.indexOf(name);
    const cell = (cells) => (Array.isArray(cells) ? cells[at] : cells); // a column of one value is that value
    return { name, ...Object.fromEntries(Object.entries(columns).map(([column, cells]) => [column, cell(cells)])) };
  };
  const caseOf = (given) => new Case(Object.fromEntries(Object.entries(given).map(([name, value]) =>
    [name, isQuantity(name) ? value : rowOf(name, value)])));

  // What a wrong turn comes to in the unit that was asked for; NaN where it has no answer.
  function comesTo(drill, { but = {}, law = drill.law, times = 1, scale = drill.scale }, held) {
    try {
      const changes = Object.entries(but).map(([name, value]) => [name, changed(name, value, held)]);
      return (times * held.but(Object.fromEntries(changes)).law(law).number) / scale;
    } catch {
      return NaN;
    }
  }

  // The name of a quantity stands for its value in the case as it was.
  function changed(name, value, held) {
    if (!isQuantity(name)) return value === null ? null : rowOf(name, value);
    return isQuantity(value) ? valued(held, value) : value;
  }

  function valued(held, name) {
    const isKnown = held.given(name) !== undefined || data.sourced.includes(name);
    if (!isKnown && !has(gpucalc.laws, name)) throw new Error(`${name} is not in the case`);
    return (isKnown ? held.value(name) : held.law(name)).number;
  }

  // What was typed as an answer, in the unit that is asked for: { value }, or { fault }.
  function read(text, name) {
    const { law, unit, scale } = drillNamed(name), [value, fault] = gpucalc.typed.answer(text, law, unit, scale);
    return fault ? { fault } : { value };
  }

  function judged({ answer, mistaken, order }, said) {
    const [counts, turn] = judging.verdict(said, answer, mistaken, order);
    return { counts, turn };
  }

  // The steps with the numbers put in

  const printed = (name, value) => (data.shares.includes(name) ? figures.percent(value) : figures.quantity(name, value));

  // The words of each may depend on what was drawn: `at` has a digit for each choice, in the order of its values.
  function steps({ name, choice, held }) {
    const { draw: blanks, steps: every } = drillNamed(name);
    const place = Object.entries(blanks).reduce((sum, [blank, values]) => sum * values.length + values.indexOf(choice[blank]), 0);
    return every.map(({ law, said, at }) => {
      const text = said[at ? Number(at[place] ?? 0) : 0], result = printed(law, held.law(law).number);
      const filled = (show) => text.replace(BLANK, (_, each) => show(each));
      const numbers = filled((each) => printed(each, argument(law, each, held)));
      return { law, called: data.words[law], said: filled((each) => data.words[each]), numbers, result };
    });
  }

  // What a law takes under a name, or another law that stands in its words.
  function argument(law, name, held) {
    if (gpucalc.laws[law].args.includes(name)) return held.argument(name, law).number;
    return gpucalc.laws[name].of(...gpucalc.laws[name].args.map((each) => held.argument(each, law).number));
  }

  Object.assign(drills, { draw, of, read, judged, steps, valued, drillNamed });
}
