import { LocalIssuer } from '@banking/process/local-issuer';
import { published } from './config.js';

/** The ids of the demo data, by name. */
export interface DemoIds {
  readonly apps: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, number>>;
  readonly workspaces: Readonly<Record<string, number>>;
  readonly accounts: Readonly<Record<string, number>>;
  readonly recipients: Readonly<Record<string, number>>;
  readonly transfers: Readonly<Record<string, number>>;
}

/** The id of a resource of the demo data. @throws Error if the demo data does not have it */
export function idOf(world: DemoIds, kind: keyof DemoIds, name: string): number {
  const id = world[kind][name];
  if (id === undefined) throw new Error(`the demo data has no ${name} among its ${kind}`);
  return id;
}

/** A service under test, called directly or through a proxy. */
export interface Service {
  readonly url: string;
  readonly world: DemoIds;
  /** The first id that each sequence gives at home. Default 1. */
  readonly firstId?: number;
  /** Of a gateway: the address of the service behind it. */
  readonly behind?: string | undefined;
  /** Whether the workspaces of the demo data are in different databases: a payment between them is pending at first. */
  readonly hasCrossings?: boolean;
  tokenOf(email: string): Promise<string>;
}

/** The service of the run, with its files on this machine. */
interface LocalService extends Service {
  readonly dataDir: string;
  readonly logFile: string;
}

export const AUDIENCE = 'banking-api';

/** Users of the demo data. */
export const ADA = 'ada@northwind.example';
export const DANA = 'dana@northwind.example';
export const BOB = 'bob@northwind.example';
export const CY = 'cy@northwind.example';
export const EVE = 'eve@southwind.example';
/** A service user: in both apps, admin in every workspace. */
export const GATEWAY = 'gateway@northwind.example';

/** The data that the setup publishes in the environment. */
export type PublishedService = Pick<LocalService, 'url' | 'world' | 'dataDir' | 'logFile'>;

/** The service that the setup of the run has started. */
export function serviceOfTheRun(): LocalService {
  const service = JSON.parse(published()) as PublishedService;
  return { ...service, tokenOf: (email) => localToken(service.dataDir, email) };
}

const tokens = new Map<string, Promise<string>>();

/** A token signed with the key of a DATA_DIR. Like a client, a spec uses one token of a user for all its requests. */
export function localToken(dataDir: string, email: string): Promise<string> {
  const key = JSON.stringify([dataDir, email]);
  const token = tokens.get(key) ?? newLocalToken(dataDir, email);
  tokens.set(key, token);
  return token;
}

async function newLocalToken(dataDir: string, email: string): Promise<string> {
  const issuer = await LocalIssuer.open(dataDir);
  return issuer.sign({ email, audience: AUDIENCE, lifetimeSeconds: 3_600 });
}

/** A service for a suite that registers its tests before the service is started. */
export const startedLater = (provide: () => Service, more: Partial<Service> = {}): Service => ({
  get url() {
    return provide().url;
  },
  get world() {
    return provide().world;
  },
  get behind() {
    return provide().behind;
  },
  tokenOf: (email) => provide().tokenOf(email),
  ...more,
});
