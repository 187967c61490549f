/** The date that names the response schema: header, envelopes, surfaces and health (spec 9). */
export const SCHEMA_VERSION = '2026-06-27';
