import { REGION_TARGETING } from '../../contract/index.ts';
import type { Route } from '../context.ts';

export function regionRoutes(): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/regions',
      access: 'public',
      handle: ({ response }) => {
        response.json(REGION_TARGETING);
        return Promise.resolve();
      },
    },
  ];
}
