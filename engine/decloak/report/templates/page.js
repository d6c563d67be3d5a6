{
const data = JSON.parse(document.getElementById("data").textContent);
const csv = document.getElementById("csv");
const quote = value => {
  let text = value === null ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
};
csv.hidden = false;
csv.addEventListener("click", () => {
  const link = document.createElement("a");
  const lines = [data.figures.columns, ...data.figures.rows].map(row => row.map(quote).join(","));
  link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], {type: "text/csv"}));
  link.download = data.name + ".csv";
  link.click();
});
if (data.findings) {
  const body = document.querySelector("#rows tbody"), heads = [...document.querySelectorAll("#rows th")];
  const filter = document.getElementById("filter"), said = document.getElementById("shown");
  let rows = data.findings, page = 0, column = -1, down = false;
  const texts = new Map(rows.map(row => [row, row.join("\t").toLowerCase()]));
  const draw = () => {
    const pages = Math.max(1, Math.ceil(rows.length / 50));
    page = Math.min(Math.max(page, 0), pages - 1);
    body.replaceChildren(...rows.slice(page * 50, page * 50 + 50).map(row => {
      const line = document.createElement("tr");
      line.append(...row.map(value => {
        const cell = document.createElement("td");
        cell.textContent = value === null ? "–" : typeof value === "number" && !Number.isInteger(value) ? value.toFixed(4) : value;
        if (typeof value === "number") cell.className = "n";
        return cell;
      }));
      return line;
    }));
    said.textContent = `${rows.length} findings, page ${page + 1} of ${pages}`;
  };
  const look = () => {
    const word = filter.value.toLowerCase();
    rows = data.findings.filter(row => texts.get(row).includes(word));
    if (column >= 0) rows.sort((a, b) => {
      const [x, y] = down ? [b[column], a[column]] : [a[column], b[column]];
      return x === y ? 0 : x === null ? 1 : y === null ? -1 : x < y ? -1 : 1;
    });
    draw();
  };
  filter.addEventListener("input", () => { page = 0; look(); });
  heads.forEach((head, number) => head.firstChild.addEventListener("click", () => {
    down = column === number && !down;
    column = number;
    heads.forEach(other => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    look();
  }));
  document.getElementById("before").addEventListener("click", () => { page -= 1; draw(); });
  document.getElementById("next").addEventListener("click", () => { page += 1; draw(); });
  draw();
}
}
