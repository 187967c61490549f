import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newId } from '../ids.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { ServiceError } from '../errors.ts';
import { refusalOf } from './testing.ts';

const POSITION = { createdAt: '2026-06-27T12:00:00.123456Z', id: newId('job', 0) };
const raw = (text: string) => Buffer.from(text).toString('base64url');

const position = fc.record({
  createdAt: fc
    .tuple(
      fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
      fc.constantFrom('', '000', '789'),
    )
    .map(([date, micros]) => date.toISOString().replace('Z', `${micros}Z`)),
  id: fc.nat().map((ms) => newId('job', ms)),
});

describe('a cursor', () => {
  it('gives back the position it was made of, to the microsecond', () => {
    fc.assert(fc.property(position, (one) => expect(decodeCursor(encodeCursor(one), 'job')).toEqual(one)));
  });

  it('is safe in a URL as it stands', () => {
    expect(encodeCursor(POSITION)).toMatch(/^[\w-]+$/);
  });

  it('with any character changed means another position or is refused', () => {
    const cursor = encodeCursor(POSITION);
    for (let at = 0; at < cursor.length; at += 1) {
      for (const other of 'AZaz09-_=+/ ') {
        if (other === cursor[at]) continue;
        const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
        try {
          expect(decodeCursor(changed, 'job')).not.toEqual(POSITION);
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError);
        }
      }
    }
  });

  it('that is any other text is refused, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String(), fc.string().map(raw)),
        (text) => {
          const error = refusalOf(() => decodeCursor(text, 'job'));
          expect([error.code, error.details?.[0]?.path]).toEqual(['VALIDATION_FAILED', 'cursor']);
          expect(error.message).toContain('cursor');
        },
      ),
    );
  });

  it.each([
    ['empty', ''],
    ['padded', `${encodeCursor(POSITION)}=`],
    ['of another list', encodeCursor({ ...POSITION, id: newId('watch', 0) })],
    ['of a day that does not exist', raw(`2026-02-30T00:00:00.000000Z ${POSITION.id}`)],
    ['of a minute that does not exist', raw(`2026-02-20T00:60:00.000000Z ${POSITION.id}`)],
    ['of the year zero, which Postgres has not', raw(`0000-01-01T00:00:00.000000Z ${POSITION.id}`)],
    ['with more in it', raw(`${POSITION.createdAt} ${POSITION.id} x`)],
    ['with SQL for an id', raw(`${POSITION.createdAt} job_'||pg_sleep(9)--`)],
    ['of a megabyte', 'A'.repeat(1_000_000)],
  ])('%s is refused', (_name, cursor) => {
    expect(refusalOf(() => decodeCursor(cursor, 'job')).code).toBe('VALIDATION_FAILED');
  });

  it.each([
    ['a date that JavaScript prints in its own way', { ...POSITION, createdAt: 'Sat Jun 27 2026' }],
    ['an id of no resource', { ...POSITION, id: '1' }],
  ])('is never made of %s', (_name, broken) => {
    expect(() => encodeCursor(broken)).toThrow('not a position');
  });
});
