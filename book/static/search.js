// The order of search results: what readers call a page, then its title, its headings, its text. What each counts is data of the index.
(() => {
  const split = (text) => text.toLowerCase().match(/%|[\p{L}\p{N}]+/gu) || [];
  const within = (words, all) => all.some((_, at) => words.every((word, place) => all[at + place] === word));
  const files = (held) => (held === undefined ? [] : [held].flat());

  // Whether two words differ by a letter that is missing, added or another, or by two that are exchanged.
  function near(one, other) {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at += 1;
    const [a, b] = [one.slice(at), other.slice(at)];
    return a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1) || (a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2));
  }

  let lines = null; // titles and headings as words, with their page and section
  function titled({ alltitles, titles }, stem) {
    lines = lines || Object.entries(alltitles).flatMap(([title, places]) => places.map(([file, id]) => (
      { file, id, title, own: titles[file] === title, words: split(title).map(stem) })));
    return lines;
  }

  function ranked(query, index, stem) {
    const { terms, titleterms, docnames, rules: { scores, words, parts } } = index, asked = split(query);
    const known = (word) => word in terms || word in titleterms;
    const spelled = (word) => (known(word) || word.length < 5 ? word
      : Object.keys(terms).find((each) => each[0] === word[0] && near(each, word)) || word);
    const wanted = [...new Set(asked.filter((word) => word !== "%" && !stopwords.includes(word)).map(stem).map(spelled))];
    const pages = docnames.map((_, file) => ({ file, found: new Map(), more: parts[file], section: null, best: 0 }));
    const count = (file, word, score) => pages[file].found.set(word, Math.max(score, pages[file].found.get(word) || 0));
    for (const word of wanted) {
      files(terms[word]).forEach((file) => count(file, word, scores.text));
      const inside = word.length > 2 && !known(word) ? Object.keys(terms).filter((each) => each.includes(word)) : [];
      inside.forEach((each) => files(terms[each]).forEach((file) => count(file, word, scores.part)));
    }
    for (const line of titled(index, stem)) {
      const held = wanted.filter((word) => line.words.includes(word)), exact = held.length / line.words.length;
      held.forEach((word) => count(line.file, word, line.own ? scores.title : scores.heading + exact));
      const page = pages[line.file], worth = held.length + exact;
      if (held.length && !line.own && worth > page.best) Object.assign(page, { best: worth, section: line });
    }
    const plain = asked.map(stem);
    for (const [said, file] of words) {
      const each = split(said).map(stem);
      if (!within(each, plain) || !pages[file]) continue;
      pages[file].more += scores.word * each.length;
      each.forEach((word) => wanted.includes(word) && count(file, word, scores.title));
    }
    const total = (page) => [...page.found.values()].reduce((a, b) => a + b, 0) * (page.found.size / wanted.length) ** 2 + page.more;
    return { wanted, pages: pages.filter((page) => 2 * page.found.size >= wanted.length && page.found.size)
      .map((page) => ({ ...page, score: total(page) })).sort((a, b) => a.score - b.score || b.file - a.file) };
  }

  Search._performSearch = (query) => {
    const index = Search._index, stemmer = new Stemmer(), { wanted, pages } = ranked(query, index, (word) => stemmer.stemWord(word));
    document.getElementById("search-progress")?.replaceChildren();
    if (!pages.some((page) => page.found.size === wanted.length)) {
      const link = Object.assign(document.createElement("a"), { href: `index.html?ask=${encodeURIComponent(query)}`, textContent: query });
      const said = Object.assign(document.createElement("p"), { className: "search-ask", textContent: "No page has all these words. Ask the front page: " });
      said.append(link);
      Search.output.before(said);
    }
    return pages.map(({ file, section, score }) => [index.docnames[file], section ? `${index.titles[file]} › ${section.title}` : index.titles[file],
      section?.id ? `#${section.id}` : "", null, score, index.filenames[file]]);
  };
})();
