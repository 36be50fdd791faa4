"use strict";
// Everything a visitor sees is built here from /feed.json, which is fetched after the page loads.

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const link = (href, text, style = "") => element("a", { href, class: style }, text);

function header(feed) {
  const menu = element("nav", { class: "menu" });
  for (const [href, text] of feed.menu) menu.append(link(href, text));
  return element("header", {}, link("/", feed.name, "brand"), menu);
}

function story(feed, page) {
  const main = element("article", {}, element("div", { class: "by" }, `${page.author} · ${page.date}`));
  main.append(element("h1", {}, page.title));
  for (const text of page.paragraphs) main.append(element("p", {}, text));
  if (page.note) main.append(element("p", { class: "note" }, page.note));
  const share = element("ul", { class: "share" });
  for (const name of ["Copy link", "Post", "Send"]) share.append(element("li", {}, element("button", {}, name)));
  const more = element("aside", { class: "more" }, element("h4", {}, "More to read"));
  for (const path of page.related) more.append(link(path, feed.pages[path].title, "tile"));
  return [main, share, more];
}

function list(feed, page) {
  const grid = element("section", { class: "grid" });
  for (const { path, teaser } of page.teasers) {
    const title = element("div", { class: "head" }, link(path, feed.pages[path].title));
    grid.append(element("div", { class: "tile" }, title, element("p", {}, teaser)));
  }
  const pager = element("div", { class: "pager" });
  for (const [href, text] of page.pager) pager.append(link(href, text));
  return [grid, pager];
}

function plain(feed, page) {
  const main = element("article", {}, element("h1", {}, page.title));
  for (const text of page.paragraphs) main.append(element("p", {}, text));
  return [main];
}

function footer(feed) {
  const letter = element("div", { class: "letter" }, element("h4", {}, "Five pieces every Sunday"));
  letter.append(element("input", { placeholder: "E-mail address" }), element("button", {}, "Subscribe"));
  const legal = element("ul", { class: "legal" });
  for (const [href, text] of feed.menu) legal.append(element("li", {}, link(href, text)));
  return element("footer", {}, letter, legal);
}

function cookieBox() {
  const box = element("div", { class: "cookies" }, element("h4", {}, "Your choices about cookies"));
  box.append("Only the necessary ones are set until you agree. ");
  box.append(element("button", {}, "Accept all"), element("button", {}, "Only necessary"));
  return box;
}

async function start() {
  const feed = await (await fetch("/feed.json")).json();
  const page = feed.pages[location.pathname + location.search];
  const build = { story, list, plain }[page.view];
  document.title = `${page.title} · ${feed.name}`;
  const content = element("main", {}, ...build(feed, page));
  document.getElementById("app").append(header(feed), content, footer(feed), cookieBox());
}

start();
