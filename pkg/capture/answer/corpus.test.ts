import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { readHtml } from './index.ts';
import { findFaults } from './invariants-for-tests.ts';

const CORPUS = new URL('../../../test/corpus/', import.meta.url);
const names = readdirSync(CORPUS)
  .filter((name) => name.endsWith('.html'))
  .map((name) => name.slice(0, -'.html'.length));

const load = (file: string): string => readFileSync(new URL(file, CORPUS), 'utf8');
const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

describe.each(names)('the page %s', (name) => {
  const html = load(`${name}.html`);
  const reading = readHtml({ html, baseUrl: 'https://docs.example/dir/page', listed: [] });

  it('has the text that a browser shows', () => {
    expect(wordsOf(reading.answer.text)).toEqual(wordsOf(load(`${name}.txt`)));
  });

  it('has sound markdown, links, sources and ranges', () => {
    expect(findFaults(reading)).toEqual([]);
  });

  it('reads the same whatever stands around it', () => {
    const around = `<!-- a --><div><section>${html}</section></div>\n`;
    expect(readHtml({ html: around, baseUrl: 'https://docs.example/dir/page', listed: [] })).toEqual(reading);
  });
});
