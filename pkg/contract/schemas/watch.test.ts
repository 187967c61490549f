import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ServiceError } from '../errors.ts';
import { EVERY_VALUES, formatEvery, parseEvery } from './schedule.ts';
import { pathsOf, refusalOf } from './testing.ts';
import { parseWatchCreate, parseWatchUpdate } from './watch.ts';

const BODY = { query: 'x', surfaces: ['engine_news'], schedule: { every: '1h' } };
const DRAFT = {
  name: '',
  query: 'x',
  surfaces: ['engine_news'],
  regions: [],
  extract: null,
  webhookUrl: null,
  intervalMinutes: 60,
};
const createWith = (extra: object) => parseWatchCreate({ ...BODY, ...extra });

describe('a new watch', () => {
  it.each<[string, object, object]>([
    ['nothing but what it must have', {}, {}],
    ['a name', { name: 'Shoes' }, { name: 'Shoes' }],
    ['an empty name', { name: '' }, { name: '' }],
    [
      'regions in any form',
      { regions: ['us', { country: 'de' }] },
      { regions: [{ country: 'US' }, { country: 'DE' }] },
    ],
    ['extract true', { extract: true }, { extract: { targets: [] } }],
    ['a webhook', { webhookUrl: 'https://a.example' }, { webhookUrl: 'https://a.example' }],
    ['an interval in minutes', { schedule: { intervalMinutes: 45 } }, { intervalMinutes: 45 }],
    ['a surface that is not live', { surfaces: ['assistant_four'] }, { surfaces: ['assistant_four'] }],
  ])('may have %s', (_name, extra, expected) => {
    expect(createWith(extra)).toEqual({ ...DRAFT, ...expected });
  });

  it.each<[string, object, string]>([
    ['no query', { query: undefined }, 'query'],
    ['a blank query', { query: ' ' }, 'query'],
    ['prompt', { prompt: 'x' }, 'prompt'],
    ['flat country', { country: 'US' }, 'country'],
    ['a webhook object', { webhook: { url: 'https://a.example' } }, 'webhook'],
    ['a null webhookUrl', { webhookUrl: null }, 'webhookUrl'],
    ['a null name', { name: null }, 'name'],
    ['a name of 201 characters', { name: 'n'.repeat(201) }, 'name'],
    ['no surfaces', { surfaces: [] }, 'surfaces'],
    ['a status', { status: 'active' }, 'status'],
    ['no schedule', { schedule: undefined }, 'schedule'],
    ['a null schedule', { schedule: null }, 'schedule'],
    ['a schedule in text', { schedule: '1h' }, 'schedule'],
    ['an empty schedule', { schedule: {} }, 'schedule'],
    ['both forms of schedule', { schedule: { every: '1h', intervalMinutes: 60 } }, 'schedule.every'],
    ['an interval without a name', { schedule: { every: '2h' } }, 'schedule.every'],
    ['no minutes', { schedule: { intervalMinutes: 0 } }, 'schedule.intervalMinutes'],
    ['negative minutes', { schedule: { intervalMinutes: -15 } }, 'schedule.intervalMinutes'],
    ['half minutes', { schedule: { intervalMinutes: 15.5 } }, 'schedule.intervalMinutes'],
    ['minutes in text', { schedule: { intervalMinutes: '60' } }, 'schedule.intervalMinutes'],
    ['endless minutes', { schedule: { intervalMinutes: Number.POSITIVE_INFINITY } }, 'schedule.intervalMinutes'],
    ['minutes beyond any calendar', { schedule: { intervalMinutes: 2 ** 31 } }, 'schedule.intervalMinutes'],
    ['null minutes', { schedule: { intervalMinutes: null } }, 'schedule.intervalMinutes'],
    ['an unknown part of the schedule', { schedule: { every: '1h', cron: '* * * * *' } }, 'schedule.cron'],
  ])('with %s is VALIDATION_FAILED, naming it', (_name, extra, path) => {
    const error = refusalOf(() => createWith(extra));
    expect([error.code, error.details?.map((issue) => issue.path)]).toEqual(['VALIDATION_FAILED', [path]]);
    expect(error.message).toContain(path);
  });

  it.each<[object, string]>([
    [{ surfaces: ['nope'] }, 'UNSUPPORTED_SURFACE'],
    [{ regions: Array(11).fill('US') }, 'TOO_MANY_REGIONS'],
    [{ regions: Array(500).fill('US') }, 'TOO_MANY_REGIONS'],
    [{ query: 'a'.repeat(2001) }, 'QUERY_TOO_LONG'],
    [{ regions: [{ country: 'US' }, { country: 'US', state: 'CA' }] }, 'VALIDATION_FAILED'],
  ])('has the codes of a search: %j', (extra, code) => {
    expect(refusalOf(() => createWith(extra)).code).toBe(code);
  });
});

describe('an update of a watch', () => {
  it.each<[object, object]>([
    [{}, {}],
    [{ name: '' }, { name: '' }],
    [{ schedule: { every: '7d' } }, { intervalMinutes: 10_080 }],
    [{ schedule: { intervalMinutes: 90 } }, { intervalMinutes: 90 }],
    [{ extract: false }, { extract: null }],
    [{ extract: {} }, { extract: { targets: [] } }],
    [{ extract: { targets: ['Acme'] } }, { extract: { targets: ['Acme'] } }],
    [{ webhookUrl: null }, { webhookUrl: null }],
    [{ webhookUrl: 'https://a.example' }, { webhookUrl: 'https://a.example' }],
    [{ status: 'paused' }, { status: 'paused' }],
    [{ status: 'active' }, { status: 'active' }],
  ])('%j changes %j and nothing else', (body, expected) => {
    expect(parseWatchUpdate(body)).toEqual(expected);
  });

  it.each<[unknown, string]>([
    [{ status: 'canceled' }, 'status'],
    [{ status: null }, 'status'],
    [{ query: 'y' }, 'query'],
    [{ surfaces: ['engine_news'] }, 'surfaces'],
    [{ regions: [] }, 'regions'],
    [{ name: null }, 'name'],
    [{ extract: null }, 'extract'],
    [{ schedule: {} }, 'schedule'],
    [{ schedule: null }, 'schedule'],
    [{ webhookUrl: 'nope' }, 'webhookUrl'],
    [null, ''],
    [[], ''],
  ])('%j is VALIDATION_FAILED', (body, path) => {
    expect(pathsOf(() => parseWatchUpdate(body))).toEqual([path]);
  });

  it('says what status may be, and how a watch is canceled', () => {
    const { message } = refusalOf(() => parseWatchUpdate({ status: 'canceled' }));
    expect(message).toBe('status must be one of active, paused; DELETE cancels a watch');
  });

  it('never ends in anything but a patch or a ServiceError', () => {
    const key = fc.constantFrom('name', 'schedule', 'extract', 'webhookUrl', 'status', 'every', 'intervalMinutes');
    const value = fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue()));
    fc.assert(
      fc.property(fc.dictionary(key, value), (body) => {
        try {
          parseWatchUpdate(body);
          parseWatchCreate(body);
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError);
        }
      }),
    );
  });
});

describe('an interval', () => {
  it.each([
    ['15m', 15],
    ['30m', 30],
    ['1h', 60],
    ['6h', 360],
    ['12h', 720],
    ['1d', 1440],
    ['7d', 10_080],
  ])('%s is %d minutes, and is shown as it was sent', (every, minutes) => {
    expect(parseEvery(every)).toBe(minutes);
    expect(formatEvery(minutes)).toBe(every);
  });

  it.each(['', '1', '45m', '60m', '1H', ' 1h', '01h', '1w', '-1h'])('%j has no name', (text) => {
    expect(parseEvery(text)).toBeNull();
  });

  it.each([
    [1, '1m'],
    [45, '45m'],
    [90, '90m'],
    [120, '2h'],
    [1500, '25h'],
    [4320, '3d'],
    [20_160, '14d'],
  ])('of %d minutes is shown as %s', (minutes, every) => {
    expect(formatEvery(minutes)).toBe(every);
  });

  it('has seven names', () => {
    expect(EVERY_VALUES).toHaveLength(7);
  });
});
