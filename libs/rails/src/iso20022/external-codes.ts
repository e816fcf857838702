/**
 * Codes of clearing systems (ISO 20022 external code set ExternalClearingSystemIdentification1Code, 2021-08-27), by the country of a bank
 * and the type of a routing code. A system that the list lacks has no code.
 */
const CLEARING_SYSTEMS: Readonly<Record<string, string>> = {
  'AU BSB CODE': 'AUBSB',
  'BD BRANCH CODE': 'BEFTN',
  'CA BRANCH CODE': 'CACPA',
  'CN BANK CODE': 'CNAPS',
  'GB SORT CODE': 'GBDSC',
  'HK BANK CODE': 'HKNCC',
  'IN IFSC': 'INFSC',
  'JP BANK CODE': 'JPZGN',
  'NG BANK CODE': 'NGBCS',
  'NZ BRANCH CODE': 'NZNCC',
  'SG BANK CODE': 'SGIBG',
  'TH BANK CODE': 'THCBC',
  'TW BANK CODE': 'TWNCC',
  'US ACH CODE': 'USABA',
  'ZA BRANCH CODE': 'ZANCC',
};

/**
 * The code of the clearing system of a bank.
 *
 * @param type of the routing code, such as `IFSC`
 * @param country of the bank: ISO 3166-1 alpha-2
 */
export function clearingSystemOf(type: string, country: string | undefined): string | undefined {
  const name = `${country} ${type}`;
  return Object.hasOwn(CLEARING_SYSTEMS, name) ? CLEARING_SYSTEMS[name] : undefined;
}

/**
 * Codes of purposes (ISO 20022 external code set ExternalPurpose1Code, 2021-08-27) that are sent. A bank refuses a file with a code that
 * the list lacks, so any other purpose is left out.
 */
const PURPOSES: ReadonlySet<string> = new Set(
  (
    'ACCT ADVA AGRT AIRB ALMY ANNI BBSC BECH BENE BEXP BOCE BONU BUSB CASH CBFF CBTV CCRD CDBL CFEE CHAR CLPR CMDT COLL COMC COMM COMT ' +
    'COST CPYR CSDB CSLP CVCF DBTC DCRD DEPT DERI DIVD DMEQ DNTS ECPG ELEC ENRG ESTX FERB FREX GASB GDDS GDSQ GOVI GOVT GSCB GVEA GVEB ' +
    'GVEC GVED HEDG HLRP HLTC HLTI HREC HSPC HSTX ICCP ICRF IDCP IHRP INPC INSM INST INSU INTC INTE INTX INVS IVPT LBRI LICF LIFI LIMA ' +
    'LOAN LOAR LTCF MDCS MSVC NETT NITX NOWS NWCH NWCM OFEE OTHR OTLC PADD PAYR PENS PHON POPE PPTI PRCP PRME PTSP RCPT REFU RENT RINP ' +
    'RLWY ROYA SALA SAVG SCVE SECU SSBE STDY SUBS SUPP TAXS TELI TRAD TREA TRFD VATX VIEW WEBI WHLD WTER'
  ).split(' '),
);

export const isExternalPurpose = (code: string): boolean => PURPOSES.has(code);
