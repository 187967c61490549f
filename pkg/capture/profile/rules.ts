import { SOURCE_ROLES } from '../../contract/index.ts';
import {
  also,
  anyText,
  flag,
  httpStatus,
  insideSelector,
  isRecord,
  jsonTemplate,
  listOf,
  mapOf,
  matching,
  millis,
  object,
  oneOf,
  oneShape,
  selector,
  template,
  text,
  textOr,
  urlTemplate,
} from './schema.ts';

const FIELDS = ['country', 'state', 'city', 'language'] as const;
const RESOURCE_TYPES = ['image', 'media', 'font', 'stylesheet'] as const;

const fromEnv = object({
  env: matching(/^[A-Z][A-Z0-9_]*$/, 'must be the name of an environment variable, like ENGINE_SESSION'),
});
const secretOr = textOr(template, fromEnv);

const go = also(
  also(
    object(
      { url: urlTemplate },
      {
        method: oneOf(['GET', 'POST']),
        form: mapOf(template),
        json: jsonTemplate,
        headers: mapOf(secretOr),
        cookies: listOf(object({ name: text, value: secretOr }, { domain: text, path: text })),
        locale: template,
        applies: listOf(oneOf(FIELDS)),
        until: selector,
      },
    ),
    'has both form and json: a request has one body',
    (value) => !isRecord(value) || !('form' in value && 'json' in value),
    { not: { required: ['form', 'json'] } },
  ),
  'has a body (form or json), which needs method: POST',
  (value) => !isRecord(value) || value['method'] === 'POST' || !('form' in value || 'json' in value),
  {
    if: { anyOf: [{ required: ['form'] }, { required: ['json'] }] },
    then: { required: ['method'], properties: { method: { const: 'POST' } } },
  },
);

const optional = { optional: flag };

const step = oneShape({
  fill: object({ fill: selector, with: template }, optional),
  type: object({ type: selector, with: template }, optional),
  press: object({ press: selector, key: text }, optional),
  click: object({ click: selector }, { ...optional, all: flag }),
  hover: object({ hover: selector }, optional),
  select: object({ select: selector, option: template }, optional),
  waitFor: object({ waitFor: selector }, optional),
  waitGone: object({ waitGone: selector }, optional),
  scroll: object({ scroll: selector }, { ...optional, all: flag }),
});

const marker = oneShape({
  present: object({ present: selector }),
  gone: object({ gone: selector }),
  visible: object({ visible: selector }),
  hidden: object({ hidden: selector }),
  attribute: object({ attribute: text, of: selector, is: anyText }),
  text: object({ text, of: selector }),
});

const condition = also(
  object({}, { selector, status: listOf(httpStatus), title: text, text, url: text }),
  'must say something: selector, status, title, text or url',
  (value) => !isRecord(value) || Object.keys(value).length > 0,
  { minProperties: 1 },
);

const citation = object(
  { item: selector, where: oneOf(['inline', 'listed']), role: oneOf(SOURCE_ROLES) },
  {
    link: insideSelector,
    attribute: text,
    title: text,
    chip: flag,
    refersBy: text,
    reveal: object({ shows: selector }, { by: oneOf(['click', 'hover']) }),
  },
);

const read = also(
  object(
    {},
    {
      answer: selector,
      question: selector,
      join: flag,
      drop: listOf(insideSelector),
      citations: listOf(citation),
      fanOut: object({ item: selector }, { text: insideSelector }),
      results: object(
        { item: selector },
        { link: insideSelector, attribute: text, title: insideSelector, snippet: insideSelector, date: insideSelector },
      ),
      model: object({ selector }, { attribute: text }),
      before: listOf(step),
      webSearch: selector,
      leave: listOf(step),
    },
  ),
  'must name an answer or results',
  (value) => !isRecord(value) || 'answer' in value || 'results' in value,
  { anyOf: [{ required: ['answer'] }, { required: ['results'] }] },
);

const consent = also(
  object({ when: selector }, { dismiss: textOr(selector, listOf(selector)), steps: listOf(step) }),
  'must say how the overlay goes away: dismiss or steps, one of them',
  (value) => !isRecord(value) || 'dismiss' in value !== 'steps' in value,
  { oneOf: [{ required: ['dismiss'] }, { required: ['steps'] }] },
);

const profile = object(
  {
    go,
    ask: listOf(step),
    finished: object(
      { quietMs: millis },
      {
        markers: listOf(marker),
        streams: listOf(textOr(text, object({ url: text, ends: text }))),
        busy: selector,
        error: selector,
        graceMs: millis,
      },
    ),
    read,
  },
  {
    classify: object(
      {},
      {
        absent: listOf(condition),
        blocked: listOf(condition),
        signIn: listOf(condition),
        error: listOf(condition),
        consent: listOf(consent),
      },
    ),
    links: object({}, { unwrap: listOf(object({ host: text }, { parameter: text })), strip: listOf(text) }),
    fetch: object({}, { abortTypes: listOf(oneOf(RESOURCE_TYPES)), abortUrls: listOf(text), allowUrls: listOf(text) }),
    model: object({ providerId: text }, { label: text }),
  },
);

/** The rules of a profile, one for each type of `profile.ts`. */
export const PROFILE_RULES = { ...profile, yup: profile.yup.required('is required') };
