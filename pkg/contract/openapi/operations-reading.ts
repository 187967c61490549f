import { REGION_TARGETING } from '../regions.ts';
import { JOB_STATES } from '../states.ts';
import { oneOfWords, ref, text } from './build.ts';
import { EXAMPLES } from './examples.ts';
import { ARTIFACT_HEADERS, COMMON_HEADERS, OWNER_HEADER } from './headers.ts';
import { idParameter, ownerRoute } from './owner-route.ts';
import {
  COMMON_PARAMETERS,
  OWNER_PARAMETERS,
  PAGE_PARAMETERS,
  scoped,
  SCOPED_CODES,
  viewParameter,
} from './parameters.ts';
import { answers, refusals } from './replies.ts';
import type { Content, Operation, Parameter, PathItem } from './types.ts';

const listJobs = ownerRoute({
  operationId: 'listJobs',
  summary: 'List searches, newest first',
  tags: ['Jobs'],
  scope: 'jobs:read',
  parameters: [
    ...PAGE_PARAMETERS,
    { name: 'state', in: 'query', description: 'Only jobs in this state.', schema: oneOfWords(JOB_STATES) },
    { name: 'surface', in: 'query', description: 'Only jobs with a child on it.', schema: ref('Surface') },
  ],
  returns: ['A page of jobs.', 'JobList', { page: EXAMPLES.jobList }],
});

const getJob = ownerRoute({
  operationId: 'getJob',
  summary: 'Read a search, or one capture of it',
  description: 'A parent id gives the roll-up; a child id the envelope once it has ended, before that its state.',
  tags: ['Jobs'],
  scope: 'jobs:read',
  parameters: [
    idParameter('Parent or child id.'),
    viewParameter('The short form of a child.'),
    { name: 'include', in: 'query', description: 'Adds the address of the proof page.', schema: oneOfWords(['html']) },
  ],
  returns: [
    'The roll-up, the envelope, its short form, or the state.',
    ['Job', 'EndedChild', 'EndedFlatChild', 'OpenChild'],
    { parent: EXAMPLES.job, child: EXAMPLES.envelope, flat: EXAMPLES.flat, running: EXAMPLES.openChild },
  ],
  codes: ['JOB_NOT_FOUND'],
});

const cancelJob = ownerRoute({
  operationId: 'cancelJob',
  summary: 'Cancel what has not ended',
  description: 'Children that have ended keep their results. Only work not begun is sure not to run or be charged.',
  tags: ['Jobs'],
  scope: 'jobs:write',
  parameters: [idParameter('Parent id.')],
  returns: ['The roll-up after it.', 'CanceledJob', { canceled: EXAMPLES.canceledJob }],
  codes: ['JOB_NOT_FOUND'],
});

const bytes: Content = {
  'text/html': { schema: { type: 'string' } },
  'image/png': { schema: text('Bytes.') },
  'application/octet-stream': { schema: text('Bytes.') },
};

const getArtifact: Operation = {
  operationId: 'getArtifact',
  summary: 'Read a proof page',
  tags: ['Jobs'],
  security: scoped('artifacts:read'),
  parameters: [
    {
      name: 'key',
      in: 'path',
      required: true,
      description: 'URL-encoded; taken from the html field of an envelope.',
      schema: { type: 'string' },
    },
    {
      name: 'If-None-Match',
      in: 'header',
      description: 'The ETag of a copy that the client has.',
      schema: { type: 'string' },
    },
    ...OWNER_PARAMETERS,
    ...COMMON_PARAMETERS,
  ],
  responses: {
    200: {
      description: 'The stored bytes.',
      headers: { ...COMMON_HEADERS, ...OWNER_HEADER, ...ARTIFACT_HEADERS },
      content: bytes,
    },
    304: { description: 'The copy is good.', headers: { ...COMMON_HEADERS, ...OWNER_HEADER, ...ARTIFACT_HEADERS } },
    ...refusals([...SCOPED_CODES, 'ARTIFACT_NOT_FOUND']),
  },
};

const getUsage = ownerRoute({
  operationId: 'getUsage',
  summary: 'Read plan, usage and balance',
  description: 'Usage of the last 30 UTC days, a series of 90 days, and the balance of credits.',
  tags: ['Account'],
  scope: 'usage:read',
  returns: ['Plan, usage and balance.', 'Usage', { usage: EXAMPLES.usage }],
});

const getAsyncStatus = ownerRoute({
  operationId: 'getAsyncStatus',
  summary: 'Read the headroom of the three gates',
  tags: ['Account'],
  scope: 'jobs:read',
  returns: ['How the gates stand.', 'AsyncStatus', { status: EXAMPLES.asyncStatus }],
});

const listWebhookSecrets = ownerRoute({
  operationId: 'listWebhookSecrets',
  summary: 'List managed signing secrets',
  description: 'Never their values.',
  tags: ['Account'],
  scope: 'webhooks:read',
  returns: ['The secrets that can verify a delivery.', 'WebhookSecrets', { one: EXAMPLES.secrets }],
  codes: ['AUTH_MISSING'],
});

type PublicRead = Pick<Operation, 'operationId' | 'summary' | 'responses'> & { parameters?: readonly Parameter[] };

function publicRoute({ parameters = [], responses, ...rest }: PublicRead): Operation {
  return {
    ...rest,
    tags: ['Discovery'],
    security: [],
    parameters: [...parameters, ...COMMON_PARAMETERS],
    responses: { ...responses, ...refusals(['INTERNAL_ERROR']) },
  };
}

const listSurfaces = publicRoute({
  operationId: 'listSurfaces',
  summary: 'List surfaces, and which are live',
  responses: { 200: answers('Every surface.', ref('Surfaces'), { one: EXAMPLES.surfaces }) },
});

const describeRegions = publicRoute({
  operationId: 'describeRegions',
  summary: 'How to name a region',
  responses: { 200: answers('How to name a region.', ref('Regions'), { all: REGION_TARGETING }) },
});

const health = publicRoute({
  operationId: 'getHealth',
  summary: 'Is the service up?',
  parameters: [
    {
      name: 'probe',
      in: 'query',
      description: 'deep: ask every dependency, each at most about two seconds.',
      schema: oneOfWords(['deep']),
    },
  ],
  responses: {
    200: answers('All is well.', ref('Health'), { ok: EXAMPLES.health }),
    ...refusals(['VALIDATION_FAILED']),
    503: answers('A dependency is missing or does not answer.', ref('Health'), { degraded: EXAMPLES.degraded }),
  },
});

const openApi = publicRoute({
  operationId: 'getOpenApi',
  summary: 'This document',
  responses: { 200: answers('OpenAPI 3.1.', { type: 'object' }, {}) },
});

const docs = publicRoute({
  operationId: 'getDocs',
  summary: 'This document as a page, with the error catalogue',
  responses: {
    200: { description: 'A page.', headers: COMMON_HEADERS, content: { 'text/html': { schema: { type: 'string' } } } },
  },
});

/** Spec 4.4 to 4.12 and 4.14, and the two routes that describe the service. */
export const READING_PATHS: Record<string, PathItem> = {
  '/v1/jobs': { get: listJobs },
  '/v1/jobs/{id}': { get: getJob },
  '/v1/jobs/{id}/cancel': { post: cancelJob },
  '/v1/artifacts/{key}': { get: getArtifact },
  '/v1/usage': { get: getUsage },
  '/v1/async/status': { get: getAsyncStatus },
  '/v1/webhooks/secrets': { get: listWebhookSecrets },
  '/v1/surfaces': { get: listSurfaces },
  '/v1/regions': { get: describeRegions },
  '/v1/health': { get: health },
  '/openapi.json': { get: openApi },
  '/docs': { get: docs },
};
