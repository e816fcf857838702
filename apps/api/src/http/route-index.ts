import type { FastifyInstance } from 'fastify';

/** All paths of the server, with their methods. */
export type RouteIndex = Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>;

/** Adds each route to the index when it is registered. Call it before the first route. */
export function indexRoutes(server: FastifyInstance): RouteIndex {
  const routes: RouteIndex = new Map();
  server.addHook('onRoute', ({ url, method }) => {
    // The cross-origin library registers such a route for OPTIONS.
    if (url.endsWith('*')) return;
    const entry = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const one of [method].flat()) entry.methods.add(one);
    routes.set(url, entry);
  });
  return routes;
}

/** All methods of a path. Empty for an unknown path. */
export function allowedMethods(routes: RouteIndex, url: string): string[] {
  const path = url.split('?', 1)[0] ?? '';
  const methods = new Set<string>();
  for (const route of routes.values()) {
    if (route.pattern.test(path)) route.methods.forEach((method) => methods.add(method));
  }
  return [...methods].sort();
}

function patternOf(url: string): RegExp {
  const parts = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`^${parts.join('/')}$`);
}
