import { ServiceError } from '../errors.ts';

/** For tests: the `ServiceError` that `run` throws. Any other end is a failure of the test. */
export function refusalOf(run: () => unknown): ServiceError {
  let result: unknown;
  try {
    result = run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error(`was accepted: ${JSON.stringify(result)}`);
}

/** For tests: the paths that a refusal's details name. */
export function pathsOf(run: () => unknown): string[] {
  return (refusalOf(run).details ?? []).map(({ path }) => path);
}
