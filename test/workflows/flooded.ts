import { condition } from '@temporalio/workflow';
import { restateForm } from '../../contract/job-forms.js';
import { restateSignal } from '../../contract/job.js';
import { Inbox } from '../../workflows/inbox.js';

/** Hears signals, as a job does, and does nothing else. */
export async function flooded(): Promise<void> {
  let heard = 0;
  const inbox = new Inbox();
  inbox.on(restateSignal, restateForm, () => void (heard += 1));
  inbox.open();
  await condition(() => heard < 0);
}
