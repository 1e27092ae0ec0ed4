// Parses the text of a model for display: code in fences, tables, headings, and within a paragraph code, bold words and
// plain ones. Nothing in it becomes HTML: pages put the parts into their own elements.

// blocks: [{kind: 'code', language, text} | {kind: 'text' | 'heading', parts: PARTS} | {kind: 'table', rows: [[PARTS]]}],
// where PARTS are [{kind: 'plain' | 'code' | 'bold', text}]. A fence that is not closed yet, because the text is still
// arriving, is code already.
export function blocks(text) {
  const out = [];
  let plain = [];
  let code = null;
  let table = null; // its rows, while its lines follow each other
  const flush = () => {
    const paragraph = plain.join('\n').replace(/^\n+|\n+$/g, '');
    if (paragraph) out.push({ kind: 'text', parts: parts(paragraph) });
    plain = [];
    table = null;
  };
  for (const line of text.split('\n')) {
    const fence = /^\s*(```+|~~~+)\s*([\w+-]*)/.exec(line);
    if (code && fence && line.trim().startsWith(code.fence) && !fence[2]) {
      out.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
      code = null;
    } else if (code) {
      code.lines.push(line);
    } else if (fence) {
      flush();
      code = { fence: fence[1], language: fence[2], lines: [] };
    } else if (table && line.includes('|')) {
      table.push(cells(line));
    } else if (isRule(line) && cells(plain.at(-1) ?? '').length === cells(line).length) {
      const names = cells(plain.pop());
      flush();
      out.push({ kind: 'table', rows: (table = [names]) });
    } else if (/^#{1,6} +\S/.test(line)) {
      flush();
      out.push({ kind: 'heading', parts: parts(line.replace(/^#+ +/, '')) });
    } else {
      table = null;
      plain.push(line);
    }
  }
  if (code) out.push({ kind: 'code', language: code.language, text: code.lines.join('\n') });
  flush();
  return out;
}

// isRule says whether a line is the one below the names of a table's columns, such as `|---|:-:|`.
const isRule = (line) => /^\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?$/.test(line);

// cells splits a line of a table into its cells. `\|` is a bar within a cell.
const cells = (line) =>
  line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => parts(cell.trim().replaceAll('\\|', '|')));

export function parts(text) {
  return text
    .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
    .filter(Boolean)
    .map((part) => {
      if (part.length > 2 && part.startsWith('`') && part.endsWith('`')) return { kind: 'code', text: part.slice(1, -1) };
      if (part.length > 4 && part.startsWith('**') && part.endsWith('**')) return { kind: 'bold', text: part.slice(2, -2) };
      return { kind: 'plain', text: part };
    });
}
