import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const PROFILE = fileURLToPath(new URL('../../config/seccomp/chromium.json', import.meta.url));
const NEEDED = ['chroot', 'clone', 'futex', 'memfd_create', 'seccomp', 'unshare'];
const REFUSED = ['bpf', 'init_module', 'keyctl', 'mount', 'pivot_root', 'reboot', 'setns', 'umount2', 'userfaultfd'];

it('the seccomp profile lets Chromium make its sandbox, and refuses what it was not made for', async () => {
  const profile: unknown = JSON.parse(await readFile(PROFILE, 'utf8'));
  expect(profile).toMatchObject({ defaultAction: 'SCMP_ACT_ERRNO' });
  const allowed = JSON.stringify(profile).match(/"names":\[[^\]]*\],"action":"SCMP_ACT_ALLOW"/g) ?? [];
  for (const name of NEEDED) expect(allowed.join()).toContain(`"${name}"`);
  for (const name of REFUSED) expect(allowed.join()).not.toContain(`"${name}"`);
});
