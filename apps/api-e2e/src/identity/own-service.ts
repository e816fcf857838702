import { demoDataDir, RunningService } from '../running-service.js';
import type { Service } from '../service.js';
import { readWorld } from '../world.js';

/** A service with a configuration of its own, on a database of its own. */
export interface OwnService extends Service {
  readonly dataDir: string;
  readonly log: () => string;
  /** Asks it to stop, which must succeed, and removes its data. */
  stop(): Promise<void>;
}

export async function ownService(environment: Readonly<Record<string, string>>): Promise<OwnService> {
  const folder = await demoDataDir();
  try {
    const service = await RunningService.start({ dataDir: folder.path, environment });
    return {
      url: service.url,
      dataDir: folder.path,
      world: await readWorld(folder.path),
      log: () => service.log,
      tokenOf: () => Promise.reject(new Error('tokens come from the identity provider of the spec')),
      stop: () => service.stop().finally(folder.remove),
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** The same service, called with tokens of another issuer: `as` is the token itself. */
export const withTokens = (service: Service): Service => ({ ...service, tokenOf: (token) => Promise.resolve(token) });
