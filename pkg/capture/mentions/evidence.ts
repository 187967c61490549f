import type { Source } from '../../contract/index.ts';
import { isWithin, readHost, squeeze, type Host } from './hosts.ts';

/** Whose site a source is, told by its host, and by its title where that bears the same name. */
export type Identity = {
  /** The name as a host writes it: letters and digits in lower case. */
  name: string;
  domain: string;
  /** A spelling from the title that the host only abbreviates: `The New York Times` of `nytimes.com`. */
  spelling: string | null;
};

export type KnownSource = { source: Source; host: Host; identities: Identity[] };

const TITLE_BREAK = /\s[|·•–—-]\s|:\s|\s»\s/u;

export function readSources(sources: readonly Source[]): KnownSource[] {
  return sources.flatMap((source) => {
    const host = readHost(source.url);
    return host === null ? [] : [{ source, host, identities: identify(host, source.title) }];
  });
}

/**
 * A registrable domain names its owner. A label below it does so only when the title says the same, as `news` or
 * `docs` are nobody's name.
 */
function identify({ hostname, domain, label }: Host, title: string): Identity[] {
  const segments = title.split(TITLE_BREAK).map((segment) => segment.trim());
  const spelling = segments.find((segment) => abbreviates(squeeze(label), segment)) ?? null;
  const owner: Identity = { name: squeeze(label), domain, spelling };
  const below = hostname === domain ? [] : hostname.slice(0, -domain.length - 1).split('.');
  const named = below.flatMap((part, index): Identity[] => {
    const isInTitle = segments.some((segment) => squeeze(segment) === squeeze(part));
    return isInTitle
      ? [{ name: squeeze(part), domain: [...below.slice(index), domain].join('.'), spelling: null }]
      : [];
  });
  return [owner, ...named];
}

/** True when `label` is made of the beginnings of at least two words, in order and none left out but a first "The". */
function abbreviates(label: string, title: string): boolean {
  const words = title
    .split(/\s+/)
    .map(squeeze)
    .filter((word) => word !== '');
  if (words.length < 2 || words.length > 6 || label.length < 3) return false;
  return isMadeOf(label, words) || (words[0] === 'the' && words.length > 2 && isMadeOf(label, words.slice(1)));
}

function isMadeOf(label: string, [word, ...rest]: readonly string[]): boolean {
  if (word === undefined) return label === '';
  for (let taken = 1; taken <= word.length && label.startsWith(word.slice(0, taken)); taken += 1) {
    if (isMadeOf(label.slice(taken), rest)) return true;
  }
  return false;
}

/** The sources on a domain. */
export function sourcesOf(known: readonly KnownSource[], domain: string): Source[] {
  return known.filter(({ host }) => isWithin(host.hostname, domain)).map(({ source }) => source);
}
