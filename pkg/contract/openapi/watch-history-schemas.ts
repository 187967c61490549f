import { CAPTURE_STATES } from '../states.ts';
import { SOURCE_ROLES } from '../envelope.ts';
import { flag, list, moment, momentOrNull, object, oneOfWords, ref, text, textOrNull } from './build.ts';
import { owned } from './response-schemas.ts';
import type { Schema } from './types.ts';

const rank = (description: string): Schema => ({ type: 'integer', minimum: 1, description });

const source = { url: text('Address.'), title: text('Title.'), role: oneOfWords(SOURCE_ROLES) };
const mention = {
  brand: text('Name.'),
  domain: textOrNull('Its domain, where one is known.'),
  target: textOrNull('The pinned target, if it is one.'),
};

/** What a ranking gained, lost, and what of it moved. */
function rankedChange(item: Record<string, Schema>): Schema {
  return object({
    gained: list(object({ ...item, rank: rank('Its rank in this capture.') })),
    lost: list(object({ ...item, rank: rank('The rank it had.') })),
    moved: list(object({ ...item, from: rank('The rank it had.'), to: rank('Its rank in this capture.') }), {
      description: 'The fewest that changed their place among each other; pushed down by a newcomer is not moved.',
    }),
  });
}

const side = {
  runId: text('Run of the watch.'),
  scheduledFor: moment('Its tick.'),
  childId: text('Child id: GET /v1/jobs/{id} reads the capture.'),
  completedAt: momentOrNull('When the capture ended.'),
};

/** What a watch has found over time. */
export const WATCH_HISTORY_SCHEMAS: Record<string, Schema> = {
  RunChange: object({
    ...side,
    surface: ref('Surface'),
    region: text('Region key.'),
    comparedWith: object(side),
    surfacePresent: object({ before: flag('Shown then.'), after: flag('Shown in this capture.') }),
    text: object({
      changed: flag('False when it is the same to the letter.'),
      similarity: { type: 'number', minimum: 0, maximum: 1, description: 'Share of neighbouring words in common.' },
    }),
    sources: rankedChange(source),
    mentions: {
      description: 'null unless both looked for mentions.',
      anyOf: [rankedChange(mention), { type: 'null' }],
    },
  }),
  RunChangeList: owned({
    items: list(ref('RunChange')),
    nextCursor: textOrNull('Cursor of the next page; null on the last.'),
  }),
  ExportLine: {
    ...object({
      run: ref('WatchRun'),
      child: {
        description: 'null for a run that made no job.',
        anyOf: [
          object({
            id: text('Child id.'),
            surface: ref('Surface'),
            region: text('Region key.'),
            status: oneOfWords(CAPTURE_STATES),
          }),
          { type: 'null' },
        ],
      },
      result: { description: 'null while the child has not ended.', anyOf: [ref('Envelope'), { type: 'null' }] },
    }),
    description: 'One line of an NDJSON export.',
  },
};
