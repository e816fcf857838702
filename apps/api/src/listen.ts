import { once } from 'node:events';
import { createServer } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ConfigError } from '@banking/process';
import type { ApiConfig } from './config.js';

type Address = Pick<ApiConfig, 'host' | 'port'>;

const ADDRESS_MISTAKES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use. Stop the other process, or set PORT to another port (0 takes a free one).',
  EACCES: 'may not be used by this user. Set PORT to 1024 or more.',
  EADDRNOTAVAIL: 'is not an address of this machine. Set HOST to an address of this machine.',
  ENOTFOUND: 'cannot be resolved. Set HOST to an address.',
};

/** Reports a wrong address before the start touches a database. @throws ConfigError */
export async function checkAddress(address: Address): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen(address.port, address.host), 'listening');
  } catch (error) {
    throw explained(error, address);
  } finally {
    probe.close();
  }
}

/** @throws ConfigError if the service cannot listen on the address */
export async function listen(app: NestFastifyApplication, address: Address): Promise<void> {
  try {
    await app.listen(address.port, address.host);
  } catch (error) {
    throw explained(error, address);
  }
}

function explained(error: unknown, { host, port }: Address): unknown {
  const mistake = ADDRESS_MISTAKES[(error as NodeJS.ErrnoException).code ?? ''];
  return mistake === undefined ? error : new ConfigError([`${host}:${port} ${mistake}`]);
}
