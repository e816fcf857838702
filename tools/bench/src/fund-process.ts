import { openDeployment } from '@banking/deployment';
import { postTransfers } from './world.js';

/** Posts a number of transfers between accounts of the demo data in the database of DATABASE_URL. For `npm run faults -- P33`. */
async function main(databaseUrl: string, transfers: number): Promise<void> {
  const deployment = await openDeployment({ databaseUrl, dataDir: '', isSandbox: true, prepare: false });
  try {
    await postTransfers(deployment, transfers);
  } finally {
    await deployment.close();
  }
}

void main(process.env['DATABASE_URL'] as string, Number(process.argv[2])).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
