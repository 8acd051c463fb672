// Shows the two items of a pair. Everything is put in as text: nothing of the data is markup.

function element(name, text, className, role) {
  const made = document.createElement(name);
  if (role) made.setAttribute("role", role);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function marked(parent, text, differs) {
  parent.append(differs ? element("mark", text) : document.createTextNode(text));
}

function showText(side) {
  const text = element("p", undefined, "text");
  for (const part of side.parts) marked(text, part.text, part.differs);
  const shown = side.parts.reduce((sum, part) => sum + part.text.length, 0);
  if (side.length <= shown) return [text];
  return [text, element("p", `The first ${shown} of ${side.length} characters are shown.`)];
}

function showRow(side) {
  // The roles stay where a narrow screen shows the cells below each other.
  const table = element("table", undefined, undefined, "table");
  for (const cell of side.cells) {
    const row = element("tr", undefined, undefined, "row");
    const head = element("th", cell.name, undefined, "rowheader");
    head.scope = "row";
    const value = element("td", undefined, undefined, "cell");
    marked(value, cell.text || "–", cell.differs);
    row.append(head, value);
    table.append(row);
  }
  return [table];
}

function showImage(side, which) {
  const image = element("img");
  image.alt = `${which} image, ${side.id}`;
  image.addEventListener("error", () => {
    image.replaceWith(element("p", "This image cannot be shown: answer “unsure”."));
  });
  image.src = `image?item=${encodeURIComponent(side.id)}`;
  return [image];
}

const BRIEF = 120; // characters of an item that are announced

function brief(side, kind) {
  if (kind === "image") return side.id;
  const parts = kind === "text" ? side.parts : side.cells;
  const text = parts.map((part) => part.text).join(kind === "text" ? "" : ", ");
  return text.length > BRIEF ? `${text.slice(0, BRIEF)} …` : text;
}

// For screen readers, when a new pair is shown.
export function describe(pair) {
  const [left, right] = [brief(pair.left, pair.kind), brief(pair.right, pair.kind)];
  return `Next pair. First: ${left}. Second: ${right}.`;
}

export function showPair(pair, left, right) {
  const show = { text: showText, row: showRow, image: showImage }[pair.kind];
  left.replaceChildren(...show(pair.left, "First"));
  right.replaceChildren(...show(pair.right, "Second"));
  left.scrollTop = right.scrollTop = 0;
}
