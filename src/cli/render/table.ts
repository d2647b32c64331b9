import { displayWidth } from './display-width.js';

const GAP = '  ';

/** Rows of printable cells as lines, each column as wide as its widest cell; no blanks at the ends of lines. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))),
  );
  return rows.map((row) =>
    widths
      .map((width, column) => padded(row[column] ?? '', width))
      .join(GAP)
      .trimEnd(),
  );
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(width - displayWidth(cell));
}
