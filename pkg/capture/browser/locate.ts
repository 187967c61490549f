import { findProgram } from '../../runtime/index.ts';

export type BrowserKind = 'headless-shell' | 'chromium';

// Debian's headless shell was measured twice as fast as the full browser in headless mode, so it is asked first.
const NAMES: Record<BrowserKind, readonly string[]> = {
  'headless-shell': ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
  chromium: ['chromium', 'chromium-browser', 'google-chrome', 'chromium-headless-shell'],
};

/**
 * Full path of a Chromium: `path` when it is set, else the preferred kind on PATH, else any other Chromium there.
 * Throws one line that names what was looked for.
 */
export async function locateBrowser(options: {
  path?: string;
  prefer?: BrowserKind;
  /** Where to look, as in the variable PATH. */
  searchPath?: string;
}): Promise<string> {
  const { path = '', prefer = 'headless-shell', searchPath = process.env['PATH'] ?? '' } = options;
  const names = path === '' ? NAMES[prefer] : [path];
  const found = await findProgram(names, searchPath);
  if (found !== undefined) return found;
  throw new Error(
    path === ''
      ? `No browser found: install one of ${names.join(', ')}, or name its path in the settings.`
      : `The browser ${path} is not an executable file.`,
  );
}
