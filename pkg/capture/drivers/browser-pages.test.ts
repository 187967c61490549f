import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { BrowserPool } from '../browser/pool.ts';
import type { CapturedPage } from '../outcome.ts';
import { parseProfile } from '../profile/parse.ts';
import { captureOnce, openPool, openSite, type Site } from './browser/surface-for-tests.ts';
import { openSockets } from './browser/sockets-for-tests.ts';

// Pages as strangers write them, each captured by the YAML beside it and nothing else.
const PAGES = new URL('../../../test/pages/', import.meta.url);
const files = readdirSync(PAGES);

type Case = {
  query: string;
  profile: unknown;
  expected: {
    markdown: string;
    sources: { url: string; title: string; role: string; texts: string[] }[];
    fanOut?: string[];
    signals?: string[];
  };
};

let site: Site;
let pool: BrowserPool;
let closeSockets: () => void;
beforeAll(async () => {
  site = await openSite();
  for (const file of files.filter((name) => name.endsWith('.html')))
    site.on(`/${file}`, (_, response) => response.end(readFileSync(new URL(file, PAGES))));
  closeSockets = openSockets(site, (write) => {
    // Each number is a state of the page, shown one after the other.
    const said = [...Array(9).keys()].map(String).concat('done');
    const timer = setInterval(() => {
      const next = said.shift();
      if (next === undefined) clearInterval(timer);
      else write(next);
    }, 120);
  });
  pool = await openPool();
});
afterAll(async () => {
  await pool.close();
  closeSockets();
  await site.close();
});

function readCase(name: string): Case {
  const text = readFileSync(new URL(`${name}.yaml`, PAGES), 'utf8');
  const { host } = new URL(site.origin);
  return parse(text.replaceAll('http://pages.example', `http://${host}`).replaceAll('pages.example', host)) as Case;
}

const sourcesOf = ({ answer, evidence }: CapturedPage): Case['expected']['sources'] =>
  evidence.sources.map(({ url, title, role, charRanges }) => ({
    ...{ url, title, role },
    texts: charRanges.map(({ start, end }) => answer.text.slice(start, end)),
  }));

describe('a page is captured by YAML alone:', () => {
  it.each(files.filter((name) => name.endsWith('.yaml')).map((name) => name.replace('.yaml', '')))(
    '%s',
    async (name) => {
      const { query, profile, expected } = readCase(name);
      const result = await captureOnce(pool, parseProfile(profile, name), { query, timeoutMs: 30_000 });
      if (result.outcome !== 'completed') throw new Error(JSON.stringify({ ...result, screenshot: undefined }));
      expect(result.answer.markdown).toBe(expected.markdown);
      expect(sourcesOf(result)).toEqual(expected.sources);
      expect(result.evidence.fanOut.queries).toEqual(expected.fanOut ?? []);
      expect(result.signals.map((signal) => signal.name)).toEqual(expect.arrayContaining(expected.signals ?? []));
    },
  );
});
