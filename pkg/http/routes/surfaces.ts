import { SCHEMA_VERSION } from '../../contract/index.ts';
import { listSurfaces } from '../../lanes/index.ts';
import type { ApiDeps, Route } from '../context.ts';

export function surfaceRoutes({ laneBook }: ApiDeps): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/surfaces',
      access: 'public',
      handle: async ({ response }) => {
        response.json({ surfaces: listSurfaces(await laneBook.read()), schemaVersion: SCHEMA_VERSION });
      },
    },
  ];
}
