// Written by scripts/write-words.ts.
export const KNOWN_WORDS: ReadonlySet<string> = new Set(
  `$schema _continue a100 a2 a3 a4 a4x aa aaaa abc abcd abcf able abort aborted aborterror abortparts about above absent
absolute accel accelerator accelerator_type acceleratorconfig acceleratorconfigs acceleratorcount accelerators
acceleratortype acceleratortypes accept accepted accepteddata acceptjob access access_token access_type accessconfig
accessconfigs accessdenied accessexplain accessexplained accesskeyid accessnotconfigured accesstokenfile according
account accountkey accounts accountsprefix accounttext acctg acquire act actas action actions activate activation active
activedata activedeadlineseconds activefrom activities activity actors ad add added additionalproperties addothers
address addresses adds addversion admin adminerror administrator adminport admins admission admissionbody
admissionreason adr advancedto aes af affinity africa after aftereffect afterms ag again against age agenda agent
agenthours aggregated aggregatedlist aging agingms ago ahead ai ai1a ai1b akia alg algorithm algorithms alias
alias_props aliases alike alive all allocatable allocation allocation_mode allocationmode allow allowall allowed
allowedvalues allowform allows alone along alpha alphanumeric alpnprotocols already already_exists alreadyexists also
alsoput alt alternatively altname altnames always amazon amazonaws amd amd64 among amounts amp amz an anaconda anchor
anchors and anew annotate annotations announce announces anonymous another answer answered answerlost answerms answers
any anybody anyof anything anyway anyzone apart api apiendpoint apienum apierror apiextensions apigrouplist apikey
apikeyfile apirefusal apiresourcelist apis apiversion apiversions app apparmorprofile append application applied
appliedby applier apply applybody applyfiles applymodules apps apptainer apt architecture archive archived are
arecontainers aretakenback aretakentogether arg args argument arguments argv arm64 around array arrive arrived as asc
asia aside ask askcounts asked askedat askedby askedin asker askerbody asking asking_timeout askingend askingends
askingsince askingtimeoutms asks assigned assignment async at atinstant atomic attach attached attacheddisk attempt
attempts attempttrouble attend attended attribute attributes audience audit audited auditline auditlinesschema
auditquery australia auth authclient authenticated authentication authenticationrequired autherror authhandler
authmethods authoptions authority authorization authorizationheadermalformed authorize authorized authorizedkeys
authprovider authtaglength auto autocreatesubnetworks autodelete autodown automatic automaticrestart
automountserviceaccounttoken autopaginate autoscaler autoscaleroptions autostop availability available await awaitbuild
awaited awaiting awaitslice away awk aws axbxc axes axlearn b200 back backenderror background backoff backoffcoefficient
backofflimit backofflimitexceeded backs backslash backtrace bad bad_alias bad_collection_type bad_directive
bad_dq_escape bad_indent bad_prop_order bad_scalar_start badrange badrequest badtoken balanced bar bare base base64url
baseserver bash bashpid bashrc basicconstraints bastion batch bb bbf bcd be bear bearer became becameready because
become becomes been before began begin beginning beginparts beginresumable begins begun behind being believe believed
belong belongs below beside best besteffort beta between beyond biases big bigint bigquery billing bills bin binary bind
binding bindings bits blank blanks blobs block block_as_implicit_key block_in_flow blocked blockownerdeletion blockquote
body bodylimit book bool boolean boot booted bootfailure bootfailures bootid booting boots borrow borrowed borrowedunits
borrower borrowers borrowing borrowing_limits borrowinglimits borrows both bought bound boundaries boundary bounds
braces bracket brackets branch break brevo_email bring brings broke broken brokenmachines brought browser bs bsub bucket
bucket_name bucketalreadyownedbyyou bucketnotempty bucketnothierarchical bucketpolicyonly buckets buckettaken budget
budgets buffer buffered build buildctl builddate buildfailed building buildkit buildkitd buildleft buildnews builds
buildwanted built builtin builtins bundle bundler_exclude bundler_type bundles burst burstable bus busy but bwxhqdsmdei
by byname byte bytes ca cache cache_file_for_range_read cachecontrol cachefileforrangeread cae cafile calculated
calendar call callback called caller callers calleruntil callfailed callinvocationtransformer calls callspersecond
calltimeoutms came can cancel cancellable cancellation cancellationtype cancelled cancelledschema cancelling cancelnote
canceloperation cancelrequested candidates cannot canreschedule capability capacity capacityrow capacityschema
capacityunits capitals carried carries carry case cat categories cause causes cd cell cells central1 central2 ceph cert
cert_chain certificate certificates cgroup chain chance change changed changes channel channelrefused character
characters charset chdir check checked checkpoint checkpoints checks child children chip chiphours chips
chips_per_host_bounds chipsin chipsperhost chipsusedinzone chmod choices choose chooses chosen chunk chunks cipher
circle ckpt cksum claim claimed claimedqueue claiming claimname claims claimtimeoutms claimworker class classes classify
cleanup_command clear clearafter clearafterms clearat client client_email client_id client_secret clientcertpair
clientid clientoperationid clients clientsecret clk clock clone close closed closedat closedjobs closers closes closing
cloud cloudat cloudcalls cloudrefused cloudresourcemanager cloudsdk cloudsdk_auth_access_token_file
cloudsdk_compute_zone cloudsdk_config cloudsdk_core_project cloudunavailable cluster clusterfirst clusterip clusters cm
cmd cmdline cmp cn cntrl code codec codeckeyerror codeckeyunknown codename codes collect collecting collections
collectionstyle colon cols column columndefinitions columns com come comes coming comm comma command commands commas
comment commit common commoninstancemetadata commonname compact comparable compare compared comparison compile compiler
complete completed completedbody completedindexes completemultipartupload completemultipartuploadresult completeparts
completeupload completion completionmode completions completionsreached completiontime component componentcount
components compose compute compute_engine computemetadata computer computers computes conda condition conditional
conditionnotmet conditionof conditions conf config config_entry config_file configentry configfile configmap configmaps
configs configurable configuration configurations configure configured confinement confinementreason confirm conflict
connect connected connecting connection connectionerror connectionlost connects connecttimeoutms consequence consist
consistent console const constant constraint consumer consumer_project_id consumereservationtype consumerquotalimits
consumerquotametrics contact contained container containercannotrun containercreating containerimage containers
containersnotready containersready containerstatuses containerstatusunknown contains content contentdisposition
contentencoding contenthash contentid contentlanguage contents contenttype contenturl context contexts contiguous
continuation continue continues contract contradictory control controller conv converter cookie cool cool_down
cool_down_max cooldownmaxms cooldownms cooldowns coolinguntil coordinator copied copier copy copyto core cores coreutils
cost costs could couldn count counted counter counts covers cp cpu cpuplatform cpus crd create createbucket
createbucketconfiguration createbuild createcontainerconfigerror created createdat createnode createqueuedresource
creates createsettlems createslice createtime creating creatingdata creatingms creationtimestamp credential credentials
credentialsfile critical crlsign cron cronjob cross crowded crt crypto csh csi csv ctr ctrl cuda curl curlrc curls
current currently custom customer customresourcedefinition customresourcedefinitions customtime cut cutpower cwd cycle
daemon daemonize daemonless dash dashboard dashes data data_disks data_loss datadisks datastore date datetime day days
dc dd dead deadline deadline_exceeded deadlineexceeded deadlineseconds deallocate deb debian decide decidedby decides
decision decisions declare decodekeys decrypted deep deeply default defaultlimit defaultmode defaultruntime defaults
defaultserviceaccount define defining definition definitions degraded delay delayms delays delete deletebuild deleted
deletedschema deletenode deleteobject deleteoperation deleteoptions deletequeuedresource deleterefused deletes
deleteuntilgone deleting deletingdata deletingms deletion deletiongraceperiodseconds deletions deletiontimestamp
delimiter deliver delivered deliveries deliveroutputs demand demands denied deniedlocations deniedtext denies
denominator denyall dep dependencies dependency deprovisioning depth der dereference descendants describe description
descriptor destination destroyonreturn detached detail details dev devconsole developer developers device devicename
devices devstorage df did didn die died differ different differs diffie digest digit digitalsignature digits dimensions
dir direction directly directory dirname dirs disable disabled disabledservices discard discovery disk disk_gb disk_type
diskgb disks disksizegb disktype disktypes disown display displayname disposition disrupted disruption disruptiontarget
dissolved distance distributed distribution dk dnspolicy dnsservers do doc docker dockerconfigjson dockerfile docs
document does doesn dollars domain done donetwice dot dots dotted double doubled doublequotedasjson down download
downloads downloadurl downs dpkg draft drain drained draining drainingsince drainingunits drains drawn dri driver drm
drop dropped drops ds dsaencoding dstack dstack_gpus_num dstack_gpus_per_node dstack_master_node_ip dstack_node_rank
dstack_nodes_ips dstack_nodes_num dstack_run_name dual due dueat dueinms dump duplicate duplicate_key duration e2 eacces
each eaddrinuse eai eai_again earlier early east east1 east2 east4 east5 eat ec ecc ecdh ecdsa echo econnrefused
econnreset ed25519 edgegpu edit editbody edited edquot ee eexist effect effectivelimit effectivepolicy effectivetime
effects effort egress ehostunreach ei eid eisdir either eiv element elif eloop else elsewhere email email_verified
emails emfile empty empty_dir emptydir emulated emulator enable enable_parallel_downloads enabled enableexternalips
enableintreeautoscaling enableparalleldownloads enableservicelinks enametoolong encode encodecommonattributes encoding
encodingtype encountered encrypted encryptedwith encryption end ended endedat endedby endedsince ending endmark
endoffset endpoint endpointorders endpoints ends endsat endstext endtime enetunreach enforce enforced engine enoent
enospc enotdir enotfound enotsup enough ensurepip enter entered entity entitytoolarge entries entry enum enumerable
enumerate enums env env_name env_type env_vars envfrom environ environment environmentof environments envs enxio eo ep
eperm epoch epochs eq equal equals erofs err errimageneverpull errimagepull error error_description error_subtype
error_uri errorcode errorinfo errorinfometadata errors esac escape eslint etadata etag etc etimedout eu europe eux ev
eval evenly event eventbasedhold events eventtime ever every everybody everyms everyseconds everything everywhere
evicting eviction evictionbyevictionapi evidence exact exactly example exceeded exceeds except excess exchange exclude
exclusive exe exec executable execution executionstatus exhausted exist existing exists exit exitcode exited exitrecord
exits exp expanded expect expected expiration expired expiredsignature expiredtoken expires expires_in expiresat explain
explained explainedschema explainquery explanation export expression expressions extensions external external_ips
externalip externalips externalname extkeyusage extra extra_mounts extralocationtypes extremes f1 face fact facts fail
failed failed_precondition failedcreate faileddata failedmount failedprecondition failedscheduling failing failjob fails
failure failurepolicy failures failuretarget failurethreshold fallbacktologsonerror fallen falls false falsetrue
falseyes family far fast fastify fatal fault faults fd fence fenced fetch fetched fetches few fewer ff fi field
fieldmask fields fieldselector fieldviolations file file_cache_max_size_mb filecachemaxsizemb filename files fill
filldisk filled fills filter filters final finalizers finally find findbuild finddonetwice findmnt finds findstrays
findutils fingerprint finish finished finishedat finishing firewall firewalllist firewallrules firewalls first
firstexecutionrunid firststartedat firsttimestamp fish fit fits fixed flag flagat flags flatnamespace flavor fleet flex
flexstartrefused float flock flood floor flow flowcollectionpadding flush folder folders follow followoutput
followpollseconds follows followwithinotify for forbidden force forcecloseconnections forced foreground
foregrounddeletion foreign foreignhint foreignqueue forget forgetmodules forgot forgotten fork forked form format
formatting formed former formerjobkeysecrets forms forward forwarded forwarding found four fproject fraction frame
frames free freed freedaddresses freedat freeze freq fresh from frompayload front frontend frozen fs fsgroup fss fssl
fstype ft fulfill fulfilled full fulldisk fully function functions further furthest fuse future g1 g2 g4 gang
gang_timeout gangs gangseconds gap garbage gate gates gateway gauges gave gawk gax gb gb200 gce gce_metadata_host
gce_metadata_ip gce_metadata_root gcloud gcloudconfig gcloudtokenfile gcm gcp gcs gcs_resolve_refresh_secs gcsfuse ge
gen generatename generateserviceidentity generation generationmatch generationnotmatch generations get
getacceleratortype getaccesstoken getconf geteffectivepolicy getent getfile getguestattributes getiampolicy getlocation
getnode getobject getoperation getproject getqueuedresource getruntimeversion gets getservice getserviceaccount
getstoragelayout gg gh ghcr gi gib git git_secret gitcommit github gitignore gitlab gitsecret gittreestate gitversion
give givebackms given gives giveup giveups giving gke glob global globally globoff globs globstar gnu go goes going gone
good goog google google_application_credentials google_auth_token_for_testing google_cloud_project google_project
google_projects googleapis googlecallfailed googleproject got goversion gpg gpu gpu_type gpus gpus_all_regions
gpus_per_node grace gracems graceperiodseconds graceseconds grant granted grantedat grantedonbucket
grantedonserviceaccount grants graphics greater greatest grep gres grid group grouped groupname groups groupversion
grown grows grpc grpc_default_ssl_roots_file_path gs gserviceaccount gshadow gsutil gt guarantee guaranteed guard guards
guest guestaccelerators guestattributes guestinventory guestnotice guestnoticems gunzipped guploader gx gz gzip h100
h200 had half hand handed handedover handing handle handleprotocols handler handlers handshake handshaketimeout hangs
hanguporphans happened hard hardware has hasaccount haschips hascommand hasended hasfolder hasfreshsign hasgivenup hash
hasher hashes hashof hasinzone haslongoptions hasnetwork hasoutputs haspipefail haspoolfile hasprinted
hasprivategoogleaccess hasserver hasstderr hasstdin hasstdout hastiers hastrailing hasverifiedpools have head header
headerfile headers headgroupspec health healthdescription healthy heap hear heard heardat hears heartbeattimeout
heartbeattimeoutms hedge held heldback heldms heldsince hellman help helper helpful here heredoc hetjob hex hexadecimal
hf hidden hide hides hidesunknownprojects hiding hierarchical hierarchicalnamespace high highcpu higher highest highgpu
highlssd highmem hightpu hint history hold holdbacks holder holders holding holds holdslices home homeof hook hooked
hooks host host_bounds host_key host_path hostaccess hostaccessschema hostcount hostfileerror hostip hostkey
hostkeymismatch hostkeypolicy hostkeys hostkeyunverified hostname hostnameof hostnames hostpath hosts hostsilent
hostunfit hostunreachable hostverifier hour hours how however hpe html http httperrormessage httperrorstatuscode
httpmethod https httpstatus hugging human hung hup hurried hyperdisk hypermem iam iamconfiguration icmp id ide idea
idempotency idempotencyheaders idempotencystrategy ident identities identity identityfile identitykeys idle idle_timeout
idlems idleseconds idletimeoutseconds ids ieee if ifgenerationmatch ifnotpresent ifs ifsource ig ignore ignoreattributes
ignorebom ignored ignores illegal image imageid imagepullbackoff imagepullpolicy images immutable implemented implicit
import importlib importsshpublickey impossible in in_use_addresses inactivefrom inbox include includetrailingdelimiter
incoming incompatible incomplete incompletems increase indent indentation indented index indexed indexes inf info
inforce infra infrastructure ingress inherited init initcontainers initial initialinterval initialization initialized
initializeparams initializing initiatemultipartuploadresult initiator initpid inline inner ino inotify input input_bytes
inputbytes inputs inputsha256 inquota ins insecure insecureregistries insert inserttime inside inspect inspected
inspectfailed inspection inspectslice install installation installations installed installer installing installms
installs instance instance_type instanceadmin instanceaggregatedlist instancelist instances instanceterminationaction
instead insufficient int integer interface interleaved internal internaladdress internalerror internalip internals
interpolation interpreter interrupt interrupted interruption interruptions interrupts into inturn inuse invalid
invalid_argument invalidaccesskeyid invalidargument invalidimagename invalidinput invalidjob invalidparameter
invalidpart invalidrange invalidtoken invalidvalue inventory involvedobject io iommu ip ipaddress ipc ipcidrrange
ipprotocol ips ipynb ironwood is isactive isadopted isafterblank isafterloss isagain isalive isall isalldenied isallowed
isanyzone isapplied isarray isattended isbeingmade isbeside isbetweenhosts isbooted isborrowing isbusy ischanged
ischosen iscoarse iscomplete iscooling isdeleting isdisabled isdone isdraining isdue isended isending isendunknown
isenforced isexported isfinal isfirst isfolder isforanybody isforced isforit isforray isfromreservation isfrozen isfull
isgot isheld ishere isimplied isinall isincloud isincomplete isingress isinimage isinner isinoutputdir isinquota
isinternal isjobopen isknown islasting islate isleaseheld isleaving isled isliteral islost islosttail ismain
ismaintained ismeantaskey ismisnumbered isn isname isnamedmain isnamespaced isneveraccepted isnew isnozoneleft isolation
isonce isopaque isopen isoptional isover isoverquota isown isownlogin isparked ispartial ispermanent isplain ispreempted
ispreemptible isprobe isproof isqueued isreachable isreadonly isready isrebuilding isreclaimed isrecursive isrefused
isrefusing isrehearsed isrelease isreplaced isrequestleft isrestartcode isrestarted isresting issent isserviceenabled
issick issignedby issilent isspot isstartassumed isstarting isstopped isstored isstoringoutputs isstrict issuer issuers
issuspended istable istalk isterminal isthere istogo istold istruncated isunconfirmed isurgent isverified isversioned
iswanted iswarned iswhole iswholeonly iswide isworkflowopen iswrong iszonestrict it items iter iteration its itself
janitor jax jax_coordinator_address jax_num_processes jax_process_id jaxport jc jid jitter job job_completion_index
job_id job_index job_nodelist job_num_nodes jobaccelerator jobclient jobclosedforms jobcounts jobcountsschema jobctl
jobctl_attempt jobctl_bucket jobctl_coordinator_address jobctl_exit_code jobctl_google_project jobctl_hook
jobctl_hook_cause jobctl_hook_reason jobctl_host_index jobctl_host_ips jobctl_job_id jobctl_node_name jobctl_num_hosts
jobctl_num_slices jobctl_num_tasks jobctl_previous_attempt_end jobctl_ray_host jobctl_ray_hosts jobctl_ray_token
jobctl_result jobctl_slice_index jobctl_zone jobdescription jobended jobevent jobfailed jobfilterschema jobhistoryevents
jobid jobindex jobkeys jobkeysecreterror jobkeyunknown jobman jobman_tpu_name jobman_tpu_num_workers jobman_tpu_zone
jobpage jobpageschema jobphase jobpool jobproject jobrowschema jobs jobsended jobset jobset_name jobspec jobtemplate
jobuid jobuser jobviewschema join join_timeout joinbuild joined joins joinseconds journal journalseq js json jsonl
judged jupyter just jwk jwt k8s kb keep keepalive keepalivecountmax keepaliveinterval keepalivems keepbook keeper keeps
keepsplace kept keptaswritten keptfrom kernel kex key keycertsign keycharacters keygen keyrings keys keytype keyusage
keyword keywordlist kfd ki kib kid kill killall killat killed killedformemory killer killing killprocesses kills kind
kinds know known knows knowsray ksh kube kubeconfig kubectl kubelet kubeletready kubeletversion kuberay kubernetes
kubernetesport kueue l4 label labelfingerprint labels labelselector lack lacks lag lagms laid land lang language large
larger largest largest_slice largestslice last lastaddress lastat lasted lastetag lasteventheaders lastgood lastgot
lastheartbeattime lasting lastinguid lastmodified lastprobetime lastproblem lastrefusal lasts laststate lasttimestamp
lasttoken lasttransitiontime late lately later latest latin1 launch launcher launchword lavor layout lazy lc le leader
leading leads leaf leaked leaks leaksfound leaksreclaimed leap learn learned lease leaseanswer leased leasedunits
leaseepoch leasemessages leases least leave leaves leaving ledger left lefttopool legacybucketowner legacybucketreader
legacybucketwriter lend lending lending_limits lendinglimits length lent less let letin lets letter letters letting
level levels lib libexec libpython libraries library libssh libtpu licenses lie lies life lifecycle lifecyclestate
lifetime like likely limit limitbytes limited limitms limits line linecounter lines linewidth lingerms link links linux
list listacceleratortypes listbucket listbucketresult listconsumerquotametrics listed listedzones listen listened
listens lister listhistory listing listlag listlocations listnodes listoperations listowned listqueuedresources
listreservations listruntimeversions lists lite litepod literal live lived livenessprobe lives ln lname load loadpool
local localaddress localfiles localhost localid locally localport localrank located location locationconstraint
locationid locations locationtype lock locked lockfile lockfiles locks log log_bytes_per_attempt logattemptend
logbytesperattempt logend logged logging login loginname loginprofile logins loginschema loginsettings loginsuffices
loginuser loglag loglevel logname logout logs logsides logsquery logstretch long longer longest longrunning look
lookagainms looked looking looks lookup loop loopback loops loss lost lostslices low lower lowercase ls lsb lsf lszfx lt
mac machine machine_type machines machinesof machinesoperator machinetype machinetypes made madeat mail main maintained
maintenance maintenanceevent maintenancestatus mainthread major make makeone maker makers makes making malformed
malformedxml manage managed managedby managedfolders management manager manages manifest manifests manifesturl
manifestwrong manualselector many manylinux map mapfile maps mark markdown marked markin markof marks mask master_addr
master_port masterq match matched matches matchglob matching matchlabels mawk max max_guarantee_delay max_retries
max_tries max_unattended maxbuffer maxbytesrewrittenpercall maxconnecting maxdepth maxguaranteedelayms maximum
maximumattempts maximuminterval maxlength maxoutputlength maxreplicas maxrestarts maxresults maxretries maxrunduration
maxsockets maxunattended maxunattendedms may maybe maybecomeready mayberenumbered maybuild mayhavebegun maylackbody mb
md me mean means meant meanwhile measure media medialink medianwaitms mediatype medium meet megabytes megagpu megamem
megascale megascale_coordinator_address megascale_num_slices megascale_slice_id mem member members membership memo
memory mend mended mends merge message messages messageschema meta metadata metadata_ttl_secs metadatahost metadataport
metadatattlsecs metageneration metagenerationmatch metagenerationnotmatch meter method methoddefinition methodnotallowed
methodnotfound methods metric metrics metricsname mi mib micro middle migrate migrating migration milliseconds min
min_runtime mincpus mindepth mine miniconda miniconda3 minimum minio minor minreplicas minruntimems mins minute minutes
mirror mismatch misnumbered missing missing_char missingclusterdns missingworker missingworkers mixed mkdir mkfifo
mktemp mm mnt mnu moby mode model modes modified modifiedat module modules moduluslength moment moments monitoring
monotonic more most mostworkers mount mount_dirs mount_path mounted mountfailure mountinfo mountpath mounts mountvolume
move moved moves mpirun mps ms mtime mtimens mtu much multi multiline_implicit_key multipart multipartuploads multiple
multiple_anchors multiple_docs multiple_tags multiples multiplied multiply multislice multislicenode multisliceparams
multislicerefused must mv my n1 n2 name namecounts named namedcurve namedpricing namematches nameof names namespace
namespaced namespacenotfounderror namespaces nametoolong nan nap narrow nat natip nbconvert nconnect ncontinue nd ndjson
ne near nearest need needed needs needsqueuedresources negative neighbours neither nerdctl nested net network
networkconfig networkendpoints networkinterface networkinterfaces networkip networks networktier never new newer newest
newline newlines news next nextat nextcontinuationtoken nextdue nextgeneration nextpagetoken nextzone nfail ng ngloboff
nhead nhost nic nice nix njobctl nmax nmetadata nnodes no no_output noaddresses nobody nobucket nocapacity nochannel
node node_extra_ca_certs node_id node_rank node_selector node_selectors nodecount nodeid nodeidprefix nodeinfo nodelist
nodemanageraddress nodename nodenames nodes nodeselector nodespec noexecute noheader nolivemigration nominal nominated
non non_string_key nonblocking nonce none noninteractive nonretryable nonretryableerrortypes nonzeroexitcode noobject
nooutput noprofile noproxy nor norc noreservedcapacity normal north1 north2 northamerica northeast1 northeast2
northeast3 noschedule noserver nosuchbucket nosuchkey nosuchresource nosuchupload not not_found notafterdate notallowed
notbefore notbeforedate note notebook notes notfound notfoundapartms notgeneration nothing notice noticeat noticems
notified notify notimplemented notinpods notjson notletin notmetageneration notmodified notrunc notserved noun noupload
noutput now nowhere npm npx nr ns nsenter nshow nsilent nspeed nt ntasks nth nu nul null nullglob num num_cpus num_nodes
num_replicas num_slices num_tpu_slices num_workers number numbered numberepoch numbers numerator numeric
numericprojectid nupload nurl nvidia nwrite o_workdir oauth oauthtoken object object_store_memory objectadmin
objectcontent objectcreator objectnamequery objectquery objects objectsize objectsquery objectsschema objectstat
objectstorebytes objecttoolong objecturl objectuser objectviewer observation observe oc occurred oci octet odd of off
offat offer offered offline offset ofkey oflag ofnode often ok old oldbytes older oldest ompi on onalone oncall once
onchange onclose ondemand one oneof ones onexchange onfailure onfiles ongoing onhostmaintenance only onmissing onoutput
onpodconditions onready onrequest onsend onstderr onstdout onstep onunknownkey oo oom oomkilled op open
open_jobs_per_user openbucket opencontainers opened openjobs openjobsperuser opens openshift openslices openslicesschema
openssh operands operatemachines operatingsystem operation operationlist operationmetadata operations operationtype
operator operators opt option options optionsrequestedpolicyversion or order ordered org organization organizations
orgpolicy origin oroncerefused orphan orphaned os osadminlogin osimage oslogin other otherhosts others
othersonpreemption othertiers othertype otheruserof otherwise our ourkey ours out out_of_range outbox outcome outcomes
outlive outlived outlives outofrange outofscope output outputbytes outputs outside over overcommit overlay override
overrides oversubscribe overview overwrite overwritten own ownaccount owned owner ownerreferences ownership ownfailure
ownmodules owns package packages packed packet packing packjob page pages pagesize pagetoken pair parallel parallelism
parameter parameters params parent parentclosepolicy parenthesis parents parked parsable parse parseas parseerror parser
parsetagvalue part partial partialobjectmetadata partition partnumber parts pass passed passes passphrase passw passwd
password past paste pat patch path pathname paths pathways patience patiencems patient pattern patternproperties
patterns pause paused pausems payload payloads payloadtampered pbs pc pd pe pem pending people per percent perf
performmaintenance performmaintenancequeuedresource perhaps perhost periods periodseconds perl perm permanent
permanentredirect permessagedeflate permission permission_denied permissiondenied permissions permit permitted
persistent persistentvolumeclaim persistentvolumeclaims persists person pet_master_addr pet_master_port pet_nnodes
pet_node_rank pet_nproc_per_node phase phasesince pi pid pids piece pieces pin pino pins pip pipe pipefail pipes pk
pkill place placed placeof placeofbucket places placetext plain plan plandetails planform plannedgrant plannedpreemption
plannedwait plans plantext platform plausible please plural po pod podcompleted podexecoptions podfailed
podfailurepolicy podinitializing podip podips podlabel podman podperprojectperregionfortpuapi podreadytostartcontainers
podreplacementpolicy pods podscheduled podslice poduid point points policies policy policyviewer poll polls pollseconds
pollsquery pollsschema pong pool poolfile poolname pools poolstate poolstateschema poolzones port port_base portbase
ports position posix posixaccounts post pousr power pre preamble preclose precondition preconditionfailed
preconditionopts preconditions preempt preemptat preempted preemptedat preemptedlag preemptedlagms preemptible
preemptible_cpus preemptiblelife preemptiblelifems preemptiblemigrates preemption preemptionhook preemptions prefer
preference preferences prefernoschedule preferredversion prefix prefixes prelude premium prepare present preserve
prettyerrors prettyprint previous previousend pri price prices pricing primary principal principals print print0 printed
printf prints prio priorities priority priority_class priority_classes priority_floor prioritybody priorityclass
priorityclasses priorityclassname priorityfloors prioritykey private private_key private_key_id privateipgoogleaccess
privatekey privileged privileges pro probe problem problems proc process processes processor procid profile program
programs progress project project_id project_membership project_resources projectadmins projectattributes projecteditor
projectid projectnumber projectowner projectquotas projects projectviewer promise promisemiddleware promises promising
proof proofof propagate propagation propagationpolicy properties propertynames protected protection proto protobuf
protobufjs protocol protos proves provided provider providers provision provisioned provisionedat provisioning
provisioningdata provisioningmodel provisioningms proxy proxycommand proxyvariables prune ps ptrace pty pub public
public_key publicaccessprevention publicfingerprint publickey publickeys publish published publisher
publishnotreadyaddresses pubsub pull pull_image pulled pullimage punctuator push push_secret pushed pushsecret put
putaside putat putcontents putfile putobject putpart puts pvc py pycache pypi pypy pyspy pytest python python3
pythonhosted pytorch qefc qie qos qosclass qs qsub qsxf qualified quantity queries query querypath queryvalue queue
queued queuedresource queuedresourceid queuedresources queuedstate queueingpolicy queuems queues queuetime quickends
quiet quietms quietuntil quit quota quotaapply quotabuckets quotaexhausted quotafile quotahistorybytes
quotahistoryevents quotalimits quotanote quotaplan quotaplanschema quotapreemptions quotaproject quotarefusal
quotarelease quotas quotashow quotauser quote quoted quotes quoting qx qxf qzfx race rack raise raises ran random range
ranges rank ranks rapt rare rate raw ray ray_cluster ray_version raycluster rayclusterprovisioned rayclusters rayjob
raylet raystartparams rayversion rclone rd re2 re2js reach reachable reached reaches reaction read read_only readable
readbook reader readers readexitrecord readfiles readfrom readguestattributes readiness readinessprobe reading readlink
readme readnodemetadata readonly readopenwork reads readskeyfiles ready readyin readytimeout real realpath reaps reason
reasons reauth reauthentication reboot rebuild rebuildboundms rebuilding rebuildsettlems rebuilt received recent
recently reclaim reclaimed reclaiming reclaims recommended reconcile reconcilems reconnect record recordattempt recorded
recordoutcome records recover recovery recreate recursive recycleaddresses recycledip redirection redone ref reference
references refers refform refin refresh refresh_token refusal refusalof refusals refuse refuseas refused refusedmessages
refuses refusessh regard regex region regionquotas regions registry regrants regular rehearsal rehearsal_apt
rehearsal_confinement rehearsal_disk rehearsal_etc rehearsal_hostname rehearsal_ids rehearsal_layers rehearsal_node
rehearsal_probe rehearsal_project rehearsal_rest_url rehearsal_secrets rehearsal_store_url rehearsal_tools rehearsal_vm
rehearsal_volumes rehearsal_zone rehearsed reimaging reject rejected rejectunauthorized related relationships relative
release releasebody released releases relogin remainder remainingcputime remainingitemcount remedy remembers remote
remote_user remoteaddress remoteport remoteuser removal remove removed removes rename render renderd renew renewed
renumbered repair repairing repairingms repeat repeatable repeated repeating repeats repetitions replace replaced
replaces replica replicas replicaspecs replicatedjobs replication reply repo report reported reportingcomponent
reportinginstance reports repos repository request requestdeserialize requested requestedpolicyversion
requestedrangenotsatisfiable requestedrestarts requestedsetup requestentitytoolarge requestfacts requestid requestms
requests requests_per_job requestserialize requestsperjob requeststream requesttext requesttimeout requesttimetooskewed
requeue requeuebody requeued require require_project required requirement requirements requirements_file
requirementsfile requireoslogin requireproject requires requireshieldedvm reservation reservation_bound
reservationaffinity reservationbound reservationname reservations reserved reset resetqueuedresource resolv resolve
resolved resolves resource resource_exhausted resource_exhaustion resourceexhausted resourceid resourceinfo
resourcelocations resourcemanager resourcequota resourcequotas resources resourcestatus resourcetext resourcetype
resourceversion response responsedeserialize responseserialize responsestream responsetype rest restart restart_on
restartbody restartcount restarted restarting restarton restartpolicy restarts restate restendpoint restore restored
restport resturl result results resumable resume resumed resumeentrants retained retention retentiondurationseconds
retentionms retentionperiod retentionpolicy retentionseconds retries retry retryoptions return returned
returnpartialsuccess returns rev revision revocation revocations revoked revokedat revokedupto revoketokens rewrite
rewriteresponse rewritetoken rf rfc rich right rights rival rivals rivalviews rm rmdir rno ro role rolebindings
rolebindingsonbucket roles roll room root rootfs rootless roots round rounds route routes row rows rpc rsa rsync rt rtx
ruff rule rules run run_duration runasgroup runasuser runduration runhook runid runner runnerfailed running runoutputs
runs runseconds runssince runstacks runstatus runtime runtime_version runtimeerror runtimeversion runtimeversions
rununtil rw rwx s3 sa safe said same sandbox satisfiable save saved saves saving saw say says sbatch sbin scalar scale
scaled scan schedule scheduled scheduleid scheduler schedulername schedulers scheduletoclosetimeout
scheduletostarttimeout scheduling schedulingconfig schedulinggates schema scheme scontrol scope scopes scp scratch
screen script scripterror scripts scsi sd search sec seccompprofile second seconds secret secretaccesskey secretaccessor
secretid secretids secretkeyref secretmanager secretmanagerendpoint secretname secretnames secretnamesquery
secretnamesschema secrets secretsrefused secretstore secretsunavailable secs section sections secureconnect security
securitycontext securityreviewer sed see seed seeds seek seen seenat seenpod sees selection selector selectors self
selflink selfsigned selfsubjectaccessreview selfsubjectaccessreviews sells semaphore send sendback sender sendercounts
senderforms sendersequences sendlease sends sent sentence sentences sep separate separated seq sequence sequences serial
serializer serve served server serveraddressbyclientcidrs serverauth serverfactory serverhostkey serverkeys servername
servernameoverride serverrootcacertificate servers serves service service_account service_accounts serviceaccount
serviceaccountkeys serviceaccountname serviceaccounts serviceaccountuser serviceaccountviewer servicecontrol servicename
services serviceunavailable serviceusage serviceusageconsumer serviceusageviewer serving session sessions sessiontoken
set setback setdelay setenv setiampolicy setreachable setrefusing sets setsid setsshdelay setting settings settingup
settle settled setup setupagain setupbody setuphosts setupprogress setuptime several sftp sg sge sh sha sha256 sha256of
sha256sum shadow shall shape shapes share shared shares shell shift shipping shm shopt short shorter shortest shortfor
shortnames should show shown shows shut shutdown shuts shutting sidecarended sig sigabrt sigbus sigcont sight sighup
sigill sigint sigkill sign signal signalargs signalgroup signals signat signature signaturedoesnotmatch signatures
signed signedheaders signedurl signer signing signoflifems signquery signs signstalems sigpipe sigquit sigsegv sigstop
sigterm silence silent simulatemaintenanceevent since single singular singularity singularname site size sizelimit sizes
sk skel skip sky skypilot skypilot_internal_job_id skypilot_node_ips skypilot_node_rank skypilot_num_gpus_per_node
skypilot_num_nodes skypilot_run_id skypilot_task_id slack slashes sleep slice slicecounts slicehours slicems slicenews
slices slim slot slow slowdown slowest slowms slurm sm small smallchunk smallest smi snap snapshot so sock socket
sockets soft softdeletepolicy sold some somebody something soon sort source sourcechanged sourced sourcegeneration
sourceimage sourceobjects sourceranges sources south1 south2 southamerica southeast1 southeast2 southeast3 southwest1 sp
space spaces span spawns spdy speak speaking speaks spec special specific specified specify speckey speed spent spki
split splitlines spoken spot spread spy sql sqlservice src srun ssd ssh ssh_client ssh_connection sshatshutdown sshd
sshkey sshport sslcreds st stack stacks stacktype stage staging stale stalems stall stallms stand standard standardlssd
standardspotrefused stands start started startedat starter starterror starters starting startingms startnode startoffset
startrun starts startticks starttime starttoclosetimeout startup startup_script startupscript startworkflow stat
stat_cache_max_size_mb statcachemaxsizemb state statedir statehint stateinitiator states staticsummary stats status
statuscode stay stays stderr stdin stdinbytes stdio stdout step stepms steps still stood stop stopattempt stopbody
stopnode stopped stopping stoppingms stopprocesses stoprun stops stopsetup storage storage_emulator_host storageclass
storagelayout store stored storedat storedobject storedobjectschema storeendpoint storeerror storeport storerefused
stores storeunavailable storeurl storing story str strategy stream streams stretch strict stricthostkeychecking stride
string stty stuck stuckdeletions stuckslices style su sub subdomain subject subjectaltname submission submissionschema
submit submit_for submitfor submits submits_per_minute submitsperminute submitted submittedat submittedschema submitter
subnet subnetmask subnetoctet subnetwork subnetworks subpath subprotocol subresource subshell subsystem succeed
succeeded success successcriteriamet successful successfully such sudo suffix sum summaries summarize summary sums
supervise superviseattempt supervisems supervision supervisor support supported sure surrogate surroundings suspect
suspend suspended suspendeddata suspending suspendingdata suspendingms svc swappiness sweep sweeps swept switches symbol
symbolic symptoms sync synced syntax sys sysctl system systembucket systemctl systemd systemevent systems t09 t4 tab
tab_as_indent table tables tag tag_resolve_failed tags tail taillines taint taints take taken takes takesatomic
takespublickey taking talk tar target targetid targetlink targets targettags task taskattempts taskgroups taskqueue
tasks tb tc tck tcp tcpip tcsh team tee tell tellafterms teller telling tells temp template temporal temporalio
temporaryhold tensorcores tensorflow tensorstore_gcs_http_url term terminal terminate terminated terminating
terminatingorfailed termination terminationgraceperiodseconds terminationmessagepolicy terse tesla test
testiampermissions testiampermissionsresponse testpermissions text texts tf tf_config tfevents th than that thaw the
their theirs them themselves then there these they thin thing this those though thread threads three through
throwifnoentry ti tib tick tier tiers till time timecreated timed timedeleted timefinalized timeline timeof timeout
timeouterror timeoutms timeouts timeoutseconds timers times timescale timestamp timestamps timestorageclassupdated
timezone timing timings title tls tlscafile tlsservername tmp tmpdir tmpfs tmux to tocome todo together token
token_info_url token_type token_uri token_url tokenfile tokeninfo tokens tokenseconds tokenvalidseconds told toldat
tolerate tolerates tolerations toml tomlarray tomlbare tomlinlinetable tomlkeyvalue tomlversion too toodeepat took tool
toolarge tools toomanyrequests toomanysources toomuch top topayload topology torn total total_resources
totalbytesrewritten totalms totaltimeout touch touched tpu tpu7x tpu_chips_per_process_bounds tpu_private_key
tpu_process_bounds tpu_public_key tpu_type tpu_worker_id tpuport tpuquotas tpurestendpoint tpus tpuv5 tpuv6e tr trace
tracking traffic trailing train trainer training trains transient translation trap tree tres tried tries trimvalues
trouble true trust trusted trustkeyerror trusts trustslogin try trying ts tsv tt ttl ttlsecondsafterfinished tty tunnel
turn turnof turns twice twisted two txt typ type type_cache_max_size_mb typecachemaxsizemb typedsearchattributes types
typesof ubuntu ubuntu2204 ui uid ulimit ultragpu ultramem umask umount un unable unabletoqueue uname unanswered
unanswereduntil unasked unattended unauthenticated unauthorized unavailable unchanged unconfined unconfirmed
uncorrectable uncountedterminatedpods undecoded undefined undeletable undeletablems undeletableuntil under undergo
underoslogin underscore underscores understands understood underway undrain unexpected unexpected_token unhealthy
unheard unhiding uniformbucketlevelaccess unimplemented union unique uniqueid uniquekeys unit unithours units universe
universedomain unknown unknownaccelerator unknownfields unknownmachinetype unknownruntime unknownzone unless unlike
unlimited unlisted unmatched unmet unmodified unmounting unpack unpacked unpause unreachable unreachablehosts
unreachablelookms unreachables unreachablezones unreadable unready unrecognized unrecorded unresolved unschedulable
unscheduled unseen unsent unset unshare unsigned unspecified unsupported unsupportedmediatype unsupportedzone unsure
unterminated until untwisted unused unverified unwanted unwatched unwhole unwitnessed unwrap unwritten unzip up
upcomingmaintenance update updateat updated updatedat updatemask updatenode updaterefused updates updating updatingms
upgrade upload uploadcontent uploaded uploadid uploadquery uploads uploadsbody uploadserver uploadsession uploadsschema
uploadtoolarge uploadtype uploadurl upper ups uptime urgentms url urlencoded urls us usage usageerror usdperhour use
use_spot useauthwithcustomendpoint used usedin useinotify user user1 user_id userinfo userip userjobs userknownhostsfile
usermod username userproject users uses usr usual usualchoices utc utf utf8 util uts uuid uv v1 v2 v3 v4 v5 v5e v5lite
v5litepod v5p v6e vacate vacated vain valid valid_until validafterduration validaftertime validate validatestatus
validator validfrom validinterval validuntil validuntilduration validuntilseconds validuntiltime value values valuetype
vanish var variable variables vars vcpus vendor venv verb verbose verbosity verbs verdict verdictof verdicts verified
verify versinfo version versioning versions versitygw vertex very vfio view viewer views violated violations visibility
visible vision visiting visits vm vmexternalipaccess vms vmsof volume volumemounts volumes vouches vpc wait wait_for
waited waitedms waitedschema waiter waiters waitfor waitforchange waiting waiting_for_resources waitingchips
waitingcount waitingjobs waitingsince waitms waitoperation waitquery waits waitseconds waitsfor waitsforall
waitsforcount waitsin waitsuntil wake wakes walk wall wallat wallnow wandb want wanted wantedgeneration wants warn
warned warning warnings warnrun warns was waspreempted watch watched watches way ways wc wchan wckey wd we web websocket
wedgedms wedgedslicems weight weights well went were west1 west10 west12 west2 west3 west4 west6 west8 west9 wget what
whatever wheel when whenever where whether which whichever while white whl who whoami whoever whole whom whoschema whose
why whyschema width will window windowms winners wire with withdrawals withfiletypes withignored within without woken
wokenpools word words work work_dir workdir worker worker_id worker_num workergroupspecs workerids workerindex
workernumber workerpoolspecs workers workflow workflowexecutiontimeout workflowid workflowidconflictpolicy
workflowidreusepolicy workflows workflowservice workflowtasktimeout workflowtype workforcepools working workingdir
workload works world world_size worse would wrap writable write writehistory writer writers writes written wrong
wrongsignature wrongtiers wronguploadurl wrongurlforupload wrote ws wsl www wx x1 x16 x16x16 x2 x2x1 x2x2 x2x4 x32 x4
x4x4 x4x8 x8 x8x12 x8x16 x8x8 xargs xdg xf xgafv xml xmlns xpk xterm xx xxxxxx xzf yama yaml yaml_file year yes yet yml
you your yours z0 za zero zeros zip zipfile zlib zod zombie zonal zone zonebackoffmaxms zonebackoffms zonenames
zoneoperations zonepatiencems zonepatiencepreemptedms zones zonetry zsh zx`.split(/\s/),
);
