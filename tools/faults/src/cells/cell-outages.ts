import type { CellOutage } from './cell-fault-kinds.js';
import type { CellName, CellServers } from './cell-servers.js';

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
