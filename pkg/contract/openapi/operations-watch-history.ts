import { EXPORT_FORMATS } from '../schemas/query.ts';
import { oneOfWords, ref, text } from './build.ts';
import { EXAMPLES } from './examples.ts';
import { COMMON_HEADERS, OWNER_HEADER } from './headers.ts';
import { idParameter, ownerRoute } from './owner-route.ts';
import { COMMON_PARAMETERS, OWNER_PARAMETERS, PAGE_PARAMETERS, scoped, SCOPED_CODES } from './parameters.ts';
import { nameExamples, refusals } from './replies.ts';
import type { Operation, PathItem } from './types.ts';
import { WATCH_EXAMPLES } from './watch-examples.ts';

const tags = ['Watches'];

const { run } = WATCH_EXAMPLES;
const { id: childId, surface, completedAt } = EXAMPLES.envelope.job;
const acme = { url: 'https://news.example/acme', title: 'Acme opens a bicycle shop', role: 'result' };
const change = {
  runId: run.id,
  scheduledFor: run.scheduledFor,
  childId,
  surface,
  region: 'de',
  completedAt,
  comparedWith: {
    runId: 'wrun_01hz0000000000000000000000',
    scheduledFor: '2026-07-01T09:00:00.000Z',
    childId: 'job_01hz0000000000000000000000.engine_news.de',
    completedAt: '2026-07-01T09:00:02.480Z',
  },
  surfacePresent: { before: true, after: true },
  text: { changed: true, similarity: 0.8125 },
  sources: { gained: [{ ...acme, rank: 1 }], lost: [], moved: [] },
  mentions: { gained: [], lost: [], moved: [{ brand: 'Acme', domain: null, target: 'Acme', from: 3, to: 1 }] },
};

const listChanges = ownerRoute({
  operationId: 'listWatchChanges',
  summary: 'List what changed from run to run, newest first',
  description:
    'One item for each completed capture of a run that has an earlier completed one of the same surface and region to be compared with. Captures that failed, were blocked or were only partly read are never compared. Answers of the same engine vary by themselves: judge several runs, not one.',
  tags,
  scope: 'watches:read',
  parameters: [idParameter('Watch id.'), ...PAGE_PARAMETERS],
  returns: ['A page of changes.', 'RunChangeList', { page: { items: [change], nextCursor: null } }],
  codes: ['WATCH_NOT_FOUND'],
});

const exportWatch: Operation = {
  operationId: 'exportWatch',
  summary: 'Read everything that a watch has found, as a file',
  description:
    'Streamed, oldest run first: one row for each capture, and one for a run that made no job. csv is for spreadsheets: UTF-8 with a byte order mark, lists in one cell with an element a line, and a quote before text that a spreadsheet would take for a formula; targetsMentioned and targetsMissing tell which of the pinned targets an answer names. ndjson has whole envelopes. A connection that ends without the last chunk means that the file is not whole.',
  tags,
  security: scoped('watches:read'),
  parameters: [
    idParameter('Watch id.'),
    {
      name: 'format',
      in: 'query',
      required: true,
      description: 'Of the file.',
      schema: oneOfWords(EXPORT_FORMATS),
    },
    ...OWNER_PARAMETERS,
    ...COMMON_PARAMETERS,
  ],
  responses: {
    200: {
      description: 'The file.',
      headers: {
        ...COMMON_HEADERS,
        ...OWNER_HEADER,
        'Content-Disposition': {
          description: 'A name for the file.',
          required: true,
          schema: { type: 'string', pattern: '^attachment; filename="' },
        },
      },
      content: {
        'text/csv': { schema: text('A table with a line of column names.') },
        'application/x-ndjson': {
          schema: ref('ExportLine'),
          examples: nameExamples({
            line: {
              run,
              child: { id: childId, surface, region: 'de', status: 'completed' },
              result: EXAMPLES.envelope,
            },
          }),
        },
      },
    },
    ...refusals([...SCOPED_CODES, 'WATCH_NOT_FOUND']),
  },
};

/** Beyond the spec: what watches are for. */
export const WATCH_HISTORY_PATHS: Record<string, PathItem> = {
  '/v1/watches/{id}/changes': { get: listChanges },
  '/v1/watches/{id}/export': { get: exportWatch },
};
