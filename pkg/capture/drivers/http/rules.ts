import {
  also,
  checked,
  isRecord,
  jsonTemplate,
  listOf,
  mapOf,
  matching,
  object,
  oneOf,
  template,
  text,
  type Rule,
} from '../../profile/schema.ts';
import { findPlaceholders } from '../../profile/template.ts';
import { findExpressionFault } from './expression.ts';
import { TEXT_FORMATS } from './profile.ts';

const FIELDS = ['country', 'state', 'city', 'language'] as const;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

const expression = checked(text, findExpressionFault);

/** A question must not choose the host that is asked, nor who is told the key. */
const url = checked(template, (value) => {
  const origin = /^https?:\/\/[^/?#]+/i.exec(value)?.[0];
  if (origin === undefined || !URL.canParse(origin)) return 'must be an http or https URL';
  if (origin.includes('{')) return 'must not hold a placeholder before its path';
  return origin.includes('@') ? 'must not hold a user name or password; use go.secret' : null;
});

const env = matching(/^[A-Z][A-Z0-9_]*$/, 'must be the name of an environment variable, like SEARCH_API_KEY');
const header = matching(HEADER_NAME, 'must be the name of a header');
const secret = also(
  object({ env }, { header, parameter: text, prefix: text }),
  'must have exactly one of the keys: header, parameter',
  (value) => !isRecord(value) || 'header' in value !== 'parameter' in value,
  { oneOf: [{ required: ['header'] }, { required: ['parameter'] }] },
);

const parts: Record<string, Rule> = {
  method: oneOf(['GET', 'POST']),
  headers: mapOf(template),
  form: mapOf(template),
  json: jsonTemplate,
  applies: listOf(oneOf(FIELDS)),
  secret,
};

const hasBody = (value: Record<string, unknown>): boolean => 'form' in value || 'json' in value;
const sends = (value: Record<string, unknown>): string[] => {
  const { applies: _, ...sent } = value;
  return findPlaceholders(JSON.stringify(sent));
};

const go = [
  {
    message: 'has a header whose name is none',
    holds: ({ headers }: Record<string, unknown>) =>
      !isRecord(headers) || Object.keys(headers).every((name) => HEADER_NAME.test(name)),
  },
  {
    message: 'has both form and json: a request has one body',
    holds: (value: Record<string, unknown>) => !('form' in value && 'json' in value),
  },
  {
    message: 'has a body (form or json), which needs method: POST',
    holds: (value: Record<string, unknown>) => value['method'] === 'POST' || !hasBody(value),
  },
  {
    message: 'must send {query} in its url, headers or body',
    holds: (value: Record<string, unknown>) => !('url' in value) || sends(value).includes('query'),
  },
  {
    message: 'applies a field of the region that it does not send',
    holds: (value: Record<string, unknown>) =>
      !Array.isArray(value['applies']) || value['applies'].every((field) => sends(value).includes(String(field))),
  },
].reduce(
  (rule, { message, holds }) => also(rule, message, (value) => !isRecord(value) || holds(value)),
  object({ url }, parts),
);

const entries = { items: expression, url: expression };
const results = object(entries, {
  title: expression,
  snippet: expression,
  date: expression,
  rank: expression,
  summary: expression,
  format: oneOf(['text', 'html']),
});

const read = [
  {
    message: 'must name an answer or results',
    holds: (value: Record<string, unknown>) => 'answer' in value || 'results' in value,
  },
  {
    message: 'may name sources beside an answer only',
    holds: (value: Record<string, unknown>) => 'answer' in value || !('sources' in value),
  },
  {
    message: 'has a summary of its results, which only a page without an answer has',
    holds: ({ answer, results: found }: Record<string, unknown>) =>
      answer === undefined || !isRecord(found) || !('summary' in found),
  },
].reduce(
  (rule, { message, holds }) => also(rule, message, (value) => !isRecord(value) || holds(value)),
  object(
    {},
    {
      results,
      answer: object({ text: expression }, { format: oneOf(TEXT_FORMATS) }),
      sources: object(entries, { title: expression }),
      fanOut: expression,
      model: expression,
      webSearch: expression,
    },
  ),
);

/** The rules of `HttpProfile` before its defaults are filled in. */
export const HTTP_PROFILE_RULES = object(
  { go, read },
  {
    classify: object({}, { blocked: expression, error: expression, absent: expression }),
    links: object({}, { unwrap: listOf(object({ host: text }, { parameter: text })), strip: listOf(text) }),
    model: object({ providerId: text }, { label: text }),
  },
);
