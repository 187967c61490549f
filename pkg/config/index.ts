export { loadSettings, redact, type Settings } from './settings.ts';
export { createKeyring, rowBinding, type Keyring } from './keyring.ts';
export { kindOf, parseManifests, readManifests, refuseTwins, type Manifest } from './manifests.ts';
