/** The command was not used as it should be; the message says how. */
export class UsageError extends Error {}
