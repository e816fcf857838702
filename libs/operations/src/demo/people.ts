import type { Books } from '@banking/ledger';
import type { Database } from '@banking/postgres';
import {
  addApp,
  addGrant,
  addUser,
  addWorkspace,
  allApps,
  allGrants,
  allUsers,
  allWorkspaces,
} from '../provisioning/index.js';
import type { DemoCells } from './demo-cells.js';
import { once } from './demo-steps.js';

const ACTOR = 'demo';

/** The user of a gateway in front of this deployment. The gateway acts for all users, so this one has every role. */
const GATEWAY = 'gateway@northwind.example';

/** The default is a business user whose sign-up is completed. */
interface Standing {
  readonly status?: string;
  readonly userType?: 'personal';
}

export interface People {
  readonly northwind: number;
  readonly adaPersonal: number;
  readonly southwind: number;
  /** A user who has no role. */
  readonly cy: number;
}

/** The apps, their users, the workspaces and the roles in them. */
export async function makePeople({ database }: Books, provisioning: Database, { names }: DemoCells): Promise<People> {
  const ensure = (step: string, find: () => Promise<number | undefined>, make: () => Promise<number>) =>
    once(database, step, async () => (await find()) ?? (await make()));
  const app = (name: string) =>
    ensure(
      `apps:${name}`,
      async () => (await allApps(provisioning)).find((row) => row.name === name)?.id,
      () => addApp(provisioning, ACTOR, name),
    );
  const userOf = (step: string, email: string, of: string, standing: Standing = {}) =>
    ensure(
      step,
      async () => (await allUsers(provisioning)).find((row) => row.email === email && row.apps.includes(of))?.id,
      () => addUser(provisioning, ACTOR, { email, app: of, ...standing }),
    );
  const user = (email: string, of: string, standing?: Standing) => userOf(`users:${email}`, email, of, standing);
  const workspace = (name: string, of: string, type: 'personal' | 'business', cell = 'home') =>
    ensure(
      `workspaces:${name}`,
      async () => (await allWorkspaces(provisioning)).find((row) => row.name === name && row.app === of)?.id,
      () => addWorkspace(provisioning, ACTOR, { app: of, name, type, cell }),
    );
  const grant = (email: string, workspaceId: number, role: 'member' | 'admin') =>
    ensure(
      `grants:${email} ${workspaceId}`,
      async () =>
        (await allGrants(provisioning)).find((row) => row.email === email && row.workspaceId === workspaceId)?.id,
      () => addGrant(provisioning, ACTOR, { workspaceId, email, role }),
    );

  await app('Northwind Treasury');
  await app('Southwind');
  await user('ada@northwind.example', 'Northwind Treasury');
  await user('bob@northwind.example', 'Northwind Treasury');
  const cy = await user('cy@northwind.example', 'Northwind Treasury', { status: 'pending', userType: 'personal' });
  await user('eve@southwind.example', 'Southwind');
  const northwind = await workspace('Northwind Trading', 'Northwind Treasury', 'business');
  const adaPersonal = await workspace('Ada personal', 'Northwind Treasury', 'personal', names[0]);
  const southwind = await workspace('Southwind Imports', 'Southwind', 'business', names.at(-1));
  await grant('ada@northwind.example', northwind, 'admin');
  await grant('ada@northwind.example', adaPersonal, 'admin');
  await grant('bob@northwind.example', northwind, 'member');
  await grant('eve@southwind.example', southwind, 'admin');
  await user(GATEWAY, 'Northwind Treasury');
  await userOf(`memberships:${GATEWAY} Southwind`, GATEWAY, 'Southwind');
  for (const workspaceId of [northwind, adaPersonal, southwind]) await grant(GATEWAY, workspaceId, 'admin');
  return { northwind, adaPersonal, southwind, cy };
}
