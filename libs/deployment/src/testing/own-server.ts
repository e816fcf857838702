import {
  API_ROLE,
  OPERATOR_ROLE,
  OWNER_ROLE,
  PROVISIONING_ROLE,
  ROLES,
  VERIFIER_ROLE,
  WORKER_ROLE,
} from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';

const PASSWORD = 'only-in-this-spec';

/** The roles that each login of the spec is granted. */
const LOGINS = {
  owner: [OWNER_ROLE, ...ROLES],
  operator: [OPERATOR_ROLE, PROVISIONING_ROLE],
  worker: [WORKER_ROLE, VERIFIER_ROLE],
  app: [API_ROLE],
  stranger: [],
} as const;

export type LoginName = keyof typeof LOGINS;

/** An external server, with logins that have different rights. */
export interface OwnServer {
  readonly logins: Readonly<Record<LoginName, string>>;
  readonly password: string;
  /**
   * Makes a database that has not been migrated, in which the login of the owner may make the schema.
   *
   * @param template a database without connections that it is a copy of instead
   * @param options SQL behind `create database <name> template <template>`
   */
  makeDatabase(
    template?: { readonly name: string },
    options?: string,
  ): Promise<{
    readonly name: string;
    urlOf(login?: LoginName): string;
    query(text: string): Promise<void>;
    drop(): Promise<void>;
  }>;
  close(): Promise<void>;
}

export async function ownServer(): Promise<OwnServer> {
  const server = await freshDatabase();
  const { rows } = await server.owner.query<{ name: string }>('select current_database() as name');
  const prefix = rows[0]!.name;
  const logins = Object.fromEntries(
    Object.keys(LOGINS).map((name) => [name, `${prefix}_${name}`]),
  ) as OwnServer['logins'];
  for (const [name, roles] of Object.entries(LOGINS)) {
    await server.owner.query(`create role ${prefix}_${name} login password '${PASSWORD}'`);
    for (const role of roles) await server.owner.query(`grant ${role} to ${prefix}_${name}`);
  }
  let databases = 0;
  return {
    logins,
    password: PASSWORD,
    async makeDatabase(template, options = '') {
      const name = `${prefix}_${++databases}`;
      await server.owner.query(`create database ${name} template ${template?.name ?? 'template1'} ${options}`);
      await server.owner.query(`grant create on database ${name} to ${logins.owner}`);
      return {
        name,
        urlOf: (login) => urlOf(server, name, login && logins[login]),
        query: async (text) => void (await server.owner.query(text.replaceAll('@database', name))),
        drop: async () => void (await server.owner.query(`drop database ${name} with (force)`)),
      };
    },
    async close() {
      for (const login of Object.values(logins)) await server.owner.query(`drop role ${login}`);
      await server.close();
    },
  };
}

/** A URL of the server with another database and another login. */
function urlOf({ connection }: FreshDatabase, database: string, login?: string): string {
  const { connectionString, host = '', port, user = '' } = connection;
  const url = new URL(connectionString ?? `postgres://${user}@localhost:${port}/?host=${encodeURIComponent(host)}`);
  url.pathname = `/${database}`;
  if (login !== undefined) Object.assign(url, { username: login, password: PASSWORD });
  return url.href;
}
