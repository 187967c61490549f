export * from './outcome.ts';
export * from './driver.ts';
export { createBrowserPool, type BrowserPool, type BrowserPoolOptions } from './browser/pool.ts';
export { locateBrowser, type BrowserKind } from './browser/locate.ts';
export { createBrowserDriver, type BrowserDriverOptions } from './drivers/browser.ts';
export { createModelDriver, type ModelSettings } from './drivers/model.ts';
export { extractMentions } from './mentions/index.ts';
export { parseProfile } from './profile/parse.ts';
export type * from './profile/profile.ts';
