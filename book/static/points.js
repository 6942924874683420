// The choices of one step of a decision, as gpucalc/decisions/points.py has them, and of each group of them the best.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const { Places, count, filled, mapped, numbersAt, taken, parted, precedes, joined, stacked, moved, exceeds } = gpucalc.columns;
  const { factors, isLaw, needed, valueOf } = gpucalc;
  const known = (name) => Object.hasOwn(gpucalc.data.quantities, name);
  const along = (job, grid) => grid.over(job.axes.set(["place"]));

  // A column along the places, made when a law asks for it: of rows, axes and laws, whose values are known to be allowed.
  class Lazy extends gpucalc.Grid {
    known = true;

    get values() {
      return (this.made ??= this.make());
    }

    set values(make) {
      this.make = make;
    }
  }

  // All choices of a step. `left` is a table of those that no limit rules out that is the same at every end; `out` has of each group
  // the one that came furthest of the others. `known` has the figures of both; until it is made, `left` has them.
  class Points extends Places {
    constructor(step, job, market, before) {
      // The value that the case gives, else those of the step or of the market.
      const tried = (values, name) => (typeof job.inputs[name] === "number" ? [job.inputs[name]] : market[values] ?? values);
      const rows = step.joined.length ? joined(before, market[step.joined[0]], step.joined[1]) : before;
      const free = Object.entries(step.axes).filter(([name]) => !(name in rows));
      super(rows, mapped(Object.fromEntries(free), (values, name) => Float64Array.from(tried(values, name))), step.per);
      Object.assign(this, { step, job, assumed: market.assumed, bands: {}, bent: new Map(), won: {} });
      this.figures = Object.fromEntries(step.figures.map((figure) => [figure.law, figure]));
      this.left = { place: filled(this.lengths.row, (row) => row * this.strides.row) };
      this.wide = new Set();
      this.asked = new Set();
      const gone = [];
      step.limits.forEach((limit, number) => {
        if (limit.early && this.steady(limit)) gone.push(this.ruleOut(number, limit));
      });
      this.spreadOver(Object.keys(this.axes));
      this.left = this.spared(this.left);
      this.work(Object.keys(this.figures));
      this.know(this.first(stacked(gone), []));
    }

    // Keeps what is out, with the figures that were worked out before it was ruled out, beside those of what is left.
    know(out) {
      const known = stacked([this.left, out]), { place, broken, excess } = out;
      this.left = { place: this.left.place.slice() };
      this.out = count(out) ? { place, broken, excess } : {};
      this.where = new Int32Array(this.size);
      known.place.forEach((place, k) => { this.where[place] = k; });
      this.known = known;
    }

    // The same choices for another case, if it is alike in all that was asked of this one; else undefined.
    of(job) {
      const kinds = Object.keys({ ...job.rows, ...this.job.rows }), same = (one, other, name) => Object.is(one?.[name], other?.[name]);
      const alike = [...this.asked].every((name) => same(job.inputs, this.job.inputs, name)
        && kinds.every((kind) => same(job.rows[kind], this.job.rows[kind], name)));
      return alike ? Object.assign(Object.create(Points.prototype), this, { job }) : undefined;
    }

    // Spreads what is left over those of these axes along which it is not yet.
    spreadOver(names) {
      const axes = Object.keys(this.axes).filter((name) => names.includes(name) && !this.wide.has(name));
      this.left = axes.reduce((table, name) => this.along(table, name), this.left);
      axes.forEach((name) => this.wide.add(name));
    }

    // A table without the choices to which an earlier value of a sparing axis is there too.
    spared(table) {
      const there = new Uint8Array(this.size), gone = new Uint8Array(count(table)), { place } = table;
      for (let k = 0; k < place.length; k++) there[place[k]] = 1;
      for (const name of this.step.sparing) {
        const stride = this.strides[name], length = this.lengths[name];
        for (let k = 0; k < place.length; k++) {
          for (let j = Math.floor(place[k] / stride) % length; j > 0; j--) gone[k] |= there[place[k] - j * stride];
        }
      }
      return parted(table, gone)[0];
    }

    // Whether a limit is the same at every end.
    steady(limit) {
      return limit.at in gpucalc.data.ends || ![limit.of, limit.most].some((name) => this.figures[name]?.band);
    }

    // Leaves the choices that keep a limit, spread over no more axes than it takes; gives the nearest other one of each group.
    ruleOut(number, limit) {
      const names = [limit.of, limit.most], figures = names.filter((name) => name in this.figures);
      const asked = figures.flatMap((name) => [...needed(this.held({ place: [] }, this.figures[name]), [name])]);
      names.forEach((name) => this.asked.add(name));
      this.spreadOver([...names, ...asked]);
      this.work(figures);
      const [left, gone] = this.judged(this.left, number, limit, gpucalc.data.ends[limit.at || "plan"]);
      this.left = left;
      const apart = this.step.per.filter((name) => !this.wide.has(name));
      return apart.reduce((table, name) => this.along(table, name), this.first(gone, []));
    }

    // The choices of a table that keep a limit, and those that break it.
    judged(table, number, limit, far) {
      const of = this.column(limit.of, table, far), most = this.column(limit.most, table, far), over = new Uint8Array(of.length);
      for (let k = 0; k < over.length; k++) over[k] = Number(!(of[k] <= most[k]));
      const [left, gone, at] = parted(table, over), broken = new Float64Array(at.length).fill(number);
      return [left, { ...gone, broken, excess: filled(at.length, (k) => exceeds(of[at[k]], most[at[k]])) }];
    }

    // Works these figures out for all that is left, together where they are given the same.
    work(laws) {
      const alike = ({ given, worst }) => JSON.stringify([given, worst]);
      for (let todo = laws.filter((law) => !(law in this.left)).map((law) => this.figures[law]); todo.length;) {
        const same = todo.filter((each) => alike(each) === alike(todo[0]));
        todo = todo.filter((each) => !same.includes(each));
        this.workTogether(same, same[0].given, same[0].worst);
      }
    }

    workTogether(same, given, worst) {
      const names = needed(this.held({ place: [] }, { given }), same.map((each) => each.law));
      const whens = same.flatMap(({ band }) => (gpucalc.data.bands[band]?.parts ?? []).map(([when]) => when));
      [...names, ...whens].forEach((name) => this.asked.add(name));
      const { places, of } = this.different(this.stands(this.left, names)), job = this.held({ place: places }, { given, worst });
      const whole = (values) => (places.length === of.length ? values : numbersAt(values, of));
      for (const { law } of same) this.left[law] = places.length ? whole(worstOf(job, law, worst)) : new Float64Array(0);
      for (const band of new Set(same.map((each) => each.band).filter(Boolean))) {
        // What figures of one band are multiplied by is one column.
        const ends = factors(job, band), name = (end) => `${end} ${band} ${same[0].law}`;
        const held = ends.map((end, k) => (typeof end === "number" ? end : name(k)));
        ends.forEach((end, k) => { if (typeof end !== "number") this.left[name(k)] = whole(along(job, end)); });
        for (const each of same.filter((figure) => figure.band === band)) this.bands[each.law] = held;
      }
    }

    // A number, or a figure, a column, an input or a law by its name, for the choices of a table.
    column(name, table, far) {
      if (name in this.figures) return this.figure(name, table, far);
      if (!this.holds(name)) return new Float64Array(count(table)).fill(valueOf(this.job, name).number);
      return this.at(name, table);
    }

    // A figure so far along its band; NaN where a choice was ruled out before it was worked out.
    figure(name, table, far) {
      const from = this.known ?? table;
      if (!from[name]) return new Float64Array(count(table)).fill(NaN);
      if (this.known) return numbersAt(this.movedTo(name, far), this.index("known", table.place));
      const factor = this.bands[name] && factorAt(this.bands[name], from, far);
      return factor ? filled(factor.length, (k) => from[name][k] * factor[k]) : from[name];
    }

    // The known figures so far along their band, worked out once.
    movedTo(name, far) {
      const held = (key, make) => this.bent.get(key) ?? this.bent.set(key, make()).get(key), values = this.known[name];
      const ends = this.bands[name];
      if (!ends) return values;
      return held(`${name} ${far}`, () => {
        const factor = held(`${ends} ${far}`, () => factorAt(ends, this.known, far));
        return filled(values.length, (k) => values[k] * factor[k]);
      });
    }

    indexOf(name, place) {
      return name === "known" ? Int32Array.from(place, (each) => this.where[each]) : super.indexOf(name, place);
    }

    // The case for the choices of a table: numbers of rows and axes, `more` columns, and the figures where `far` is given.
    held(table, { more = {}, given = {}, worst = "", far } = {}) {
      const axes = new gpucalc.Axes({ ...(worst && { [worst]: 2 }), place: count(table) }), set = axes.set(["place"]);
      const inputs = { ...this.job.inputs }, figures = far === undefined ? [] : Object.keys(this.figures);
      for (const name of [...this.numbers, ...Object.keys(this.axes), ...figures]) {
        if (known(name)) inputs[name] = new Lazy(axes, set, () => this.column(name, table, far));
      }
      for (const name of Object.keys(more)) if (known(name)) inputs[name] = new gpucalc.Grid(axes, set, more[name]);
      if (worst) inputs[worst] = axes.along(worst, [0, 1]);
      return new gpucalc.Case(this.job.rows, { ...inputs, ...this.step.given, ...given }, axes);
    }

    // The choices of a table with this GPU; all without one.
    having(table, gpu) {
      if (!gpu || !count(table)) return table;
      const rows = this.index("row", table.place);
      return parted(table, filled(rows.length, (k) => Number(this.rows.gpu[rows[k]] !== gpu)))[0];
    }

    // Of each group the best choice that keeps all limits, else the one that comes furthest, so far along the bands; `ends` are
    // how far those are at which limits are judged. With a `gpu` only of the groups of its rows.
    chosen(far, ends, gpu = "") {
      const { won, job } = this, same = won.job === job && won.far === far;
      if (gpu) return same ? this.having(won.table, gpu) : this.best(far, ends, gpu);
      if (!same) Object.assign(won, { job, far, table: this.best(far, ends) });
      won.places = new Set(won.table.place);
      return won.table;
    }

    best(far, ends, gpu = "") {
      const out = [this.having(this.out, gpu)];
      let left = this.having(this.left, gpu);
      for (const [number, limit] of this.step.limits.entries()) {
        if (limit.early && !this.steady(limit)) {
          const [kept, gone] = this.judged(left, number, limit, ends[limit.at] ?? far);
          left = kept;
          out.push(gone);
        }
      }
      const found = this.first(stacked([this.workedOut(this.contenders(left, far), far, ends), ...out]));
      if (!count(found)) found.place = new Float64Array(0);
      const rows = filled(count(found), (k) => Math.floor(found.place[k] / this.strides.row));
      const held = mapped(this.figures, (_, name) => this.figure(name, found, far));
      if (this.step.steady) {
        for (const name of Object.keys(this.bands)) {
          for (const [end, each] of Object.entries(gpucalc.data.ends)) held[`${end}_${name}`] = this.figure(name, found, each);
        }
      }
      return { ...taken(this.rows, rows), ...found, ...mapped(this.axes, (_, name) => this.column(name, found, far)), ...held };
    }

    // Of each group the choice that breaks the last limit, by the least, and has the least objective; in order of groups.
    first(table, objective = this.step.objective) {
      if (!count(table)) return table;
      const keys = objective.filter((name) => name in table).map((name) => table[name]);
      return taken(table, this.bestOf(table, [table.broken.map((each) => -each), table.excess, ...keys, table.place]));
    }

    // Where a least number is looked for, the choices that may be best, each with the least whole number that keeps the limits,
    // or one above the high one of its two laws where none does. Those that won before are searched first, then the others together, each
    // until it is found or another one of its group comes before it with any number that is left.
    contenders(table, far) {
      const { least, objective: [objective, ...rest] } = this.step;
      if (!least || !count(table)) return table;
      // The laws of both ends ask for no number, so that it is filled in once the low one is known.
      const first = new Float64Array(count(table)), job = this.held(table, { more: this.moving(first), far });
      const column = (name) => along(job, valueOf(job, name));
      first.set(column(least.low));
      const low = first.slice(), high = column(least.high).map((value, k) => (Number.isFinite(value) ? value : low[k]));
      // The objective at the low number, and at the high one once that is known to be enough.
      const bound = column(objective).slice(), reached = new Float64Array(low.length).fill(NaN);
      const rival = this.rivals(table, bound, reached, rest.map((name) => this.column(name, table, far)));
      const won = this.won.places ?? new Set(), all = Int32Array.from(low.keys());
      for (const before of [true, false]) {
        const here = all.filter((k) => won.has(table.place[k]) === before);
        this.search(job, here, { low, high, bound, reached, rival });
      }
      const left = all.filter((k) => !rival.precedes(k));
      return { ...taken(table, left), [least.names[0]]: filled(left.length, (k) => Math.max(low[left[k]], high[left[k]])) };
    }

    // Searches choices that stand at these places of the columns that it fills.
    search(job, here, { low, high, bound, reached, rival }) {
      const { least, objective: [objective] } = this.step, most = least.limits.map((limit) => along(job, valueOf(job, limit.most)));
      const [valuesAt, termsAt] = [[objective], least.limits.map((limit) => limit.of)].map((laws) => job.again(laws, least.names));
      for (let round = 0; round < gpucalc.data.rounds; round++) {
        const open = here.filter((k) => low[k] < high[k] && !rival.precedes(k));
        if (!open.length) break;
        if (!round || 2 * open.length < here.length) here = open; // columns that stay are not taken anew each time
        const tried = filled(here.length, (k) => sought(low[here[k]], high[here[k]], round)), found = termsAt(tried, here);
        const more = filled(here.length, (k) => Number(!found.every((value, n) => value[k] <= most[n][here[k]])));
        const [values] = valuesAt(filled(here.length, (k) => tried[k] + more[k]), here);
        for (let k = 0; k < here.length; k++) {
          const place = here[k];
          if (low[place] >= high[place]) continue;
          (more[k] ? low : high)[place] = tried[k] + more[k];
          (more[k] ? bound : reached)[place] = values[k];
          if (!more[k]) rival.met(place);
        }
      }
    }

    moving(numbers) {
      return Object.fromEntries(this.step.least.names.map((name) => [name, numbers]));
    }

    // Of each group the choice that is known to be the best so far, by what it reached and these columns.
    rivals(table, bound, reached, columns) {
      const groups = this.groups(table), keys = [...columns, table.place];
      const best = new Int32Array(groups.reduce((most, group) => Math.max(most, group), 0) + 1).fill(-1);
      const before = (one, values, other) =>
        reached[one] < values[other] || (reached[one] === values[other] && precedes(keys, one, other));
      return {
        met(k) {
          if (best[groups[k]] < 0 || before(k, reached, best[groups[k]])) best[groups[k]] = k;
        },
        precedes: (k) => best[groups[k]] >= 0 && before(best[groups[k]], bound, k),
      };
    }

    // The choices with all laws of limits and objective, and the first limit that each breaks; what a limit has at another end
    // stands under the name of both.
    workedOut(table, far, ends) {
      const { step } = this, size = count(table), late = [...step.limits.entries()].filter(([, limit]) => !limit.early);
      const found = { ...table, broken: new Float64Array(size).fill(step.limits.length), excess: new Float64Array(size) };
      const { more, value } = this.laws(table, far, [...step.objective, ...step.shown, ...late.map(([, limit]) => limit.of)]);
      for (const end of new Set(late.map(([, limit]) => limit.at).filter(Boolean))) {
        const there = late.map(([, limit]) => limit).filter(({ at }) => at === end);
        const moved = this.laws(table, ends[end], there.map(({ of }) => of));
        for (const { of } of there) more[`${end}_${of}`] = moved.value(of);
      }
      for (const [number, limit] of late.reverse()) {
        const of = limit.at ? more[`${limit.at}_${limit.of}`] : value(limit.of), most = value(limit.most);
        for (let k = 0; k < size; k++) {
          const over = exceeds(of[k], most[k]);
          if (over > 0) found.broken[k] = number;
          if (over > 0) found.excess[k] = over;
        }
      }
      return { ...found, ...more, ...Object.fromEntries(step.objective.map((name) => [name, value(name)])) };
    }

    // These laws for the choices of a table so far along the bands, as columns with what they take, and what gives any column.
    laws(table, far, wanted) {
      const { step } = this, size = count(table), names = [...new Set(wanted)].filter((name) => isLaw(name) && !this.holds(name));
      if (!size) {
        const inputs = [...Object.keys(step.spread), ...Object.keys(step.likely), ...(step.least?.names ?? [])];
        const none = () => new Float64Array(0);
        return { more: Object.fromEntries([...names, ...inputs].map((name) => [name, none()])), value: none };
      }
      const more = { ...this.likely(table, far), ...this.spread(table, far) };
      if (step.least) {
        for (const name of step.least.names) more[name] = table[step.least.names[0]];
      }
      const held = this.held(table, { more, far });
      for (const name of names) more[name] = along(held, held.law(name));
      const value = (name) => more[name] ?? (this.holds(name) ? this.column(name, table, far) : along(held, valueOf(held, name)));
      return { more, value };
    }

    holds(name) {
      return name in this.figures || name in this.axes || name in this.rows;
    }

    // The inputs with a band of their own, so far along it; what the case has is known.
    spread(table, far) {
      const own = Object.entries(this.step.spread).filter(([name]) => this.job.inputs[name] === undefined);
      return Object.fromEntries(own.map(([name, ends]) => {
        const [low, plan, high] = ends.map((each) => (this.holds(each) ? this.column(each, table, 0)
          : new Float64Array(count(table)).fill(this.assumed[each])));
        return [name, filled(low.length, (k) => moved(low[k], plan[k], high[k], far))];
      }));
    }

    likely(table, far) {
      const laws = Object.entries(this.step.likely);
      if (!laws.length) return {};
      const held = this.held(table, { more: this.spread(table, 0), far });
      return Object.fromEntries(laws.map(([name, law]) => [name, along(held, held.law(law))]));
    }
  }

  // What a figure is multiplied by so far along its band, for each row of a table; an end is a number or the name of a column.
  function factorAt(ends, table, far) {
    const size = count(table), [low, plan, high] = ends.map((end) => table[end] ?? new Float64Array(size).fill(end));
    return filled(size, (k) => (far === 0 ? plan[k] : moved(low[k], plan[k], high[k], far)));
  }

  // A law at each place, the larger where it depends on the worst axis.
  function worstOf(job, law, worst) {
    const grid = job.law(law);
    if (!worst || !grid.names.includes(worst)) return along(job, grid);
    const both = grid.over(job.axes.set([worst, "place"])), size = both.length / 2;
    return both.subarray(0, size).map((value, k) => Math.max(value, both[size + k]));
  }

  // The number to try between two: the high one, then from the low one on in ever longer strides, and by halving.
  const sought = (low, high, round) => (round ? Math.min(Math.floor((low + high) / 2), low + 2 ** (round - 1) - 1) : high);

  gpucalc.Points = Points;
}
