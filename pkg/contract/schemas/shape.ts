import {
  array,
  lazy,
  object,
  string,
  ValidationError,
  type AnyObject,
  type AnySchema,
  type InferType,
  type ISchema,
  type ObjectShape,
} from 'yup';
import { refuse, type Issue } from './issues.ts';
import { isBlank, isLongerThan, isStorable, quote } from './text.ts';

const MAX_UNKNOWN_NAMED = 20;
const PLAIN_NAME = /^[\w$-]{1,60}$/;
const ALLOWED = Symbol('allowed');

/**
 * Checks `value` without changing it, and returns it typed. Throws `VALIDATION_FAILED` with every fault found; `prefix`
 * stands before their paths. Messages in the schemas are predicates: the path is put before them here.
 */
export function checkShape<
  S extends ISchema<unknown> & { validateSync: (value: unknown, options: object) => InferType<S> },
>(schema: S, value: unknown, prefix = ''): InferType<S> {
  refuseYupMarks(value, prefix);
  try {
    return schema.validateSync(value, { strict: true, abortEarly: false, disableStackTrace: true });
  } catch (error) {
    if (!ValidationError.isError(error)) throw error;
    const issues = (error.inner.length > 0 ? error.inner : [error]).map((found) => describe(found, prefix));
    // One fault for a field: of a rule of form and one of value that both fail, the first says enough.
    throw refuse([...new Map(issues.toReversed().map((issue) => [issue.path, issue])).values()].reverse());
  }
}

function describe(fault: ValidationError, prefix: string): Issue {
  const path = joinPath(prefix, fault.path ?? '');
  const allowed = fault.params?.['allowed'];
  const message = `${path === '' ? 'the body' : path} ${fault.message}`;
  return typeof allowed === 'string' && fault.type === ALLOWED.description
    ? { path, message, allowed }
    : { path, message };
}

/**
 * yup takes any object with these keys for a reference or schema of its own and calls its methods: a body that holds
 * one would end as an internal error. No field of ours has such a name.
 */
function refuseYupMarks(value: unknown, prefix: string): void {
  const open: { value: unknown; path: string }[] = [{ value, path: prefix }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    const isList = Array.isArray(next.value);
    for (const [key, member] of Object.entries(next.value)) {
      const isMark = key.startsWith('__isYup');
      if (!isMark && (typeof member !== 'object' || member === null)) continue;
      const path = isList ? `${next.path}[${key}]` : joinPath(next.path, showName(key));
      if (isMark) throw refuse([{ path, message: `${path} is not a known field` }]);
      open.push({ value: member, path });
    }
  }
}

/** A fault at `at` below the tested value. Built by hand: yup's own `createError` reads templates in the message. */
export function fault(under: string, at: string, predicate: string): ValidationError {
  return new ValidationError(predicate, undefined, joinPath(under, at), 'rule', true);
}

export function joinPath(base: string, name: string): string {
  if (base === '' || name === '') return base + name;
  return name.startsWith('[') ? base + name : `${base}.${name}`;
}

function showName(key: string): string {
  return PLAIN_NAME.test(key) ? key : `[${quote(key)}]`;
}

/** An object that holds these fields and no other. `what` says what it must be when it is something else. */
export function closed<S extends ObjectShape>(fields: S, what = 'must be a JSON object') {
  const names = Object.keys(fields);
  const allowed = names.join(', ');
  return object(fields)
    .typeError(what)
    .nonNullable(what)
    .default(undefined)
    .optional()
    .test('known', (value: unknown, { path }) => {
      if (typeof value !== 'object' || value === null) return true;
      const unknown = Object.keys(value).filter((key) => !names.includes(key));
      if (unknown.length === 0) return true;
      return new ValidationError(
        unknown.slice(0, MAX_UNKNOWN_NAMED).map((key) => unknownField(joinPath(path, showName(key)), allowed)),
      );
    });
}

function unknownField(path: string, allowed: string): ValidationError {
  const error = new ValidationError(`is unknown; allowed: ${allowed}`, undefined, path, ALLOWED.description, true);
  error.params = { allowed };
  return error;
}

/** Any storable text; null is refused. */
export function text(what = 'must be a string') {
  return string()
    .typeError(what)
    .nonNullable(what)
    .test(
      'storable',
      'must not hold NUL or lone surrogates',
      (value: unknown) => typeof value !== 'string' || isStorable(value),
    );
}

/** Text of at most `limit` code points; may be empty. */
export function textUpTo(limit: number) {
  const predicate = `must be at most ${limit} characters`;
  return text().test('short', predicate, (value: unknown) => typeof value !== 'string' || !isLongerThan(value, limit));
}

/** Text of at most `limit` code points with something to see in it. */
export function shortText(limit: number) {
  return textUpTo(limit).test(
    'not-blank',
    'must not be empty',
    (value: unknown) => typeof value !== 'string' || !isBlank(value),
  );
}

/** One of a few words. */
export function oneOf<const T extends string>(words: readonly T[], what = `must be one of ${words.join(', ')}`) {
  return string<T>().typeError(what).nonNullable(what).oneOf(words, what);
}

/** An array of at most `limit` elements. */
export function list<T>(element: ISchema<T, AnyObject>, limit: number, what: string) {
  return upTo(limit, what, array().of(element).typeError(what).nonNullable(what));
}

/** An array of one to `limit` elements that must be there. */
export function filledList<T>(element: ISchema<T, AnyObject>, limit: number, what: string) {
  return upTo(limit, what, array().of(element).typeError(what).nonNullable(what).defined(what).min(1, what));
}

/** A longer array is refused without a look at its elements, so that no body costs a second of checking. */
function upTo<S extends AnySchema>(limit: number, what: string, elements: S) {
  const unread = elements.clone({ ...elements.spec, recursive: false }).test('short', what, () => false);
  return lazy((value: unknown) => (Array.isArray(value) && value.length > limit ? unread : elements));
}
