import type { CellName, CellServers } from './cell-servers.js';

/** How a database is away. The names are those of the faults of a run. */
export const CELL_OUTAGES = ['cell-unreachable', 'cell-killed', 'cell-frozen'] as const;
export type CellOutage = (typeof CELL_OUTAGES)[number];

/**
 * Takes the database of a cell away from all processes: no connection is accepted, the server is killed as well, or it stays connected
 * and responds to nothing.
 *
 * @returns what brings it back
 */
export async function takeAway(cells: CellServers, cell: CellName, outage: CellOutage): Promise<() => Promise<void>> {
  const server = cells.of(cell);
  if (outage === 'cell-frozen') {
    const thaw = server.freeze();
    return () => Promise.resolve(thaw());
  }
  const proxies = cells.proxiesTo(cell);
  for (const proxy of proxies) proxy.refuse();
  if (outage === 'cell-killed') await server.endPostmaster('SIGKILL');
  return () => Promise.resolve(proxies.forEach((proxy) => proxy.accept()));
}
