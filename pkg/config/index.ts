export { loadSettings, redact, type Settings } from './settings.ts';
export { createKeyring, rowBinding, type Keyring } from './keyring.ts';
