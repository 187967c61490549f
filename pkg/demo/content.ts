import { createDice, type Dice } from './dice.ts';
import type { Directives } from './directives.ts';

export type DemoSource = { url: string; title: string; site: string; snippet: string; date: string };

/** One sentence, and the index of the source that it rests on. */
export type Sentence = { text: string; source: number | null };

export type DemoBlock =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph' | 'list'; sentences: Sentence[] }
  | { kind: 'table'; rows: string[][] }
  | { kind: 'code'; language: string; text: string };

/** What every demo surface knows about a topic; each shows it in its own manner. */
export type Content = {
  topic: string;
  sources: DemoSource[];
  followUps: string[];
  blocks: DemoBlock[];
  /** What the last paragraph says after `[[edit]]`; empty without it. */
  edited: string;
};

const BRANDS = [
  'Northbeam',
  'Alderway',
  'Cobaltine',
  'Brightquay',
  'Driftmere',
  'Ferncrest',
  'Lumenor',
  'Tallowick',
  'Quillhaven',
  'Ostrova',
];
const TRAITS = [
  'value for money',
  'ease of use',
  'customer support',
  'long-term reliability',
  'build quality',
  'setup time',
];
const PAPERS = ['Field Review', 'Buyer Notes', 'Open Ledger', 'Daily Compass', 'Market Lens', 'Plain Tests'];
const DOMAINS = ['example.com', 'example.org', 'example.net'];
const LONG_CHARACTERS = 200_000;

/** Makes the same content for the same topic, always (directives only choose which parts there are). */
export function makeContent(directives: Directives): Content {
  const topic = directives.topic === '' ? 'this topic' : directives.topic;
  const dice = createDice(topic);
  const brands = dice.shuffle(BRANDS).slice(0, 4);
  const sources = directives.sourceless ? [] : makeSources(dice, topic, brands);
  const cite = (sentence: Sentence): Sentence => ({
    ...sentence,
    source: sentence.source === null || sources.length === 0 ? null : sentence.source % sources.length,
  });
  const drafts = [
    ...makeBlocks(dice, topic, brands),
    ...(directives.unicode ? UNICODE_BLOCKS : []),
    ...makeLength(directives),
  ];
  const blocks = drafts.map((block) =>
    'sentences' in block ? { ...block, sentences: block.sentences.map(cite) } : block,
  );
  blocks.push({ kind: 'paragraph', sentences: [{ text: LAST_PARAGRAPH, source: null }] });
  return {
    topic,
    sources,
    followUps: [`${topic} comparison`, `best ${topic} for ${dice.pick(TRAITS)}`, `${brands[0] ?? ''} reviews`],
    blocks,
    edited: directives.edit ? 'After a second look, prices and features were checked again today.' : '',
  };
}

const LAST_PARAGRAPH = 'Prices and features change, so check the latest details before you decide.';

function makeSources(dice: Dice, topic: string, brands: readonly string[]): DemoSource[] {
  const slug = topic
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40);
  const official = brands.slice(0, 2).map((brand) => ({
    url: `https://${brand.toLowerCase()}.${dice.pick(DOMAINS)}/products`,
    title: `${brand}: official site`,
    site: brand,
  }));
  const papers = dice.shuffle(PAPERS).slice(0, 1 + dice.roll(4));
  const reviews = papers.map((paper) => ({
    url: `https://${paper.toLowerCase().replace(' ', '-')}.${dice.pick(DOMAINS)}/${encodeURIComponent(slug)}?page=${1 + dice.roll(9)}`,
    title: `${paper}: ${brands.join(', ')} compared`,
    site: paper,
  }));
  return [...reviews, ...official].map((source) => ({
    ...source,
    snippet: `What ${source.site} says about ${topic}, with a focus on ${dice.pick(TRAITS)}.`,
    date: `2026-0${1 + dice.roll(9)}-1${dice.roll(10)}`,
  }));
}

function makeBlocks(
  dice: Dice,
  topic: string,
  [first = '', second = '', third = '', fourth = '']: string[],
): DemoBlock[] {
  const trait = (): string => dice.pick(TRAITS);
  return [
    {
      kind: 'paragraph',
      sentences: [
        { text: `For ${topic}, ${first} is the option that reviewers name most often.`, source: 0 },
        { text: `${second} comes close, mainly for ${trait()}.`, source: 1 },
      ],
    },
    { kind: 'heading', text: 'How they compare' },
    {
      kind: 'list',
      sentences: [
        { text: `${first} scores highest for ${trait()}.`, source: 2 },
        { text: `${second} is praised for ${trait()}.`, source: 0 },
        { text: `${third} costs the least, with compromises in ${trait()}.`, source: null },
      ],
    },
    {
      kind: 'table',
      rows: [['Brand', 'Score'], ...[first, second, third].map((brand) => [brand, `${70 + dice.roll(30)} of 100`])],
    },
    { kind: 'code', language: 'python', text: `best = max(brands, key=score)\nprint(best)  # ${first}` },
    { kind: 'paragraph', sentences: [{ text: `${fourth} is newer and has fewer reviews so far.`, source: 1 }] },
  ];
}

const UNICODE_BLOCKS: DemoBlock[] = [
  {
    kind: 'paragraph',
    sentences: [
      { text: 'Families 👩‍👩‍👧‍👦 rate it 🌟🌟🌟🌟, café owners say naïve tests miss the point.', source: 0 },
      { text: '東京の利用者は品質を高く評価しています。', source: 1 },
      { text: 'يفضل المستخدمون هذا الخيار بسبب السعر.', source: 2 },
      { text: 'המשתמשים ממליצים על המוצר הזה.', source: 0 },
    ],
  },
];

function makeLength({ long }: Directives): DemoBlock[] {
  if (!long) return [];
  const blocks: DemoBlock[] = [];
  for (let length = 0; length < LONG_CHARACTERS;) {
    const count = blocks.length + 1;
    const sentences = ['Durability', 'Price', 'Support', 'Design', 'Warranty'].map((aspect, index) => ({
      text: `${aspect} was tested in round ${count} under the same conditions as in every other round of this long report.`,
      source: index === 0 ? count : null,
    }));
    blocks.push({ kind: 'paragraph', sentences });
    length += sentences.reduce((sum, { text }) => sum + text.length, 0);
  }
  return blocks;
}
