// What a reader has drilled, kept in this browser alone: gpucalc.drills.progress. Where nothing can be kept it lasts while the
// page is open.
"use strict";
{
  const { drills } = gpucalc, KEY = "gpucalc drills", RESULTS = ["right", "helped", "missed"];
  const known = (name) => Object.hasOwn(drills.data.drills, name);
  const count = (value) => (Number.isInteger(value) && value >= 0 ? value : 0);
  let held = load(), kept = true;

  // What was kept, as far as it can be read.
  function load() {
    try {
      const found = JSON.parse(localStorage.getItem(KEY) ?? "{}");
      return Object.fromEntries(Object.entries(found).filter(([name, each]) => known(name) && RESULTS.includes(each?.result))
        .map(([name, each]) => [name, entry(name, each)]));
    } catch {
      return {};
    }
  }

  function entry(name, { tries, right, helped, last, result, turns }) {
    const taken = drills.drillNamed(name).wrong.map((_, turn) => count(turns?.[turn]));
    const [many, alone, aided] = [tries, right, helped].map(count);
    return { tries: many, right: alone, helped: aided, last: String(last).slice(0, 10), result, turns: taken };
  }

  function keep() {
    try {
      localStorage.setItem(KEY, JSON.stringify(held));
      kept = true;
    } catch {
      kept = false;
    }
  }

  const today = () => new Date().toISOString().slice(0, 10);
  const none = (name) => entry(name, { last: "", result: "missed" });

  // One question that ended, and the wrong turns that were taken on the way.
  function record(name, result, turns) {
    const had = held[name] ?? none(name), add = (each) => Number(result === each);
    const taken = had.turns.map((many, turn) => many + turns.filter((each) => each === turn).length);
    const [tries, right, helped] = [had.tries + 1, had.right + add("right"), had.helped + add("helped")];
    held[name] = { tries, right, helped, last: today(), result, turns: taken };
    keep();
  }

  function clear() {
    held = {};
    keep();
  }

  // Which comes first: those missed the last time, then those never tried, those right with help, those right, longest ago first.
  const order = { missed: 0, helped: 2, right: 3 };
  const rank = (name) => (held[name] ? order[held[name].result] : 1);
  const since = (name) => held[name]?.last ?? "";
  const sorted = (names, random) => gpucalc.shuffled(names, random)
    .sort((a, b) => rank(a) - rank(b) || since(a).localeCompare(since(b)));

  // By topic: drills, how many were tried, are right without help now, questions answered.
  function byTopic() {
    const { drills: every, topics } = drills.data;
    return Object.entries(topics).map(([topic, title]) => {
      const names = Object.keys(every).filter((name) => every[name].topic === topic);
      const tried = names.filter((name) => held[name]);
      const right = tried.filter((name) => held[name].result === "right").length;
      const questions = sum(tried.map((name) => held[name].tries));
      return { topic, title, drills: names.length, tried: tried.length, right, questions };
    });
  }

  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const cell = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));

  function asCsv() {
    const rows = Object.entries(held).map(([name, { tries, right, helped, last, result, turns }]) =>
      [name, drills.drillNamed(name).topic, drills.drillNamed(name).level, tries, right, helped, last, result, turns.join(" ")]);
    return [["drill", "topic", "level", "tries", "right", "with_help", "last", "last_result", "wrong_turns"], ...rows]
      .map((row) => `${row.map(cell).join(",")}\n`).join("");
  }

  const asJson = () => `${JSON.stringify({ drills: held }, null, 1)}\n`;

  drills.progress = { record, clear, sorted, byTopic, asCsv, asJson, of: (name) => held[name], isKept: () => (keep(), kept) };
}
