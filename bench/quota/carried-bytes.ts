import { leaseKey } from '../../domain/lease.js';
import { LeaseBook, type LeaseBookCarry } from '../../workflows/quota/lease-book.js';
import { packBook, unpackBook } from '../../workflows/quota/packed-book.js';
import { leaseTraffic } from './lease-traffic.js';
import { timesOf } from './pass-times.js';
import { figures, type Row } from './row.js';

const ROWS = 10_000;
const AIM_BYTES = 100;
const NOW = 1_800_000_000_000;

/** Measures the state that crosses a continue-as-new: 10,000 waiting requests, and 10,000 leases with a READY slice each. */
export function carriedBytes(): readonly Row[] {
  return [...rowsOf('waiting request', waitingBook()), ...rowsOf('lease', leasedBook())];
}

function waitingBook(): LeaseBookCarry {
  const book = emptyBook();
  for (const { request } of leaseTraffic('bench', ROWS, NOW)) book.apply(request, NOW);
  return book.carry();
}

function leasedBook(): LeaseBookCarry {
  const book = emptyBook();
  for (const { request, slice, chips } of leaseTraffic('bench', ROWS, NOW)) {
    book.apply(request, NOW);
    book.grant({ id: leaseKey(request.lease), tier: 0 }, NOW);
    book.apply(slice, NOW + 2_000);
    book.apply(chips, NOW + 180_000);
  }
  book.takePending();
  return book.carry();
}

const emptyBook = (): LeaseBook => new LeaseBook({ epoch: NOW, rows: [], freed: [] });

function rowsOf(what: string, carry: LeaseBookCarry): readonly Row[] {
  const packed = packBook(carry);
  const bytes = Buffer.byteLength(JSON.stringify(packed));
  return [
    {
      what: `carried for a ${what}, of ${ROWS.toLocaleString('en-US')}`,
      figure: `${(bytes / ROWS).toFixed(1)} bytes`,
      aim: `${AIM_BYTES} bytes`,
      isMet: bytes <= AIM_BYTES * ROWS,
      note: `${(bytes / 1000).toFixed(0)} kB in all`,
    },
    { what: '  packing all', ...figures(timesOf(() => packBook(carry))) },
    { what: '  unpacking all', ...figures(timesOf(() => unpackBook(packed))) },
  ];
}
