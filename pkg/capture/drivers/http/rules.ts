import * as yup from 'yup';
import { strictObject } from '../../profile/rules.ts';
import { findPlaceholders, findUnknownPlaceholders, PLACEHOLDERS } from '../../profile/template.ts';
import { findExpressionFault } from './expression.ts';
import { TEXT_FORMATS } from './profile.ts';

const FIELDS = ['country', 'state', 'city', 'language'] as const;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
const VARIABLE = /^[A-Z][A-Z0-9_]*$/;
const MAX_BODY_DEPTH = 8;

const text = (): yup.StringSchema => yup.string().strict().typeError('must be a text').min(1, 'must not be empty');
const needed = (): yup.StringSchema => text().required('is required');
const oneOf = (values: readonly string[]): yup.StringSchema =>
  text().oneOf(values, `must be one of: ${values.join(', ')}`);
const listOf = (schema: yup.Schema): yup.ArraySchema<unknown[] | undefined, yup.AnyObject, ''> =>
  yup.array().of(schema).strict().typeError('must be a list');

const withFault = (schema: yup.StringSchema, find: (value: string) => string | null): yup.StringSchema =>
  schema.test('fault', (value, context) => {
    const fault = value === undefined ? null : find(value);
    return fault === null || context.createError({ message: fault });
  });

const expression = (): yup.StringSchema => withFault(text(), findExpressionFault);
const neededExpression = (): yup.StringSchema => withFault(needed(), findExpressionFault);

function findTemplateFault(value: string): string | null {
  const unknown = findUnknownPlaceholders(value);
  return unknown.length === 0
    ? null
    : `has unknown placeholders: ${unknown.join(', ')} (known: ${PLACEHOLDERS.join(', ')})`;
}

/** A question must not choose the host that is asked, nor who is told the key. */
function findUrlFault(value: string): string | null {
  const origin = /^https?:\/\/[^/?#]+/i.exec(value)?.[0];
  if (origin === undefined || !URL.canParse(origin)) return 'must be an http or https URL';
  if (origin.includes('{')) return 'must not hold a placeholder before its path';
  if (origin.includes('@')) return 'must not hold a user name or password; use go.secret';
  return findTemplateFault(value);
}

const headers = yup.lazy((value: unknown): yup.Schema => {
  if (value === undefined) return yup.mixed();
  if (!isRecord(value)) return yup.mixed().test('headers', 'must map names to texts', () => false);
  const names = Object.keys(value);
  return yup
    .object(Object.fromEntries(names.map((name) => [name, withFault(needed(), findTemplateFault)])))
    .strict()
    .test('names', (_, context) => {
      const wrong = names.find((name) => !HEADER_NAME.test(name));
      return wrong === undefined || context.createError({ message: `has no header name: ${wrong}` });
    });
});

const body = yup.mixed().test('body', (value, context) => {
  const fault = value === undefined ? null : findBodyFault(value, 0);
  return fault === null || context.createError({ message: fault });
});

function findBodyFault(value: unknown, depth: number): string | null {
  if (depth > MAX_BODY_DEPTH) return `must not nest deeper than ${MAX_BODY_DEPTH} levels`;
  if (typeof value === 'string') return findTemplateFault(value);
  const inner = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
  return inner.map((entry) => findBodyFault(entry, depth + 1)).find((fault) => fault !== null) ?? null;
}

const secret = strictObject({
  env: needed().matches(VARIABLE, 'must be the name of an environment variable, like SEARCH_API_KEY'),
  header: text().matches(HEADER_NAME, 'must be the name of a header'),
  parameter: text(),
  prefix: yup.string().strict().typeError('must be a text'),
})
  .test('place', 'must have exactly one of the keys: header, parameter', (value: unknown) => {
    return !isRecord(value) || 'header' in value !== 'parameter' in value;
  })
  .test('env', 'must name a variable in env', (value: unknown) => !isRecord(value) || 'env' in value);

const go = strictObject({
  method: oneOf(['GET', 'POST']),
  url: withFault(needed(), findUrlFault),
  headers,
  body,
  applies: listOf(oneOf(FIELDS)),
  secret,
})
  .required('is required')
  .test('body', 'may have a body with method POST only', (value: unknown) => {
    return !isRecord(value) || value['method'] === 'POST' || !('body' in value);
  })
  .test('query', 'must send {query} in its url, headers or body', (value: unknown) => {
    return !isRecord(value) || !('url' in value) || findPlaceholders(JSON.stringify(value)).includes('query');
  })
  .test('applies', (value: unknown, context) => {
    if (!isRecord(value) || !Array.isArray(value['applies'])) return true;
    const { applies, ...sent } = value;
    const used = findPlaceholders(JSON.stringify(sent));
    const idle = applies.filter((field) => typeof field === 'string' && !used.includes(field));
    return idle.length === 0 || context.createError({ message: `applies what it does not send: ${idle.join(', ')}` });
  });

const read = strictObject({
  results: strictObject({
    items: neededExpression(),
    url: neededExpression(),
    title: expression(),
    snippet: expression(),
    date: expression(),
    rank: expression(),
    summary: expression(),
    format: oneOf(['text', 'html']),
  }),
  answer: strictObject({ text: neededExpression(), format: oneOf(TEXT_FORMATS) }),
  sources: strictObject({ items: neededExpression(), url: neededExpression(), title: expression() }),
  fanOut: expression(),
  model: expression(),
  webSearch: expression(),
})
  .required('is required')
  .test('some', 'must name an answer or results', (value: unknown) => {
    return !isRecord(value) || 'answer' in value || 'results' in value;
  })
  .test('sources', 'may name sources beside an answer only', (value: unknown) => {
    return !isRecord(value) || 'answer' in value || !('sources' in value);
  })
  .test('summary', 'may have a summary of results without an answer only', (value: unknown) => {
    return !isRecord(value) || !('answer' in value) || !isRecord(value['results']) || !('summary' in value['results']);
  });

/** The rules of `HttpProfile` before its defaults are filled in. */
export const HTTP_PROFILE_RULES = strictObject({
  go,
  read,
  classify: strictObject({ blocked: expression(), error: expression(), absent: expression() }),
  links: strictObject({
    unwrap: listOf(strictObject({ host: needed(), parameter: needed() })),
    strip: listOf(needed()),
  }),
  model: strictObject({ providerId: needed(), label: text() }),
}).required('is required');

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
