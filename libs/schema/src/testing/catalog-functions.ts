import { SCHEMA } from '@banking/postgres';

/** Reads all functions of the schema. */
export const FUNCTIONS = `
  select p.proname as name, p.oid::regprocedure::text as signature, p.prosecdef as "isDefiner", p.proowner::regrole::text as owner, p.proconfig as settings,
         p.prorettype = 'trigger'::regtype as "isTrigger",
         array(select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end
                 from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x where x.grantee <> p.proowner
                order by 1) as "executableBy"
    from pg_proc p where p.pronamespace = '${SCHEMA}'::regnamespace order by p.proname`;

export interface CatalogFunction {
  readonly name: string;
  readonly signature: string;
  readonly isDefiner: boolean;
  readonly owner: string;
  readonly settings: readonly string[] | null;
  readonly isTrigger: boolean;
  readonly executableBy: readonly string[];
}
