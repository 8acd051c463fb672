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

const notesOf = (side) => side.notes ?? []; // such as that only a part of it is shown
const noted = (note) => element("p", note, "note");

function showText(side) {
  const text = element("p", undefined, "text");
  text.dir = "auto";
  for (const part of side.parts) marked(text, part.text, part.differs);
  return [text, ...notesOf(side).map(noted)];
}

function head(text, scope) {
  const cell = element("th", text, undefined, scope === "col" ? "columnheader" : "rowheader");
  cell.scope = scope;
  cell.dir = "auto";
  return cell;
}

// One table for both items: cells that belong together stay beside each other.
function showRows(left, right) {
  // The roles stay where a narrow screen shows the name of a column above its cells.
  const table = element("table", undefined, undefined, "table");
  const names = element("tr", undefined, "names", "row");
  names.append(head("Column", "col"), head("First", "col"), head("Second", "col"));
  table.append(names);
  left.cells.forEach((cell, number) => {
    const row = element("tr", undefined, undefined, "row");
    row.append(head(cell.name, "row"));
    for (const { text, differs } of [cell, right.cells[number]]) {
      const value = element("td", undefined, undefined, "cell");
      value.dir = "auto";
      marked(value, text || "–", differs);
      row.append(value);
    }
    table.append(row);
  });
  const both = notesOf(left).filter((note) => notesOf(right).includes(note));
  const only = (side, which) =>
    notesOf(side)
      .filter((note) => !both.includes(note))
      .map((note) => `${which}: ${note}`);
  const notes = [...both, ...only(left, "First"), ...only(right, "Second")];
  return [table, ...notes.map(noted)];
}

function showImage(side, which) {
  const image = element("img");
  image.alt = `${which} image, ${side.id}`;
  image.addEventListener("error", () => {
    image.replaceWith(element("p", "This image cannot be shown: answer “unsure”."));
  });
  image.src = `image?item=${encodeURIComponent(side.id)}`;
  return [image, ...notesOf(side).map(noted)];
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

export function showPair(pair, { left, right, rows }) {
  const asTable = pair.kind === "row";
  left.hidden = right.hidden = asTable;
  rows.hidden = !asTable;
  if (asTable) {
    rows.replaceChildren(...showRows(pair.left, pair.right));
  } else {
    const show = pair.kind === "text" ? showText : showImage;
    left.replaceChildren(...show(pair.left, "First"));
    right.replaceChildren(...show(pair.right, "Second"));
  }
  left.scrollTop = right.scrollTop = rows.scrollTop = 0;
}
