export { extractMentions, type MentionInput } from './extract.ts';
