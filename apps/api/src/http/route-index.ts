import type { FastifyInstance } from 'fastify';

/** Every path the server answers, with the methods it answers there. */
export type RouteIndex = Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>;

/** Keeps the index as routes are registered; call it before the first. */
export function indexRoutes(server: FastifyInstance): RouteIndex {
  const routes: RouteIndex = new Map();
  server.addHook('onRoute', ({ url, method }) => {
    // No path of ours: cross-origin calls have such a route for OPTIONS.
    if (url.endsWith('*')) return;
    const entry = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const one of [method].flat()) entry.methods.add(one);
    routes.set(url, entry);
  });
  return routes;
}

/** The methods a path answers, whichever was asked; none for a path there is not. */
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
