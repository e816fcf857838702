import type { Product } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { productJson, resource } from '../resource-json.js';

const LIST_PRODUCTS = sqlStatement<{ products: readonly Product[] }>(
  'list_products',
  `select coalesce(json_agg(${resource(productJson('p', 'c'))} order by p.id), '[]') as products
   from product p join currency c on c.id = p.currency_id`,
);

export async function listProducts(database: Database): Promise<readonly Product[]> {
  const row = await database.read({}, bind(LIST_PRODUCTS));
  return row?.products ?? [];
}
