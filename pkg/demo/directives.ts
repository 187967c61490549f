/** What a query asks the demo to do (design, "Demo surfaces"). Several directives may stand in one query. */
export type Directives = {
  /** The query without its directives: what the pages show and what the content is made from. */
  topic: string;
  /** First text after this long; null for the surface's own manner. */
  slowMs: number | null;
  stall: boolean;
  absent: boolean;
  empty: boolean;
  blocked: boolean;
  consent: boolean;
  crash: boolean;
  /** HTTP status to answer with; null for 200. */
  status: number | null;
  long: boolean;
  edit: boolean;
  unicode: boolean;
  sourceless: boolean;
};

const DIRECTIVE =
  /\[\[(?:(stall|absent|empty|blocked|consent|crash|long|edit|unicode|nosources)|slow:(\d{1,6})|http:([2-5]\d\d))\]\]/g;

/** Reads the directives out of a query. Text in double brackets that is no directive stays part of the topic. */
export function readDirectives(query: string): Directives {
  const found = [...query.matchAll(DIRECTIVE)];
  const has = (name: string): boolean => found.some((match) => match[1] === name);
  const number = (group: number): number | null => {
    const value = found.find((match) => match[group] !== undefined)?.[group];
    return value === undefined ? null : Number(value);
  };
  return {
    topic: query.replace(DIRECTIVE, ' ').replace(/\s+/g, ' ').trim(),
    slowMs: number(2),
    stall: has('stall'),
    absent: has('absent'),
    empty: has('empty'),
    blocked: has('blocked'),
    consent: has('consent'),
    crash: has('crash'),
    status: number(3),
    long: has('long'),
    edit: has('edit'),
    unicode: has('unicode'),
    sourceless: has('nosources'),
  };
}
