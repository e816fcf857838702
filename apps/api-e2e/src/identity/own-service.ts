import { demoDataDir, RunningService } from '../running-service.js';
import type { Service } from '../service.js';
import { readDemoIds } from '../world.js';

/** A service with its own configuration and database. */
export interface OwnService extends Service {
  readonly dataDir: string;
  readonly log: () => string;
  /** Stops it, which must succeed, and removes its data. */
  stop(): Promise<void>;
}

export async function ownService(environment: Readonly<Record<string, string>>): Promise<OwnService> {
  const folder = await demoDataDir();
  try {
    const service = await RunningService.start({ dataDir: folder.path, environment });
    return {
      url: service.url,
      dataDir: folder.path,
      world: await readDemoIds(folder.path),
      log: () => service.log,
      tokenOf: () => Promise.reject(new Error('tokens come from the identity provider of the spec')),
      stop: () => service.stop().finally(folder.remove),
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** The service, called with tokens of another issuer: `as` is the token. */
export const withTokens = (service: Service): Service => ({ ...service, tokenOf: (token) => Promise.resolve(token) });
