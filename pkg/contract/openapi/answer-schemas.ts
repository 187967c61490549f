import { BLOCK_TYPES, JOB_WARNINGS, SOURCE_ROLES } from '../envelope.ts';
import { CAPTURE_STATES } from '../states.ts';
import { SCHEMA_VERSION } from '../version.ts';
import { count, flag, list, moment, momentOrNull, object, oneOfWords, ref, text, textOrNull } from './build.ts';
import type { Schema } from './types.ts';

const pieces: Record<string, Schema> = {
  Region: object(
    {
      country: text('Two upper-case letters.'),
      state: text('Sub-national code or name.'),
      city: text('City.'),
      language: text('BCP-47 language tag.'),
    },
    ['state', 'city', 'language'],
  ),
  EffectiveRegion: {
    ...object({ country: text('Country.'), state: text('State.'), city: text('City.'), language: text('Language.') }, [
      'country',
      'state',
      'city',
      'language',
    ]),
    description: 'Only what was really applied to the capture.',
  },
  CharRange: {
    ...object({ start: count('First code unit.'), end: count('The code unit after the last.') }),
    description: 'Half-open range in UTF-16 code units of answer.text.',
  },
  Source: object({
    id: { type: 'integer', minimum: 1, description: 'From 1, in order of first appearance.' },
    url: text('Absolute address.'),
    title: text('Title as shown.'),
    role: oneOfWords(SOURCE_ROLES, 'How the surface shows it.'),
    cited: flag("True when the answer's own text links or marks it."),
    charRanges: list(ref('CharRange'), { description: 'The passages that it backs.' }),
  }),
  AnswerBlock: object({
    type: oneOfWords(BLOCK_TYPES),
    text: text('The plain text of the block.'),
    referenceIds: list({ type: 'integer' }, { description: 'Ids of evidence.sources.' }),
  }),
  Mention: object({
    brand: text('The name as shown, or the pinned target.'),
    domain: textOrNull('The domain of the brand, where a source tells it.'),
    mentioned: flag('Pinned targets are listed also when they are not mentioned.'),
    position: { type: ['integer', 'null'], minimum: 1, description: 'Rank of first appearance, from 1.' },
    sentiment: { type: ['string', 'null'], enum: ['positive', 'neutral', 'negative', null] },
    linked: flag('True when the answer cites a source of the brand.'),
    target: textOrNull('The pinned target that it answers.'),
    sourceIds: list({ type: 'integer' }),
    snippet: textOrNull('The passage of the answer.'),
  }),
  Credits: object({
    creditsToCharge: count('What it costs when it succeeds.'),
    creditsCharged: count('What was charged; 0 until it has ended.'),
  }),
  ChildError: object({ code: ref('ErrorCode'), error: text('For people; may change.') }),
  Provenance: object({
    model: object({
      providerId: textOrNull('Who runs the model.'),
      observedLabel: textOrNull('The label that the surface shows.'),
      inferred: flag('True when the surface did not tell it.'),
      confidence: { type: ['number', 'null'], minimum: 0, maximum: 1 },
    }),
    webSearch: { type: ['boolean', 'null'], description: 'Whether the surface searched the web; null when unknown.' },
    surfacePresent: flag('False when the surface showed nothing, which is no error and costs nothing.'),
    region: object({
      requested: { anyOf: [ref('Region'), { type: 'null' }] },
      effective: { anyOf: [ref('EffectiveRegion'), { type: 'null' }] },
    }),
    schemaVersion: { type: 'string', const: SCHEMA_VERSION },
  }),
  Answer: {
    ...object({
      text: text('Plain text.'),
      markdown: text('The same answer as markdown.'),
      blocks: list(ref('AnswerBlock')),
    }),
    description: "'' , '' and [] when the surface is absent.",
  },
  Evidence: object({
    sources: list(ref('Source')),
    fanOut: {
      ...object({ provenance: oneOfWords(['observed', 'none']), queries: list({ type: 'string' }) }),
      description: 'Follow-up searches of the surface, where it shows them.',
    },
    mentions: {
      description: 'Null unless extract was set.',
      anyOf: [object({ items: list(ref('Mention')) }), { type: 'null' }],
    },
    shopping: { type: 'null', description: 'Reserved.' },
    ads: { type: 'null', description: 'Reserved.' },
  }),
  EnvelopeJob: object(
    {
      id: text('Child id.'),
      status: oneOfWords(CAPTURE_STATES),
      warnings: list(oneOfWords(JOB_WARNINGS)),
      parentId: text('Parent id.'),
      surface: ref('Surface'),
      query: text('The text that was asked.'),
      createdAt: moment('When it was accepted.'),
      startedAt: momentOrNull('When the capture began.'),
      completedAt: momentOrNull('When it ended.'),
      attempts: count('Captures begun.'),
      error: ref('ChildError'),
    },
    ['error'],
  ),
};

/** The properties of an envelope, for the forms of it that add their own (spec 2.5). */
export const ENVELOPE_PROPERTIES: Record<string, Schema> = {
  job: ref('EnvelopeJob'),
  provenance: ref('Provenance'),
  answer: ref('Answer'),
  evidence: ref('Evidence'),
  html: { type: 'string', format: 'uri', description: 'The proof page, when it was asked for and exists.' },
  credits: ref('Credits'),
};

export const FLAT_PROPERTIES: Record<string, Schema> = {
  jobId: text('Job id.'),
  surface: ref('Surface'),
  status: oneOfWords(CAPTURE_STATES),
  text: text('Plain text.'),
  markdown: text('The same answer as markdown.'),
  sources: list(ref('Source')),
  error: ref('ChildError'),
};

/** One capture and its parts (spec 2.5). */
export const ANSWER_SCHEMAS: Record<string, Schema> = {
  ...pieces,
  Envelope: {
    ...object(ENVELOPE_PROPERTIES, ['html']),
    description: 'The terminal result of one child.',
  },
  FlatResult: { ...object(FLAT_PROPERTIES, ['error']), description: 'The short form of an envelope (view=flat).' },
};
