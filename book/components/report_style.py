"""How a report looks: on paper, on a screen and on a phone, light and dark."""
STYLE = """
:root {
  color-scheme: light dark;
    --ink: #1b1f24; --soft: #5b6470; --line: #d6dbe1; --page: #fff; --card: #f6f8fa; --main: #0b62a8; --band: #9cc3e6;
  --c1: #0b62a8; --c2: #d9822b; --c3: #3a8f5d; --c4: #8e5ea2; --c5: #b8425c; --c6: #7a6a4f; --c7: #2a9d9d; --c8: #888;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ed; --soft: #a3adb8; --line: #3a424c; --page: #14181d; --card: #1d232a; --main: #6db3f2; --band: #2f5f8a;
    --c1: #6db3f2; --c2: #f0a35e; --c3: #6cc490; --c4: #c39bd3; --c5: #ef8097; --c6: #c2ab82; --c7: #63cfcf; --c8: #aaa;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1.25rem 3rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.35rem; line-height: 1.35; margin: 0.2rem 0 0.8rem; font-weight: 600; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.6rem; }
h3 { font-size: 0.95rem; margin: 0; color: var(--soft); font-weight: 600; }
p { margin: 0.3rem 0; }
.soft { color: var(--soft); font-size: 0.9rem; }
.answer { border-left: 4px solid var(--main); background: var(--card); padding: 0.8rem 1rem; }
.answer { font-size: 1.15rem; font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: 0.8rem; margin: 1.2rem 0; }
.card { border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.8rem 1rem; break-inside: avoid; }
.big { font-size: 1.2rem; font-weight: 600; line-height: 1.3; }
svg { display: block; width: 100%; margin: 0.5rem 0; }
.bars, .legend { list-style: none; padding: 0; font-size: 0.9rem; }
.bars li { display: grid; grid-template-columns: 9rem 1fr 6.5rem; gap: 0.8rem; align-items: center; }
.bars span { text-align: right; } .bars svg { margin: 0.1rem 0; } .bars b { font-weight: 400; color: var(--soft); }
.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; }
.legend li { display: flex; align-items: center; gap: 0.4rem; } .legend svg { width: 0.8rem; }
@media (max-width: 600px) { .bars li { grid-template-columns: 6.5rem 1fr 5rem; gap: 0.4rem; font-size: 0.8rem; } }
.track { fill: var(--line); } .band { fill: var(--band); } .plan { fill: var(--main); } .bound { fill: var(--ink); }
.most { stroke: var(--c5); stroke-width: 2; stroke-dasharray: 4 3; }
.bar { fill: var(--band); } .best { fill: var(--main); } .ends { fill: var(--ink); }
.part-1 { fill: var(--c1); } .part-2 { fill: var(--c2); } .part-3 { fill: var(--c3); } .part-4 { fill: var(--c4); }
.part-5 { fill: var(--c5); } .part-6 { fill: var(--c6); } .part-7 { fill: var(--c7); } .part-8 { fill: var(--c8); }
.wide { overflow-x: auto; }
pre { background: var(--card); padding: 0.6rem 0.8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; min-width: 46rem; font-size: 0.86rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: break-word; max-width: 22rem; }
td:first-child, td.number { white-space: nowrap; } .number { text-align: right; }
thead { display: table-header-group; } tr { break-inside: avoid; }
ul { margin: 0.2rem 0; padding-left: 1.2rem; }
@page { size: A4; margin: 16mm 14mm; }
@media print {
  :root {
    color-scheme: light;
    --ink: #1b1f24; --soft: #5b6470; --line: #d6dbe1; --page: #fff; --card: #f6f8fa; --main: #0b62a8; --band: #9cc3e6;
  --c1: #0b62a8; --c2: #d9822b; --c3: #3a8f5d; --c4: #8e5ea2; --c5: #b8425c; --c6: #7a6a4f; --c7: #2a9d9d; --c8: #888;
  }
  body { font-size: 10.5pt; max-width: none; padding: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .cards { grid-template-columns: 1fr 1fr; }
  h2 { break-after: avoid; }
  .wide { overflow: visible; }
  table { font-size: 8pt; min-width: 0; }
  td:first-child { white-space: normal; }
}
"""
