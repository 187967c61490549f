export type { ListedSource } from './cites.ts';
export type { LinkRules } from './links.ts';
export { emptyAnswer, readHtml, readMarkdown, readResults, readText } from './read.ts';
export type { Reading, ResultEntry, UrlAnnotation } from './read.ts';
