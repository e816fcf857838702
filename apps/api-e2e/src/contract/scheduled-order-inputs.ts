import type { Service } from '../service.js';
import { idOf } from '../world.js';
import type { OrderPart } from './paying.js';

/** The inputs of a scheduled and of a recurring order to the international recipient. */
export function scheduledOrderInputs(service: Service) {
  const ravi = () => idOf(service.world, 'recipients', 'international');
  const once = (part: OrderPart = {}) => ({
    amount: '250000',
    recipientID: ravi(),
    purposeCode: 'IR002',
    type: 'scheduled',
    startAt: '2099-03-31T09:00:00.5+02:00',
    ...part,
  });
  const monthly = (part: OrderPart = {}) => once({ type: 'recurring', repeatUnit: 'monthly', repeatValue: 1, ...part });
  return { ravi, once, monthly };
}
