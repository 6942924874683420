// Numbers and columns along axes, for case.js: a Grid is one number, or a column along some of the axes.
//
//   const axes = new gpucalc.Axes({ gpu: 14, tensor_parallel: 4, batch: 8 });    // at most 26
//   axes.along("batch", [1, 2, 4, 8, 16, 32, 64, 128])   // a Grid along one axis; null is NaN
//   axes.table("gpu", [{ bandwidth: 3.35e12 }, ...])     // a row for a case, of columns along that axis
//   grid.number, grid.values, grid.names                 // the number of a single value; values in row-major order; axes by name
//   grid.at({ gpu: 3, batch: 0 })                        // the number there; axes that the grid does not depend on are ignored
//   grid.slice({ gpu: 3 })                               // the grid along its other axes, there
//   grid.over(), grid.taken([0, 7])                      // all values along all axes of the case; those at some of the places
//   gpucalc.map((a, b) => a < b, one, other)             // place by place, numbers among the grids allowed; true is 1
//   grid.min("batch"), max, sum, any, all                // along these axes, or along all; a NaN is left out
//   const best = grid.argmin("batch")                    // where the least value along these axes is, the first of equals
//   best.take(other)                                     // the values of another grid there
//   best.index({ gpu: 3, tensor_parallel: 1 })           // where that is: { gpu: 3, tensor_parallel: 1, batch: 5 }
"use strict";
window.gpucalc = window.gpucalc || {};
{
  // The axes of a case, in order: the last one varies fastest. A set of axes is a number, with one bit for each.
  class Axes {
    constructor(lengths = {}) {
      this.names = Object.keys(lengths);
      this.lengths = Object.values(lengths);
      if (this.names.length > 26) throw new Error(`${this.names.length} axes; allowed: at most 26`);
      this.maps = new Map();
    }

    set(names) {
      return names.reduce((set, name) => {
        const axis = this.names.indexOf(name);
        if (axis < 0) throw new Error(`axis ${name}: unknown; allowed: ${this.names.join(", ")}`);
        return set | (1 << axis);
      }, 0);
    }

    get whole() {
      return 2 ** this.names.length - 1;
    }

    in(set) {
      return this.names.map((_, axis) => axis).filter((axis) => set & (1 << axis));
    }

    size(set) {
      if (!set) return 1;
      return this.in(set).reduce((size, axis) => size * this.lengths[axis], 1);
    }

    // For each place along `to`, where it is along `from`, a part of the same axes.
    map(from, to) {
      const key = from * 2 ** 26 + to;
      if (!this.maps.has(key)) this.maps.set(key, this.mapped(from, to));
      return this.maps.get(key);
    }

    mapped(from, to) {
      return this.in(to).reduce((map, axis) => {
        const length = this.lengths[axis], has = from & (1 << axis);
        const next = new Int32Array(map.length * length);
        for (let i = 0, at = 0; i < map.length; i++) {
          for (let j = 0; j < length; j++, at++) next[at] = has ? map[i] * length + j : map[i];
        }
        return next;
      }, new Int32Array(1));
    }

    // Numbers along one axis; null is NaN.
    along(name, numbers) {
      const set = this.set([name]);
      if (numbers.length !== this.size(set)) throw new Error(`${name}: ${numbers.length} values; allowed: ${this.size(set)}`);
      return new Grid(this, set, Float64Array.from(numbers, (each) => (each == null ? NaN : Number(each))));
    }

    // A row whose cells are columns along one axis, from a list of rows; text is kept where it is the same in all.
    table(name, list) {
      const keys = new Set(list.flatMap(Object.keys));
      return Object.fromEntries([...keys].flatMap((key) => {
        const cells = list.map((row) => row[key]);
        if (cells.every((cell) => typeof cell !== "string")) return [[key, this.along(name, cells)]];
        return cells.every((cell) => cell === cells[0]) ? [[key, cells[0]]] : [];
      }));
    }

    grid(value) {
      return value instanceof Grid ? value : new Grid(this, 0, Float64Array.of(Number(value)));
    }
  }

  class Grid {
    constructor(axes, set, values) {
      Object.assign(this, { axes, set, values });
      this.wider = new Map();
    }

    get names() {
      return this.axes.in(this.set).map((axis) => this.axes.names[axis]);
    }

    get number() {
      if (this.set) throw new Error(`a column along ${this.names.join(", ")}; allowed: a single value`);
      return this.values[0];
    }

    // The values as they stand along more axes, or along all.
    over(set = this.axes.whole) {
      if (set === this.set) return this.values;
      if (!this.wider.has(set)) this.wider.set(set, spread(this.values, this.axes.map(this.set, set)));
      return this.wider.get(set);
    }

    // The values at these places, each counted in row-major order along all axes.
    taken(places) {
      const { values } = this, out = new Float64Array(places.length), map = this.set !== this.axes.whole && this.axes.map(this.set, this.axes.whole);
      for (let k = 0; k < out.length; k++) out[k] = values[map ? map[places[k]] : places[k]];
      return out;
    }

    place(index) {
      return this.axes.in(this.set).reduce((place, axis) => {
        const at = index[this.axes.names[axis]], length = this.axes.lengths[axis];
        if (!(at >= 0 && at < length)) throw new Error(`${this.axes.names[axis]}: ${at}; allowed: 0 to ${length - 1}`);
        return place * length + at;
      }, 0);
    }

    at(index) {
      return this.values[this.place(index)];
    }

    // The grid where these axes stand at these places.
    slice(index) {
      const fixed = this.set & this.axes.set(Object.keys(index)), left = this.set & ~fixed;
      const here = new Grid(this.axes, fixed, []).place(index), out = new Float64Array(this.axes.size(left));
      const [along, onto] = [fixed, left].map((set) => this.axes.map(set, this.set));
      for (let k = 0; k < onto.length; k++) if (along[k] === here) out[onto[k]] = this.values[k];
      return new Grid(this.axes, left, out);
    }

    left(names) {
      return names.length ? this.set & ~this.axes.set(names) : 0;
    }

    // The values along these axes, or along all, joined from `start` on.
    fold(join, start, ...names) {
      const left = this.left(names), map = this.axes.map(left, this.set);
      const out = new Float64Array(this.axes.size(left)).fill(start);
      for (let k = 0; k < map.length; k++) out[map[k]] = join(out[map[k]], this.values[k]);
      return new Grid(this.axes, left, out);
    }

    min(...names) {
      return this.fold((a, b) => (b < a ? b : a), Infinity, ...names);
    }

    max(...names) {
      return this.fold((a, b) => (b > a ? b : a), -Infinity, ...names);
    }

    sum(...names) {
      return this.fold((a, b) => (b === b ? a + b : a), 0, ...names);
    }

    any(...names) {
      return this.fold((a, b) => (a || (b && b === b) ? 1 : 0), 0, ...names);
    }

    all(...names) {
      return this.fold((a, b) => (a && (b || b !== b) ? 1 : 0), 1, ...names);
    }

    argmin(...names) {
      const left = this.left(names), map = this.axes.map(left, this.set);
      const places = new Int32Array(this.axes.size(left)).fill(-1);
      for (let k = 0; k < map.length; k++) {
        const best = places[map[k]], value = this.values[k];
        if (best < 0 ? value === value : value < this.values[best]) places[map[k]] = k;
      }
      return new Places(this, left, places);
    }
  }

  // Places in a grid, one for each place along the axes that are left; -1 where all values are NaN.
  class Places {
    constructor(grid, set, places) {
      Object.assign(this, { axes: grid.axes, of: grid.set, set, places });
    }

    take(other) {
      const grid = this.axes.grid(other);
      if (grid.set & ~this.of) throw new Error(`a column along ${grid.names.join(", ")}; allowed: along the axes of the places`);
      const map = this.axes.map(grid.set, this.of), value = (place) => (place < 0 ? NaN : grid.values[map[place]]);
      return new Grid(this.axes, this.set, Float64Array.from(this.places, value));
    }

    // The place by axis, for one along the axes that are left; null where there is none.
    index(at = {}) {
      let place = this.places[new Grid(this.axes, this.set, this.places).place(at)];
      if (place < 0) return null;
      const found = this.axes.in(this.of).reverse().map((axis) => {
        const here = place % this.axes.lengths[axis];
        place = (place - here) / this.axes.lengths[axis];
        return [this.axes.names[axis], here];
      });
      return Object.fromEntries(found.reverse());
    }
  }

  function spread(values, map) {
    const out = new Float64Array(map.length);
    for (let k = 0; k < out.length; k++) out[k] = values[map[k]];
    return out;
  }

  // Loops for one to three columns; more go through a list.
  const LOOPS = [
    (f, out) => out.fill(f()),
    (f, out, [a]) => { for (let k = 0; k < out.length; k++) out[k] = f(a[k]); },
    (f, out, [a, b]) => { for (let k = 0; k < out.length; k++) out[k] = f(a[k], b[k]); },
    (f, out, [a, b, c]) => { for (let k = 0; k < out.length; k++) out[k] = f(a[k], b[k], c[k]); },
  ];

  function everyColumn(f, out, columns) {
    const here = columns.map(() => 0);
    for (let k = 0; k < out.length; k++) {
      for (let j = 0; j < here.length; j++) here[j] = columns[j][k];
      out[k] = f(...here);
    }
  }

  function map(f, ...values) {
    const axes = values.find((value) => value instanceof Grid)?.axes ?? new Axes();
    const grids = values.map((value) => axes.grid(value));
    const set = grids.reduce((union, grid) => union | grid.set, 0);
    const out = new Float64Array(axes.size(set));
    (LOOPS[grids.length] ?? everyColumn)(f, out, grids.map((grid) => grid.over(set)));
    return new Grid(axes, set, out);
  }

  Object.assign(gpucalc, { Axes, Grid, map });
}
