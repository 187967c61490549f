import { PassThrough, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import type { Envelope } from '../../contract/index.ts';
import { makeEnvelope } from '../envelope-for-tests.ts';
import { EXPORT_COLUMNS } from './columns.ts';
import type { ExportRow } from './rows.ts';
import { writeExport } from './write.ts';

const run = {
  id: 'wrun_1',
  watchId: 'watch_1',
  jobId: 'job_1',
  scheduledFor: '2026-07-01T09:00:00.000Z',
  status: 'dispatched' as const,
  detail: 'Started 1 capture.',
  createdAt: '2026-07-01T09:00:00.100Z',
};
const child = {
  id: 'job_1.engine_news.GLOBAL',
  surface: 'engine_news' as const,
  region: 'GLOBAL',
  status: 'completed' as const,
};
const rowOf = (result: Envelope | null): ExportRow => ({ run, child, result });

async function* each(rows: ExportRow[]): AsyncGenerator<ExportRow> {
  for (const row of rows) yield await Promise.resolve(row);
}

async function write(rows: ExportRow[], format: 'csv' | 'ndjson'): Promise<string> {
  const output = new PassThrough();
  const [bytes] = await Promise.all([buffer(output), writeExport(each(rows), format, output)]);
  return bytes.toString('utf8');
}

/** The cell of the only row of a table, as it stands in the file. */
async function cellOf(column: string, result: Envelope): Promise<string> {
  const text = await write([rowOf(result)], 'csv');
  const [, ...lines] = text.split('\r\n');
  // Quoted cells may hold commas and line ends.
  const cells = lines.join('\r\n').match(/"(?:[^"]|"")*"|[^",\r]+|(?<=,|^)(?=,|\r|$)/g) ?? [];
  return cells[EXPORT_COLUMNS.indexOf(column)] ?? 'no such cell';
}

describe('an export as a table', () => {
  it('has a mark for spreadsheets, a line of names, and a row for each capture', async () => {
    const text = await write(
      [rowOf(makeEnvelope({ text: 'Grüße', urls: ['https://a.example/'], brands: ['Acme'] }))],
      'csv',
    );
    expect(text).toBe(
      `\uFEFF${EXPORT_COLUMNS.join(',')}\r\n` +
        'wrun_1,2026-07-01T09:00:00.000Z,dispatched,Started 1 capture.,job_1,job_1.engine_news.GLOBAL,engine_news,GLOBAL,' +
        'completed,,bicycles,2026-07-01T09:00:02.000Z,true,3,Grüße,1,https://a.example/,https://a.example/,Acme,,\r\n',
    );
  });

  it('tells which pinned targets an answer names, and which it does not', async () => {
    const envelope = makeEnvelope({ brands: ['Acme Bikes', 'Velo', 'Other'] });
    const [acme, velo, other] = envelope.evidence.mentions?.items ?? [];
    if (acme === undefined || velo === undefined || other === undefined)
      throw new Error('three brands, three mentions');
    const items = [{ ...acme, target: 'acme.example' }, { ...velo, target: 'Velo', mentioned: false }, other];
    const result = { ...envelope, evidence: { ...envelope.evidence, mentions: { items } } };
    expect(await cellOf('mentions', result)).toBe('"Acme Bikes\nOther"');
    expect(await cellOf('targetsMentioned', result)).toBe('acme.example');
    expect(await cellOf('targetsMissing', result)).toBe('Velo');
  });

  it.each([
    ['=HYPERLINK("https://evil.example")', `"'=HYPERLINK(""https://evil.example"")"`],
    ['+1', `'+1`],
    ['-2+3+cmd|x', `'-2+3+cmd|x`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\t=1', `'\t=1`],
    ['\r=1', `"'\r=1"`],
    ['＝1+1', `'＝1+1`],
    ['one\ntwo', '"one\ntwo"'],
    ['plain, with "quotes"\nand lines', `"plain, with ""quotes""\nand lines"`],
  ])('takes the sting from %j', async (text, cell) => {
    expect(await cellOf('text', makeEnvelope({ text }))).toBe(cell);
    expect(await cellOf('mentions', makeEnvelope({ brands: [text] }))).toBe(cell);
  });

  it('leaves cells empty for a run that made no job', async () => {
    const text = await write(
      [{ run: { ...run, jobId: null, status: 'skipped_credits' }, child: null, result: null }],
      'csv',
    );
    expect(text.split('\r\n')[1]).toMatch(/^wrun_1,[^,]+,skipped_credits,Started 1 capture\.,{17}$/);
  });

  it('is only the line of names when there was no run', async () => {
    expect(await write([], 'csv')).toBe(`\uFEFF${EXPORT_COLUMNS.join(',')}\r\n`);
  });
});

it('an export as lines has one JSON object a line, whatever is in the text', async () => {
  const rows = [rowOf(makeEnvelope({ text: 'one\ntwo\u2028three' })), { run, child, result: null }];
  const text = await write(rows, 'ndjson');
  expect(text.endsWith('\n')).toBe(true);
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
  ).toEqual(rows);
});

describe.each(['csv', 'ndjson'] as const)('an export as %s', (format) => {
  /** Rows without end, and how many were asked for. */
  function endless(): { rows: AsyncGenerator<ExportRow>; asked: () => number; stopped: () => boolean } {
    let asked = 0;
    let stopped = false;
    const row = rowOf(makeEnvelope({ text: 'x'.repeat(10_000) }));
    async function* rows(): AsyncGenerator<ExportRow> {
      try {
        for (;;) {
          asked += 1;
          yield await Promise.resolve(row);
        }
      } finally {
        stopped = true;
      }
    }
    return { rows: rows(), asked: () => asked, stopped: () => stopped };
  }

  it('reads no further than its reader, and stops when the reader leaves', async () => {
    const { rows, asked, stopped } = endless();
    let taken = 0;
    let leave = (): void => undefined;
    const output = new Writable({
      highWaterMark: 1,
      // Takes three chunks, then nothing.
      write: (_chunk, _encoding, done) => {
        taken += 1;
        if (taken < 3) setImmediate(done);
        else leave = () => output.destroy();
      },
    });
    const writing = writeExport(rows, format, output);
    const ended = expect(writing).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
    for (let before = -1; before < asked() || taken < 3;) {
      before = asked();
      // A round of everything that could still move.
      for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    // What the stages between hold back: object streams keep 16.
    expect(asked()).toBeLessThan(60);
    leave();
    await ended;
    for (let round = 0; round < 50 && !stopped(); round += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(stopped()).toBe(true);
  });

  it('that breaks off in the middle breaks its output, so that nobody takes it for whole', async () => {
    async function* rows(): AsyncGenerator<ExportRow> {
      yield await Promise.resolve(rowOf(makeEnvelope({ text: 'x' })));
      throw new Error('the database went away');
    }
    const output = new PassThrough();
    output.resume();
    await expect(writeExport(rows(), format, output)).rejects.toThrow('the database went away');
    expect(output.destroyed).toBe(true);
    expect(output.readableEnded).toBe(false);
  });
});
