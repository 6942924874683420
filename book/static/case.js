// Cases in the browser, as gpucalc/core/evaluate.py answers them, over the laws that book/web/javascript.py compiled.
//
// A value is a Grid (grid.js): one number, or a column along some axes. A law is computed only on the axes of its arguments.
//
//   const axes = new gpucalc.Axes({ gpu: 14, batch: 8 });
//   const rows = { model: { name: "Llama-3-70B", layers: 80, ... }, gpu: axes.table("gpu", [{ bandwidth: 3.35e12 }, ...]) };
//   const inputs = { prompt: 1000, context: "law:mean_context", batch: axes.along("batch", [1, 2, 4, 8, 16, 32, 64, 128]) };
//   const job = new gpucalc.Case(rows, inputs, axes);
//   job.value("request_seconds")              // a Grid: given, else in a row, else a default, else the law of that name
//   job.law("kv_bytes")                       // the law's own value, whatever is given; in Python case(law)
//   job.but({ prompt: 2000, gpu: null })      // other rows and inputs, null takes one away; keeps what they do not change
//   job.again(["request_seconds"], ["batch"])   // what gives the laws for other batches, and nothing else anew
//   job.on(new gpucalc.Axes({ choice: 500 }))   // the same on other axes; columns have to be given anew
//   job.terms("request_seconds")              // { name: Grid } of the law and of every law it needs
//
// Rows are by kind; a cell is a number, a Grid, or the name of a quantity that stands for it; null is blank: NaN in a column,
// else an error where it is needed. An input is a number, a Grid, a name, "law:NAME" or "row:KIND". Errors name the quantity
// and what is allowed.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const { Axes, Grid } = gpucalc;
  const has = Object.hasOwn;

  function applied(law, grids, axes) {
    let set = 0;
    for (const grid of grids) set |= grid.set;
    const out = new Float64Array(axes.size(set)), given = [];
    for (const grid of grids) given.push(grid.set ? grid.over(set) : grid.values, grid.set ? -1 : 0);
    law.run(out, out.length, ...given);
    return new Grid(axes, set, out);
  }

  const defaultsOf = (asker) => (has(gpucalc.laws, asker) ? gpucalc.laws[asker] : gpucalc.data).defaults;

  const spread = (size, [values, mask]) => (mask ? values : new Float64Array(size).fill(values[0]));

  // What errors say

  const meaning = (name) => `${name} (${gpucalc.data.quantities[name][1]})`;
  const shown = (value) => (value instanceof Grid ? "a column" : typeof value === "string" ? `'${value}'` : String(value));
  const label = (row) => (typeof row.name === "string" ? row.name : "a row that was given");

  function close(name, names) {
    const within = names.filter((each) => each.toLowerCase().includes(String(name).toLowerCase()));
    const words = String(name).split("_").filter((word) => word.length > 2);
    const similar = within.length ? within : names.filter((each) => words.some((word) => each.includes(word)));
    return similar.length ? `; close: ${similar.slice(0, 4).join(", ")}` : "";
  }

  function unknown(name) {
    const names = Object.keys(gpucalc.data.quantities);
    return new Error(`${name}: unknown; allowed: rows, and the ${names.length} quantities of this page${close(name, names)}`);
  }

  function refused(name, value, where) {
    const [unit, , allowed] = gpucalc.data.quantities[name];
    return new Error(`${where}: ${meaning(name)} is ${shown(value)}; allowed: ${allowed} ${unit}`.trimEnd());
  }

  // What tells whether a value is allowed for a quantity.
  function allowed(name) {
    const [low, included, high, whole] = gpucalc.data.domains[gpucalc.data.quantities[name][2]];
    const least = low ?? -Infinity, most = high ?? Infinity, open = low !== null && !included;
    return (value) => value >= least && value <= most && !(open && value === least) && !(whole && value % 1 !== 0);
  }

  // A plain value must be allowed for its quantity, and so must each of a column, where NaN stands for a blank.
  function checked(name, grid, where) {
    const { values } = grid, isAllowed = allowed(name);
    for (let k = 0; k < values.length; k++) {
      const value = values[k], good = isAllowed(value);
      if (!good && (value === value || !grid.set)) throw refused(name, value, where);
    }
    return grid;
  }

  const isRow = (value) => typeof value === "object" && value !== null && !(value instanceof Grid);
  const same = (a, b) => a === b || (a instanceof Grid && b instanceof Grid && a.set === b.set
    && a.values.every((value, k) => Object.is(value, b.values[k])));

  class Case {
    constructor(rows = {}, inputs = {}, axes = new Axes()) {
      this.axes = axes instanceof Axes ? axes : new Axes(axes);
      this.rows = Object.create(null);
      this.inputs = Object.create(null);
      this.memo = new Map(); // what is known, each after what it needs: { grid, needs }
      this.open = new Set();
      for (const [name, value] of Object.entries({ ...rows, ...inputs })) this.put(name, value);
    }

    put(name, value) {
      if (isRow(value)) this.rows[name] = value;
      else if (has(gpucalc.data.quantities, name)) this.inputs[name] = value;
      else throw unknown(name);
    }

    but(changes) {
      const other = new Case({}, {}, this.axes);
      const stale = new Set(Object.keys(changes));
      Object.assign(other.rows, this.rows);
      Object.assign(other.inputs, this.inputs);
      for (const [name, value] of Object.entries(changes)) {
        for (const row of [this.rows[name], value]) if (isRow(row)) Object.keys(row).forEach((column) => stale.add(column));
        delete other.rows[name];
        delete other.inputs[name];
        if (value !== null && value !== undefined) other.put(name, value);
      }
      for (const [name, [kinds]] of Object.entries(gpucalc.joined ?? {})) if (kinds.some((kind) => has(changes, kind))) stale.add(name);
      for (const [name, value] of Object.entries(this.inputs)) {
        if (has(changes, String(value).replace("row:", ""))) stale.add(name);
      }
      for (const [key, held] of this.memo) {
        if (stale.has(key) || held.needs.some((need) => stale.has(need))) stale.add(key);
        else other.memo.set(key, held);
      }
      return other;
    }

    on(axes) {
      const other = new Case({ ...this.rows }, { ...this.inputs }, axes);
      for (const [key, { grid, needs }] of this.memo) {
        if (!grid.set) other.memo.set(key, { grid: other.axes.grid(grid.number), needs });
      }
      return other;
    }

    value(name) {
      return this.argument(name, "the case");
    }

    law(name) {
      const law = has(gpucalc.laws, name) && gpucalc.laws[name];
      if (!law) throw new Error(`law '${name}': unknown${close(name, Object.keys(gpucalc.laws))}`);
      return this.known(`${name}()`, () => {
        const grids = law.args.map((argument) => this.argument(argument, name));
        return [applied(law, grids, this.axes), law.args];
      });
    }

    terms(...laws) {
      laws.forEach((law) => this.law(law));
      const found = {}, left = laws.map((law) => `${law}()`);
      for (let key = left.pop(); key; key = left.pop()) {
        const name = key.replace("()", "");
        if (!(name in found)) left.push(...(this.memo.get(key)?.needs ?? []));
        if (key !== name) found[name] = this.memo.get(key).grid;
      }
      return found;
    }

    // What works the laws out for other values of what is moving, columns of numbers, and for some places of all columns: only
    // what follows from it is worked out anew, and nothing is checked again. The columns that it gives are filled anew each time.
    again(laws, moving) {
      const steps = [], fresh = new Map(moving.map((name) => [name, {}])); // of what moves its step; of what stays null
      const kept = (key, make) => (fresh.has(key) ? fresh : fresh.set(key, null).set(key, make())).get(key);
      const stepOf = (name) => kept(`${name}()`, () => {
        const law = gpucalc.laws[name], needs = law.args.map((need) => [need, moved(need, name)]);
        return needs.some(([, step]) => step) ? steps[steps.push({ name, law, needs }) - 1] : null;
      });
      const moved = (name, asker) => kept(name, () => {
        const found = this.found(name, asker);
        return typeof found !== "string" ? null : found.startsWith("law:") ? stepOf(found.slice(4)) : moved(found, asker);
      });
      const asked = laws.map((name) => [name, stepOf(name)]);
      const still = (grid, places) => (grid.set ? [grid.taken(places), -1] : [grid.values, 0]);
      let last = null, columns = [];
      const begin = (places) => {
        const fixed = new Map(), at = (name, asker) =>
          fixed.get(name) ?? fixed.set(name, still(this.argument(name, asker), places)).get(name);
        for (const step of steps) step.out = new Float64Array(places.length);
        for (const step of steps) {
          step.taken = step.needs.flatMap(([need, from]) => (from ? [from.out, -1] : at(need, step.name)));
          step.moving = [...step.taken.keys()].filter((place) => step.taken[place] === undefined);
        }
        columns = asked.map(([name, step]) => step?.out ?? spread(places.length, still(this.law(name), places)));
        last = places;
      };
      return (numbers, places) => {
        if (places !== last) begin(places);
        for (const { law, out, taken, moving: at } of steps) {
          for (const each of at) taken[each] = numbers;
          law.run(out, out.length, ...taken);
        }
        return columns;
      };
    }

    known(key, make) {
      if (!this.memo.has(key)) {
        if (this.open.has(key)) throw new Error(`${this.bound()}: the law needs what it stands for`);
        this.open.add(key);
        try {
          const [grid, needs] = make();
          this.memo.set(key, { grid, needs });
        } finally {
          this.open.delete(key);
        }
      }
      return this.memo.get(key).grid;
    }

    bound() {
      const cells = Object.values(this.rows).flatMap(Object.entries).filter(([, value]) => has(gpucalc.data.quantities, value));
      const laws = Object.entries(this.inputs).filter(([, value]) => String(value).startsWith("law:"));
      return [...cells, ...laws].map(([name, value]) => `${name}=${String(value).replace("law:", "")}`).join(", ");
    }

    // The value of a name for a law, `asker`; a default is that law's own, so it is not kept.
    argument(name, asker) {
      if (this.memo.has(name)) return this.memo.get(name).grid;
      const found = this.found(name, asker);
      if (found !== undefined) return this.known(name, () => this.meant(name, found, asker));
      if (has(defaultsOf(asker), name)) return this.axes.grid(defaultsOf(asker)[name]);
      if (!has(gpucalc.data.quantities, name)) throw unknown(name);
      throw new Error(`${asker} needs ${meaning(name)}, which is neither given nor in the rows`);
    }

    // What was given for a name, or rows tell of it together, or the law of that name where its asker has no default.
    found(name, asker) {
      const given = this.given(name) ?? (has(gpucalc.joined ?? {}, name) ? gpucalc.joined[name][1](this.rows) : undefined);
      return given ?? (has(gpucalc.laws, name) && !has(defaultsOf(asker), name) ? `law:${name}` : undefined);
    }

    // The value that was found for a name, and what it needs: a number, a column, or what stands for it.
    meant(name, found, asker) {
      if (typeof found === "string") {
        if (found.startsWith("law:")) return [this.law(found.slice(4)), [`${found.slice(4)}()`]];
        if (has(gpucalc.data.quantities, found)) return [this.argument(found, asker), [found]];
        throw refused(name, found, asker);
      }
      const grid = this.axes.grid(found);
      if (grid.axes !== this.axes) throw new Error(`${name}: a column of other axes; allowed: columns of the case's own`);
      return [grid.known ? grid : checked(name, grid, asker), []];
    }

    // What was given for the name, by itself or in a row; undefined if nothing was.
    given(name) {
      const input = this.inputs[name];
      if (input === undefined) return inRows(name, this.rows);
      if (typeof input !== "string" || !input.startsWith("row:")) return input;
      const row = this.rows[input.slice(4)];
      if (!row) throw new Error(`${name}: '${input}'; allowed: one of ${Object.keys(this.rows).join(", ") || "no rows"}`);
      if (!has(row, name)) throw new Error(`${name}: ${label(row)} has no such column`);
      return inRows(name, { row });
    }
  }

  // The one value of that name in the rows: a blank cell and two different values are errors.
  function inRows(name, rows) {
    let first;
    for (const kind in rows) {
      const row = rows[kind];
      if (!has(row, name)) continue;
      if (row[name] === null || row[name] !== row[name]) {
        throw new Error(`${label(row)}: ${meaning(name)} is blank; give ${name}`);
      }
      first ??= row;
      if (first !== row && !same(first[name], row[name])) {
        throw new Error(`${meaning(name)} is in two rows: ${shown(first[name])} of ${label(first)} and `
          + `${shown(row[name])} of ${label(row)}; give ${name}, or the row to take it from`);
      }
    }
    return first?.[name];
  }

  Object.assign(gpucalc, { Case, allowed });
}
