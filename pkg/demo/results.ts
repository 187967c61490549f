import { makeContent, type DemoSource } from './content.ts';
import type { Directives } from './directives.ts';

const LONG_RESULTS = 100;
const LONG_SNIPPET_CHARACTERS = 2000;

/**
 * The results of a list page. `[[nosources]]` changes nothing here, as a result is its own source; `[[long]]` makes a
 * hundred results of 2,000 characters each.
 */
export function makeResults(directives: Directives): DemoSource[] {
  if (directives.empty || directives.absent) return [];
  const { sources, topic } = makeContent({ ...directives, sourceless: false });
  const results = directives.unicode ? [UNICODE_RESULT, ...sources] : sources;
  if (!directives.long) return results;
  return Array.from({ length: LONG_RESULTS }, (_, index) => ({
    url: `https://archive.example.org/entries/${index + 1}`,
    title: `Entry ${index + 1} about ${topic}`,
    site: 'Archive',
    snippet: `Entry ${index + 1} lists every test that was made. `.repeat(60).slice(0, LONG_SNIPPET_CHARACTERS),
    date: '2026-05-11',
  }));
}

const UNICODE_RESULT: DemoSource = {
  url: 'https://world.example.net/%E6%9D%B1%E4%BA%AC',
  title: '東京ガイド 🗼 دليل طوكيو',
  site: 'World Guide',
  snippet: 'Café, naïve, 👩‍👩‍👧‍👦 東京の品質 · מדריך טוקיו.',
  date: '2026-04-02',
};
