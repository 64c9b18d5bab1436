import { quotaRates } from './start/quota-rate.js';
console.log(await quotaRates());
process.exit(0);
