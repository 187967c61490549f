const NUL_OR_LONE_SURROGATE = /[\0\p{Surrogate}]/u;

/** False for text that neither Postgres nor UTF-8 can hold: it would be an error or another text once stored. */
export function isStorable(text: string): boolean {
  return !NUL_OR_LONE_SURROGATE.test(text);
}

/** True when there is nothing but white space. */
export function isBlank(text: string): boolean {
  return text.trim() === '';
}

/** True when `text` has more than `limit` Unicode code points; looks at no more of it than it must. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > 2 * limit) return true;
  let count = 0;
  for (const _ of text) count += 1;
  return count > limit;
}

/** A caller's own text inside a message: quoted, escaped, and short whatever was sent. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
