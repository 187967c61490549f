import { describe, expect, it } from '@jest/globals';
import type { Source } from '../../contract/index.ts';
import { extractMentions } from './index.ts';

function source(url: string, more: Partial<Source> = {}): Source {
  return { id: 1, url, title: '', role: 'reference', cited: false, charRanges: [], ...more };
}

const pin = (text: string, targets: string[], sources: Source[] = []) =>
  extractMentions({ text, sources, extract: { targets } });
const find = (text: string, sources: Source[]) => pin(text, [], sources);
const isMentioned = (text: string, target: string) => pin(text, [target])[0]?.mentioned;

describe('a pinned name', () => {
  it.each([
    ['Acme', 'We like Acme.'],
    ['Acme', 'acme wins'],
    ['acme', 'ACME wins'],
    ['Acme', "Acme's shoes"],
    ['Acme', 'Acme’s shoes'],
    ['Acme', 'an Acme-powered shoe, not a non-Acme one'],
    ['Acme', '(“Acme”)'],
    ['Acme', 'see acme.com'],
    ['Coca-Cola', 'Coca‑Cola, with a hyphen that does not break'],
    ['Coca-Cola', 'Coca Cola'],
    ['Coca Cola', 'Coca-Cola'],
    ['New Balance', 'New\u00a0 Balance'],
    ["Levi's", 'Levi’s jeans'],
    ['Nestlé', 'Nestle\u0301 makes it'],
    ['Москва', 'Это Москва.'],
    ['ΑΓΟΡΑ', 'η αγορα'],
    ['AT&T', 'AT&T and others'],
    ['Yahoo!', 'Yahoo! is one'],
    ['C++', 'C++ is one'],
    ['Node.js', 'with Node.js it runs'],
    ['任天堂', '任天堂はすごい'],
    ['小米', '小米手机很好'],
    ['Sony', 'Sonyは高い'],
    ['トヨタ', 'トヨタは安い'],
    ['삼성전자', '삼성전자는 크다'],
    ['القاهرة', 'مدينة القاهرة كبيرة'],
    ['🍏Co', 'buy 🍏Co now'],
  ])('%s is mentioned in "%s"', (target, text) => {
    expect(isMentioned(text, target)).toBe(true);
  });

  it.each([
    ['Acme', 'Acmeville and the Acmes, macme, acme2, acme_x'],
    ['Node', 'with Node.js it runs'],
    ['Acme', 'see acme.dev.example.org'],
    ['Nestle', 'Nestle\u0301 makes it'],
    ['京东', '北京东路很长'],
    ['New Balance', 'something New\n\nBalance is all'],
    ['ヨタ', 'トヨタは安い'],
    ['a.c', 'abc'],
    ['---', 'a --- b'],
    ['Acme', ''],
  ])('%s is not mentioned in "%s"', (target, text) => {
    expect(isMentioned(text, target)).toBe(false);
  });

  it('is reported whether or not the text has it, in the order pinned', () => {
    expect(pin('Globex beats Acme. Acme is cheap.', ['Acme', 'Initech', 'Globex'])).toEqual([
      {
        brand: 'Acme',
        domain: null,
        mentioned: true,
        position: 2,
        sentiment: null,
        linked: false,
        target: 'Acme',
        sourceIds: [],
        snippet: 'Globex beats Acme.',
      },
      {
        brand: 'Initech',
        domain: null,
        mentioned: false,
        position: null,
        sentiment: null,
        linked: false,
        target: 'Initech',
        sourceIds: [],
        snippet: null,
      },
      {
        brand: 'Globex',
        domain: null,
        mentioned: true,
        position: 1,
        sentiment: null,
        linked: false,
        target: 'Globex',
        sourceIds: [],
        snippet: 'Globex beats Acme.',
      },
    ]);
  });

  it('gets the domain of a source that bears its name, and is linked when the answer cites it', () => {
    const sources = [
      source('https://blog.coca-cola.com/x', { id: 1 }),
      source('https://www.acme.co.uk/', { id: 2, cited: true, charRanges: [{ start: 0, end: 4 }] }),
      source('https://news.example.com/', { id: 3, cited: true, charRanges: [{ start: 5, end: 9 }] }),
    ];
    const [cola, acme] = pin('Acme and Coca-Cola', ['Coca Cola', 'Acme'], sources);
    expect(cola).toMatchObject({ domain: 'coca-cola.com', linked: false, sourceIds: [1] });
    expect(acme).toMatchObject({ domain: 'acme.co.uk', linked: true, sourceIds: [2] });
  });

  it('names the sources that back the passages it stands in', () => {
    const text = 'Acme is light. Globex is heavy.';
    const sources = [
      source('https://a.example.com', { id: 1, cited: true, charRanges: [{ start: 0, end: 14 }] }),
      source('https://b.example.com', { id: 2, cited: true, charRanges: [{ start: 15, end: 31 }] }),
    ];
    expect(pin(text, ['Globex', 'Acme'], sources).map(({ sourceIds }) => sourceIds)).toEqual([[2], [1]]);
  });

  it('is shown in a snippet that holds it, however long its sentence, and splits no character', () => {
    const text = `Title\n${'😀'.repeat(301)} Acme${' and 😀more'.repeat(60)}. Next.`;
    const snippet = pin(text, ['Acme'])[0]?.snippet ?? '';
    expect(text).toContain(snippet);
    expect(snippet).toContain(' Acme and ');
    expect(snippet).not.toMatch(/\p{Surrogate}/u);
    expect(snippet.length).toBeGreaterThan(200);
    expect(snippet.length).toBeLessThanOrEqual(240);
  });

  it('shares its rank with a name that begins at the same place', () => {
    const mentions = pin('Acme Cloud, then Globex', ['Globex', 'Acme', 'Acme Cloud']);
    expect(mentions.map(({ position }) => position)).toEqual([2, 1, 1]);
  });
});

describe('a pinned domain', () => {
  it.each([
    ['acme.com', 'see acme.com.'],
    ['acme.com', 'see https://www.ACME.com/shoes'],
    ['acme.com', 'see shop.acme.com'],
    ['www.acme.com', 'see acme.com'],
    ['acme.com', 'mail info@acme.com'],
    ['acme.com', 'The Acme shoe'],
    ['newbalance.com', 'New Balance shoes'],
    ['mcdonalds.com', "McDonald's fries"],
    ['thenorthface.com', 'The North Face jackets'],
    ['müller.de', 'bei müller.de'],
    ['3m.com', 'see 3m.com'],
  ])('%s is mentioned in "%s"', (target, text) => {
    expect(isMentioned(text, target)).toBe(true);
  });

  it.each([
    ['acme.com', 'see acme.com.au'],
    ['acme.com', 'see my-acme.com or acme.community'],
    ['acme.com', 'see acme.org.uk'],
    ['target.com', 'the target audience'],
    ['monday.com', 'Open on Monday'],
    ['newbalance.com', 'a new balance of power'],
    ['shop.acme.com', 'see www.acme.com/x'],
  ])('%s is not mentioned in "%s"', (target, text) => {
    // A host below the owner's is looked for by itself; the owner's name alone may still stand for it.
    expect(pin(text, [target])[0]).toMatchObject({ mentioned: false, snippet: null, position: null });
  });

  it('is linked by a source of its own, also when the text is silent', () => {
    const [mention] = pin('Nothing here.', ['acme.com'], [source('https://shop.acme.com/', { id: 7, cited: true })]);
    expect(mention).toMatchObject({
      domain: 'acme.com',
      mentioned: false,
      linked: true,
      sourceIds: [7],
      position: null,
      snippet: null,
    });
  });

  it('that is a day of the week is its owner only where the answer cites that site', () => {
    const cited = source('https://monday.com', { cited: true });
    expect(pin('Try Monday', ['monday.com'], [cited])[0]?.mentioned).toBe(true);
    expect(pin('Try Monday', ['monday.com'], [{ ...cited, url: 'https://notmonday.com' }])[0]?.mentioned).toBe(false);
  });

  it('is not linked by a site whose name only ends alike', () => {
    const [mention] = pin('Nothing here.', ['acme.com'], [source('https://notacme.com/', { cited: true })]);
    expect(mention).toMatchObject({ linked: false, sourceIds: [] });
  });

  it('in other letters is linked by the URL that browsers write', () => {
    expect(pin('', ['müller.de'], [source('https://www.xn--mller-kva.de/', { id: 4, cited: true })])[0]).toMatchObject({
      linked: true,
      sourceIds: [4],
    });
  });
});

describe('without targets', () => {
  it('finds the brands that a source belongs to, in the order of the text', () => {
    const text = 'Buy Allbirds, or New Balance. Hoka is not evidenced.';
    const sources = [
      source('https://www.newbalance.com/a', { id: 1, cited: true }),
      source('https://allbirds.com', { id: 2 }),
      source('https://rtings.com', { id: 3 }),
    ];
    expect(
      find(text, sources).map(({ brand, domain, position, linked, target, sourceIds }) => ({
        brand,
        domain,
        position,
        linked,
        target,
        sourceIds,
      })),
    ).toEqual([
      { brand: 'Allbirds', domain: 'allbirds.com', position: 1, linked: false, target: null, sourceIds: [2] },
      { brand: 'New Balance', domain: 'newbalance.com', position: 2, linked: true, target: null, sourceIds: [1] },
    ]);
  });

  it.each<[string, string, Source, string[]]>([
    [
      'a title that the domain abbreviates',
      'As The New York Times says',
      source('https://www.nytimes.com/x', { title: 'Shoes - The New York Times' }),
      ['The New York Times'],
    ],
    [
      'a host below, when the title says so',
      'Northbeam is best',
      source('https://northbeam.example.com/p', { title: 'Northbeam: official site' }),
      ['Northbeam'],
    ],
    [
      'a host below, but not by itself',
      'All the News and Docs',
      source('https://news.acme.com/p', { title: 'Shoes today' }),
      [],
    ],
    ['the domain as it stands in the text', 'see acme.com', source('https://acme.com'), ['acme.com']],
    ['no word in lower case', 'the target is time', source('https://target.com', { title: 'Target' }), []],
    [
      'no title words alone',
      'Best Running Shoes are light',
      source('https://x.example.com', { title: 'Best Running Shoes' }),
      [],
    ],
    ['no part of a word', 'Acmeville', source('https://acme.com'), []],
    ['nothing on an IP address', 'Acme', source('http://127.0.0.1/', { title: 'Acme' }), []],
    ['nothing in an empty text', '', source('https://acme.com', { title: 'Acme' }), []],
  ])('takes %s', (_name, text, one, brands) => {
    expect(find(text, [one]).map(({ brand }) => brand)).toEqual(brands);
  });

  it('reports a brand once, whatever the number of its sources', () => {
    const sources = [source('https://acme.com/a', { id: 1 }), source('https://blog.acme.com/b', { id: 2 })];
    expect(find('Acme. Acme.', sources).map(({ brand, sourceIds }) => ({ brand, sourceIds }))).toEqual([
      { brand: 'Acme', sourceIds: [1, 2] },
    ]);
  });
});
