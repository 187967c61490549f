import { describe, expect, it } from '@jest/globals';
import type { Envelope } from '../../contract/index.ts';
import { makeEnvelope } from '../envelope-for-tests.ts';
import { compareCaptures } from './compare.ts';

const A = 'https://a.example/';
const B = 'https://b.example/';
const C = 'https://c.example/';

const urlsOf = (list: { url: string }[]): string[] => list.map(({ url }) => url);

describe('two captures', () => {
  it('that are alike differ in nothing', () => {
    const envelope = makeEnvelope({ text: 'red bicycles', urls: [A, B], brands: ['Acme'] });
    expect(compareCaptures(envelope, structuredClone(envelope))).toEqual({
      surfacePresent: { before: true, after: true },
      text: { changed: false, similarity: 1 },
      sources: { gained: [], lost: [], moved: [] },
      mentions: { gained: [], lost: [], moved: [] },
    });
  });

  it('tell which sources were gained, lost and moved, with their ranks', () => {
    const { sources } = compareCaptures(
      makeEnvelope({ urls: [A, B, C] }),
      makeEnvelope({ urls: [C, A, 'https://d.example/'] }),
    );
    expect(sources).toEqual({
      gained: [{ url: 'https://d.example/', title: 'About https://d.example/', role: 'citation', rank: 3 }],
      lost: [{ url: B, title: `About ${B}`, role: 'citation', rank: 2 }],
      moved: [{ url: C, title: `About ${C}`, role: 'citation', from: 3, to: 1 }],
    });
  });

  it('have the same source when only the place within its page differs', () => {
    const { sources } = compareCaptures(
      makeEnvelope({ urls: [`${A}#top`, B] }),
      makeEnvelope({ urls: [`${A}#:~:text=x`, B] }),
    );
    expect(sources).toEqual({ gained: [], lost: [], moved: [] });
  });

  it('have changed text when only its punctuation differs, and it is as similar as can be', () => {
    const { text } = compareCaptures(makeEnvelope({ text: 'Red, blue.' }), makeEnvelope({ text: 'red blue' }));
    expect(text).toEqual({ changed: true, similarity: 1 });
  });

  it('tell that the surface showed nothing', () => {
    const change = compareCaptures(makeEnvelope({ text: 'red', urls: [A] }), makeEnvelope({ present: false }));
    expect(change).toMatchObject({ surfacePresent: { before: true, after: false }, text: { similarity: 0 } });
    expect(urlsOf(change.sources.lost)).toEqual([A]);
  });

  it('tell which brands are mentioned anew, no longer, or earlier', () => {
    const before = makeEnvelope({ brands: ['Acme', 'Bolt', 'Cargo'] });
    const after = makeEnvelope({ brands: ['Cargo', 'ACME', 'Dash'] });
    const { mentions } = compareCaptures(before, after);
    expect(mentions).toMatchObject({
      gained: [{ brand: 'Dash', rank: 3 }],
      lost: [{ brand: 'Bolt', rank: 2 }],
      moved: [{ brand: 'Cargo', from: 3, to: 1 }],
    });
  });

  it('do not count a pinned target that is reported as not mentioned', () => {
    const pin = (mentioned: boolean): Envelope => {
      const envelope = makeEnvelope({ brands: ['Acme'] });
      const items = envelope.evidence.mentions?.items.map((item) => ({
        ...item,
        target: 'acme.example',
        mentioned,
        position: mentioned ? 1 : null,
      }));
      return { ...envelope, evidence: { ...envelope.evidence, mentions: { items: items ?? [] } } };
    };
    expect(compareCaptures(pin(false), pin(true)).mentions?.gained).toMatchObject([
      { target: 'acme.example', rank: 1 },
    ]);
    expect(compareCaptures(pin(true), pin(false)).mentions?.lost).toMatchObject([{ target: 'acme.example' }]);
  });

  it.each([
    [null, ['Acme']],
    [['Acme'], null],
    [null, null],
  ])('say nothing of mentions when one did not look for them (%j, %j)', (before, after) => {
    expect(compareCaptures(makeEnvelope({ brands: before }), makeEnvelope({ brands: after })).mentions).toBeNull();
  });
});
