import { ValidationError, type Schema } from 'yup';

/** Every fault of a value by these rules, as `path: message`; none when it fits. `path` is where the value stands. */
export function findFaults(rules: Schema, value: unknown, path: string): string[] {
  try {
    rules.validateSync(value, { abortEarly: false, strict: true });
    return [];
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const found = error.inner.length > 0 ? error.inner : [error];
    return found.map(
      ({ path: place = '', message }) => `${[path, place].filter((part) => part !== '').join('.')}: ${message}`,
    );
  }
}
