import type { AppId, BankingService, Scope } from '@banking/domain';

/** The users of an app as JSON in parts, each the objects of some users, separated by commas. */
export abstract class AppUserTexts {
  /** @throws Refusal before the first part, as `listAppUsers` of the port does */
  abstract appUserTexts(scope: Scope, query: { readonly appId: AppId }): AsyncGenerator<string, void>;
}

/** For an implementation that has the list only as a whole. */
export const wholeLists = (banking: BankingService): AppUserTexts => ({
  async *appUserTexts(scope, query) {
    const users = await banking.listAppUsers(scope, query);
    if (users.length > 0) yield JSON.stringify(users).slice(1, -1);
  },
});

/** The parts as one array of JSON. */
export async function* arrayOf(texts: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  let before = '[';
  for await (const text of texts) {
    yield before + text;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
