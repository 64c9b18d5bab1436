/** Factors of the suffixes of quantities. */
const UNITS: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** Returns a Kubernetes quantity as a number: `500m` is 0.5, `2Gi` is 2147483648. Undefined if the text is not a quantity. */
export function quantityOf(text: string | number | undefined): number | undefined {
  const [, number = '', suffix = ''] = /^([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(`${text}`) ?? [];
  const unit = UNITS[suffix];
  return number === '' || unit === undefined ? undefined : Number(number) * unit;
}
