/** A variable that the set-up of the tests has to have set. */
export function readVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: the tests' servers were not started`);
  return value;
}
