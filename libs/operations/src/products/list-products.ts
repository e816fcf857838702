import type { Product } from '@banking/domain';
import type { ReferenceData } from '../reference/reference-data.js';

export async function listProducts(reference: ReferenceData): Promise<readonly Product[]> {
  return (await reference.current()).products;
}
