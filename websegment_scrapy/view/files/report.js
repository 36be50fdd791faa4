"use strict";
(() => {
  const { bar, beside, el, histogram, many, number, share, svg, table, time } = parts;
  const data = JSON.parse(document.getElementById("data").textContent);
  const DECISIONS = ["new", "duplicate", "unchanged", "changed", "empty", "failed"];
  const SITE = ["host", "pages", "new", "duplicate", "empty", "failed", "rendered", "words",
    "score", "first_seen", "last_seen", "copies", "copied"];
  const named = (names, row) => Object.fromEntries(names.map((name, place) => [name, row[place]]));
  const pages = new Map(data.pages.map((row) => [row[0], named(data.columns, row)]));
  const sites = data.sites.map((row) => named(SITE, row));
  const crawls = new Map(data.crawls.map((crawl) => [crawl.id, crawl]));
  const all = data.summary;

  // --- small pieces -------------------------------------------------------------------------
  const badge = (decision) => el("span", { class: `badge ${decision}` }, decision);
  const link = (hash, ...children) => el("a", { href: `#/${hash}` }, children);
  const siteLink = (host) => link(`site/${encodeURIComponent(host)}`, host || "(no host)");
  const pageLink = (id) => {
    const page = pages.get(id);
    if (!page) return el("span", { class: "soft" }, `page ${id}, not in this file`);
    return [link(`page/${id}`, page.title || page.url), el("span", { class: "sub" }, page.url)];
  };
  const crawlName = (id) => crawls.get(id)?.name ?? (id === null ? "" : `crawl ${id}`);
  const told = (counts) => Object.entries(counts).filter(([, count]) => count)
    .map(([kind, count]) => `${number(count)} ${kind}`).join(", ");
  const decided = (counts, total) => bar(Object.entries(counts), total, told(counts));
  const legend = (kinds) => el("ul", { class: "legend" },
    kinds.map((kind) => el("li", { class: kind }, kind)));
  const section = (id, title, ...children) => el("section", { id },
    el("h2", {}, title), children);
  const facts = (pairs) => el("dl", { class: "facts" }, pairs.filter(([, value]) =>
    value !== null && value !== undefined && value !== "").map(([name, value]) =>
    [el("dt", {}, name), el("dd", {}, value)]));
  const none = (said) => el("p", { class: "soft" }, said);

  // The expected F1 of a main text; what is below DOUBTFUL wants a look (docs/methods/main-text.md).
  const DOUBTFUL = 0.7;
  const score = (value) => value === null ? "" : value.toFixed(2);

  // --- tables -------------------------------------------------------------------------------
  const pageTable = (said, ids, more) => table(said, [
    { name: "page", value: (id) => `${pages.get(id).title} ${pages.get(id).url}`, wide: true,
      cell: pageLink },
    { name: "decision", value: (id) => pages.get(id).decision,
      cell: (id) => badge(pages.get(id).decision) },
    { name: "words", number: true, value: (id) => pages.get(id).words,
      cell: (id) => number(pages.get(id).words) },
    { name: "score", number: true, less: true, value: (id) => pages.get(id).score,
      cell: (id) => score(pages.get(id).score) },
    { name: "type", less: true, value: (id) => pages.get(id).type ?? "" },
    { name: "rendered", less: true, value: (id) => pages.get(id).rendered ? "yes" : "no" },
    { name: "first seen", less: true, least: true, time: true, value: (id) => pages.get(id).first_seen,
      cell: (id) => time(pages.get(id).first_seen) },
    { name: "last seen", time: true, value: (id) => pages.get(id).last_seen,
      cell: (id) => time(pages.get(id).last_seen) },
  ], ids, more);
  const copyTable = (said, rows, more) => table(said, [
    { name: "copy", wide: true, value: ([id]) => `${pages.get(id).title} ${pages.get(id).url}`,
      cell: ([id]) => pageLink(id) },
    { name: "of", wide: true, value: ([, id]) => `${pages.get(id).title} ${pages.get(id).url}`,
      cell: ([, id]) => pageLink(id) },
    { name: "similarity", number: true, value: (row) => row[2], cell: (row) => row[2].toFixed(2) },
    { name: "side by side", plain: true, cell: ([id]) => link(`pair/${id}`,
      data.texts[id] ? "the passages" : "the pair") },
  ], rows, more);
  const changeTable = (said, rows, more) => table(said, [
    { name: "page", wide: true, value: ([id]) => `${pages.get(id).title} ${pages.get(id).url}`,
      cell: ([id]) => pageLink(id) },
    { name: "changed", number: true, value: (row) => row[3],
      cell: (row) => [share(row[3]), bar([["changed", row[3] ?? 0]], 1, share(row[3]))] },
    { name: "seen", time: true, value: (row) => row[1], cell: (row) => time(row[1]) },
    { name: "crawl", less: true, value: (row) => crawlName(row[2]) },
    { name: "what", plain: true, cell: ([id]) => data.compared[id]
      ? link(`change/${id}`, "before and after") : "" },
  ], rows, { order: 1, down: true, ...more });
  const clusterTable = (said, rows, more) => table(said, [
    { name: "pages", number: true, value: (row) => row[1], cell: (row) => number(row[1]) },
    { name: "sites", number: true, value: (row) => row[2], cell: (row) => number(row[2]) },
    { name: "represented by", wide: true, value: ([id]) => pages.get(id).title + pages.get(id).url,
      cell: ([id]) => pageLink(id) },
    { name: "members", plain: true, cell: ([id]) => link(`cluster/${id}`, "the cluster") },
  ], rows, more);

  // --- the parts of the overview --------------------------------------------------------------
  const tiles = () => el("div", { class: "tiles" }, [
    ["pages", all.pages, ""], ["new", all.new, "new"], ["duplicate", all.duplicate, "duplicate"],
    ["empty", all.empty, "empty"], ["failed", all.failed, "failed"], ["sites", all.hosts, ""],
    ["clusters", all.clusters, ""], ["visits", all.visits, ""],
  ].map(([name, count, kind]) => el("div", { class: `tile bar-of ${kind}` },
    el("b", {}, number(count)), el("span", {}, name))));

  // What the crawls did, in two sentences.
  const lead = () => {
    const counted = (pairs) => pairs.filter(([count]) => count).map(([count, said]) =>
      `${number(count)} ${said}`).join(", ");
    const since = data.difference?.changes.map(([kind, count]) => [count, SINCE[kind]]);
    const low = data.scores.slice(0, 10 * DOUBTFUL).reduce((sum, count) => sum + count, 0);
    return el("p", { class: "lead" },
      `${many(all.pages, "page")} of ${many(all.hosts, "site")}` +
      `${data.all_crawls ? ` in ${many(data.all_crawls, "crawl")}` : ""}: ` + counted([
        [all.new, "with a text of their own"], [all.duplicate, "that repeat another page"],
        [all.empty, "without enough text to compare"], [all.failed, "that could not be read"],
      ]) + ". ", since ? `Since the crawl before: ${counted(since) || "nothing"}. ` : "",
      low ? [el("a", { href: "#scores" }, many(low, "text")),
        ` may be wrong (score below ${DOUBTFUL}).`] : "");
  };

  const siteSection = () => {
    const most = Math.max(1, ...sites.map((site) => site.pages));
    return section("sites", "Sites and decisions", legend(["new", "duplicate", "empty", "failed"]),
      el("p", { class: "soft" }, "copies: pages that repeat another site; copied: pages that " +
        "others repeat; score: ", el("a", { href: "#scores" }, "how good its texts are"),
        " in the mean."), table("Sites and decisions", [
        { name: "site", name_: true, value: (site) => site.host, cell: (site) => siteLink(site.host) },
        { name: "pages", number: true, value: (site) => site.pages, cell: (site) =>
          [number(site.pages), bar([["one", site.pages]], most, `${site.pages} pages`)] },
        { name: "decisions", value: (site) => site.duplicate / site.pages, cell: (site) => decided(
          { new: site.new, duplicate: site.duplicate, empty: site.empty, failed: site.failed },
          site.pages) },
        ...["new", "duplicate", "empty", "failed"].map((kind) => ({ name: kind, number: true,
          less: true, least: true, value: (site) => site[kind], cell: (site) => number(site[kind]) })),
        { name: "copies", number: true, less: true, value: (site) => site.copies },
        { name: "copied", number: true, less: true, value: (site) => site.copied },
        { name: "rendered", number: true, less: true, value: (site) => site.rendered / site.pages,
          cell: (site) => share(site.rendered / site.pages) },
        { name: "score", number: true, less: true, value: (site) => site.score,
          cell: (site) => score(site.score) },
        { name: "last seen", time: true, value: (site) => site.last_seen,
          cell: (site) => time(site.last_seen) },
      ], sites, { order: 1, down: true, all: all.hosts }));
  };

  const visitPlot = (shown) => {
    const wide = 46, high = 120, most = Math.max(1, ...shown.map((crawl) => crawl.visits));
    const plot = svg("svg", { viewBox: `0 0 ${Math.max(320, 50 + shown.length * wide)} 160`,
      width: Math.max(320, 50 + shown.length * wide), height: 160, role: "img",
      "aria-label": "Visits of each crawl by decision, the latest on the right" });
    plot.append(svg("text", { x: 44, y: 14, "text-anchor": "end" }, number(most)),
      svg("line", { x1: 48, x2: 48, y1: 4, y2: 4 + high }),
      svg("line", { x1: 48, x2: 50 + shown.length * wide, y1: 4 + high, y2: 4 + high }));
    shown.forEach((crawl, place) => {
      let top = 4 + high;
      for (const kind of DECISIONS) {
        const height = high * (crawl.decisions[kind] || 0) / most;
        top -= height;
        if (height > 0) plot.append(svg("rect", { class: kind, x: 56 + place * wide, width: 30,
          y: top.toFixed(1), height: height.toFixed(1) },
          svg("title", {}, `${crawl.name}: ${crawl.decisions[kind]} ${kind}`)));
      }
      [[5, 10], [11, 16]].forEach((part, line) => plot.append(svg("text", { x: 71 + place * wide,
        y: 140 + 15 * line, "text-anchor": "middle" }, time(crawl.began).slice(...part))));
    });
    return el("div", { class: "plot", tabindex: 0, role: "region",
      "aria-label": "Plot of the crawls" }, plot);
  };

  const SINCE = { came: "came", gone: "gone", changed: "changed", failing: "no longer read",
    mended: "read again", unchanged: "unchanged" };
  const differencePart = () => {
    const found = data.difference;
    if (!found) return none("There is one crawl so far: nothing to compare it with.");
    return [el("h3", {}, "The last crawl beside the one before"),
      el("p", {}, `${crawlName(found.last)} beside ${crawlName(found.before)}, on the sites that ` +
        "the last one visited."),
      el("div", { class: "tiles" }, found.changes.map(([kind, count, examples]) =>
        el("div", { class: `tile bar-of ${kind}` }, el("b", {}, number(count)),
          el("span", {}, SINCE[kind]), examples.length && kind !== "unchanged"
            ? [" ", link(`since/${kind}`, "which")] : null)))];
  };

  const crawlSection = () => {
    const rows = data.crawls.map((crawl) => ({ ...crawl,
      visits: Object.values(crawl.decisions).reduce((sum, count) => sum + count, 0) }));
    const shown = rows.filter((crawl) => !crawl.merge).slice(0, 24).reverse();
    return section("crawls", "Crawls", differencePart(), el("h3", {}, "All crawls"),
      legend(DECISIONS), shown.length > 1 ? visitPlot(shown) : null, table("All crawls", [
        { name: "crawl", name_: true, value: (crawl) => crawl.name },
        { name: "began", time: true, value: (crawl) => crawl.began,
          cell: (crawl) => time(crawl.began) },
        { name: "visits", number: true, value: (crawl) => crawl.visits,
          cell: (crawl) => number(crawl.visits) },
        { name: "decisions", value: (crawl) => (crawl.decisions.new || 0) / crawl.visits,
          cell: (crawl) => {
            const counts = Object.fromEntries(DECISIONS.map((kind) =>
              [kind, crawl.decisions[kind] || 0]));
            return [decided(counts, crawl.visits), el("span", { class: "sub" }, told(counts))];
          } },
        { name: "minutes", number: true, less: true, value: (crawl) => crawl.lasted / 60,
          cell: (crawl) => (crawl.lasted / 60).toFixed(1) },
        { name: "seconds a visit", number: true, less: true,
          value: (crawl) => crawl.lasted / Math.max(1, crawl.visits - 1),
          cell: (crawl) => (crawl.lasted / Math.max(1, crawl.visits - 1)).toFixed(2) },
        { name: "rendered", number: true, less: true,
          value: (crawl) => crawl.pages ? crawl.rendered / crawl.pages : null,
          cell: (crawl) => crawl.pages ? share(crawl.rendered / crawl.pages) : "" },
      ], rows, {}));
  };

  const matrixPart = () => {
    const { hosts, cells, across, within, all_hosts: known } = data.matrix;
    if (!hosts.length) return none(within
      ? `No site repeats pages of another one; ${number(within)} pages repeat pages of their own.`
      : "No page repeats another one.");
    const most = Math.max(1, ...cells.filter(([a, b]) => a !== b).map((cell) => cell[2]));
    const at = new Map(cells.map((cell) => [`${cell[0]} ${cell[1]}`, cell]));
    const cell = (row, column) => {
      const found = at.get(`${row} ${column}`);
      if (!found) return el("td", { class: row === column ? "own" : null });
      const inside = el("td", { class: row === column ? "own" : null },
        el("a", { href: `#/between/${row}/${column}`, "aria-label":
          `${found[2]} pages of ${hosts[row]} repeat pages of ${hosts[column]}` },
          number(found[2])));
      if (row !== column)
        inside.style.background = `rgba(var(--heat), ${(0.08 + 0.42 * found[2] / most).toFixed(2)})`;
      return inside;
    };
    return [el("p", {}, `${number(across)} pages repeat pages of other sites, ${number(within)} ` +
      `of their own. Rows repeat columns.${known > hosts.length
        ? ` The ${hosts.length} sites of ${number(known)} with most copies are shown.` : ""}`),
    el("div", { class: "scroll", tabindex: 0, role: "region",
      "aria-label": "Who copies whom" }, el("table", { class: "matrix" },
      el("caption", { class: "hidden" }, "Who copies whom: rows repeat columns"),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "↓ repeats →"),
        hosts.map((host) => el("th", { scope: "col" }, siteLink(host))))),
      el("tbody", {}, hosts.map((host, row) => el("tr", {},
        el("th", { scope: "row" }, siteLink(host)),
        hosts.map((_, column) => cell(row, column)))))))];
  };

  const scoreSection = () => {
    const total = data.scores.reduce((sum, count) => sum + count, 0);
    return section("scores", "How good the texts are", total ? [
      el("p", {}, "The score says, by the page alone, how much of its main text is right: 1 where " +
        "nothing should be missing and nothing foreign be in it (the expected F1 of its words). " +
        `What is below ${DOUBTFUL} wants a look, by a browser or a person.`),
      histogram(data.scores, "one", "Pages by the score of their text", (place) =>
        place === 0 || place === 10 ? place / 10 : (place / 10).toFixed(1)),
      el("h3", {}, "The lowest first"), table("Lowest scores", [
        { name: "page", wide: true, value: (id) => `${pages.get(id).title} ${pages.get(id).url}`,
          cell: pageLink },
        { name: "score", number: true, value: (id) => pages.get(id).score, cell: (id) => [
          score(pages.get(id).score), bar([["one", pages.get(id).score]], 1, "score")] },
        { name: "words", number: true, value: (id) => pages.get(id).words,
          cell: (id) => number(pages.get(id).words) },
        { name: "type", value: (id) => pages.get(id).type ?? "" },
        { name: "rendered", value: (id) => pages.get(id).rendered ? "yes" : "no" },
      ], data.doubtful, { order: 1, all: total })]
      : none("No page has a score: only WEBSEGMENT_MAIN_TEXT = \"learned\" gives one."));
  };

  const changeSection = () => {
    const total = data.changed.bins.reduce((sum, count) => sum + count, data.changed.unknown);
    return section("changes", "Pages whose text changed", total ? [
      el("p", {}, "How much of the text changed from one visit to the next, in per cent: what is " +
        "missing of similarity 1. A word that differs counts with the words around it."),
      histogram(data.changed.bins, "changed", "Visits by how much had changed, in per cent",
        (place) => 10 * place), changeTable("Changed pages", data.changes, { all: total })]
      : none("No page has changed since it was first seen."));
  };

  const failureSection = () => section("failures", "What failed, and how pages were seen",
    data.reasons.length ? table("Reasons", [
      { name: "what", value: (row) => row[0], cell: (row) => el("span", { class:
        `badge ${row[0] === "empty" ? "empty" : "failed"}` }, row[0]) },
      { name: "why", wide: true, value: (row) => row[1] },
      { name: "pages", number: true, value: (row) => row[2], cell: (row) => number(row[2]) },
      { name: "which", plain: true, cell: (row) => link(`why/${data.reasons.indexOf(row)}`,
        "the last ones") },
    ], data.reasons, { order: 2, down: true }) : none("Nothing failed."),
    el("h3", {}, "Rendered or not"), table("Rendered or not", [
      { name: "seen", name_: true, value: (way) => ({ rendered: "rendered in the browser",
        plain: "as plain HTML", refused: "as plain HTML, since rendering failed" })[way.way] },
      { name: "pages", number: true, value: (way) => way.pages, cell: (way) => number(way.pages) },
      { name: "share", number: true, value: (way) => way.pages / all.pages, cell: (way) =>
        [share(way.pages / all.pages), bar([["one", way.pages]], all.pages, "share of all pages")] },
      { name: "empty", number: true, less: true, value: (way) => way.empty },
      { name: "failed", number: true, less: true, value: (way) => way.failed },
      { name: "words of a text", number: true, value: (way) => way.words,
        cell: (way) => number(Math.round(way.words)) },
      { name: "score", number: true, value: (way) => way.score, cell: (way) => score(way.score) },
    ], data.ways, {}), el("p", { class: "soft" },
      "What rendering costs: compare the seconds a visit of rendered and plain crawls above."));

  const kindSection = () => {
    const rows = Object.entries(all.page_types), total = rows.reduce((sum, row) => sum + row[1], 0);
    return section("kinds", "Page types", rows.length ? table("Page types", [
      { name: "type", name_: true, value: (row) => row[0] },
      { name: "pages", number: true, value: (row) => row[1], cell: (row) => number(row[1]) },
      { name: "share", number: true, value: (row) => row[1], cell: (row) =>
        [share(row[1] / total), bar([["one", row[1]]], total, share(row[1] / total))] },
    ], rows, { order: 1, down: true }) : none("No page has a type yet."));
  };

  const overview = () => document.getElementById("overview").replaceChildren(...[
    all.pages ? lead()
      : none("The database holds no pages yet: run a crawl, and make this again."), tiles(),
    siteSection(), crawlSection(),
    section("copies", "Who copies whom", matrixPart(), data.copies.length
      ? [el("h3", {}, "Copies"), copyTable("Copies", data.copies, { all: all.duplicate })] : null),
    section("clusters", "The largest clusters", data.clusters.length
      ? clusterTable("Clusters", data.clusters, { all: all.clusters })
      : none("No two pages have the same text.")),
    changeSection(), scoreSection(), failureSection(), kindSection(),
    section("pages", "Pages", pages.size ? pageTable("Pages", [...pages.keys()],
      { order: 6, down: true, all: all.pages }) : none("None.")),
  ].filter(Boolean));

  window.report = { all, badge, beside, changeTable, clusterTable, copyTable, crawlName, data, el,
    facts, link, many, none, SINCE, overview, pageLink, pages, pageTable, score, share, siteLink,
    sites, table, time };
})();
