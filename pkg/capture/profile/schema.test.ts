import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { parseAllDocuments } from 'yaml';
import { parseProfile, profileJsonSchema } from './parse.ts';

const LANES = fileURLToPath(new URL('../../../config/lanes', import.meta.url));
const ajv = new Ajv({ strict: false, formats: { selector: true } });
const validate = ajv.compile(profileJsonSchema());

async function listLanes(): Promise<[string, unknown][]> {
  const files = (await readdir(LANES, { recursive: true })).filter((name) => /\.ya?ml$/.test(name));
  const found: [string, unknown][] = [];
  for (const file of files) {
    for (const document of parseAllDocuments(await readFile(`${LANES}/${file}`, 'utf8'))) {
      const value: unknown = document.toJS();
      if (isLane(value) && value.spec.driver === 'browser') found.push([file, value.spec.profile]);
    }
  }
  return found;
}

function isLane(value: unknown): value is { spec: { driver: string; profile?: unknown } } {
  return typeof value === 'object' && value !== null && 'spec' in value && typeof value.spec === 'object';
}

const GOOD = {
  go: { url: 'https://x.example/?q={query}' },
  ask: [{ fill: '#a', with: '{query}' }],
  finished: { quietMs: 1 },
  read: { answer: 'p' },
};

function parses(profile: unknown): boolean {
  try {
    parseProfile(profile, 'p');
    return true;
  } catch {
    return false;
  }
}

describe('the JSON Schema of a profile', () => {
  it('is the published one (else: npx scs lane schema > config/lanes/profile.schema.json)', async () => {
    const published: unknown = JSON.parse(await readFile(`${LANES}/profile.schema.json`, 'utf8'));
    expect(published).toEqual(profileJsonSchema());
  });

  it('accepts every browser lane of the repository', async () => {
    const lanes = await listLanes();
    expect(lanes.length).toBeGreaterThan(8);
    for (const [file, profile] of lanes)
      expect({ file, errors: validate(profile) ? [] : validate.errors }).toEqual({ file, errors: [] });
  });

  it.each<[string, unknown, boolean]>([
    ['the smallest', GOOD, true],
    ['a body with POST', { ...GOOD, go: { ...GOOD.go, method: 'POST', form: { q: '{query}' } } }, true],
    ['a body without POST', { ...GOOD, go: { ...GOOD.go, form: { q: '{query}' } } }, false],
    ['two bodies', { ...GOOD, go: { ...GOOD.go, method: 'POST', form: { q: 'x' }, json: {} } }, false],
    [
      'a cookie from the environment',
      { ...GOOD, go: { ...GOOD.go, cookies: [{ name: 's', value: { env: 'KEY' } }] } },
      true,
    ],
    [
      'a cookie from nowhere',
      { ...GOOD, go: { ...GOOD.go, cookies: [{ name: 's', value: { env: 'no name' } }] } },
      false,
    ],
    ['a header that is a number', { ...GOOD, go: { ...GOOD.go, headers: { a: 1 } } }, false],
    ['an unknown key', { ...GOOD, colour: 1 }, false],
    ['an unknown placeholder', { ...GOOD, go: { url: 'https://x.example/{prompt}' } }, false],
    ['another scheme', { ...GOOD, go: { url: 'file:///etc/passwd' } }, false],
    ['a missing part', { ...GOOD, finished: {} }, false],
    ['an empty text', { ...GOOD, read: { answer: '' } }, false],
    ['null', { ...GOOD, read: null }, false],
    ['null in a list', { ...GOOD, ask: [null] }, false],
    ['nothing to read', { ...GOOD, read: {} }, false],
    ['a step with two verbs', { ...GOOD, ask: [{ click: 'a', hover: 'b' }] }, false],
    ['an unknown step', { ...GOOD, ask: [{ drag: 'a' }] }, false],
    ['a step left out at will', { ...GOOD, ask: [{ hover: 'a', optional: true }] }, true],
    ['a marker by text', { ...GOOD, finished: { quietMs: 1, markers: [{ text: 'done', of: 'p' }] } }, true],
    ['a marker of nothing', { ...GOOD, finished: { quietMs: 1, markers: [{ text: 'done' }] } }, false],
    [
      'a stream with its end',
      { ...GOOD, finished: { quietMs: 1, streams: ['**/a', { url: '**/b', ends: 'x' }] } },
      true,
    ],
    ['a stream without a URL', { ...GOOD, finished: { quietMs: 1, streams: [{ ends: 'x' }] } }, false],
    ['a time that is no number', { ...GOOD, finished: { quietMs: '1' } }, false],
    ['a time that is too long', { ...GOOD, finished: { quietMs: 600_001 } }, false],
    ['an empty condition', { ...GOOD, classify: { signIn: [{}] } }, false],
    ['a status that is none', { ...GOOD, classify: { blocked: [{ status: [42] }] } }, false],
    ['consent without a way out', { ...GOOD, classify: { consent: [{ when: 'a' }] } }, false],
    ['consent with two', { ...GOOD, classify: { consent: [{ when: 'a', dismiss: 'b', steps: [] }] } }, false],
    ['consent by preference', { ...GOOD, classify: { consent: [{ when: 'a', dismiss: ['b', 'c'] }] } }, true],
    [
      'a citation that is revealed',
      {
        ...GOOD,
        read: { answer: 'p', citations: [{ item: 'a', where: 'inline', role: 'citation', reveal: { shows: 'b' } }] },
      },
      true,
    ],
    [
      'a citation without a role',
      { ...GOOD, read: { answer: 'p', citations: [{ item: 'a', where: 'inline' }] } },
      false,
    ],
    ['an unknown type to abort', { ...GOOD, fetch: { abortTypes: ['script'] } }, false],
  ])('agrees with the parser on %s', (_, profile, good) => {
    expect({ schema: validate(profile), parser: parses(profile) }).toEqual({ schema: good, parser: good });
  });
});

describe('a selector is checked when the lane is read', () => {
  it.each([
    ['p:has-text("a, b)")', null],
    ['x-a iframe >>> .b:visible > c', null],
    ['div:has(> a + b), [x="a >>> b"]', null],
    ['li:nth-child(2 of .x)', null],
    ['[[', 'p.read.answer: is no selector: '],
    ['a >', 'p.read.answer: is no selector: ends where a name should follow'],
    ['> a', 'p.read.answer: is no selector: begins with a combinator'],
    ['a:foo', 'p.read.answer: is no selector: :foo is no pseudo-class (own ones: :has-text("…"), :visible)'],
    ['a::before', 'p.read.answer: is no selector: ::before names no node of the page'],
    ['a:has-text(b)', 'p.read.answer: is no selector: :has-text needs a text in quotes, like :has-text("Send")'],
    [
      'a:not(:visible)',
      'p.read.answer: is no selector: :has-text and :visible can not stand inside another pseudo-class',
    ],
    ['a:visible + b', 'p.read.answer: is no selector: :has-text and :visible can not stand before + or ~'],
    ['iframe >>> ', 'p.read.answer: is no selector: is empty before or after ">>>"'],
    ['iframe >>> a:foo', '(in "a:foo")'],
  ])('%s', (answer, fault) => {
    const parse = () => parseProfile({ ...GOOD, read: { answer } }, 'p');
    if (fault === null) expect(parse).not.toThrow();
    else expect(parse).toThrow(fault);
  });

  it('and names its place wherever it stands', () => {
    const profile = {
      ...GOOD,
      ask: [{ click: 'a', optional: true }, { hover: 'b[' }],
      read: { answer: 'p', drop: ['i', 'x >>> y'], results: { item: 'li', link: 'a:::b' } },
      classify: { consent: [{ when: '#c', dismiss: ['#d', '#e:nope'] }] },
    };
    expect(() => parseProfile(profile, 'p')).toThrow(
      /^(?=[^]*p\.ask\[1\]\.hover: is no selector)(?=[^]*p\.read\.drop\[1\]: is looked for inside its item)(?=[^]*p\.read\.results\.link: is no)(?=[^]*p\.classify\.consent\[0\]\.dismiss\[1\]: is no)/,
    );
  });
});
