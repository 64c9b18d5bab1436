/**
 * Words of sentences: of a provider's refusals, of a worker's reasons. A sentence of an export keeps these and Google's names,
 * and masks every other word. The list is closed: a sentence that reads badly for want of a word is the price of the rest.
 * A word that a user has for a name is masked in sentences too (`Pseudonyms.said`).
 */
export const PLAIN_WORDS: ReadonlySet<string> = listed(`
about accelerator accelerators accept accepted access account accounts activity additional address after again against all allocated
allocation allow allowed already also and another answer answered answers any api are argument ask asked asks attempt attempts available
back backend because been before began begin being beside between both bought bucket budget build but bytes
call calls can cancel cancelled cannot capacity cause change changed changes check chips cloud cluster code command compute condition
configuration connect connection container contains control could create created creating credentials
deadline default deleted deleting deletion denied deny device did directly disabled disk does done down due during
each empty enabled end ended ends enough error errors event evicted exceed exceeded exhausted existing exists exit exited expired
fail failed failure fault few file files first for forbidden foreign found from
gang generation get given gives goes going gone google grace grant granted group
had has have having held hold holds host hosts how however
image in information inside installation instance instances insufficient internal interrupted invalid is it its itself
job jobs keep kept kernel key killed
large last late later least lease less limit limits line lines list listed listing location locations longer lost
machine machines made maintenance makes many maximum may memory message metadata method minutes missing module modules moment
more most must
named needed needs network never new next no node nodes none nor not nothing notice now number
of off offline old on once one only open operation operations or order other others out output outputs over own
page parameter parent part pass path per permission pick place please pod pods pool port preempted preemption preemptible pricing
priority problem process processes project projects provider provisioned put
query queue queued queuing quota quotas
ran rate reached read ready reason received refused refuses release released removed repeated replaced report reported request
requested requests required reservation reserved resource resources restart result resume retried retries retry returned right
run running runs runtime
said same satisfied saved says second seconds seen sent server service setting setup should shut shutting sign signal since size
slice slices soon spot stale start started starting starts state status still stockout stop stopped stopping storage store stored
such suspended system
take taken takes task tells temporarily terminated termination than that the their them then there these they things think this
those time timed timeout times told too total tpu tpus tries true try trying turn twice type types
unable unavailable unexpected unknown unreachable until usage use used user uses using utc
valid value values version wait waited waiting waits want wanted wants was watch well went were what when where which while who
whole why will with within without word work worker workers works would write written wrong yet you your zone zones`);

/** Words in Google's and Kubernetes' names of machines, systems and rights. They are kept in fields that hold such names. */
export const PUBLIC_WORDS: ReadonlySet<string> = listed(`
v5litepod v5lite tpu7x tpuv5 tpuv6 tpuv6e tpuv7 trillium ironwood tpu tpus alpha base lite ubuntu2204 ubuntu debian
standard highmem highcpu highgpu megagpu ultragpu edgegpu maxgpu hightpu medium micro small custom n2d t2d c2d c3d c4a g2
podslice nvidia tesla l40s h100 h200 gb200 b200 mega ultra rtx pro
linux amd64 arm64 python cloud google cluster zone region any balanced extreme hyperdisk
auth platform compute devstorage storage https www googleapis com readonly readwrite read write full control only`);

function listed(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}
