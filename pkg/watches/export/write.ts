import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { ExportFormat } from '../../contract/index.ts';
import { EXPORT_COLUMNS, toCells } from './columns.ts';
import type { ExportRow } from './rows.ts';

/**
 * Writes rows as fast as `output` takes them, and ends it. Stops reading when it closes, and rejects then with
 * `ERR_STREAM_PREMATURE_CLOSE`; an error of the rows destroys it.
 */
export async function writeExport(
  rows: AsyncIterable<ExportRow>,
  format: ExportFormat,
  output: Writable,
): Promise<void> {
  if (format === 'ndjson') await pipeline(Readable.from(toJsonLines(rows)), output);
  else await pipeline(Readable.from(toTable(rows)), openTable(), output);
}

async function* toJsonLines(rows: AsyncIterable<ExportRow>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
}

async function* toTable(rows: AsyncIterable<ExportRow>): AsyncGenerator<(string | number | boolean | null)[]> {
  for await (const row of rows) yield toCells(row);
}

function openTable(): ReturnType<typeof stringify> {
  return stringify({
    // Spreadsheets take a file without the mark for their own old encoding.
    bom: true,
    header: true,
    columns: [...EXPORT_COLUMNS],
    record_delimiter: 'windows',
    // By itself it quotes only for the whole delimiter, and readers end a row at half of it too.
    quoted_match: /[\r\n]/,
    // Text of a web page that begins like a formula must not run in the reader's spreadsheet.
    escape_formulas: true,
    cast: { boolean: String },
  });
}
