import type { Element } from 'hast';
import { attribute, findElement, isElement, isSilent, plainText } from './html-elements.ts';
import type { Alignment, Inline } from './tree.ts';

/** A page can claim any span; beyond this it is only padding. */
const MAX_COLUMNS = 100;

export type TableParts = { captions: Element[]; rows: Element[] };

/** The rows of a table, without those of tables inside its cells. */
export function findTableParts(table: Element): TableParts {
  const parts: TableParts = { captions: [], rows: [] };
  for (const child of table.children) {
    if (!isElement(child) || isSilent(child)) continue;
    if (child.tagName === 'caption') parts.captions.push(child);
    else if (child.tagName === 'tr') parts.rows.push(child);
    else if (['thead', 'tbody', 'tfoot'].includes(child.tagName)) {
      for (const row of findTableParts(child).rows) parts.rows.push(row);
    }
  }
  return parts;
}

/** Lays the cells out in a grid: a cell that spans stands in its first place, the others stay empty. */
export function layOutRows(rows: readonly Element[], readCell: (cell: Element) => Inline[]): Inline[][][] {
  const reserved = new Map<number, number>();
  return rows.map((row) => {
    const line: Inline[][] = [];
    const skipReserved = (): void => {
      for (let left = reserved.get(line.length); left !== undefined; left = reserved.get(line.length)) {
        if (left > 1) reserved.set(line.length, left - 1);
        else reserved.delete(line.length);
        line.push([]);
      }
    };
    for (const cell of row.children) {
      if (!isElement(cell) || !['td', 'th'].includes(cell.tagName) || isSilent(cell)) continue;
      skipReserved();
      const columns = span(cell, 'colSpan');
      const below = span(cell, 'rowSpan') - 1;
      for (let column = 0; column < columns && (column === 0 || line.length < MAX_COLUMNS); column += 1) {
        if (below > 0) reserved.set(line.length, below);
        line.push(column === 0 ? readCell(cell) : []);
      }
    }
    skipReserved();
    return line;
  });
}

const CODE_CELL = /(?:^|\s)(?:blob-code|hljs-ln-code)(?:\s|$)/;

/**
 * The lines of code that a table only lays out beside their numbers, each row one cell that is nothing but code. Null
 * for every other table.
 */
export function findCodeCells(rows: readonly Element[]): Element[] | null {
  const lines = rows.map((row) => {
    const cells = row.children.filter((cell) => isElement(cell) && !isSilent(cell) && plainText(cell).trim() !== '');
    const [cell] = cells;
    if (cells.length > 1 || !isElement(cell)) return null;
    if (CODE_CELL.test(attribute(cell, 'className') ?? '')) return cell;
    const code = findElement(cell, ({ tagName }) => tagName === 'pre');
    return code !== null && plainText(code).trim() === plainText(cell).trim() ? code : null;
  });
  const found = lines.filter((line) => line !== null);
  return found.length > 0 && found.length === lines.length ? found : null;
}

/** True where the first row is marked as the head, or all its cells are. */
export function hasHead(table: Element, rows: readonly Element[]): boolean {
  const cells = rows[0]?.children.filter(isElement) ?? [];
  const inHead = table.children.some(
    (child) =>
      isElement(child) && child.tagName === 'thead' && rows[0] !== undefined && child.children.includes(rows[0]),
  );
  return inHead || (cells.length > 0 && cells.every(({ tagName }) => tagName === 'th'));
}

/** How the columns are set, as the last row that says so has it: heads are centred by default. */
export function findAlignments(rows: readonly Element[]): Alignment[] {
  const found: Alignment[] = [];
  for (const row of rows) {
    let column = 0;
    for (const cell of row.children) {
      if (!isElement(cell) || !['td', 'th'].includes(cell.tagName) || column >= MAX_COLUMNS) continue;
      found[column] = alignment(cell) ?? found[column] ?? null;
      column += span(cell, 'colSpan');
    }
  }
  return Array.from(found, (value) => value ?? null);
}

function alignment(cell: Element): Alignment {
  const style = /text-align\s*:\s*(\w+)/i.exec(attribute(cell, 'style') ?? '')?.[1];
  const said = (style ?? attribute(cell, 'align') ?? '').toLowerCase();
  return said === 'left' || said === 'center' || said === 'right' ? said : null;
}

function span(cell: Element, name: 'colSpan' | 'rowSpan'): number {
  const value = Number.parseInt(attribute(cell, name) ?? '1', 10);
  return Number.isFinite(value) && value > 0 ? Math.min(value, MAX_COLUMNS) : 1;
}
