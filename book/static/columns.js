// Tables of choices, as gpucalc/decisions/columns.py has them: objects of columns, each a Float64Array of numbers or an array of
// texts; and the grid of places that they are taken from.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const isNumbers = (column) => column instanceof Float64Array;
  const count = (table) => Object.values(table)[0]?.length ?? 0;

  const filled = (size, f) => {
    const out = new Float64Array(size);
    for (let k = 0; k < size; k++) out[k] = f(k);
    return out;
  };

  function numbersAt(column, places) {
    const out = new Float64Array(places.length);
    for (let k = 0; k < out.length; k++) out[k] = column[places[k]];
    return out;
  }

  function textsAt(column, places) {
    const out = new Array(places.length);
    for (let k = 0; k < out.length; k++) out[k] = column[places[k]];
    return out;
  }

  const mapped = (table, f) => Object.fromEntries(Object.entries(table).map(([name, column]) => [name, f(column, name)]));

  // These rows of a table; its own columns where they are all.
  function taken(table, rows) {
    const places = rows instanceof Int32Array ? rows : Int32Array.from(rows);
    if (places.length === count(table) && places.every((place, k) => place === k)) return { ...table };
    return mapped(table, (column) => (isNumbers(column) ? numbersAt : textsAt)(column, places));
  }

  // The rows of a table where `gone` is 0, the others, and which these are.
  function parted(table, gone) {
    const left = new Int32Array(gone.length), other = new Int32Array(gone.length);
    let lefts = 0, others = 0;
    for (let k = 0; k < gone.length; k++) {
      if (gone[k] === 0) left[lefts++] = k;
      else other[others++] = k;
    }
    const kept = others ? taken(table, left.subarray(0, lefts)) : { ...table };
    return [kept, taken(table, other.subarray(0, others)), other.subarray(0, others)];
  }

  // Every pair of rows of two tables that agree in a column, in the order of the left one; without a left one the right.
  function joined(left, right, key) {
    if (!Object.keys(left).length) return { ...right };
    const places = new Map(), ones = [], others = [];
    right[key].forEach((value, place) => places.set(value, [...(places.get(value) ?? []), place]));
    left[key].forEach((value, one) => (places.get(value) ?? []).forEach((other) => {
      ones.push(one);
      others.push(other);
    }));
    const { [key]: _, ...rest } = right;
    return { ...taken(left, ones), ...taken(rest, others) };
  }

  // The rows of several tables of numbers, one after the other; NaN where one lacks a column.
  function stacked(tables) {
    const size = tables.reduce((sum, table) => sum + count(table), 0);
    const names = new Set(tables.flatMap(Object.keys));
    return Object.fromEntries([...names].map((name) => {
      const whole = new Float64Array(size).fill(NaN);
      let start = 0;
      for (const table of tables) {
        if (table[name]) whole.set(table[name], start);
        start += count(table);
      }
      return [name, whole];
    }));
  }

  const moved = (low, plan, high, far) => plan * (far >= 0 ? (high / plan) ** far : (low / plan) ** -far);

  // By how much of a limit a value is above it, 0 where it is not; of a limit of 0 by the value itself.
  function exceeds(value, most) {
    if (value <= most) return 0;
    const over = most > 0 ? value / most - 1 : value - most;
    return over > 0 ? over : Infinity;
  }

  // Whether a row comes before another one by these keys, the first one first.
  function precedes(keys, one, other) {
    for (let k = 0; k < keys.length; k++) {
      const a = keys[k][one], b = keys[k][other];
      if (a !== b && (a === a || b === b)) return a === a && (b !== b ? a < Infinity : a < b);
    }
    return false;
  }

  // A grid of places: rows slowest, then each axis. A table of choices has their places in a column.
  class Places {
    constructor(rows, axes, per) {
      Object.assign(this, { rows, axes, per, indexes: new WeakMap() });
      this.numbers = Object.keys(rows).filter((name) => isNumbers(rows[name]));
      this.dimension();
    }

    // Of each dimension its length and how many places lie between neighbors.
    dimension() {
      this.lengths = { row: count(this.rows), ...mapped(this.axes, (values) => values.length) };
      this.strides = {};
      this.size = Object.keys(this.lengths).reduceRight((size, name) => {
        this.strides[name] = size;
        return size * this.lengths[name];
      }, 1);
    }

    // A table of places at the start of an axis as one of all places along it.
    along(table, name) {
      const length = this.lengths[name], stride = this.strides[name];
      const wider = mapped(table, (column) => {
        const out = new Float64Array(column.length * length);
        for (let k = 0, at = 0; k < column.length; k++) for (let j = 0; j < length; j++) out[at++] = column[k];
        return out;
      });
      for (let k = 0; k < wider.place.length; k++) wider.place[k] += (k % length) * stride;
      return wider;
    }

    // A column of the rows or of an axis for the choices of a table.
    at(name, { place }) {
      return numbersAt(this.axes[name] ?? this.rows[name], this.index(name in this.axes ? name : "row", place));
    }

    // Where these places are along a dimension, worked out once.
    index(name, place) {
      if (!this.indexes.has(place)) this.indexes.set(place, {});
      return (this.indexes.get(place)[name] ??= this.indexOf(name, place));
    }

    indexOf(name, place) {
      const stride = this.strides[name], length = this.lengths[name], out = new Int32Array(place.length);
      for (let k = 0; k < out.length; k++) out[k] = Math.floor(place[k] / stride) % length;
      return out;
    }

    // For each choice the first place that is the same in all of these names.
    stands(table, names) {
      const columns = this.numbers.filter((name) => names.has(name)).map((name) => this.rows[name]);
      const first = new Map(), alike = new Int32Array(this.lengths.row), { place } = table, stride = this.strides.row;
      for (let row = 0; row < alike.length; row++) {
        const key = columns.map((column) => column[row]).join();
        if (!first.has(key)) first.set(key, row);
        alike[row] = first.get(key) * stride;
      }
      const out = this.index("row", place).map((row) => alike[row]);
      for (const name of Object.keys(this.axes).filter((each) => names.has(each))) {
        const index = this.index(name, place), one = this.strides[name];
        for (let k = 0; k < out.length; k++) out[k] += index[k] * one;
      }
      return out;
    }

    // The different places among these, and for each of these which it is.
    different(stands) {
      const seen = new Int32Array(this.size).fill(-1), places = [], of = new Int32Array(stands.length);
      for (let k = 0; k < of.length; k++) {
        if (seen[stands[k]] < 0) seen[stands[k]] = places.push(stands[k]) - 1;
        of[k] = seen[stands[k]];
      }
      return { places: Float64Array.from(places), of };
    }

    // Of each group the number of the choice that is first by the keys.
    bestOf(table, keys) {
      const size = this.per.reduce((all, name) => all * this.lengths[name], this.lengths.row);
      const groups = this.groups(table), best = new Int32Array(size).fill(-1);
      for (let k = 0; k < groups.length; k++) if (best[groups[k]] < 0 || precedes(keys, k, best[groups[k]])) best[groups[k]] = k;
      return best.filter((place) => place >= 0);
    }

    // The group of each choice: its row and its values of the axes in `per`.
    groups(table) {
      const out = new Int32Array(count(table));
      for (const name of ["row", ...Object.keys(this.axes).filter((each) => this.per.includes(each))]) {
        const index = this.index(name, table.place), length = this.lengths[name];
        for (let k = 0; k < out.length; k++) out[k] = out[k] * length + index[k];
      }
      return out;
    }
  }

  gpucalc.columns = { Places, count, filled, mapped, numbersAt, taken, parted, precedes, joined, stacked, moved, exceeds };
}
