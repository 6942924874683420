// The choices of one step of a decision, as gpucalc/decisions/points.py has them, and of each group of them the best.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const { Places, count, filled, mapped, taken, parted, joined, stacked, moved, exceeds } = gpucalc.columns;
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

  // All choices of a step. `left` is a table of those that no limit rules out that is the same at every end, with their figures;
  // `out` has of each group the one that came furthest of the others.
  class Points extends Places {
    constructor(step, job, market, before) {
      // The value that the case gives, else those of the step or of the market.
      const usual = (values) => (typeof values === "string" ? market[values] : values);
      const tried = (values, name) => (typeof job.inputs[name] === "number" ? [job.inputs[name]] : usual(values));
      const axes = mapped(step.axes, (values, name) => Float64Array.from(tried(values, name)));
      super(step.joined.length ? joined(before, market[step.joined[0]], step.joined[1]) : before, axes, step.per);
      Object.assign(this, { step, job, assumed: market.assumed, bands: {} });
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
      this.out = this.first(stacked(gone));
    }

    // The same choices for another case, if it is alike in all that was asked of this one; else undefined.
    of(job) {
      const told = (each, name) => [each.inputs[name], ...Object.values(each.rows).map((row) => row[name])];
      const alike = [...this.asked].every((name) => String(told(job, name)) === String(told(this.job, name)));
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
      return apart.reduce((table, name) => this.along(table, name), this.first(gone));
    }

    // The choices of a table that keep a limit, and those that break it.
    judged(table, number, limit, far) {
      const of = this.column(limit.of, table, far), most = this.column(limit.most, table, far);
      const over = filled(of.length, (k) => exceeds(of[k], most[k])), [left, gone] = parted(table, over);
      return [left, { ...gone, broken: new Float64Array(count(gone)).fill(number), excess: over.filter((each) => each > 0) }];
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
      const whole = (values) => filled(of.length, (k) => values[of[k]]);
      for (const { law, band } of same) {
        const ends = band ? factors(job, band) : [];
        this.left[law] = places.length ? whole(worstOf(job, law, worst)) : new Float64Array(0);
        ends.filter((end) => typeof end !== "number").forEach((end, k) => { this.left[`${k} ${law}`] = whole(along(job, end)); });
        if (band) this.bands[law] = ends.map((end, k) => (typeof end === "number" ? end : `${k} ${law}`));
      }
    }

    // A number, or a figure, a column, an input or a law by its name, for the choices of a table.
    column(name, table, far) {
      if (name in this.figures) return this.figure(name, table, far);
      if (!this.holds(name)) return new Float64Array(count(table)).fill(valueOf(this.job, name).number);
      return this.at(name, table);
    }

    figure(name, table, far) {
      const values = table[name] ?? new Float64Array(count(table)).fill(NaN), ends = this.bands[name];
      if (!ends) return values;
      if (ends.every((end) => typeof end === "number")) {
        const factor = moved(...ends, far);
        return filled(values.length, (k) => values[k] * factor);
      }
      const [low, plan, high] = ends.map((end) => table[end] ?? new Float64Array(values.length).fill(end));
      return filled(values.length, (k) => values[k] * moved(low[k], plan[k], high[k], far));
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

    // Of each group the best choice that keeps all limits, else the one that comes furthest, so far along the bands; `ends` are
    // how far those are at which limits are judged.
    chosen(far, ends) {
      const out = [this.out];
      let left = this.left;
      for (const [number, limit] of this.step.limits.entries()) {
        if (limit.early && !this.steady(limit)) {
          const [kept, gone] = this.judged(left, number, limit, ends[limit.at] ?? far);
          left = kept;
          out.push(gone);
        }
      }
      const found = this.first(stacked([this.workedOut(this.contenders(left, far, ends), far, ends), ...out]), far);
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
    first(table, far = 0) {
      if (!count(table)) return table;
      const objective = this.step.objective.filter((name) => name in table)
        .map((name) => (name in this.figures ? this.figure(name, table, far) : table[name]));
      const best = this.bestOf(table, [table.broken.map((each) => -each), table.excess, ...objective, table.place]);
      return taken(table, best);
    }

    // Where a least number is looked for, the choices that may be best: those whose objective at the low end is not above that of
    // the choice of their group that is tried first.
    contenders(table, far, ends) {
      const { least, objective: [objective] } = this.step;
      if (!least || !count(table)) return table;
      const job = this.held(table, { far }), low = job.law(least.low);
      const at = along(job, valueOf(job.but(Object.fromEntries(least.names.map((name) => [name, low]))), objective));
      const groups = this.groups(table), tried = this.bestOf(table, [at, table.place]);
      const found = this.workedOut(taken(table, tried), far, ends), most = new Map();
      tried.forEach((place, k) => {
        most.set(groups[place], found.broken[k] === this.step.limits.length ? found[objective][k] : Infinity);
      });
      return parted(table, at.map((value, k) => Number(value > most.get(groups[k]))))[0];
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
      const objective = step.objective.filter((name) => !(name in this.figures));
      return { ...found, ...more, ...Object.fromEntries(objective.map((name) => [name, value(name)])) };
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
        const least = this.least(table, more, far);
        for (const name of step.least.names) more[name] = least;
      }
      const held = this.held(table, { more, far });
      for (const name of names) more[name] = along(held, held.law(name));
      const value = (name) => more[name] ?? (this.holds(name) ? this.column(name, table, far) : along(held, valueOf(held, name)));
      return { more, value };
    }

    // The least whole number that keeps the limits, for each choice of a table, by halving between its two laws; the high one where
    // none does, or the least found in so many rounds.
    least(table, more, far) {
      const { low: lowest, high: highest, names, limits } = this.step.least, job = this.held(table, { more, far });
      const low = along(job, job.law(lowest)).slice();
      const high = along(job, job.law(highest)).map((value, k) => (Number.isFinite(value) ? value : low[k]));
      const most = limits.map((limit) => along(job, valueOf(job, limit.most)));
      const moving = (values) => Object.fromEntries(names.map((name) => [name, values]));
      const first = new gpucalc.Grid(job.axes, job.axes.set(["place"]), low.slice());
      const again = job.again(limits.map((limit) => limit.of), moving(first));
      let here = Int32Array.from(low.keys());
      for (let round = 0; round < gpucalc.data.rounds; round++) {
        const open = here.filter((place) => low[place] < high[place]);
        if (!open.length) break;
        if (2 * open.length < here.length) here = open; // columns that stay are not taken anew each time
        const middle = filled(here.length, (k) => Math.floor((low[here[k]] + high[here[k]]) / 2));
        const found = again(moving(middle), here), terms = limits.map((limit) => found(limit.of));
        for (let k = 0; k < here.length; k++) {
          const place = here[k];
          if (low[place] >= high[place]) continue;
          let enough = true;
          for (let n = 0; enough && n < terms.length; n++) enough = terms[n][k] <= most[n][place];
          if (enough) high[place] = middle[k];
          else low[place] = middle[k] + 1;
        }
      }
      return low.map((value, k) => Math.max(value, high[k]));
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

  // A law at each place, the larger where it depends on the worst axis.
  function worstOf(job, law, worst) {
    const grid = job.law(law);
    if (!worst || !grid.names.includes(worst)) return along(job, grid);
    const both = grid.over(job.axes.set([worst, "place"])), size = both.length / 2;
    return both.subarray(0, size).map((value, k) => Math.max(value, both[size + k]));
  }

  gpucalc.Points = Points;
}
