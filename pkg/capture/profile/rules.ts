import * as yup from 'yup';
import { SOURCE_ROLES } from '../../contract/index.ts';
import { findUnknownPlaceholders, PLACEHOLDERS } from './template.ts';

const FIELDS = ['country', 'state', 'city', 'language'] as const;
const RESOURCE_TYPES = ['image', 'media', 'font', 'stylesheet'] as const;
const MAX_WAIT_MS = 600_000;

/** An object that refuses keys it does not know: a misspelt rule would otherwise silently not apply. */
export function strictObject(fields: yup.ObjectShape): yup.AnyObjectSchema {
  const allowed = Object.keys(fields).join(', ');
  return yup
    .object(fields)
    .strict()
    .default(undefined)
    .typeError('must be an object')
    .noUnknown(({ unknown }: { unknown?: string }) => `has unknown keys: ${unknown ?? ''} (allowed: ${allowed})`);
}

const text = (): yup.StringSchema => yup.string().strict().typeError('must be a text').min(1, 'must not be empty');
const needed = (): yup.StringSchema => text().required('is required');
const flag = (): yup.BooleanSchema => yup.boolean().strict().typeError('must be true or false');
const millis = (): yup.NumberSchema =>
  yup
    .number()
    .strict()
    .typeError('must be a number of milliseconds')
    .integer('must be a whole number')
    .min(0, 'must not be negative')
    .max(MAX_WAIT_MS, `must be at most ${MAX_WAIT_MS}`);
const listOf = (schema: yup.Schema | yup.Lazy<unknown>): yup.ArraySchema<unknown[] | undefined, yup.AnyObject, ''> =>
  yup.array().of(schema).strict().typeError('must be a list');
const oneOf = (values: readonly string[]): yup.StringSchema =>
  text().oneOf(values, `must be one of: ${values.join(', ')}`);

const template = (): yup.StringSchema =>
  needed().test('placeholders', (value, context) => {
    const unknown = findUnknownPlaceholders(value ?? '');
    return (
      unknown.length === 0 ||
      context.createError({
        message: `has unknown placeholders: ${unknown.join(', ')} (known: ${PLACEHOLDERS.join(', ')})`,
      })
    );
  });

const urlTemplate = (): yup.StringSchema =>
  template().test('url', 'must be an http or https URL', (value) => {
    const example = (value ?? '').replace(/\{\w+\}/g, 'x');
    return URL.canParse(example) && /^https?:$/.test(new URL(example).protocol);
  });

/** One of several shapes, told apart by the key that only one of them has. */
function oneShape(shapes: Record<string, yup.AnyObjectSchema>): yup.Lazy<unknown> {
  const wanted = `must have exactly one of the keys: ${Object.keys(shapes).join(', ')}`;
  const none = yup.mixed().test('shape', wanted, () => false);
  return yup.lazy((value: unknown) => {
    if (typeof value !== 'object' || value === null) return none;
    const matches = Object.keys(shapes).filter((key) => Object.hasOwn(value, key));
    const [only] = matches;
    return only !== undefined && matches.length === 1 ? (shapes[only] ?? none) : none;
  });
}

const step = oneShape({
  fill: strictObject({ fill: needed(), with: template() }),
  type: strictObject({ type: needed(), with: template() }),
  press: strictObject({ press: needed(), key: needed() }),
  click: strictObject({ click: needed(), optional: flag() }),
  select: strictObject({ select: needed(), option: template() }),
  waitFor: strictObject({ waitFor: needed() }),
  scroll: strictObject({ scroll: needed() }),
});

const marker = oneShape({
  present: strictObject({ present: needed() }),
  gone: strictObject({ gone: needed() }),
  visible: strictObject({ visible: needed() }),
  hidden: strictObject({ hidden: needed() }),
  attribute: strictObject({ attribute: needed(), of: needed(), is: yup.string().strict().defined('is required') }),
});

const condition = strictObject({
  selector: text(),
  status: listOf(yup.number().strict().integer().min(100).max(599).required()),
  title: text(),
  text: text(),
}).test('some', 'must say something: selector, status, title or text', isNotEmpty);

const citation = strictObject({
  item: needed(),
  where: oneOf(['inline', 'listed']).required('is required'),
  role: oneOf(SOURCE_ROLES).required('is required'),
  link: text(),
  attribute: text(),
  title: text(),
  chip: flag(),
  refersBy: text(),
});

const headers = yup.lazy((value: unknown): yup.MixedSchema<unknown> | yup.AnyObjectSchema => {
  if (value === undefined) return yup.mixed();
  if (!isRecord(value)) return yup.mixed().test('headers', 'must be an object', () => false);
  return strictObject(Object.fromEntries(Object.keys(value).map((name) => [name, template()])));
});

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNotEmpty(value: unknown): boolean {
  return !isRecord(value) || Object.keys(value).length > 0;
}

/** The rules of a profile, one for each type of `profile.ts`. */
export const PROFILE_RULES = strictObject({
  go: strictObject({ url: urlTemplate(), headers, applies: listOf(oneOf(FIELDS)), until: text() }).required(
    'is required',
  ),
  ask: listOf(step).required('is required'),
  finished: strictObject({
    markers: listOf(marker),
    quietMs: millis().required('is required'),
    streams: listOf(needed()),
    busy: text(),
    error: text(),
    graceMs: millis(),
  }).required('is required'),
  read: strictObject({
    answer: text(),
    join: flag(),
    drop: listOf(needed()),
    citations: listOf(citation),
    fanOut: strictObject({ item: needed(), text: text() }),
    results: strictObject({ item: needed(), link: text(), title: text(), snippet: text(), date: text() }),
    model: strictObject({ selector: needed(), attribute: text() }),
    before: listOf(step),
    webSearch: text(),
  })
    .required('is required')
    .test(
      'some',
      'must name an answer or results',
      (value: unknown) => !isRecord(value) || 'answer' in value || 'results' in value,
    ),
  classify: strictObject({
    absent: listOf(condition),
    blocked: listOf(condition),
    consent: listOf(strictObject({ when: needed(), dismiss: needed() })),
  }),
  links: strictObject({
    unwrap: listOf(strictObject({ host: needed(), parameter: needed() })),
    strip: listOf(needed()),
  }),
  fetch: strictObject({ abortTypes: listOf(oneOf(RESOURCE_TYPES)), abortUrls: listOf(needed()) }),
  model: strictObject({ providerId: needed(), label: text() }),
}).required('is required');
