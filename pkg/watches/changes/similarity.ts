/** Scripts without spaces count by the character, all others by the word; case and punctuation do not count. */
const TOKEN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+/gu;

/**
 * How alike two texts read, from 0 to 1 with four digits: the share of neighbouring pairs of words that both have (Dice's
 * coefficient). So a sentence that moved costs little, and words that were shuffled cost much. Takes time linear in the
 * texts, which may be long.
 */
export function measureSimilarity(before: string, after: string): number {
  const old = countPairs(before);
  const now = countPairs(after);
  if (old.total + now.total === 0) return 1;
  let shared = 0;
  for (const [pair, count] of old.counts) shared += Math.min(count, now.counts.get(pair) ?? 0);
  return Math.round((20_000 * shared) / (old.total + now.total)) / 10_000;
}

/** Beginning and end are neighbours too, so that a text of one word has pairs. */
function countPairs(text: string): { counts: Map<string, number>; total: number } {
  const words = text.normalize('NFKC').toLowerCase().match(TOKEN) ?? [];
  const counts = new Map<string, number>();
  if (words.length === 0) return { counts, total: 0 };
  let previous = '';
  for (const word of [...words, '']) {
    const pair = `${previous} ${word}`;
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
    previous = word;
  }
  return { counts, total: words.length + 1 };
}
